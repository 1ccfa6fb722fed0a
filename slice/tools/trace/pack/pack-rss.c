/* pack-rss.c - the resident memory of a recorded process, over time
 *
 * Tools.  Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#include "pack-parts.h"
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static uint64_t
msec_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

static void
rss_halve (Process *process)
{
  for (size_t i = 0; i < process->n_rss / 2; i++)
    process->rss[i] = process->rss[2 * i];
  process->n_rss /= 2;
  process->rss_step_msec *= 2;
}

void
sli_rss_sample (Process *process)
{
  uint64_t now = msec_now ();
  char path[64];
  FILE *file;
  unsigned long total, resident, shared;

  if (now < process->rss_next_msec)
    return;
  process->rss_next_msec = now + process->rss_step_msec;
  snprintf (path, sizeof path, "/proc/%d/statm", (int) process->pid);
  file = fopen (path, "re");
  if (file == NULL)
    return;
  if (fscanf (file, "%lu %lu %lu", &total, &resident, &shared) == 3)
    {
      /* leave out shared pages, such as the spool's own */
      uint64_t pages = resident > shared ? resident - shared : 0;

      process->rss[process->n_rss++]
          = (RssSample){ ticks_now (),
                         pages * (uint64_t) sysconf (_SC_PAGESIZE) / 1024 };
      if (process->n_rss == N_RSS_MAX)
        rss_halve (process);
    }
  fclose (file);
}
