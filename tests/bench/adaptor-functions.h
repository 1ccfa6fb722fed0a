/* adaptor-functions.h - slices through the library's exported functions
 *
 * As a caller in another language sees them.  The functions are declared under
 * other names here, so that the inline ones of slice.h can't step in.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/slice.h>
#include "adaptor-count.h"

extern void *function_alloc (size_t size) __asm__("slice_alloc");
extern void function_free (size_t size, void *block) __asm__("slice_free1");

#define ADAPTOR_NAME "slice-functions"
#define ADAPTOR_ALIGNMENT(size) ((size) % 16 == 0 ? 16 : 8)

BENCH_INLINE void *
adaptor_alloc (size_t size)
{
  return function_alloc (size);
}

BENCH_INLINE void
adaptor_free (size_t size, void *block)
{
  function_free (size, block);
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
