/* record-watch.c - a process that sleeps until it is watched
 *
 * Tools, in the preloaded object (record.h).  `record --asleep' starts such a
 * process.  It shares a page with whoever watches it (spool.h).  While no watch
 * is wanted there, each call of malloc goes on to the next malloc after that
 * one look.  The first call that finds a new watch wanted maps its spool; calls
 * of other threads in the meantime are no events.
 *
 * Locks: none.  A thread counts itself as inside before it looks a second time
 * whether the watch goes on, and until its event is written.  So when the
 * number is 0 after the watch is no longer wanted, nobody writes to the spool,
 * and it may be read to its end or replaced.
 *
 * Design: section 13.13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How often the thread that starts a watch looks whether others still write
 * events of the one before; then a later call tries again. */
#define LOOKS_MAX 1000

static struct
{
  WatchControl nobody; /* the control of a process that has no file */
  char directory[3072];
  char path[3072 + 40];
  _Atomic uint32_t number;    /* the watch whose spool is mapped; 0: none */
  _Atomic uint32_t failed;    /* the last that could not have one */
  _Atomic uint32_t is_starting; /* a thread maps the next */
} watch;

/* --- the page ------------------------------------------------------------ */

static void
path_make (void)
{
  char *end = stpcpy (stpcpy (watch.path, watch.directory), "/" WATCH_FILE);

  sli_number_append (end, (uint64_t) getpid ());
}

/* Only the process's own user may open the file, and its directory. */
static int
file_make (void)
{
  int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  int fd = open (watch.path, flags, 0600);

  /* of a process with this number that has become this program */
  if (fd < 0 && errno == EEXIST && unlink (watch.path) == 0)
    fd = open (watch.path, flags, 0600);
  if (fd >= 0 && posix_fallocate (fd, 0, WATCH_BYTES) == 0)
    return fd;
  if (fd >= 0)
    close (fd);
  return -1;
}

static void
control_make (void)
{
  WatchControl *control;
  int fd;

  path_make ();
  fd = file_make ();
  if (fd < 0)
    return;
  control = mmap (NULL, WATCH_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close (fd);
  if (control == MAP_FAILED)
    {
      unlink (watch.path);
      return;
    }
  control->version = WATCH_VERSION;
  control->pid = (uint32_t) getpid ();
  atomic_thread_fence (memory_order_seq_cst);
  control->magic = WATCH_MAGIC;
  sli_record.control = control;
}

/* As the kernel has it; readdir() allocates. */
typedef struct
{
  uint64_t inode;
  int64_t next;
  uint16_t bytes;
  uint8_t type;
  char name[];
} Entry;

/* Removes the file of a process that has ended without its exit handlers, as
 * most forked children do. */
static void
entry_check (int directory, const Entry *entry)
{
  const size_t n_prefix = strlen (WATCH_FILE);
  pid_t pid = 0;

  if (strncmp (entry->name, WATCH_FILE, n_prefix) != 0)
    return;
  for (const char *at = entry->name + n_prefix; *at >= '0' && *at <= '9'; at++)
    pid = 10 * pid + (*at - '0');
  if (pid > 0 && syscall (SYS_kill, pid, 0) != 0 && errno == ESRCH)
    unlinkat (directory, entry->name, 0);
}

static void
dead_remove (void)
{
  char buffer[4096] __attribute__ ((aligned (8)));
  int directory = open (watch.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  long n;

  if (directory < 0)
    return;
  while ((n = syscall (SYS_getdents64, directory, buffer, sizeof buffer)) > 0)
    for (long at = 0; at < n; at += ((Entry *) (buffer + at))->bytes)
      entry_check (directory, (Entry *) (buffer + at));
  close (directory);
}

/* In a forked child: it sleeps, and can be woken by itself. */
static void
child_begin (void)
{
  WatchControl *old = sli_record.control;
  bool was_awake = atomic_load (&watch.number) != 0;

  sli_record.ready = false;
  sli_record.control = &watch.nobody;
  if (old != &watch.nobody)
    munmap (old, WATCH_BYTES);
  sli_spool_drop ();
  *sli_record.own_page = 1;
  sli_record_self.chunk = NULL;
  atomic_store (&watch.number, 0);
  atomic_store (&watch.failed, 0);
  atomic_store (&watch.is_starting, 0);
  if (was_awake && !__libc_single_threaded)
    sli_unwind_single ();
  dead_remove ();
  control_make ();
}

static void
child_start (void)
{
  int saved_errno = errno;

  child_begin ();
  errno = saved_errno;
}

bool
sli_watch_open (const char *directory)
{
  if (directory == NULL || strlen (directory) >= sizeof watch.directory
      || !sli_spool_prepare ())
    return false;
  strcpy (watch.directory, directory);
  sli_record.control = &watch.nobody;
  control_make ();
  if (sli_record.control == &watch.nobody)
    return true; /* it can't be woken, and runs */
  pthread_atfork (NULL, NULL, child_start);
  return true;
}

void
sli_watch_close (void)
{
  if (sli_record.control == &watch.nobody || *sli_record.own_page == 0)
    return;
  if (sli_watch_begin (&sli_record_self))
    {
      atomic_store (&sli_record.head->closed, 1);
      sli_watch_end ();
    }
  unlink (watch.path);
  dead_remove ();
  rmdir (watch.directory); /* unless children have their files there */
}

/* --- a watch begins ------------------------------------------------------ */

/* Nobody can come to be inside: the watch before is not wanted any more. */
static bool
nobody_is_inside (const WatchControl *control)
{
  for (unsigned i = 0; i < LOOKS_MAX; i++)
    {
      if (atomic_load (&control->n_inside) == 0)
        return true;
      sched_yield ();
    }
  return false;
}

static void
spool_start (uint32_t wanted)
{
  WatchControl *control = sli_record.control;

  if (!nobody_is_inside (control))
    return;
  sli_record.ready = false;
  if (!sli_spool_reopen (control->directory))
    {
      atomic_store (&watch.failed, wanted);
      atomic_store (&control->refused, wanted);
      return;
    }
  sli_stack_reset ();
  sli_modules_scan ();
  sli_record.ready = true;
  atomic_store (&watch.number, wanted);
  atomic_store (&control->started, wanted);
}

static __attribute__ ((noinline, cold)) void
watch_start (RecordThread *self, uint32_t wanted)
{
  uint32_t no = 0;
  int saved_errno = errno;

  if (self->busy || wanted == atomic_load (&watch.failed)
      || !atomic_compare_exchange_strong (&watch.is_starting, &no, 1))
    return;
  self->busy = true;
  if (wanted != atomic_load (&watch.number))
    spool_start (wanted);
  self->busy = false;
  atomic_store (&watch.is_starting, 0);
  errno = saved_errno;
}

bool
sli_watch_begin (RecordThread *self)
{
  WatchControl *control = sli_record.control;
  uint32_t wanted = atomic_load (&control->wanted);

  if (wanted == 0)
    return false;
  /* a child that was made without the C library shares its parent's page */
  if (UNLIKELY (*sli_record.own_page == 0))
    {
      child_start ();
      return false;
    }
  if (UNLIKELY (wanted != atomic_load (&watch.number)))
    {
      watch_start (self, wanted);
      if (wanted != atomic_load (&watch.number))
        return false;
    }
  atomic_fetch_add (&control->n_inside, 1);
  if (LIKELY (atomic_load (&control->wanted) == wanted))
    return true;
  atomic_fetch_sub (&control->n_inside, 1);
  return false;
}

void
sli_watch_end (void)
{
  atomic_fetch_sub (&sli_record.control->n_inside, 1);
}

/* --- the watcher --------------------------------------------------------- */

static void
sleep_again (void)
{
  uint32_t number = atomic_load (&watch.number);

  atomic_compare_exchange_strong (&sli_record.control->wanted, &number, 0);
}

bool
sli_watch_has_watcher (void)
{
  int saved_errno = errno;
  long answer;

  if (LIKELY (sli_record.control == NULL))
    return true;
  answer = syscall (SYS_kill, atomic_load (&sli_record.control->watcher), 0);
  if (answer != 0 && errno == ESRCH)
    sleep_again ();
  else
    answer = 0;
  errno = saved_errno;
  return answer == 0;
}

bool
sli_watch_beats (uint32_t *beat)
{
  uint32_t now;

  if (LIKELY (sli_record.control == NULL))
    return true;
  now = atomic_load (&sli_record.control->beat);
  if (now == *beat)
    sleep_again ();
  else
    *beat = now;
  return record_asleep () ? false : true;
}
