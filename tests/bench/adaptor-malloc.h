/* adaptor-malloc.h - malloc and free: glibc's, or the preloaded peer's
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include "adaptor-peer.h"

#define ADAPTOR_NAME "malloc"

BENCH_INLINE void *
adaptor_alloc (size_t size)
{
  return malloc (size);
}

BENCH_INLINE void
adaptor_free (size_t size, void *block)
{
  (void) size;
  free (block);
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
  return peer_version ();
}

BENCH_INLINE bool
adaptor_trim (void)
{
  return peer_trim ();
}

BENCH_INLINE bool
adaptor_count (Counts *counts)
{
  (void) counts;
  return false;
}
