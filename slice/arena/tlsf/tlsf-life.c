/* tlsf-life.c - makes, resets and ends a TLSF heap
 *
 * Layer: arena: above its regions (tlsf-region.c).  The control block of a
 * heap over pages is a slice, or memory of the caller's.  Heaps over buffers
 * are in tlsf-fixed.c.
 *
 * Design: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "tlsf.h"

#include <errno.h>
#include <string.h>
#include "arena/arena-private.h"
#include "arena/bump/traced.h"

enum
{
  /* The first block of a heap that grows, and the largest block that it
   * requests ahead of need. */
  TLSF_FIRST_BYTES = KIB (64),
  TLSF_CAP_BYTES = MIB (1)
};

/* --- making and ending --------------------------------------------------- */

/* Bits that differ from heap to heap, computed from its address; never 0. */
static size_t
tlsf_tag (const SliceTlsf *tlsf)
{
  size_t bits = (uintptr_t) tlsf * (size_t) UINT64_C (0x9e3779b97f4a7c15);
  size_t least = BLOCK_TAG_MASK & -BLOCK_TAG_MASK;

  return (bits & BLOCK_TAG_MASK) | least;
}

/* Another tag, for after a reset: an object from before it has no valid header
 * then. */
static size_t
tlsf_tag_after (size_t tag)
{
  size_t least = BLOCK_TAG_MASK & -BLOCK_TAG_MASK;

  return (tag + 2 * least) & BLOCK_TAG_MASK;
}

/* Under a tool a heap is not checked, as the tool finds more. */
static void
tlsf_set_checked (SliceTlsf *tlsf)
{
  if (tlsf->is_annotated)
    return;
  tlsf->is_checked = true;
  tlsf->extra_bytes = sizeof (TlsfBlockTail);
  tlsf->quick_kind = 0;
}

void
sli_tlsf_init (SliceTlsf *tlsf, uint32_t n_lists, unsigned flags,
               void (*end) (void *))
{
  memset (tlsf, 0, sizeof *tlsf);
  tlsf->kind = ARENA_TLSF;
  tlsf->control_bytes = (uint32_t) TLSF_CONTROL_BYTES (n_lists);
  tlsf->end = end;
  tlsf->handle = tlsf;
  tlsf->n_lists = n_lists;
  tlsf->is_annotated = sli_annotate_active ();
  tlsf->tag = tlsf_tag (tlsf);
  tlsf->front_bytes = tlsf->is_annotated ? ANNOTATE_GAP_BYTES : 0;
  tlsf->extra_bytes = 2 * tlsf->front_bytes;
  tlsf->quick_kind = tlsf->is_annotated ? 0 : ARENA_TLSF;
  if ((flags & SLICE_ARENA_CHECKED) != 0 || sli_arena_all_checked ())
    tlsf_set_checked (tlsf);
  sli_tlsf_index_clear (tlsf);
}

void
sli_tlsf_set_traced (SliceTlsf *tlsf)
{
  tlsf->chain.is_traced = true;
  tlsf->quick_kind = 0;
}

static bool
report_end_of (const void *object, size_t bytes, bool is_live, void *data)
{
  (void) bytes;
  (void) data;
  if (is_live)
    sli_trace_free (SLICE_TRACE_TLSF, object, 0);
  return true;
}

static size_t
tlsf_bytes (const SliceArenaOptions *given, SliceArenaOptions *options)
{
  SliceArenaOptions own = given != NULL ? *given : (SliceArenaOptions){ 0 };
  bool is_locked = (own.flags & SLICE_ARENA_LOCKED) != 0;
  size_t control, region;

  own.flags &= ~(unsigned) SLICE_ARENA_LOCKED;
  if (!sli_options_fill (&own, TLSF_FIRST_BYTES, TLSF_CAP_BYTES, options))
    return 0;
  control = TLSF_CONTROL_BYTES (TLSF_N_LISTS_MAX);
  region = sli_chain_least_bytes (options, sli_tlsf_region_least ());
  if (!sli_options_allow (options, control + region))
    return 0;
  options->flags |= is_locked ? SLICE_ARENA_LOCKED : 0;
  return control + (is_locked ? LOCKED_TLSF_BYTES : 0);
}

size_t
sli_arena_tlsf_bytes (const SliceArenaOptions *given,
                      SliceArenaOptions *options)
{
  size_t bytes = tlsf_bytes (given, options);

  return bytes != 0 && sli_options_settle () ? tlsf_bytes (given, options)
                                             : bytes;
}

static SliceTlsf *
tlsf_setup (void *memory, const SliceArenaOptions *options,
            void (*end) (void *))
{
  SliceTlsf *tlsf = memory;

  sli_tlsf_init (tlsf, TLSF_N_LISTS_MAX, options->flags, end);
  sli_chain_init (&tlsf->chain, options, NULL, 0, tlsf->control_bytes);
  if (!sli_tlsf_grow (tlsf, BLOCK_STRIDE_MIN))
    {
      sli_chain_fini (&tlsf->chain);
      return NULL;
    }
  if ((options->flags & ARENA_TRACED) != 0)
    sli_tlsf_set_traced (tlsf);
  return tlsf;
}

SliceTlsf *
sli_arena_tlsf_setup (void *memory, const SliceArenaOptions *options,
                      void (*end) (void *))
{
  SliceArenaOptions own = *options;
  SliceTlsf *tlsf;

  if ((own.flags & SLICE_ARENA_LOCKED) == 0)
    return tlsf_setup (memory, &own, end);
  own.flags &= ~(unsigned) SLICE_ARENA_LOCKED;
  tlsf = tlsf_setup ((char *) memory + LOCKED_TLSF_BYTES, &own, NULL);
  return tlsf != NULL ? sli_tlsf_locked_setup (memory, tlsf, end) : NULL;
}

void
sli_arena_tlsf_fini (void *memory)
{
  SliceTlsf *tlsf = memory;

  if (sli_tlsf_is_locked (tlsf))
    tlsf = sli_tlsf_locked_fini (tlsf);
  if (tlsf->chain.is_traced)
    slice_tlsf_walk (tlsf, report_end_of, NULL);
  tlsf->kind = ARENA_DEAD;
  tlsf->quick_kind = ARENA_DEAD;
  if (!tlsf->is_fixed)
    sli_chain_fini (&tlsf->chain);
  else
    sli_tlsf_fixed_fini (tlsf);
}

static void
tlsf_end (void *memory)
{
  size_t bytes = 0;
  SliceTlsf *tlsf = memory;

  if (sli_tlsf_is_locked (tlsf))
    {
      bytes = LOCKED_TLSF_BYTES;
      tlsf = ((LockedTlsf *) memory)->tlsf;
    }
  bytes += tlsf->control_bytes;
  sli_arena_tlsf_fini (memory);
  slice_free1 (bytes, memory);
}

SliceTlsf *
slice_tlsf_new (const SliceArenaOptions *given)
{
  SliceArenaOptions options;
  size_t bytes = sli_arena_tlsf_bytes (given, &options);
  void *memory = bytes != 0 ? slice_try_alloc (bytes) : NULL;
  SliceTlsf *tlsf;

  if (memory == NULL)
    return NULL;
  tlsf = sli_arena_tlsf_setup (memory, &options, tlsf_end);
  if (tlsf == NULL)
    slice_free1 (bytes, memory);
  return tlsf;
}

void
slice_tlsf_destroy (SliceTlsf *tlsf)
{
  if (tlsf == NULL)
    return;
  if (sli_tlsf_is_locked (tlsf))
    {
      LockedTlsf *shell = (LockedTlsf *) (void *) tlsf;

      shell->end (shell);
      return;
    }
  sli_tlsf_require (tlsf, "slice_tlsf_destroy");
  tlsf->end (tlsf);
}

/* --- reset --------------------------------------------------------------- */

static void
tlsf_reset (SliceTlsf *tlsf, SliceKeep keep)
{
  uint32_t n_keep;

  if (tlsf->chain.is_traced)
    slice_tlsf_walk (tlsf, report_end_of, NULL);
  sli_tlsf_index_clear (tlsf);
  tlsf->tag = tlsf_tag_after (tlsf->tag);
  tlsf->span_bytes = 0;
  tlsf->span_units = 0;
  if (tlsf->is_fixed)
    {
      sli_tlsf_fixed_reset (tlsf);
      return;
    }
  n_keep = sli_chain_empty (&tlsf->chain, keep);
  sli_chain_trim (&tlsf->chain, n_keep);
  if (keep == SLICE_KEEP_NONE)
    sli_chain_trim_table (&tlsf->chain);
  tlsf->n_empty = 0;
  while (tlsf->chain.n_used < tlsf->chain.n_blocks)
    sli_tlsf_grow (tlsf, BLOCK_STRIDE_MIN);
}

void
slice_tlsf_reset (SliceTlsf *tlsf, SliceKeep keep)
{
  tlsf_reset (sli_tlsf_acquire (tlsf, "slice_tlsf_reset"), keep);
  sli_tlsf_release (tlsf);
}
