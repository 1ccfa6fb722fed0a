/* adaptor.h - an allocator as slice-test and slice-bench drive it
 *
 * ADAPTOR names one of the headers beside this one.  Its calls are inline, so
 * that the loops around them are compiled for each allocator.  It defines
 *
 *   ADAPTOR_NAME                a string
 *   ADAPTOR_ALIGNMENT(size)     what a block of that size is aligned to, at
 *                               least
 *   void *adaptor_alloc (size_t size)
 *   void adaptor_free (size_t size, void *block)
 *
 * and, where the default below does not fit,
 *
 *   ADAPTOR_ALLOC0(size)        allocates zeroed memory
 *   ADAPTOR_RESIZE(old_size, size, block)
 *   ADAPTOR_START()             NULL, or why it can't be used
 *   ADAPTOR_VERSION()           a string
 *   ADAPTOR_TRIM()              gives spare memory back; false: it has no way
 *   ADAPTOR_IS_SLICE            1: has slice's options and statistics
 *   ADAPTOR_THREADS_MAX         how many threads it may serve
 *
 * A size of 0 and a block that is NULL need not be taken.  One source file
 * defines ADAPTOR_DEFINE before it includes this: the adaptor's variables
 * are there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_ADAPTOR_H
#define TESTS_ADAPTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ADAPTOR_INLINE static inline __attribute__ ((always_inline))

#include ADAPTOR

#ifndef ADAPTOR_START
# define ADAPTOR_START() NULL
#endif
#ifndef ADAPTOR_VERSION
# define ADAPTOR_VERSION() ""
#endif
#ifndef ADAPTOR_TRIM
# define ADAPTOR_TRIM() false
#endif
#ifndef ADAPTOR_IS_SLICE
# define ADAPTOR_IS_SLICE 0
#endif
#ifndef ADAPTOR_THREADS_MAX
# define ADAPTOR_THREADS_MAX UINT_MAX
#endif

ADAPTOR_INLINE void *
adaptor_alloc0 (size_t size)
{
#ifdef ADAPTOR_ALLOC0
  return ADAPTOR_ALLOC0 (size);
#else
  void *block = adaptor_alloc (size);
  if (block != NULL)
    memset (block, 0, size);
  return block;
#endif
}

static inline void *
adaptor_resize (size_t old_size, size_t size, void *block)
{
#ifdef ADAPTOR_RESIZE
  return ADAPTOR_RESIZE (old_size, size, block);
#else
  void *resized = adaptor_alloc (size);
  if (block == NULL)
    return resized;
  if (resized != NULL)
    memcpy (resized, block, old_size < size ? old_size : size);
  adaptor_free (old_size, block);
  return resized;
#endif
}

#endif
