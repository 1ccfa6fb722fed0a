/* pack-process.c - one recorded process: from its spool to its trace
 *
 * Tools.  A spool loses its name when it is mapped here, so that the system
 * frees its memory when the program ends, even if the launcher is killed.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "pack-clock.h"
#include "pack-parts.h"
#include "tools/trace/common/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096

static void
spool_path (const Packer *packer, const Process *process,
            char path[PATH_BYTES])
{
  snprintf (path, PATH_BYTES, "%s/%s", packer->spools, process->name);
}

static void
trace_path (const Packer *packer, const Process *process,
            char path[PATH_BYTES])
{
  if (process->first)
    snprintf (path, PATH_BYTES, "%s", packer->output);
  else
    snprintf (path, PATH_BYTES, "%s.%s", packer->output, process->name);
}

/* --- begin --------------------------------------------------------------- */

bool
sli_process_open (const Packer *packer, Process *process)
{
  char path[PATH_BYTES];
  int fd;
  void *map;

  spool_path (packer, process, path);
  fd = open (path, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return false;
  map = mmap (NULL, SPOOL_FILE_BYTES, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_NORESERVE, fd, 0);
  close (fd);
  if (map == MAP_FAILED)
    return false;
  process->map = map;
  process->map_bytes = SPOOL_FILE_BYTES;
  process->head = map;
  process->pid = (pid_t) atoi (process->name);
  process->first = process->pid == packer->first_pid
                   && strstr (process->name, ".0") != NULL;
  process->head->packer_pid = (uint32_t) getpid ();
  process->nodes_done = 0;
  process->is_named = true;
  process->rss = sli_tool_alloc (N_RSS_MAX * sizeof (RssSample));
  process->rss_step_msec = RSS_EVERY_MSEC;
  return true;
}

/* Replaces the spool's name by an empty file, so that a process that becomes
 * another program, with the same number, takes the next name.  Only after the
 * recorder has started, since it needs the name to give up; never on an old
 * kernel, where the recorder needs it (sli_spool_reserve() in
 * record-reserve.c). */
static void
spool_unname (const Packer *packer, Process *process)
{
  char path[PATH_BYTES], empty[PATH_BYTES];
  int fd;

  if (!process->is_named || process->head->magic != SPOOL_MAGIC)
    return;
  process->is_named = false;
  if (madvise (process->map, 4096, MADV_POPULATE_WRITE) != 0
      && errno == EINVAL)
    return;
  spool_path (packer, process, path);
  snprintf (empty, sizeof empty, "%s/empty", packer->spools);
  fd = open (empty, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0)
    return;
  close (fd);
  if (rename (empty, path) != 0)
    unlink (empty);
}

static bool
writer_open (Packer *packer, Process *process)
{
  const SpoolHead *head = process->head;
  char path[PATH_BYTES];
  TraceFileHead file;

  if (process->writer != NULL)
    return true;
  if (head->magic != SPOOL_MAGIC)
    return false;
  trace_path (packer, process, path);
  file = (TraceFileHead){ .page_bytes = (uint32_t) sysconf (_SC_PAGESIZE),
                          .pid = head->pid,
                          .ticks_per_sec = sli_pack_ticks_per_sec (head),
                          .start_ticks = head->start_ticks,
                          .start_unix_nsec = head->start_unix_nsec,
                          .flags = head->flags,
                          .stack_depth = head->stack_depth,
                          .free_depth = head->free_depth,
                          .sample_bytes = head->sample_bytes };
  if (head->flags & TRACE_FLAG_TIMED)
    file.empty_cost = sli_pack_empty_cost ();
  process->writer = sli_trace_create (path, &file);
  if (process->writer == NULL)
    {
      /* It is tried again at each step. */
      if (!packer->failed)
        fprintf (stderr, "slice-trace: %s: %s\n", path, strerror (errno));
      packer->failed = true;
      return false;
    }
  if (packer->command != NULL && process->first)
    sli_trace_write_block (process->writer, TRACE_BLOCK_COMMAND, 0, 1,
                           packer->command, packer->n_command);
  packer->totals.n_traces++;
  return true;
}

/* --- end ----------------------------------------------------------------- */

bool
sli_process_alive (const Packer *packer, const Process *process)
{
  if (process->pid == packer->first_pid)
    return !packer->first_ended;
  return kill (process->pid, 0) == 0 && sli_tool_process_lives (process->pid);
}

static void
unwinds_add (PackTotals *totals, const SpoolHead *head)
{
  if (totals->n_unwind_differs == 0)
    {
      totals->unwind_position = head->unwind_position;
      totals->unwind_pcs[0] = head->unwind_pcs[0];
      totals->unwind_pcs[1] = head->unwind_pcs[1];
    }
  totals->n_unwind_checked += atomic_load (&head->n_unwind_checked);
  totals->n_unwind_differs += atomic_load (&head->n_unwind_differs);
}

static TraceSummary
summary_of (const Packer *packer, const Process *process, bool running)
{
  const SpoolHead *head = process->head;
  bool cut = atomic_load (&head->closed) == 0;

  return (TraceSummary){
    .n_events = sli_trace_written_events (process->writer),
    .n_dropped_nested = atomic_load (&head->n_dropped_nested),
    .n_dropped_full = atomic_load (&head->n_dropped_full),
    .n_failed = atomic_load (&head->n_failed),
    .n_backing = atomic_load (&head->n_backing),
    .end_ticks = ticks_now (),
    .flags = (cut ? TRACE_SUMMARY_CUT : 0)
             | (running ? TRACE_SUMMARY_RUNNING : 0)
             | (head->libgcc_walks ? TRACE_SUMMARY_LIBGCC : 0),
    .exit_status = process->first ? (uint64_t) packer->first_status : 0,
    .plain_nsec = process->first ? packer->plain_nsec : 0
  };
}

static void
totals_add (PackTotals *totals, const TraceSummary *summary,
            const SpoolHead *head)
{
  totals->n_events += summary->n_events;
  totals->n_dropped_nested += summary->n_dropped_nested;
  totals->n_dropped_full += summary->n_dropped_full;
  totals->cut |= (summary->flags & TRACE_SUMMARY_CUT) != 0;
  totals->running |= (summary->flags & TRACE_SUMMARY_RUNNING) != 0;
  unwinds_add (totals, head);
}

/* Packs the rest of the spool, and what is known only at the end.  Returns
 * true if the trace has events. */
static bool
trace_end (Packer *packer, Process *process, bool running)
{
  TraceSummary summary;

  sli_chunks_pack (packer, process, true);
  sli_log_pack (process);
  sli_nodes_pack (process, true);
  if (!process->first && !process->has_command && packer->command != NULL)
    sli_trace_write_block (process->writer, TRACE_BLOCK_COMMAND, 0, 1,
                           packer->command, packer->n_command);
  if (process->n_rss > 0)
    sli_trace_write_block (process->writer, TRACE_BLOCK_RSS, 0,
                           (uint32_t) process->n_rss, process->rss,
                           process->n_rss * sizeof (RssSample));
  summary = summary_of (packer, process, running);
  sli_trace_write_block (process->writer, TRACE_BLOCK_SUMMARY, 0, 1, &summary,
                         sizeof summary);
  totals_add (&packer->totals, &summary, process->head);
  if (!sli_trace_finish (process->writer))
    {
      fprintf (stderr, "slice-trace: the trace could not be written: %s\n",
               strerror (errno));
      packer->failed = true;
    }
  process->writer = NULL;
  return summary.n_events > 0;
}

/* Removes the trace of a process that had no sample. */
static void
unsampled_remove (Packer *packer, const Process *process)
{
  char path[PATH_BYTES];

  trace_path (packer, process, path);
  if (sli_file_is_plain (path))
    unlink (path);
  packer->totals.n_traces--;
  packer->totals.n_unsampled++;
}

void
sli_process_end (Packer *packer, Process *process, bool running)
{
  char path[PATH_BYTES];
  struct stat status;

  if (process->done)
    return;
  process->done = true;
  if (writer_open (packer, process) && !trace_end (packer, process, running)
      && process->head->sample_bytes > 0)
    unsampled_remove (packer, process);
  /* the mapping of a process that sleeps takes no memory any more */
  if (packer->sleeps && process->first)
    madvise (process->map, process->map_bytes, MADV_REMOVE);
  munmap (process->map, process->map_bytes);
  free (process->rss);
  spool_path (packer, process, path);
  unlink (path);
  trace_path (packer, process, path);
  if (stat (path, &status) == 0)
    packer->totals.n_bytes += (uint64_t) status.st_size;
}

unsigned
sli_process_step (Packer *packer, Process *process)
{
  bool alive = sli_process_alive (packer, process);
  unsigned n = 0;

  spool_unname (packer, process);
  sli_rss_sample (process);
  if (writer_open (packer, process))
    n = sli_chunks_pack (packer, process, false);
  if (!alive && process->pid != packer->first_pid)
    sli_process_end (packer, process, false);
  return n;
}
