/* command-record.c - slice-trace record: run a program under the recorder
 *
 * Tools.  Starts the program with the recorder preloaded and packs its events
 * until it ends.  The program's exit status is ours.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "tools/trace/command/command-line.h"
#include "tools/trace/command/commands.h"
#include "record-parts.h"
#include "tools/trace/pack/pack.h"
#include "tools/trace/pack/spool.h"
#include "tools/trace/common/paths.h"
#include "tools/trace/common/tool.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RECORDER_NAME "slice-trace-record.so"
#define PAUSE_MSEC_MAX 8
#define PAUSE_MSEC_MAX_SAMPLED 64 /* few events come */
#define DEPTH_MAX 256
#define SAMPLE_BYTES_MAX (1u << 30)
#define REFUSED                                                               \
 "a process may open no more files or map no more memory (ulimit -n, -v)"

typedef struct
{
  const char *output;
  const char *recorder_options;
  uint32_t sample_bytes; /* 0: everything is recorded */
  bool quiet, silent, follow, plain, waits, asleep;
} RecordOptions;

/* Finds the recorder beside the program (an uninstalled build), or in the
 * installation. */
static char *
recorder_find (void)
{
  static const char *const folders[] = { "", "/.libs", "/..", NULL };
  const char *asked = getenv ("SLICE_TRACE_RECORDER");
  char *found;

  if (asked != NULL)
    return sli_tool_text ("%s", asked);
  found = sli_path_beside (folders, RECORDER_NAME);
  return found != NULL
             ? found
             : sli_path_installed (SLICE_TRACE_LIBDIR, RECORDER_NAME);
}

/* Becomes the program; or returns the exit code, and has said why. */
static int
program_become (char **argv, const char *spool, const char *recorder,
                const RecordOptions *options)
{
  const char *preload = getenv ("LD_PRELOAD");
  char *ours = preload != NULL && preload[0] != '\0'
                   ? sli_tool_text ("%s:%s", recorder, preload)
                   : sli_tool_text ("%s", recorder);
  int error;

  signal (SIGXFSZ, SIG_DFL);
  setenv ("LD_PRELOAD", ours, 1);
  setenv (SPOOL_ENV, spool, 1);
  setenv (SPOOL_ENV_OPTIONS, options->recorder_options, 1);
  /* no variable is needed for libunwind's validation of addresses */
  execvp (argv[0], argv);
  error = errno;
  fprintf (stderr, "slice-trace: %s: %s\n", argv[0], strerror (error));
  return error == ENOENT ? TOOL_NOT_FOUND : TOOL_NOT_RUN;
}

static void
child_run (char **argv, const char *spool, const char *recorder,
           const RecordOptions *options, int failed)
{
  int code = program_become (argv, spool, recorder, options);

  if (write (failed, "", 1) != 1)
    _exit (TOOL_FAILED);
  _exit (code);
}

static void
pack_or_pause (Packer *packer, long *pause_msec, const RecordOptions *options)
{
  long most
      = options->sample_bytes > 0 ? PAUSE_MSEC_MAX_SAMPLED : PAUSE_MSEC_MAX;
  struct timespec pause;

  if (sli_pack_step (packer) > 0)
    *pause_msec = 1;
  else if (*pause_msec < most)
    *pause_msec *= 2;
  pause = (struct timespec){ 0, *pause_msec * 1000000 };
  nanosleep (&pause, NULL);
}

static void
child_note (int number)
{
  (void) number;
}

/* Makes the end of a child end a pause. */
static void
children_wake (void)
{
  const struct sigaction action = { .sa_handler = child_note };

  sigaction (SIGCHLD, &action, NULL);
}

/* Packs until the program has ended. */
static int
pack_until_end (Packer *packer, pid_t pid, const RecordOptions *options)
{
  long pause_msec = 1;

  children_wake ();
  for (;;)
    {
      int status;
      pid_t ended = waitpid (pid, &status, WNOHANG);

      if (ended == pid)
        {
          sli_pack_ended (packer, status);
          return status;
        }
      if (ended < 0 && errno != EINTR)
        sli_tool_exit (TOOL_FAILED, "wait: %s", strerror (errno));
      pack_or_pause (packer, &pause_msec, options);
    }
}

/* Packs until all that the program has left behind has ended, or a signal
 * comes.  What has lost its parent is our child (children_adopt()). */
static void
pack_until_all_end (Packer *packer, const RecordOptions *options)
{
  long pause_msec = 1;
  pid_t ended;

  sli_signals_note ();
  while (!sli_signals_came ()
         && ((ended = waitpid (-1, NULL, WNOHANG)) >= 0 || errno == EINTR))
    if (ended <= 0)
      pack_or_pause (packer, &pause_msec, options);
}

/* Processes whose parents end become our children, not init's. */
static void
children_adopt (void)
{
  prctl (PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
}

/* Says that processes are not in any trace, and why. */
static void
unrecorded_say (unsigned n, const char *why)
{
  if (n > 0)
    sli_tool_say ("%u process%s not recorded: %s", n,
                  n == 1 ? " was" : "es were", why);
}

static void
events_say (const PackTotals *totals, const RecordOptions *options)
{
  const char *output = options->output;
  const char *where = access (output, F_OK) != 0 ? ".PID.N of its children"
                      : totals->n_traces > 1     ? " and its children's"
                                                 : "";

  sli_tool_say ("%llu events%s, %.2f bytes each, in %s%s",
                (unsigned long long) totals->n_events,
                options->sample_bytes > 0 ? " of sampled blocks" : "",
                totals->n_events == 0
                    ? 0.0
                    : (double) totals->n_bytes / (double) totals->n_events,
                output, where);
  if (totals->n_unwind_checked > 0)
    sli_tool_say ("%llu stacks were walked twice, %llu differ",
                  (unsigned long long) totals->n_unwind_checked,
                  (unsigned long long) totals->n_unwind_differs);
  if (totals->n_unwind_differs > 0)
    sli_tool_say ("the first at frame %llu: %#llx, and %#llx",
                  (unsigned long long) totals->unwind_position,
                  (unsigned long long) totals->unwind_pcs[0],
                  (unsigned long long) totals->unwind_pcs[1]);
}

/* Says what the traces lack. */
static void
gaps_say (const PackTotals *totals, const RecordOptions *options)
{
  if (totals->n_dropped_nested > 0)
    sli_tool_say ("%llu calls came while an event was being written (a "
                  "signal handler's): counted, not recorded",
                  (unsigned long long) totals->n_dropped_nested);
  if (totals->n_dropped_full > 0)
    sli_tool_say ("%llu events were dropped for lack of space",
                  (unsigned long long) totals->n_dropped_full);
  unrecorded_say (
      totals->n_unrecorded,
      "no space for the spool (SLICE_TRACE_SPOOL_DIR names another "
      "place)");
  unrecorded_say (totals->n_refused, REFUSED);
  unrecorded_say (totals->n_unsampled, "no block of it was sampled");
  if (totals->cut)
    sli_tool_say ("cut: a process ended without its exit handlers, or became "
                  "another program%s",
                  options->follow ? "" : " (--follow records that one)");
  if (totals->running)
    sli_tool_say ("a child still runs; its trace ends here%s",
                  options->waits ? "" : " (--wait waits for it)");
}

static int
exit_code (int status, const PackTotals *totals)
{
  int code
      = WIFSIGNALED (status) ? 128 + WTERMSIG (status) : WEXITSTATUS (status);

  /* a program that did not start was reported already */
  if (totals->n_events > 0 || code == TOOL_NOT_FOUND || code == TOOL_NOT_RUN)
    return code;
  if (totals->n_refused == 0 && totals->n_unsampled > 0)
    sli_tool_say ("nothing was recorded: no block was sampled; a smaller "
                  "--sample takes more");
  else if (totals->n_refused > 0)
    sli_tool_say ("nothing was recorded: " REFUSED);
  else
    sli_tool_say ("nothing was recorded: the program is static, setuid, built "
                  "with AddressSanitizer, brings its own allocator, "
                  "allocates nothing, or goes on in a child (--wait)");
  return code == 0 ? TOOL_NO_EVENTS : code;
}

static void
output_remove (const char *path)
{
  if (sli_file_is_plain (path))
    unlink (path);
}

/* Checks the unwinder before the program runs, as far as possible. */
static void
unwinder_check (bool compared)
{
  void *libunwind = dlopen (LIBUNWIND_NAME, RTLD_LAZY | RTLD_LOCAL);

  if (libunwind != NULL)
    dlclose (libunwind);
  else
    sli_tool_say (LIBUNWIND_NAME " is not found: libgcc walks the stacks, "
                                 "which takes longer%s",
                  compared ? "; there is nothing to compare it with" : "");
}

/* Waits until a child has become the program.  False: it has not, and has
 * said why.  `failed' is the pipe that ends with its exec. */
static bool
child_has_started (int failed)
{
  char byte;
  ssize_t n;

  while ((n = read (failed, &byte, 1)) < 0 && errno == EINTR)
    ;
  close (failed);
  return n <= 0;
}

/* Ends with a message, before the program runs, if the output can't be
 * written.  An older file stays as it is, in case the program can't run. */
static void
output_check (const char *path)
{
  bool is_old;
  FILE *file;

  if (strcmp (path, "-") == 0)
    sli_tool_exit (TOOL_USAGE_RUN, "-o -: standard output is the program's; a "
                                   "trace goes to a file");
  is_old = access (path, F_OK) == 0;
  file = fopen (path, "abe");
  if (file == NULL)
    sli_tool_exit (TOOL_FAILED, "%s: %s", path, strerror (errno));
  fclose (file);
  if (!is_old)
    output_remove (path);
}

/* The spool is a sparse file, mapped whole in the program and here.  If a
 * limit does not allow its size, a signal would end the program. */
static void
limit_check (int resource, const char *option)
{
  struct rlimit limit;

  if (getrlimit (resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
      && limit.rlim_cur < SPOOL_FILE_BYTES)
    sli_tool_exit (TOOL_FAILED,
                   "ulimit %s is %llu KiB: the spool takes %llu KiB of "
                   "addresses, few of them of memory; give no such limit",
                   option, (unsigned long long) limit.rlim_cur / 1024,
                   (unsigned long long) SPOOL_FILE_BYTES / 1024);
}

/* Returns the process that is the program now; 0: it could not be run, and
 * *status is how the child ended. */
static pid_t
child_start (char **argv, char *spool, const char *recorder,
             const RecordOptions *options, int *status)
{
  int failed[2];
  bool has_pipe = pipe2 (failed, O_CLOEXEC) == 0;
  pid_t pid = has_pipe ? fork () : -1;

  if (pid < 0)
    {
      int error = errno;

      sli_spool_remove (spool);
      if (error == EMFILE)
        sli_tool_exit (TOOL_FAILED,
                       "slice-trace may open no more files (ulimit -n)");
      sli_tool_exit (TOOL_FAILED, "%s: %s", has_pipe ? "fork" : "pipe",
                     strerror (error));
    }
  if (pid == 0)
    {
      sli_signals_end ();
      child_run (argv, spool, recorder, options, failed[1]);
    }
  sli_signals_child (pid);
  close (failed[1]);
  if (child_has_started (failed[0]))
    return pid;
  while (waitpid (pid, status, 0) < 0 && errno == EINTR)
    ;
  return 0;
}

static int
record_run (char **argv, const RecordOptions *options)
{
  char *recorder = recorder_find ();
  struct stat input;
  off_t offset;
  char *spool;
  int status;
  pid_t pid;
  Packer *packer;
  bool good;
  PackTotals totals;

  sli_path_preload_check (recorder);
  output_check (options->output);
  limit_check (RLIMIT_FSIZE, "-f");
  limit_check (RLIMIT_AS, "-v");
  offset = fstat (STDIN_FILENO, &input) == 0 && S_ISREG (input.st_mode)
               ? lseek (STDIN_FILENO, 0, SEEK_CUR)
               : -1;
  sli_signals_begin (); /* no spool is left behind */
  spool = sli_spool_make ();
  if (options->waits)
    children_adopt ();
  pid = child_start (argv, spool, recorder, options, &status);
  if (pid == 0)
    {
      sli_spool_remove (spool);
      free (spool);
      free (recorder);
      return exit_code (status, &(PackTotals){ 0 });
    }
  output_remove (options->output);
  packer = sli_pack_new (spool, options->output, pid);
  sli_pack_command (packer, argv);
  status = pack_until_end (packer, pid, options);
  if (options->waits)
    pack_until_all_end (packer, options);
  if (options->plain && WIFEXITED (status))
    sli_pack_plain (packer, sli_plain_run (argv, status, offset));
  good = sli_pack_finish (packer);
  sli_spool_remove (spool);
  sli_pack_totals (packer, &totals);
  sli_pack_free (packer);
  free (spool);
  free (recorder);
  if (!good)
    return TOOL_FAILED;
  if (totals.n_events == 0)
    output_remove (options->output);
  else
    {
      if (!options->quiet && !options->silent)
        events_say (&totals, options);
      if (!options->silent)
        gaps_say (&totals, options);
    }
  return exit_code (status, &totals);
}

/* No process stays beside the program, so the shell, or whoever starts it, has
 * the program's own number, which `watch' takes. */
static int
asleep_run (char **argv, const RecordOptions *options)
{
  char *recorder = recorder_find ();
  char *directory;
  int code;

  sli_path_preload_check (recorder);
  limit_check (RLIMIT_FSIZE, "-f");
  limit_check (RLIMIT_AS, "-v");
  directory = sli_asleep_make ();
  code = program_become (argv, directory, recorder, options);
  rmdir (directory);
  free (directory);
  free (recorder);
  return code;
}

/* Ends the command if some options exclude each other. */
static void
options_check (const RecordOptions *options, bool timed, uint32_t seed)
{
  bool samples = options->sample_bytes > 0;

  if (options->asleep
      && (samples || timed || options->waits || options->output != NULL))
    sli_tool_exit (TOOL_USAGE_RUN,
                   "--asleep records nothing, but slice-trace watch does: no "
                   "--sample, --timed, --wait or -o");

  if (samples && timed)
    sli_tool_exit (TOOL_USAGE_RUN, "--sample and --timed: calls that are not "
                                   "recorded are not measured");
  if (samples && options->plain)
    sli_tool_exit (TOOL_USAGE_RUN, "--sample and --plain: no call is "
                                   "measured");
  if (options->plain && !timed)
    sli_tool_exit (TOOL_USAGE_RUN, "--plain is of --timed: no call is "
                                   "measured");
  if (seed > 0 && !samples)
    sli_tool_exit (TOOL_USAGE_RUN, "--seed is of --sample");
}

int
sli_command_record (int argc, char **argv)
{
  RecordOptions record = { 0 };
  uint32_t depth = 128, free_depth = 4, seed = 0;
  bool timed = false, check = false;
  const ToolOption options[] = {
    OPTION (OUTPUT, NULL, 'o', &record.output, "FILE",
            "The trace (slice-trace.trace)"),
    { OPTION_COUNT, "depth", 0, &depth, "N",
      "Frames of an allocation's stack (128); 0: no stacks", 0, DEPTH_MAX },
    { OPTION_COUNT, "free-depth", 0, &free_depth, "N",
      "Frames of a free's stack (4)", 0, DEPTH_MAX },
    { OPTION_SIZE, "sample", 0, &record.sample_bytes, "SIZE",
      "Record only some blocks: one in SIZE allocated bytes, such as 512K", 1,
      SAMPLE_BYTES_MAX },
    { OPTION_COUNT, "seed", 0, &seed, "N",
      "The seed of --sample; by default each run has another", 1, UINT32_MAX },
    OPTION (FLAG, "timed", 0, &timed, NULL, "Measure each real call"),
    OPTION (FLAG, "plain", 0, &record.plain, NULL,
            "Run the program once more, unrecorded, to measure its CPU time"),
    OPTION (FLAG, "check-unwind", 0, &check, NULL,
            "Walk each stack twice and compare; slow"),
    OPTION (FLAG, "follow", 0, &record.follow, NULL,
            "Record the programs that the program runs, too"),
    OPTION (FLAG, "wait", 0, &record.waits, NULL,
            "Go on until all children have ended; a signal ends the wait"),
    OPTION (FLAG, "asleep", 0, &record.asleep, NULL,
            "Record nothing until slice-trace watch wakes the recorder"),
    OPTION (FLAG, NULL, 'q', &record.quiet, NULL,
            "Say at the end only what was not recorded"),
    OPTION (FLAG, "silent", 0, &record.silent, NULL,
            "Say nothing, unless nothing was recorded"),
    { 0 }
  };
  const CommandLine line
      = { .words = "PROGRAM [ARGUMENT...]",
          .help = "Runs a program and records its allocations and frees.",
          .options = options,
          .runs = true };

  sli_command_line (&line, &argc, &argv);
  options_check (&record, timed, seed);
  if (record.output == NULL)
    record.output = "slice-trace.trace";
  if (depth > 0 || free_depth > 0)
    unwinder_check (check);
  record.recorder_options = sli_tool_text (
      "depth=%u,free=%u,sample=%u,seed=%u%s%s%s%s", (unsigned) depth,
      (unsigned) free_depth, (unsigned) record.sample_bytes, (unsigned) seed,
      timed ? ",timed" : "", record.follow ? ",follow" : "",
      check ? ",check-unwind" : "", record.asleep ? ",asleep" : "");
  return record.asleep ? asleep_run (argv, &record)
                       : record_run (argv, &record);
}
