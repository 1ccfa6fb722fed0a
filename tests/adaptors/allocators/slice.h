/* slice.h - slices through the inline functions of slice.h
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/slice.h>

#define ADAPTOR_NAME "slice"
#define ADAPTOR_ALIGNMENT(size) ((size) % 16 == 0 ? 16 : 8)
#define ADAPTOR_IS_SLICE 1
#define ADAPTOR_VERSION() slice_version ()
#define ADAPTOR_TRIM() (slice_trim (0), true)
#define ADAPTOR_ALLOC0(size) slice_alloc0 (size)

ADAPTOR_INLINE void *
adaptor_alloc (size_t size)
{
  return slice_alloc (size);
}

ADAPTOR_INLINE void
adaptor_free (size_t size, void *block)
{
  slice_free1 (size, block);
}
