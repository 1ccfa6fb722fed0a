/* malloc.h - malloc and free: the system's, or a preloaded peer's
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <tests/adaptors/peer.h>

#define ADAPTOR_NAME "malloc"

ADAPTOR_INLINE void *
adaptor_alloc (size_t size)
{
  return malloc (size);
}

ADAPTOR_INLINE void
adaptor_free (size_t size, void *block)
{
  (void) size;
  free (block);
}
