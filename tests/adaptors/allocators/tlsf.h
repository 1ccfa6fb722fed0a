/* tlsf.h - a TLSF heap that grows, for one thread
 *
 * A heap belongs to a thread at a time and takes no lock, so workloads with
 * more than one thread are refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/arena.h>

#define ADAPTOR_NAME "tlsf"
#define ADAPTOR_ALIGNMENT(size) ((void) (size), 2 * sizeof (void *))
#define ADAPTOR_THREADS_MAX 1
#define ADAPTOR_START() tlsf_start ()
#define ADAPTOR_VERSION() slice_version ()
#define ADAPTOR_TRIM()                                                        \
 (slice_tlsf_trim (tlsf_heap), slice_arena_trim (0), true)

extern SliceTlsf *tlsf_heap;

ADAPTOR_INLINE void *
adaptor_alloc (size_t size)
{
  return slice_tlsf_alloc (tlsf_heap, size);
}

ADAPTOR_INLINE void
adaptor_free (size_t size, void *block)
{
  (void) size;
  slice_tlsf_free (tlsf_heap, block);
}

static inline const char *
tlsf_start (void)
{
  tlsf_heap = slice_tlsf_new (NULL);
  return tlsf_heap != NULL ? NULL : "no memory for a heap";
}

#ifdef ADAPTOR_DEFINE
SliceTlsf *tlsf_heap;
#endif
