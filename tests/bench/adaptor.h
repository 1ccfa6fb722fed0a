/* adaptor.h - the allocator that this build of slice-bench measures
 *
 * BENCH_ADAPTOR names a header that defines, all static inline:
 *
 *   ADAPTOR_NAME                        a string
 *   ADAPTOR_ALIGNMENT(size)             what a block of that size is aligned
 *                                       to, at least
 *   void *adaptor_alloc (size_t size)   size is at least 1
 *   void adaptor_free (size_t size, void *block)
 *   void adaptor_thread_exit (void)     a measured thread is about to end
 *   const char *adaptor_start (void)    NULL, or why it can't be used
 *   const char *adaptor_version (void)
 *   bool adaptor_trim (void)            gives spare memory back; false if
 *                                       there is no way
 *   bool adaptor_count (Counts *counts) its own statistics so far; false if
 *                                       it has none
 *   ADAPTOR_THREADS_MAX                 how many threads it may serve; need
 *                                       not be defined: any number
 *
 * A further allocator is one more such header and three lines in local.mk.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_ADAPTOR_H
#define BENCH_ADAPTOR_H

#include "bench.h"
#include BENCH_ADAPTOR

#ifndef ADAPTOR_THREADS_MAX
# define ADAPTOR_THREADS_MAX THREADS_MAX
#endif

/* The block passes through an empty instruction, so that the compiler cannot
 * remove a pair whose block is not used (as it does with malloc). */
BENCH_INLINE void *
bench_alloc (const bool is_observed, size_t size, size_t n_own)
{
  void *block = adaptor_alloc (size);
  __asm__ volatile("" : "+r"(block) : : "memory");
  if (is_observed)
    observe_alloc (block, size, n_own);
  return block;
}

BENCH_INLINE void
bench_free (const bool is_observed, size_t size, void *block)
{
  if (is_observed)
    observe_free (block, size);
  adaptor_free (size, block);
}

/* Runs an always-inline body in the timed or in the observed form; the body
 * takes the flag last. */
#define BENCH_BODY(run, body, ...)                                            \
 do                                                                           \
  {                                                                           \
   if ((run)->is_observed)                                                    \
    body (__VA_ARGS__, true);                                                 \
   else                                                                       \
    body (__VA_ARGS__, false);                                                \
  }                                                                           \
 while (0)

/* Touches one byte of each cache line of a block. */
BENCH_INLINE void
bench_touch (void *block, size_t size)
{
  for (size_t offset = 0; offset < size; offset += 64)
    ((volatile char *) block)[offset] = 1;
}

#endif
