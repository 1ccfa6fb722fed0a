/* watch-parts.h - parts of `watch'
 *
 * Tools.  watch-process.c finds and wakes a process that sleeps, watch-live.c
 * counts the blocks that live by their places, watch-show.c shows them.
 *
 * Design: section 13.13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMAND_WATCH_PARTS_H
#define SLI_TRACE_COMMAND_WATCH_PARTS_H

#include "tools/trace/pack/spool.h"
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* --- watch-process.c --- */

/* Maps the page of a process that sleeps, and locks its file as long as this
 * process lives; or ends the program. */
WatchControl *sli_watch_find (pid_t pid);
/* Wakes it for a spool in that directory; returns the watch's number. */
uint32_t sli_watch_wake (WatchControl *control, const char *directory);
/* Puts it to sleep; false: a thread is still writing an event. */
bool sli_watch_sleep (WatchControl *control, uint32_t number);
/* Its arguments, ended by NULL. */
char **sli_watch_command (pid_t pid);
/* Its resident bytes; 0 if they are not known. */
double sli_watch_resident (pid_t pid);

/* --- watch-live.c --- */

/* A place of the program that allocates: sums since the watch began, and what
 * they were at the last look. */
typedef struct
{
  char *name;
  double live, calls, bytes;
  double live_before, calls_before, bytes_before;
} WatchPlace;

typedef struct WatchLive WatchLive;

WatchLive *sli_live_new (void);
void sli_live_free (WatchLive *live);
/* Reads the new events of a chunk. */
void sli_live_read (WatchLive *live, uint8_t *map, uint32_t chunk);
/* Takes the events that are complete; called after all chunks were read. */
void sli_live_settle (WatchLive *live);

typedef struct
{
  WatchPlace all;
  WatchPlace **places; /* those with most live bytes first */
  size_t n_places;
  double n_before; /* blocks from before the watch that were freed */
} WatchSums;

/* The sums of the events that lie far enough back to be complete; all of them
 * at the end. */
void sli_live_sums (WatchLive *live, bool at_end, WatchSums *sums);
/* The next sums count their changes from here. */
void sli_live_mark (WatchLive *live);

/* --- watch-show.c --- */

/* seconds  since the watch began
 * span     since the last marks */
void sli_watch_show (const WatchSums *sums, double seconds, double span,
                     double resident, size_t n_rows);

#endif
