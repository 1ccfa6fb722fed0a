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
#include <stdint.h>
#include <slice/options.h>

#include "port/thread/lock.h"

enum
{
  WORKING_SET_MSEC_MAX = 24 * 60 * 60 * 1000 /* a day, which fits an int */
};

/* The value in force; only after sli_option_freeze(). */
int64_t sli_option (SliceOption option);
static inline bool
sli_option_is_on (SliceOption option)
{
  return sli_option (option) != 0;
}
/* How long spare memory is kept; all layers that keep some ask here. */
static inline uint64_t
sli_option_working_set_msec (void)
{
  return (uint64_t) sli_option (SLICE_OPTION_WORKING_SET_MSEC);
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
