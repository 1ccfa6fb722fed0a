/* record-sample.h - which blocks a sampled recording takes
 *
 * Tools, in the preloaded object.  The paths that nearly all calls take are
 * here: an allocation counts its bytes down, a free looks at one byte of a
 * filter.  In an exact recording, and before the start, both go on to the
 * event.
 *
 * Design: section 13.12.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_RECORD_RECORD_SAMPLE_H
#define SLI_TRACE_RECORD_RECORD_SAMPLE_H

#include "record.h"

#define SAMPLE_FILTER_BITS 12
#define SAMPLE_FILTER_SLOTS (1u << SAMPLE_FILTER_BITS)
#define SAMPLE_FILTER_ALWAYS 255

/* By sample_slot(): the number of live sampled blocks with such an address.  A
 * slot that has reached SAMPLE_FILTER_ALWAYS keeps that.  Exchanged by atomic
 * functions, but not of an atomic type: gcc compares a byte in memory only if
 * its load is plain. */
extern uint8_t sli_sample_filter[SAMPLE_FILTER_SLOTS]
    __attribute__ ((visibility ("hidden")));

/* The address's lower bits, without those that are 0 in each block. */
static inline uint32_t
sample_slot (uint64_t address)
{
  uint32_t low = (uint16_t)address;

  __asm__ ("" : "+r"(low)); /* or gcc shifts first, and then extends */
  return low >> (16 - SAMPLE_FILTER_BITS);
}

/* Returns true if the next byte to be sampled lies behind a block of that size.
 * Returns false for a block of 0 bytes, which sli_sample_take() counts as one
 * of 1 byte. */
static inline bool
sample_is_beyond (const RecordThread *self, size_t size)
{
  return LIKELY (size - 1 < self->sample_left);
}

/* The same; if true, counts the block's bytes, and it needs no event.  If not,
 * takes back what it has counted.  What is then less than 0 was allocated by a
 * signal handler in between, which counts as an event that is dropped. */
static inline bool
sample_passes (RecordThread *self, size_t size)
{
  if (LIKELY (!distance_take (&self->sample_left, size)))
    return true;
  self->sample_left += size + (size == 0);
  if (UNLIKELY (self->sample_left > SIZE_MAX / 2))
    {
      self->sample_left = 0;
      self->was_overtaken = true;
    }
  return false;
}

/* Returns true if a block is certainly not sampled. */
static inline bool
sample_is_no_block (const void *block)
{
  return LIKELY (sli_sample_filter[sample_slot ((uint64_t)block)] == 0);
}

/* --- record-sample.c --- */

/* Starts the sampling, before any event.
 *
 * mean_bytes  of the gaps
 * seed        of the random numbers; 0: another one in each process
 * early       blocks that must never be passed to the next free()
 */
void sli_sample_start (uint32_t mean_bytes, uint32_t seed,
                       const uint8_t *early, size_t n_early);
/* In a forked child: other random numbers than the parent's. */
void sli_sample_child_start (RecordThread *self);
/* Counts a block's bytes, if sample_passes() has not; true if it is
 * sampled. */
bool sli_sample_take (RecordThread *self, size_t size);
/* Remembers a sampled block; false if there is no space. */
bool sli_sample_remember (const void *block);
/* Forgets a block that is freed; true if it was sampled. */
bool sli_sample_forget (const void *block);

#endif
