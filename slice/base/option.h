/* option.h - the options' values
 *
 * Layer: base.  Written before the first block only, then frozen; after
 * that anyone reads them without a lock.
 * Locks: its own, rank 10.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_BASE_OPTION_H
#define SLI_BASE_OPTION_H

#include <stdbool.h>
#include <slice/options.h>

#include "port/thread/lock.h"

/* The value in force; only after sli_option_freeze(). */
int64_t sli_option (SliceOption option);
static inline bool
sli_option_is_on (SliceOption option)
{
  return sli_option (option) != 0;
}

/* Reads the environment and ends all change.  Warns once about what it does
 * not understand.  Later calls do nothing. */
void sli_option_freeze (void);
bool sli_option_is_frozen (void);
/* Is it built in, on this system?  (A caller's own is not.) */
bool sli_option_has_source (SlicePageSource which);
/* From now on slice is the process's malloc: a source that called malloc would
 * call slice, so mmap takes its place.  Before sli_option_freeze(). */
void sli_option_be_malloc (void);
/* For the page source, which has a setter of its own: both are set, or
 * neither.  NULL: none was. */
SliceSetResult sli_option_set_custom_source (const void *source);
const void *sli_option_custom_source (void);

/* For fork.c. */
Lock *sli_option_lock (void);

#endif
