/* slab-guard.h - guards: granules behind slabs that can't be accessed
 *
 * Layer: slab.  No locks.  Design: chapter 4.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_SLAB_SLAB_GUARD_H
#define SLI_SLAB_SLAB_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sizeclass.h"

void sli_slab_guard_init (void);

/* The reserve of a new guard: NULL if the next slab is to have none.  The
 * caller passes it to sli_slab_guard_set(), or to sli_slab_guard_end_reserve()
 * if there is no run.  Leaves errno alone. */
void *sli_slab_guard_reserve (void);
void sli_slab_guard_end_reserve (void *reserve);

/* Makes the granule behind a slab inaccessible, if the system can.  The run
 * has a granule for it in any case. */
void sli_slab_guard_set (char *run, const SizeClass *sizeclass, void *reserve);

/* Makes it accessible again.  False: the system refuses, and the run, which
 * was last needed at since_msec, is kept for sli_slab_guard_retry(). */
bool sli_slab_guard_end (char *run, const SizeClass *sizeclass,
                         uint64_t since_msec);

/* Frees the runs that were kept, as far as the system allows now. */
void sli_slab_guard_retry (void);

#endif
