/* command-watch.c - slice-trace watch: what a running program allocates
 *
 * Tools.  Wakes the recorder of a process that `record --asleep' has started,
 * packs its events as `record' does, and shows each second what lives.  At the
 * end the recorder sleeps again, and there is a trace.
 *
 * Design: section 13.13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "watch-parts.h"
#include "tools/trace/command/command-line.h"
#include "tools/trace/command/commands.h"
#include "tools/trace/command/record/record-parts.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/pack/pack.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define PAUSE_MSEC_MAX 8
#define SHOW_EVERY_SEC 1.0

typedef struct
{
  const char *output;
  uint32_t n_rows;
  double seconds; /* 0: until it is ended */
} WatchOptions;

typedef struct
{
  const WatchOptions *options;
  pid_t pid;
  WatchControl *control;
  uint32_t number;
  Packer *packer;
  WatchLive *live;
  double begin_sec, shown_sec;
  bool is_ended; /* and the process has been put to sleep */
} Watch;

/* --- the keyboard -------------------------------------------------------- */

static struct termios terminal_before;
static bool terminal_is_set;

static void
terminal_reset (void)
{
  if (terminal_is_set)
    tcsetattr (STDIN_FILENO, TCSANOW, &terminal_before);
  terminal_is_set = false;
}

/* A key counts at once, without Enter. */
static void
terminal_set (void)
{
  struct termios terminal;

  if (!isatty (STDIN_FILENO) || tcgetattr (STDIN_FILENO, &terminal_before) != 0)
    return;
  terminal = terminal_before;
  terminal.c_lflag &= ~(tcflag_t) (ICANON | ECHO);
  terminal_is_set = tcsetattr (STDIN_FILENO, TCSANOW, &terminal) == 0;
  atexit (terminal_reset);
}

/* Waits; true if the key q came. */
static bool
pause_or_key (int msec)
{
  struct pollfd input = { .fd = terminal_is_set ? STDIN_FILENO : -1,
                          .events = POLLIN };
  char key;

  return poll (&input, 1, msec) > 0 && read (STDIN_FILENO, &key, 1) == 1
         && (key == 'q' || key == 'Q');
}

/* --- the watch ----------------------------------------------------------- */

static void
show (Watch *watch, bool at_end)
{
  double now = sli_tool_seconds ();
  WatchSums sums;

  sli_live_sums (watch->live, at_end, &sums);
  sli_watch_show (&sums, now - watch->begin_sec, now - watch->shown_sec,
                  at_end ? 0 : sli_watch_resident (watch->pid),
                  watch->options->n_rows);
  sli_live_mark (watch->live);
  watch->shown_sec = now;
}

/* Returns true if the user, the time or the process ends the watch. */
static bool
is_over (const Watch *watch)
{
  double limit = watch->options->seconds;

  return sli_signals_came () != 0 || !sli_tool_process_lives (watch->pid)
         || (limit > 0 && sli_tool_seconds () - watch->begin_sec >= limit);
}

/* Returns true if the process has ended the watch, and says why. */
static bool
is_refused (const Watch *watch)
{
  bool is_asleep = atomic_load (&watch->control->wanted) != watch->number;

  if (atomic_load (&watch->control->refused) == watch->number)
    sli_tool_say ("%d: no space for the spool, or no addresses for it (ulimit "
                  "-f, -v)",
                  (int) watch->pid);
  else if (is_asleep && !watch->is_ended)
    sli_tool_say ("%d: went to sleep, since this command was stopped",
                  (int) watch->pid);
  else
    return is_asleep;
  return true;
}

/* The packer may have many chunks to pack.  So the process learns at each of
 * them that the watcher lives, or that the watch ends. */
static void
chunk_seen (void *data, uint8_t *map, uint32_t chunk)
{
  Watch *watch = data;
  uint32_t number = watch->number;

  atomic_fetch_add (&watch->control->beat, 1);
  if (!watch->is_ended && is_over (watch))
    {
      watch->is_ended = true;
      atomic_compare_exchange_strong (&watch->control->wanted, &number, 0);
    }
  sli_live_read (watch->live, map, chunk);
}

static void
watch_until_end (Watch *watch)
{
  int pause_msec = 1;

  watch->begin_sec = watch->shown_sec = sli_tool_seconds ();
  while (!is_over (watch) && !is_refused (watch))
    {
      atomic_fetch_add (&watch->control->beat, 1);
      if (sli_pack_step (watch->packer) > 0)
        pause_msec = 1;
      else if (pause_msec < PAUSE_MSEC_MAX)
        pause_msec *= 2;
      if (sli_tool_seconds () - watch->shown_sec >= SHOW_EVERY_SEC)
        show (watch, false);
      sli_pack_look (watch->packer);
      sli_live_settle (watch->live);
      if (pause_or_key (pause_msec))
        break;
    }
}

/* Puts the process to sleep and ends its trace; false: it was not written. */
static bool
watch_end (Watch *watch)
{
  bool alive = sli_tool_process_lives (watch->pid);

  if (!alive)
    sli_pack_ended (watch->packer, 0);
  watch->is_ended = true;
  if (sli_watch_sleep (watch->control, watch->number) && alive)
    sli_pack_sleeps (watch->packer);
  sli_pack_step (watch->packer);
  sli_pack_look (watch->packer);
  show (watch, true);
  if (!alive)
    sli_tool_say ("%d: has ended", (int) watch->pid);
  return sli_pack_finish (watch->packer);
}

static int
totals_say (const Watch *watch)
{
  PackTotals totals;

  sli_pack_totals (watch->packer, &totals);
  if (totals.n_events == 0)
    {
      if (sli_file_is_plain (watch->options->output))
        unlink (watch->options->output);
      sli_tool_say ("nothing was recorded: the program allocated and freed "
                    "nothing");
      return TOOL_NO_EVENTS;
    }
  sli_tool_say ("%llu events in %s", (unsigned long long) totals.n_events,
                watch->options->output);
  if (totals.n_dropped_nested > 0)
    sli_tool_say ("%llu calls came while an event was being written (a "
                  "signal handler's): counted, not recorded",
                  (unsigned long long) totals.n_dropped_nested);
  if (totals.n_dropped_full > 0)
    sli_tool_say ("%llu events were dropped for lack of space",
                  (unsigned long long) totals.n_dropped_full);
  return TOOL_OK;
}

static int
watch_run (pid_t pid, const WatchOptions *options)
{
  Watch watch = { .options = options, .pid = pid };
  char *spool;
  int code;

  watch.control = sli_watch_find (pid);
  signal (SIGTSTP, SIG_IGN); /* a watcher that stops would hold the program */
  sli_signals_begin ();
  sli_signals_note ();
  spool = sli_spool_make ();
  watch.packer = sli_pack_new (spool, options->output, pid);
  sli_pack_command (watch.packer, sli_watch_command (pid));
  watch.live = sli_live_new ();
  sli_pack_watch (watch.packer, chunk_seen, &watch);
  terminal_set ();
  watch.number = sli_watch_wake (watch.control, spool);
  watch_until_end (&watch);
  terminal_reset ();
  code = watch_end (&watch) ? totals_say (&watch) : TOOL_FAILED;
  sli_spool_remove (spool);
  sli_live_free (watch.live);
  sli_pack_free (watch.packer);
  free (spool);
  return code;
}

int
sli_command_watch (int argc, char **argv)
{
  WatchOptions watch = { .output = "slice-trace.trace", .n_rows = 15 };
  const ToolOption options[]
      = { OPTION (OUTPUT, NULL, 'o', &watch.output, "FILE",
                  "The trace (slice-trace.trace)"),
          { OPTION_COUNT, NULL, 'n', &watch.n_rows, "N", "Places (15)", 1,
            UINT32_MAX },
          { OPTION_REAL, "for", 0, &watch.seconds, "SECONDS",
            "End the watch after that time", 0, INFINITY },
          { 0 } };
  const CommandLine line
      = { .words = "PID",
          .help = "Watches a program that record --asleep has started.",
          .options = options,
          .least = 1,
          .most = 1 };
  char *end;
  long pid;

  sli_command_line (&line, &argc, &argv);
  pid = strtol (argv[0], &end, 10);
  if (*end != '\0' || end == argv[0] || pid <= 0 || pid > INT_MAX)
    sli_tool_exit (TOOL_USAGE, "'%s' is no number of a process", argv[0]);
  if (strcmp (watch.output, "-") == 0)
    sli_tool_exit (TOOL_USAGE, "-o -: a trace goes to a file");
  sli_file_check (watch.output);
  return watch_run ((pid_t) pid, &watch);
}
