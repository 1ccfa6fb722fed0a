/* adapt.h - magazines become what their use asks for
 *
 * Layer: magazine.  Used by magazine.c alone, with the record entered.
 * Design: chapter 6.
 *
 * Three clocks: trips to the depot, exchanges of a thread's own two magazines,
 * and ticks, of which a working set has TICKS_PER_WORKING_SET.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_MAGAZINE_ADAPT_H
#define SLI_MAGAZINE_ADAPT_H

#include "record.h"

enum
{
  TICKS_PER_WORKING_SET = 8,
  /* So often a class's two magazines are exchanged until that is looked at. */
  SWAPS_PER_CHECK = 1024
};

/* A class comes into use. */
void sli_adapt_account (ThreadRecord *record, unsigned class_index);
/* A magazine of the class was fetched from the depot or brought there.
 * contended: another thread was there; is_remote: see DepotExchange. */
void sli_adapt_count_trip (ThreadRecord *record, unsigned class_index,
                           bool contended, bool is_remote);
/* The two magazines have been exchanged SWAPS_PER_CHECK times. */
void sli_adapt_count_swaps (ThreadRecord *record, unsigned class_index);
/* A magazine from the depot may hold more than this thread's do.  It sets the
 * size where that is allowed; else the surplus goes back. */
void sli_adapt_fit (ThreadRecord *record, unsigned class_index,
                    Magazine *magazine);

/* Returns true if accounted_bytes is what the accounted classes add up to
 * (M3). */
bool sli_adapt_is_right (const ThreadRecord *record);

/* A tick has passed.  Classes that were idle for a working set give back all
 * they hold; those that made no trip for as long need less from now on. */
void sli_adapt_tick (ThreadRecord *record);
/* Of the classes at work, fragmented magazines go back to their slabs, some at
 * a time: a chunk here and a chunk there keep many slabs from becoming empty,
 * and the next magazines are filled from the fullest.  Called as long as
 * record->n_consolidate is not 0. */
void sli_adapt_consolidate (ThreadRecord *record);

#endif
