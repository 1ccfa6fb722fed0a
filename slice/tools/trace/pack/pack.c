/* pack.c - the packer: from the spools of running processes to trace files
 *
 * Tools.  Runs in the launcher, beside the recorded program: it takes the
 * chunks that are full, writes each as a block, and gives them back.  When a
 * process has ended, however it ended, what its threads still held is packed
 * too; nothing depends on the program's own last words.  A spool loses its name
 * when it is mapped here: if the launcher is killed, its memory goes with the
 * program.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "pack.h"
#include "pack-clock.h"
#include "spool.h"
#include "tools/trace/format/trace-write.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RSS_EVERY_MSEC 10
#define N_RSS_MAX 65536

typedef struct
{
  uint64_t ticks;
  uint64_t kib;
} RssSample;

/* One recorded process. */
typedef struct
{
  char name[64]; /* of the spool: PID.N */
  pid_t pid;
  uint8_t *map;
  uint64_t map_bytes;
  SpoolHead *head;
  TraceWriter *writer;
  uint64_t log_done;   /* bytes */
  uint32_t nodes_done; /* nodes */
  RssSample *rss;
  size_t n_rss;
  uint64_t rss_next_msec, rss_step_msec;
  bool first;
  bool is_named; /* the spool has its name yet */
  bool has_command;
  bool done;
} Process;

struct Packer
{
  char *spools;
  char *output;
  char *command;
  size_t n_command;
  pid_t first_pid;
  int first_status;
  uint64_t plain_nsec;
  bool first_ended;
  Process *processes;
  size_t n_processes;
  TraceEvent *events;
  PackTotals totals;
  bool failed;
};

Packer *
sli_pack_new (const char *spool_directory, const char *output, pid_t first_pid)
{
  Packer *packer = calloc (1, sizeof *packer);
  packer->spools = strdup (spool_directory);
  packer->output = strdup (output);
  packer->first_pid = first_pid;
  packer->events = malloc (TRACE_BLOCK_EVENTS * sizeof (TraceEvent));
  return packer;
}

void
sli_pack_command (Packer *packer, char *const *arguments)
{
  size_t n = 0;
  for (char *const *at = arguments; *at != NULL; at++)
    n += strlen (*at) + 1;
  packer->command = malloc (n + 1);
  packer->n_command = n;
  char *end = packer->command;
  for (char *const *at = arguments; *at != NULL; at++)
    end = stpcpy (end, *at) + 1;
}

static uint64_t
msec_now (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* --- new processes ------------------------------------------------------- */

static bool
process_open (Packer *packer, Process *process)
{
  char path[4096];
  snprintf (path, sizeof path, "%s/%s", packer->spools, process->name);
  int fd = open (path, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return false;
  void *map = mmap (NULL, SPOOL_FILE_BYTES, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, fd, 0);
  close (fd);
  if (map == MAP_FAILED)
    return false;
  process->map = map;
  process->map_bytes = SPOOL_FILE_BYTES;
  process->head = map;
  process->pid = (pid_t)atoi (process->name);
  process->first = process->pid == packer->first_pid
                   && strstr (process->name, ".0") != NULL;
  process->head->packer_pid = (uint32_t)getpid ();
  process->nodes_done = 0;
  process->is_named = true;
  process->rss = malloc (N_RSS_MAX * sizeof (RssSample));
  process->rss_step_msec = RSS_EVERY_MSEC;
  return true;
}

/* An empty file takes the name from the spool, so that a process that becomes
 * another program, and has the same number, takes the next.  Only after the
 * recorder has started, which gives up by that name; never on an old kernel,
 * where the recorder needs it (room_take() in record-spool.c). */
static void
name_take (const Packer *packer, Process *process)
{
  char path[4096], empty[4096];
  if (!process->is_named || process->head->magic != SPOOL_MAGIC)
    return;
  process->is_named = false;
  if (madvise (process->map, 4096, MADV_POPULATE_WRITE) != 0
      && errno == EINVAL)
    return;
  snprintf (path, sizeof path, "%s/%s", packer->spools, process->name);
  snprintf (empty, sizeof empty, "%s/empty", packer->spools);
  int fd = open (empty, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
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
  if (process->writer != NULL)
    return true;
  if (head->magic != SPOOL_MAGIC)
    return false;
  char path[4096];
  if (process->first)
    snprintf (path, sizeof path, "%s", packer->output);
  else
    snprintf (path, sizeof path, "%s.%s", packer->output, process->name);
  TraceFileHead file
      = { .page_bytes = (uint32_t)sysconf (_SC_PAGESIZE),
          .pid = head->pid,
          .ticks_per_sec = sli_pack_ticks_per_sec (head),
          .start_ticks = head->start_ticks,
          .start_unix_nsec = head->start_unix_nsec,
          .flags = head->flags,
          .stack_depth = head->stack_depth,
          .free_depth = head->free_depth,
          .empty_cost = head->flags & TRACE_FLAG_TIMED ? sli_pack_empty_cost () : 0 };
  process->writer = sli_trace_create (path, &file);
  if (process->writer == NULL)
    {
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

static void
processes_find (Packer *packer)
{
  DIR *directory = opendir (packer->spools);
  if (directory == NULL)
    return;
  for (struct dirent *entry; (entry = readdir (directory)) != NULL;)
    {
      if (entry->d_name[0] < '0' || entry->d_name[0] > '9'
          || strstr (entry->d_name, ".new") != NULL
          || strlen (entry->d_name) >= sizeof packer->processes->name)
        continue;
      bool known = false;
      for (size_t i = 0; i < packer->n_processes && !known; i++)
        known = strcmp (packer->processes[i].name, entry->d_name) == 0;
      if (known)
        continue;
      Process process = { 0 };
      strcpy (process.name, entry->d_name);
      if (!process_open (packer, &process))
        continue;
      packer->processes
          = realloc (packer->processes,
                     (packer->n_processes + 1) * sizeof *packer->processes);
      packer->processes[packer->n_processes++] = process;
    }
  closedir (directory);
}

/* --- log, tree, chunks --------------------------------------------------- */

static void
log_pack (Process *process)
{
  const SpoolHead *head = process->head;
  uint64_t end = atomic_load (&head->log_bytes);
  if (end > SPOOL_LOG_BYTES)
    end = SPOOL_LOG_BYTES;
  while (process->log_done + sizeof (LogRecord) <= end)
    {
      LogRecord *record
          = (LogRecord *)(process->map + SPOOL_LOG_OFFSET + process->log_done);
      uint32_t n = atomic_load (&record->bytes);
      if (n < sizeof *record || n > end - process->log_done)
        return;
      const char *bytes = (const char *)(record + 1);
      size_t n_bytes = n - sizeof *record;
      bool command = record->type == TRACE_BLOCK_COMMAND;
      while (command && n_bytes > 1 && bytes[n_bytes - 2] == '\0')
        n_bytes--; /* the record's padding */
      /* the first program's is known in full */
      if (!command || !process->first)
        sli_trace_write_block (process->writer, (TraceBlockType)record->type,
                               0, 1, bytes, n_bytes);
      process->has_command |= command;
      process->log_done += n;
    }
}

/* The nodes that are complete go out as {parent, pc}; when the process is
 * gone, one that was being written goes out as an unknown frame. */
static void
nodes_pack (Process *process, bool ended)
{
  const RawNode *nodes = (const RawNode *)(process->map + SPOOL_NODES_OFFSET);
  uint32_t end = atomic_load (&process->head->n_nodes);
  uint32_t first = process->nodes_done;
  if (end > SPOOL_NODES_MAX)
    end = SPOOL_NODES_MAX;
  if (first >= end)
    return;
  /* columns: the parents' distances, then the pcs' differences */
  uint8_t *raw = malloc ((size_t)(end - first) * 20);
  uint8_t *at = raw;
  uint32_t n = 0;
  uint64_t last = 0;
  for (uint32_t i = first; i < end; i++, n++)
    {
      uint64_t pc = atomic_load (&nodes[i].pc);
      if (pc == 0 && !ended && i >= TRACE_N_FIXED_NODES)
        break;
      uint64_t parts[2]
          = { i - nodes[i].parent,
              (pc - last) << 1 ^ (uint64_t)((int64_t)(pc - last) >> 63) };
      last = pc;
      for (int part = 0; part < 2; part++)
        {
          uint64_t value = parts[part];
          for (; value >= 0x80; value >>= 7)
            *at++ = (uint8_t)(value | 0x80);
          *at++ = (uint8_t)value;
        }
    }
  if (n > 0)
    sli_trace_write_block (process->writer, TRACE_BLOCK_NODES, first, n, raw,
                           (size_t)(at - raw));
  process->nodes_done = first + n;
  free (raw);
}

static size_t
chunk_events (const RawChunk *chunk, TraceEvent *events)
{
  uint32_t n = atomic_load (&chunk->head.n_events);
  size_t n_out = 0;
  uint64_t high = 0;
  uint64_t base = chunk->head.base_ticks;
  if (n > TRACE_BLOCK_EVENTS)
    n = TRACE_BLOCK_EVENTS;
  for (uint32_t i = 0; i < n; i++)
    {
      const RawEvent *raw = &chunk->events[i];
      unsigned op = raw->address_op & 0xff;
      if (op == TRACE_OP_BIG)
        {
          high = (uint64_t)raw->size << 32;
          continue;
        }
      /* a realloc that failed: nothing was freed or allocated */
      if (op == TRACE_OP_REALLOC_KEPT && n_out > 0
          && events[n_out - 1].op == TRACE_OP_REALLOC_FREE
          && events[n_out - 1].address == raw->address_op >> 8)
        {
          n_out--;
          continue;
        }
      events[n_out++] = (TraceEvent){ .ticks = base + raw->ticks,
                                      .address = raw->address_op >> 8,
                                      .size = high | raw->size,
                                      .node = raw->node,
                                      .thread = chunk->head.thread,
                                      .extra = raw->extra,
                                      .op = (uint8_t)op };
      high = 0;
    }
  return n_out;
}

static void
chunk_pack (Packer *packer, Process *process, RawChunk *chunk, unsigned flags)
{
  size_t n = chunk_events (chunk, packer->events);
  unsigned shift = chunk->head.many_threads ? 0 : TRACE_COARSE_SHIFT;
  sli_trace_write_events (process->writer, packer->events, n,
                          chunk->head.sequence, shift, flags);
}

static RawChunk *
chunk_at (const Process *process, uint32_t index)
{
  return (RawChunk *)(process->map + SPOOL_CHUNKS_OFFSET
                      + index * SPOOL_CHUNK_BYTES);
}

static unsigned
chunks_pack (Packer *packer, Process *process, bool ended)
{
  _Atomic uint32_t *states
      = (_Atomic uint32_t *)(process->map + SPOOL_STATES_OFFSET);
  uint32_t n = atomic_load (&process->head->n_chunks);
  unsigned n_packed = 0;
  for (uint32_t i = 0; i < n && i < SPOOL_CHUNKS_MAX; i++)
    {
      uint32_t state = atomic_load (&states[i]);
      if (state != SPOOL_CHUNK_FULL && !(ended && state == SPOOL_CHUNK_OWNED))
        continue;
      /* the modules and frames that its events may name come first */
      log_pack (process);
      nodes_pack (process, ended);
      chunk_pack (packer, process, chunk_at (process, i),
                  state == SPOOL_CHUNK_FULL ? 0 : TRACE_BLOCK_CUT);
      if (state == SPOOL_CHUNK_OWNED)
        atomic_fetch_add (&process->head->n_events,
                          chunk_at (process, i)->head.n_events);
      atomic_store (&states[i], SPOOL_CHUNK_FREE);
      n_packed++;
    }
  return n_packed;
}

/* --- resident memory ----------------------------------------------------- */

static void
rss_halve (Process *process)
{
  for (size_t i = 0; i < process->n_rss / 2; i++)
    process->rss[i] = process->rss[2 * i];
  process->n_rss /= 2;
  process->rss_step_msec *= 2;
}

static void
rss_sample (Process *process)
{
  uint64_t now = msec_now ();
  if (now < process->rss_next_msec)
    return;
  process->rss_next_msec = now + process->rss_step_msec;
  char path[64];
  snprintf (path, sizeof path, "/proc/%d/statm", (int)process->pid);
  FILE *file = fopen (path, "re");
  if (file == NULL)
    return;
  unsigned long total, resident, shared;
  if (fscanf (file, "%lu %lu %lu", &total, &resident, &shared) == 3)
    {
      /* the spool's own pages are shared ones: they are not the program's */
      uint64_t pages = resident > shared ? resident - shared : 0;
      process->rss[process->n_rss++]
          = (RssSample){ ticks_now (),
                         pages * (uint64_t)sysconf (_SC_PAGESIZE) / 1024 };
      if (process->n_rss == N_RSS_MAX)
        rss_halve (process);
    }
  fclose (file);
}

/* --- steps and end ------------------------------------------------------- */

static bool
process_alive (const Packer *packer, const Process *process)
{
  if (process->pid == packer->first_pid)
    return !packer->first_ended;
  if (kill (process->pid, 0) != 0)
    return false;
  char path[64], state = 'X';
  snprintf (path, sizeof path, "/proc/%d/stat", (int)process->pid);
  FILE *file = fopen (path, "re");
  if (file == NULL)
    return false;
  if (fscanf (file, "%*d (%*[^)]) %c", &state) != 1)
    state = 'R';
  fclose (file);
  return state != 'Z' && state != 'X';
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

static void
process_end (Packer *packer, Process *process, bool running)
{
  const SpoolHead *head = process->head;
  if (process->done)
    return;
  process->done = true;
  if (writer_open (packer, process))
    {
      chunks_pack (packer, process, true);
      log_pack (process);
      nodes_pack (process, true);
      if (!process->first && !process->has_command && packer->command != NULL)
        sli_trace_write_block (process->writer, TRACE_BLOCK_COMMAND, 0, 1,
                               packer->command, packer->n_command);
      if (process->n_rss > 0)
        sli_trace_write_block (process->writer, TRACE_BLOCK_RSS, 0,
                               (uint32_t)process->n_rss, process->rss,
                               process->n_rss * sizeof (RssSample));
      bool cut = atomic_load (&head->closed) == 0;
      TraceSummary summary
          = { .n_events = sli_trace_written_events (process->writer),
              .n_dropped_nested = atomic_load (&head->n_dropped_nested),
              .n_dropped_full = atomic_load (&head->n_dropped_full),
              .n_failed = atomic_load (&head->n_failed),
              .n_backing = atomic_load (&head->n_backing),
              .end_ticks = ticks_now (),
              .flags = (cut ? TRACE_SUMMARY_CUT : 0)
                       | (running ? TRACE_SUMMARY_RUNNING : 0)
                       | (head->libgcc_walks ? TRACE_SUMMARY_LIBGCC : 0),
              .exit_status
              = process->first ? (uint64_t)packer->first_status : 0,
              .plain_nsec = process->first ? packer->plain_nsec : 0 };
      sli_trace_write_block (process->writer, TRACE_BLOCK_SUMMARY, 0, 1,
                             &summary, sizeof summary);
      packer->totals.n_events += summary.n_events;
      packer->totals.n_dropped_nested += summary.n_dropped_nested;
      packer->totals.n_dropped_full += summary.n_dropped_full;
      unwinds_add (&packer->totals, head);
      packer->totals.cut |= cut;
      packer->totals.running |= running;
      if (!sli_trace_finish (process->writer))
        {
          fprintf (stderr, "slice-trace: the trace could not be written\n");
          packer->failed = true;
        }
      process->writer = NULL;
    }
  munmap (process->map, process->map_bytes);
  free (process->rss);
  char path[4096];
  snprintf (path, sizeof path, "%s/%s", packer->spools, process->name);
  unlink (path);
  snprintf (path, sizeof path, process->first ? "%s" : "%s.%s", packer->output,
            process->name);
  struct stat status;
  if (stat (path, &status) == 0)
    packer->totals.n_bytes += (uint64_t)status.st_size;
}

unsigned
sli_pack_step (Packer *packer)
{
  unsigned n = 0;
  processes_find (packer);
  for (size_t i = 0; i < packer->n_processes; i++)
    {
      Process *process = &packer->processes[i];
      if (process->done)
        continue;
      bool alive = process_alive (packer, process);
      name_take (packer, process);
      rss_sample (process);
      if (writer_open (packer, process))
        n += chunks_pack (packer, process, false);
      if (!alive && process->pid != packer->first_pid)
        process_end (packer, process, false);
    }
  return n;
}

void
sli_pack_ended (Packer *packer, int status)
{
  packer->first_ended = true;
  packer->first_status = status;
}

void
sli_pack_plain (Packer *packer, uint64_t nsec)
{
  packer->plain_nsec = nsec;
}

bool
sli_pack_running (Packer *packer)
{
  processes_find (packer);
  for (size_t i = 0; i < packer->n_processes; i++)
    if (!packer->processes[i].done
        && process_alive (packer, &packer->processes[i]))
      return true;
  return false;
}

/* What a process could not begin for want of room (record-spool.c). */
static void
spools_without_room (Packer *packer)
{
  DIR *directory = opendir (packer->spools);
  if (directory == NULL)
    return;
  for (struct dirent *entry; (entry = readdir (directory)) != NULL;)
    if (strstr (entry->d_name, ".new") != NULL)
      {
        struct stat status;
        bool empty = fstatat (dirfd (directory), entry->d_name, &status, 0)
                         == 0
                     && status.st_size == 0;
        unlinkat (dirfd (directory), entry->d_name, 0);
        /* a process that ended right then, as under AddressSanitizer */
        if (empty)
          continue;
        if (!packer->failed)
          fprintf (stderr,
                   "slice-trace: %s: no room for the spool "
                   "(SLICE_TRACE_SPOOL_DIR names another place)\n",
                   packer->spools);
        packer->failed = true;
      }
  closedir (directory);
}

bool
sli_pack_finish (Packer *packer)
{
  processes_find (packer);
  spools_without_room (packer);
  for (size_t i = 0; i < packer->n_processes; i++)
    process_end (packer, &packer->processes[i],
                 process_alive (packer, &packer->processes[i]));
  return !packer->failed;
}

void
sli_pack_totals (const Packer *packer, PackTotals *totals)
{
  *totals = packer->totals;
}

void
sli_pack_free (Packer *packer)
{
  free (packer->spools);
  free (packer->output);
  free (packer->command);
  free (packer->processes);
  free (packer->events);
  free (packer);
}
