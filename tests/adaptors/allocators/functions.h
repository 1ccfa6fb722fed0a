/* functions.h - slices through the library's exported functions
 *
 * As a caller in another language sees them.  The functions are declared under
 * other names here, so that the inline ones of slice.h can't step in.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/slice.h>

extern void *function_alloc (size_t size) __asm__("slice_alloc");
extern void *function_alloc0 (size_t size) __asm__("slice_alloc0");
extern void function_free (size_t size, void *block) __asm__("slice_free1");

#define ADAPTOR_NAME "slice-functions"
#define ADAPTOR_ALIGNMENT(size) ((size) % 16 == 0 ? 16 : 8)
#define ADAPTOR_IS_SLICE 1
#define ADAPTOR_VERSION() slice_version ()
#define ADAPTOR_TRIM() (slice_trim (0), true)
#define ADAPTOR_ALLOC0(size) function_alloc0 (size)

ADAPTOR_INLINE void *
adaptor_alloc (size_t size)
{
  return function_alloc (size);
}

ADAPTOR_INLINE void
adaptor_free (size_t size, void *block)
{
  function_free (size, block);
}
