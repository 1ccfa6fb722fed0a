/* untraced-slice.h - slice.h as contexts and arenas see it
 *
 * Layer: alloc.  Contexts and arenas use slice.h and its inline functions as
 * any program does.  This header renames the slow paths of those functions,
 * and two functions without an inline part, to their untraced variants (see
 * untraced.h).  Each source file of contexts and arenas includes it before any
 * public header; tests/source/check-layers.sh checks that.
 *
 * The functions are inlined even without optimization, since the bodies that
 * the library exports are traced.
 *
 * Design: section 13.9.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ALLOC_UNTRACED_SLICE_H
#define SLI_ALLOC_UNTRACED_SLICE_H

#ifdef SLICE_SLICE_H
#error "untraced-slice.h comes before slice.h"
#endif

#define SLICE_INLINE                                                          \
  static __inline__ __attribute__ ((__always_inline__, __unused__))

#define slice_alloc_slow_v1 sli_untraced_alloc_slow
#define slice_try_alloc_slow_v1 sli_untraced_try_alloc_slow
#define slice_alloc0_slow_v1 sli_untraced_alloc0_slow
#define slice_try_alloc0_slow_v1 sli_untraced_try_alloc0_slow
#define slice_free_slow_v1 sli_untraced_free_slow
#define slice_free_bulk sli_untraced_free_bulk

#include "untraced.h"

#include <slice/slice.h>

/* slice_free1(), for a block whose class is known and not 0, unless that needs
 * the slow path: then this does nothing and returns 0. */
SLICE_INLINE int
untraced_free_class_fast (size_t class_index, void *block)
{
  SliceEntryV1 *entry = &SLICE_LOAD (&slice_tls_v1)->entries[class_index];
  void **top = SLICE_LOAD (&entry->top);

  if (SLICE_LIKELY (top != entry->end && *top != block))
    {
      SLICE_STORE (top + 1, block);
      SLICE_STORE (&entry->top, top + 1);
      return 1;
    }
  return 0;
}

SLICE_INLINE void
untraced_free_class (size_t class_index, void *block)
{
  if (!untraced_free_class_fast (class_index, block))
    sli_untraced_free_class_slow ((unsigned) class_index, block);
}

#endif
