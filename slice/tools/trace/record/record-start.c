/* record-start.c - starts the recorder in a program and in its children
 *
 * Tools: the preloaded object (record.h).  The constructor reads the options
 * that the launcher has put into the environment and maps the spool; a forked
 * child makes a spool of its own at its first event.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-sample.h"
#include <alloca.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/single_threaded.h>
#include <unistd.h>

static const char *
option_find (const char *options, const char *name)
{
  const char *at = options == NULL ? NULL : strstr (options, name);

  return at == NULL ? NULL : at + strlen (name);
}

static uint32_t
option_number (const char *options, const char *name, uint32_t missing,
               uint32_t most)
{
  const char *at = option_find (options, name);
  uint32_t value = at == NULL ? missing : (uint32_t) strtoul (at, NULL, 10);

  return value > most ? most : value;
}

/* The C library's own environment is not set up yet when this runs first. */
static char **
environment_find (char **envp, const char *name)
{
  size_t n = strlen (name);

  for (; *envp != NULL; envp++)
    if (strncmp (*envp, name, n) == 0 && (*envp)[n] == '=')
      return envp;
  return NULL;
}

static const char *
environment_get (char **envp, const char *name)
{
  char **found = environment_find (envp, name);

  return found == NULL ? NULL : *found + strlen (name) + 1;
}

static void
environment_remove (char **envp, const char *name)
{
  char **at = environment_find (envp, name);

  for (; at != NULL && *at != NULL; at++)
    at[0] = at[1];
}

/* Removes this object from what the program's children would preload, and from
 * what getenv() shows.  The launcher has put it first. */
static void
environment_clean (char **envp)
{
  char **preload, *value, *rest;

  environment_remove (envp, SPOOL_ENV);
  environment_remove (envp, SPOOL_ENV_OPTIONS);
  preload = environment_find (envp, "LD_PRELOAD");
  value = preload == NULL ? NULL : *preload + strlen ("LD_PRELOAD=");
  rest = value == NULL ? NULL : strchr (value, ':');
  if (rest != NULL)
    memmove (value, rest + 1, strlen (rest + 1) + 1);
  else
    environment_remove (envp, "LD_PRELOAD");
}

/* Finds an object of that name in a list; NULL: it has none. */
static const char *
preload_entry (const char *list, const char *name)
{
  size_t n = strlen (name);

  for (const char *at = list; (at = strstr (at, name)) != NULL; at++)
    if ((at == list || strchr (": ", at[-1]) != NULL)
        && (at[n] == '\0' || strchr (": ", at[n]) != NULL))
      return at;
  return NULL;
}

/* Returns true if a list has objects that end the program if they are not the
 * first. */
static bool
insists_on_first (const char *list)
{
  return strstr (list, "san.so") != NULL || strstr (list, "san-") != NULL
         || strstr (list, "libclang_rt") != NULL;
}

/* With another malloc in front, no call would come here.  So restarts the
 * program, before main(), with this object first.  Not if the dynamic linker
 * was called as a program (AT_BASE is 0), since it has removed its own
 * arguments. */
static void
go_first (char **argv, char **envp)
{
  Dl_info self;
  char path[PATH_MAX], *fresh, *end, *old;
  char **preload = environment_find (envp, "LD_PRELOAD");
  const char *value, *at;
  ssize_t n;
  size_t before, name;

  if (preload == NULL || environment_get (envp, SPOOL_ENV) == NULL
      || getauxval (AT_BASE) == 0 || dladdr (&sli_record, &self) == 0)
    return;
  value = *preload + strlen ("LD_PRELOAD=");
  at = preload_entry (value, self.dli_fname);
  if (at == NULL || at == value || insists_on_first (value))
    return;
  n = readlink ("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0)
    return;
  path[n] = '\0';
  before = (size_t) (at - value);
  name = strlen (self.dli_fname);
  fresh = alloca (strlen (*preload) + 2);
  end = stpcpy (stpcpy (fresh, "LD_PRELOAD="), self.dli_fname);
  *end++ = ':';
  memcpy (end, value, before);
  strcpy (end + before, at + name);
  old = *preload;
  *preload = fresh;
  execve (path, argv, envp);
  *preload = old;
}

static void
at_exit (void)
{
  if (sli_record.control != NULL)
    sli_watch_close ();
  else
    sli_spool_close ();
}

/* Maps the spool, or the page by which a watcher wakes this process. */
static bool
recording_open (const char *options, const char *directory)
{
  bool sleeps = option_find (options, "asleep") != NULL;

  if (!(sleeps ? sli_watch_open (directory) : sli_spool_open (directory)))
    return false;
  if (!sleeps)
    sli_spool_command ();
  sli_stack_init ();
  return true;
}

/* Runs before the constructors of all other objects (the object is linked
 * with -z initfirst), when the loader may be called. */
__attribute__ ((constructor)) static void
record_start (int argc, char **argv, char **envp)
{
  RecordThread *self;
  const char *options;
  uint32_t sample_mean;

  (void) argc;
  go_first (argv, envp);
  self = &sli_record_self;
  options = environment_get (envp, SPOOL_ENV_OPTIONS);
  sli_record_next_ready ();
  self->busy = true;
  sli_record.stack_depth
      = option_number (options, "depth=", 128, RECORD_DEPTH_MAX);
  sli_record.free_depth
      = option_number (options, "free=", 4, RECORD_DEPTH_MAX);
  sli_record.timed = option_find (options, "timed") != NULL;
  sli_record.check_unwind = option_find (options, "check-unwind") != NULL;
  sample_mean = option_number (options, "sample=", 0, UINT32_MAX);
  if (sample_mean != 0)
    sli_record_sample (sample_mean,
                       option_number (options, "seed=", 0, UINT32_MAX));
  if (recording_open (options, environment_get (envp, SPOOL_ENV)))
    {
      if (option_find (options, "follow") == NULL)
        environment_clean (envp);
      atexit (at_exit);
      record_compiler_barrier ();
      sli_record.ready = sli_record.control == NULL;
    }
  self->busy = false;
}

int __libc_start_main (int (*main_function) (int, char **, char **), int argc,
                       char **argv, void (*init) (void), void (*fini) (void),
                       void (*rtld_fini) (void), void *stack_end);

/* Between the constructors and main(). */
RECORD_API int
__libc_start_main (int (*main_function) (int, char **, char **), int argc,
                   char **argv, void (*init) (void), void (*fini) (void),
                   void (*rtld_fini) (void), void *stack_end)
{
  RecordThread *self;
  int (*call) (int (*) (int, char **, char **), int, char **, void (*) (void),
               void (*) (void), void (*) (void), void *)
      = dlsym (RTLD_NEXT, "__libc_start_main");

  self = &sli_record_self;
  if (sli_record.control != NULL)
    {
      self->busy = true;
      sli_unwind_open ();
      self->busy = false;
    }
  else if (sli_record_enter (self))
    {
      sli_unwind_open ();
      record_leave (self);
    }
  return call (main_function, argc, argv, init, fini, rtld_fini, stack_end);
}

/* Makes a spool for this process, since the mapped one is the parent's. */
__attribute__ ((noinline, cold)) void
sli_record_child_start (RecordThread *self)
{
  bool several = !__libc_single_threaded;

  sli_record.ready = false;
  self->chunk = NULL;
  sli_stack_forget (self);
  self->thread = 0;
  if (!sli_spool_reopen_in_child ())
    return;
  if (several)
    sli_unwind_single ();
  sli_stack_reset ();
  sli_spool_command ();
  sli_modules_scan ();
  if (sli_record.sample_bytes != 0)
    sli_sample_child_start (self);
  sli_record.ready = true;
}
