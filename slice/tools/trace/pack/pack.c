/* pack.c - the packer: from the spools of running processes to trace files
 *
 * Tools.  Runs in the launcher, beside the recorded program.  It takes the
 * chunks that are full, writes each as a block, and gives them back.  When a
 * process has ended, in whatever way, it also packs the chunks of the
 * process's threads, so nothing depends on the program's exit handlers.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "pack-parts.h"
#include "tools/trace/common/tool.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Packer *
sli_pack_new (const char *spool_directory, const char *output, pid_t first_pid)
{
  Packer *packer = sli_tool_zero (sizeof *packer);

  packer->spools = sli_tool_text ("%s", spool_directory);
  packer->output = sli_tool_text ("%s", output);
  packer->first_pid = first_pid;
  packer->events = sli_tool_alloc (TRACE_BLOCK_EVENTS * sizeof (TraceEvent));
  return packer;
}

void
sli_pack_command (Packer *packer, char *const *arguments)
{
  size_t n = 0;
  char *end;

  for (char *const *at = arguments; *at != NULL; at++)
    n += strlen (*at) + 1;
  packer->command = sli_tool_alloc (n + 1);
  packer->n_command = n;
  end = packer->command;
  for (char *const *at = arguments; *at != NULL; at++)
    end = stpcpy (end, *at) + 1;
}

static bool
is_known (const Packer *packer, const char *name)
{
  for (size_t i = 0; i < packer->n_processes; i++)
    if (strcmp (packer->processes[i].name, name) == 0)
      return true;
  return false;
}

/* Returns true for the name of a spool, which starts with the process's
 * number; a spool whose name ends in .new was not initialised. */
static bool
is_spool (const char *name)
{
  return name[0] >= '0' && name[0] <= '9' && strstr (name, ".new") == NULL
         && strlen (name) < sizeof ((Process *) NULL)->name;
}

static void
processes_find (Packer *packer)
{
  DIR *directory = opendir (packer->spools);

  packer->refused = directory == NULL ? errno : 0;
  packer->n_unopened = 0;
  if (directory == NULL)
    return;
  for (struct dirent *entry; (entry = readdir (directory)) != NULL;)
    {
      Process process = { 0 };

      if (!is_spool (entry->d_name) || is_known (packer, entry->d_name))
        continue;
      strcpy (process.name, entry->d_name);
      if (!sli_process_open (packer, &process))
        {
          if (errno != ENOENT)
            {
              packer->refused = errno;
              packer->n_unopened++;
            }
          continue;
        }
      packer->processes
          = sli_tool_grow (packer->processes, (packer->n_processes + 1)
                                                  * sizeof *packer->processes);
      packer->processes[packer->n_processes++] = process;
    }
  closedir (directory);
}

unsigned
sli_pack_step (Packer *packer)
{
  unsigned n = 0;

  processes_find (packer);
  for (size_t i = 0; i < packer->n_processes; i++)
    if (!packer->processes[i].done)
      n += sli_process_step (packer, &packer->processes[i]);
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

void
sli_pack_watch (Packer *packer, PackSeen *seen, void *data)
{
  packer->seen = seen;
  packer->seen_data = data;
}

void
sli_pack_look (Packer *packer)
{
  for (size_t i = 0; i < packer->n_processes; i++)
    if (packer->processes[i].first && !packer->processes[i].done
        && packer->processes[i].head->magic == SPOOL_MAGIC)
      sli_chunks_look (packer, &packer->processes[i]);
}

void
sli_pack_sleeps (Packer *packer)
{
  packer->sleeps = true;
  for (size_t i = 0; i < packer->n_processes; i++)
    if (packer->processes[i].first && !packer->processes[i].done)
      atomic_store (&packer->processes[i].head->closed, 1);
}

bool
sli_pack_running (Packer *packer)
{
  processes_find (packer);
  for (size_t i = 0; i < packer->n_processes; i++)
    if (!packer->processes[i].done
        && sli_process_alive (packer, &packer->processes[i]))
      return true;
  return false;
}

/* Counts a process that had no space for its spool.  It leaves its file as it
 * was created (file_create_as() in record-spool.c); a link, if it could not
 * open or map one.  An empty file is of a process that ended at that moment,
 * as under AddressSanitizer. */
static void
uninitialised_count (Packer *packer, int place, const char *name)
{
  struct stat status = { 0 };
  bool is_there = fstatat (place, name, &status, AT_SYMLINK_NOFOLLOW) == 0;

  unlinkat (place, name, 0);
  if (is_there && S_ISLNK (status.st_mode))
    {
      packer->totals.n_refused++;
      return;
    }
  if (is_there && status.st_size == 0)
    return;
  packer->totals.n_unrecorded++;
  if (atoi (name) != packer->first_pid || packer->failed)
    return;
  fprintf (stderr,
           "slice-trace: %s: no space for the spool (SLICE_TRACE_SPOOL_DIR "
           "names another place)\n",
           packer->spools);
  packer->failed = true;
}

static void
spools_without_space (Packer *packer)
{
  DIR *directory = opendir (packer->spools);

  if (directory == NULL)
    return;
  for (struct dirent *entry; (entry = readdir (directory)) != NULL;)
    if (strstr (entry->d_name, ".new") != NULL)
      uninitialised_count (packer, dirfd (directory), entry->d_name);
  closedir (directory);
}

/* Ends the traces.  Each has a file open, so that spools may be left which can
 * only be opened afterwards. */
static void
processes_end (Packer *packer)
{
  size_t n_ended;

  do
    {
      n_ended = packer->n_processes;
      for (size_t i = 0; i < packer->n_processes; i++)
        sli_process_end (packer, &packer->processes[i],
                         sli_process_alive (packer, &packer->processes[i]));
      processes_find (packer);
    }
  while (packer->n_processes > n_ended);
}

/* Says why nothing was found, or counts what could not be opened. */
static void
refusal_say (Packer *packer)
{
  packer->totals.n_refused += packer->n_unopened;
  if (packer->refused == 0 || packer->n_processes > 0 || packer->failed)
    return;
  fprintf (stderr, "slice-trace: %s: %s\n", packer->spools,
           packer->refused == EMFILE
               ? "slice-trace may open no more files (ulimit -n)"
               : strerror (packer->refused));
  packer->failed = true;
}

bool
sli_pack_finish (Packer *packer)
{
  processes_find (packer);
  spools_without_space (packer);
  processes_end (packer);
  refusal_say (packer);
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
