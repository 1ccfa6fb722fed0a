/* tlsf-locked.c - TLSF heaps for several threads
 *
 * Layer: arena: above the heap proper.  See arena/locked.h.
 *
 * Design: section 8.10.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "tlsf.h"

static LockedTlsf *
shell_of (const SliceTlsf *shown)
{
  return (LockedTlsf *) (uintptr_t) shown;
}

SliceTlsf *
sli_tlsf_locked_setup (void *memory, SliceTlsf *tlsf, void (*end) (void *))
{
  LockedTlsf *shell = memory;

  *shell = (LockedTlsf){ .kind = ARENA_TLSF_LOCKED, .tlsf = tlsf, .end = end };
  tlsf->handle = shell;
  sli_arena_lock_init (&shell->lock);
  return memory;
}

SliceTlsf *
sli_tlsf_locked_fini (SliceTlsf *shown)
{
  LockedTlsf *shell = shell_of (shown);

  shell->kind = ARENA_DEAD;
  sli_arena_lock_fini (&shell->lock);
  return shell->tlsf;
}

SliceTlsf *
sli_tlsf_acquire (const SliceTlsf *shown, const char *operation)
{
  LockedTlsf *shell;

  if (!sli_tlsf_is_locked (shown))
    {
      sli_tlsf_require (shown, operation);
      return (SliceTlsf *) (uintptr_t) shown;
    }
  shell = shell_of (shown);
  sli_arena_lock (&shell->lock, shown, operation);
  return shell->tlsf;
}

void
sli_tlsf_release (const SliceTlsf *shown)
{
  if (sli_tlsf_is_locked (shown))
    sli_arena_unlock (&shell_of (shown)->lock);
}

void *
sli_tlsf_locked_alloc (SliceTlsf *shown, size_t size)
{
  SliceTlsf *tlsf = sli_tlsf_acquire (shown, "slice_tlsf_alloc");
  void *object = slice_tlsf_alloc (tlsf, size);

  sli_tlsf_release (shown);
  return object;
}

void
sli_tlsf_locked_free (SliceTlsf *shown, void *object)
{
  slice_tlsf_free (sli_tlsf_acquire (shown, "slice_tlsf_free"), object);
  sli_tlsf_release (shown);
}
