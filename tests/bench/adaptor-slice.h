/* adaptor-slice.h - slices through the inline functions of slice.h
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/slice.h>
#include "adaptor-count.h"

#define ADAPTOR_NAME "slice"
#define ADAPTOR_ALIGNMENT(size) ((size) % 16 == 0 ? 16 : 8)

BENCH_INLINE void *
adaptor_alloc (size_t size)
{
  return slice_alloc (size);
}

BENCH_INLINE void
adaptor_free (size_t size, void *block)
{
  slice_free1 (size, block);
}

BENCH_INLINE void
adaptor_thread_exit (void)
{
}

BENCH_INLINE const char *
adaptor_start (void)
{
  return NULL;
}

BENCH_INLINE const char *
adaptor_version (void)
{
  return slice_version ();
}

BENCH_INLINE bool
adaptor_trim (void)
{
  slice_trim (0);
  return true;
}
