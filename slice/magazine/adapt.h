/* adapt.h - magazines grow and shrink with their use
 *
 * Layer: magazine.  Used by the layer's own files, with the record entered.
 * Design: chapter 6.
 *
 * Three things count: trips to the depot, exchanges of a thread's own two
 * magazines, and ticks.  A working set has TICKS_PER_WORKING_SET ticks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_MAGAZINE_ADAPT_H
#define SLI_MAGAZINE_ADAPT_H

#include "magazine/record/record.h"

enum
{
  TICKS_PER_WORKING_SET = 8,
  /* Exchanges of a class's two magazines between two checks. */
  SWAPS_PER_CHECK = 1024
};

/* A trip to the depot. */
typedef struct
{
  bool is_push;   /* of a full magazine; else a pop */
  bool contended; /* the call waited */
  bool is_remote; /* see DepotExchange */
} Trip;

/* Counts a class that comes into use in accounted_bytes. */
void sli_adapt_account (ThreadRecord *record, unsigned class_index);
/* Counts a trip of a class, which may make its magazines larger. */
void sli_adapt_count_trip (ThreadRecord *record, unsigned class_index,
                           Trip trip);
/* Called each time the two magazines have been exchanged SWAPS_PER_CHECK
 * times. */
void sli_adapt_count_swaps (ThreadRecord *record, unsigned class_index);
/* Fits a magazine from the depot, which may hold more than this thread's do.
 * Raises the size where that is allowed; else frees the surplus to the
 * slabs. */
void sli_adapt_fit (ThreadRecord *record, unsigned class_index,
                    Magazine *magazine);

/* Returns true if accounted_bytes is the sum of the accounted classes (M3). */
bool sli_adapt_is_right (const ThreadRecord *record);

/* Called when a tick has passed.  Classes that were idle for a working set
 * give back all chunks; those that made no trip for as long get smaller
 * magazines. */
void sli_adapt_tick (ThreadRecord *record);
/* Flushes fragmented magazines of the classes at work to their slabs, some at
 * a time: single chunks keep many slabs from becoming empty.  The next
 * magazines are filled from the fullest slabs.  Called as long as
 * record->n_consolidate is not 0. */
void sli_adapt_consolidate (ThreadRecord *record);

#endif
