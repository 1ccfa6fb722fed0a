/* tlsf-walk.c - walking, counting and validating the blocks of a TLSF heap
 *
 * Layer: arena.
 *
 * Design: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "tlsf.h"

#include "base/diag.h"

/* --- sound blocks -------------------------------------------------------- */

/* Text that says what is wrong with a header, or NULL.  All blocks before it
 * are sound. */
static const char *
header_damage (const SliceTlsf *tlsf, const TlsfBlock *block,
               const TlsfBlock *end, bool before_is_free)
{
  size_t stride = tlsf_block_stride (block);
  size_t tag;

  if (stride < BLOCK_STRIDE_MIN || stride % TLSF_UNIT_BYTES != 0
      || stride > (size_t) ((const char *) end - (const char *) block))
    return "a block has an impossible size";
  if (tlsf_block_before_is_free (block) != before_is_free)
    return "a block is wrong about the one before it";
  if (tlsf_block_is_free (block) && before_is_free)
    return "two free blocks are neighbours";
  tag = tlsf_block_is_free (block) ? 0 : tlsf->tag;
  if ((block->stride_and_bits & BLOCK_TAG_MASK) != tag)
    return "a header was overwritten";
  if (tlsf_block_is_free (block)
      && *tlsf_block_before_word (tlsf_block_at (block, stride)) != block)
    return "the last word of a free block is wrong";
  return NULL;
}

static bool
end_is_sound (const SliceTlsf *tlsf, const TlsfBlock *end, bool before_is_free)
{
  return end->stride_and_bits
         == (tlsf->tag | (before_is_free ? BLOCK_BEFORE_FREE : 0));
}

/* --- bad addresses ------------------------------------------------------- */

/* Returns true if what lies inside a free block looks like the header of an
 * object that was freed and joined: it has the bit BLOCK_FREE, or, if a reset
 * freed it, a heap's tag. */
static bool
was_block (const SliceTlsf *tlsf, const TlsfBlock *block)
{
  size_t stride = block->stride_and_bits & ~(BLOCK_TAG_MASK | BLOCK_BITS);

  return tlsf_block_is_free (block)
         || ((block->stride_and_bits & BLOCK_TAG_MASK) != 0
             && stride >= BLOCK_STRIDE_MIN && stride <= tlsf->span_bytes
             && stride % TLSF_UNIT_BYTES == 0);
}

/* Reports an address inside a block. */
_Noreturn static void
report_within (const SliceTlsf *tlsf, const TlsfBlock *outer,
               const TlsfBlock *block, const void *object,
               const char *operation)
{
  if (tlsf_block_is_free (outer)
      && (outer == block || was_block (tlsf, block)))
    sli_diag_abort (ARENA_MISUSE_TLSF_TWICE,
                    "%s: TLSF heap %p: %p is free already", operation,
                    tlsf->handle, object);
  sli_diag_abort (ARENA_MISUSE_TLSF_FOREIGN,
                  "%s: TLSF heap %p: %p is no object of this heap", operation,
                  tlsf->handle, object);
}

/* Reports the first block of the region that is not sound.  If all are sound
 * up to the one behind the object's, the address is wrong. */
void
sli_tlsf_report_object (const SliceTlsf *tlsf, const void *object,
                        const char *operation)
{
  static const TlsfBlock none;
  const TlsfBlock *block
      = object_block ((const char *) object - tlsf->front_bytes);
  Region region;
  const TlsfBlock *end, *last;
  bool before_is_free;

  if (((uintptr_t) object & (TLSF_UNIT_BYTES - 1)) != 0
      || !sli_tlsf_region_of (tlsf, block, &region))
    report_within (tlsf, &none, block, object, operation);
  end = tlsf_block_at (region.first, region.bytes);
  last = &none;
  before_is_free = false;
  for (const TlsfBlock *at = region.first; at != end;
       at = tlsf_block_at (at, tlsf_block_stride (at)))
    {
      if (header_damage (tlsf, at, end, before_is_free) != NULL)
        sli_tlsf_report_damaged (tlsf, at);
      if (tlsf->is_checked && !tlsf_block_is_free (at)
          && !sli_tlsf_tail_is_whole (tlsf, at))
        sli_tlsf_report_overrun (tlsf, at);
      if (at > block)
        report_within (tlsf, last, block, object, operation);
      before_is_free = tlsf_block_is_free (at);
      last = at;
    }
  if (!end_is_sound (tlsf, end, before_is_free))
    sli_tlsf_report_damaged (tlsf, end);
  report_within (tlsf, last, block, object, operation);
}

/* --- blocks in order ----------------------------------------------------- */

typedef struct
{
  const SliceTlsf *tlsf;
  uint32_t region;        /* the next one */
  const TlsfBlock *block; /* the next one in the present region, or NULL */
  const TlsfBlock *end;   /* of that region */
  bool before_is_free;
} TlsfBlockWalk;

/* The next block, or NULL; leaves out the ends of regions.  Reports a damaged
 * heap. */
static const TlsfBlock *
walk_next (TlsfBlockWalk *walk)
{
  const TlsfBlock *block;

  while (walk->block == walk->end)
    {
      Region region;

      if (walk->region == sli_tlsf_n_regions (walk->tlsf))
        return NULL;
      region = sli_tlsf_region (walk->tlsf, walk->region++);
      walk->block = region.first;
      walk->end = tlsf_block_at (region.first, region.bytes);
      walk->before_is_free = false;
    }
  block = walk->block;
  if (header_damage (walk->tlsf, block, walk->end, walk->before_is_free)
      != NULL)
    sli_tlsf_report_damaged (walk->tlsf, block);
  walk->before_is_free = tlsf_block_is_free (block);
  walk->block = tlsf_block_at (block, tlsf_block_stride (block));
  return block;
}

static size_t
tlsf_block_usable (const SliceTlsf *tlsf, const TlsfBlock *block)
{
  size_t overhead = BLOCK_HEAD_BYTES + tlsf->extra_bytes;
  size_t stride;

  if (tlsf->is_annotated && !tlsf_block_is_free (block))
    return sli_tlsf_gap_size (block);
  if (tlsf->is_checked && !tlsf_block_is_free (block))
    return sli_tlsf_tail_size (block);
  stride = tlsf_block_stride (block);
  return stride > overhead ? stride - overhead : 0;
}

static bool
tlsf_walk (const SliceTlsf *tlsf,
           bool (*visit) (const void *object, size_t bytes, bool is_live,
                          void *data),
           void *data)
{
  TlsfBlockWalk walk = { .tlsf = tlsf };

  for (const TlsfBlock *block = walk_next (&walk); block != NULL;
       block = walk_next (&walk))
    if (!visit (tlsf_block_object (block) + tlsf->front_bytes,
                tlsf_block_usable (tlsf, block), !tlsf_block_is_free (block),
                data))
      return false;
  return true;
}

bool
slice_tlsf_walk (const SliceTlsf *tlsf,
                 bool (*visit) (const void *object, size_t bytes, bool is_live,
                                void *data),
                 void *data)
{
  SliceTlsf *inner = sli_tlsf_acquire (tlsf, "slice_tlsf_walk");
  bool is_whole = tlsf_walk (inner, visit, data);

  sli_tlsf_release (tlsf);
  return is_whole;
}

/* --- statistics ---------------------------------------------------------- */

/* The largest stride for which sli_tlsf_find() has a block.  In the list of
 * the largest block it examines only the first, and all larger lists are
 * empty. */
static size_t
largest_to_find (const SliceTlsf *tlsf, size_t largest)
{
  if (largest == 0)
    return 0;
  return tlsf_block_stride (tlsf->lists[sli_tlsf_list_of (largest)]);
}

/* Returns the largest free stride. */
static size_t
stats_of_blocks (const SliceTlsf *tlsf, SliceTlsfStats *stats)
{
  size_t largest = 0;
  TlsfBlockWalk walk = { .tlsf = tlsf };
  size_t overhead, found;

  for (const TlsfBlock *block = walk_next (&walk); block != NULL;
       block = walk_next (&walk))
    {
      if (!tlsf_block_is_free (block))
        {
          stats->n_live++;
          stats->arena.used_bytes
              += tlsf_block_stride (block) - BLOCK_HEAD_BYTES;
          stats->arena.control_bytes += BLOCK_HEAD_BYTES;
          continue;
        }
      stats->n_free++;
      stats->free_bytes += tlsf_block_stride (block);
      if (tlsf_block_stride (block) > largest)
        largest = tlsf_block_stride (block);
    }
  overhead = BLOCK_HEAD_BYTES + tlsf->extra_bytes;
  found = largest_to_find (tlsf, largest);
  stats->largest_free = found > overhead ? found - overhead : 0;
  return largest;
}

static void
tlsf_get_stats (const SliceTlsf *tlsf, SliceTlsfStats *stats)
{
  size_t largest;
  SliceArenaStats *arena;

  *stats = (SliceTlsfStats){ 0 };
  sli_chain_stats (&tlsf->chain, tlsf->control_bytes, &stats->arena);
  if (tlsf->is_fixed)
    {
      stats->arena.held_bytes = sli_tlsf_fixed_bytes (tlsf);
      stats->arena.n_blocks = sli_tlsf_n_regions (tlsf);
    }
  largest = stats_of_blocks (tlsf, stats);
  arena = &stats->arena;
  arena->free_bytes = stats->free_bytes;
  arena->wasted_bytes = arena->held_bytes - arena->used_bytes
                        - arena->free_bytes - arena->control_bytes;
  if (stats->free_bytes > largest)
    stats->fragmentation_permille
        = (unsigned) (1000 - largest * 1000 / stats->free_bytes);
}

void
slice_tlsf_get_stats (const SliceTlsf *tlsf, SliceTlsfStats *stats)
{
  tlsf_get_stats (sli_tlsf_acquire (tlsf, "slice_tlsf_get_stats"), stats);
  sli_tlsf_release (tlsf);
}

/* --- validity ------------------------------------------------------------ */

/* The next block of a list, or NULL if the link does not lead to a block whose
 * link leads back, or leads to the head.  So a walk of any list ends. */
static const TlsfBlock *
listed_next (const SliceTlsf *tlsf, const TlsfBlock *head,
             const TlsfBlock *block)
{
  const TlsfBlock *next = block->next;
  Region region;

  if (next == sli_tlsf_none (tlsf))
    return next;
  return sli_tlsf_in_range (tlsf, next)
                 && sli_tlsf_region_of (tlsf, next, &region)
                 && next->prev == block && next != head
             ? next
             : NULL;
}

static const char *
tlsf_block_damage (const SliceTlsf *tlsf, const TlsfBlock *block,
                   const TlsfBlock *end, bool before_is_free)
{
  const char *fault = header_damage (tlsf, block, end, before_is_free);
  unsigned list;
  const TlsfBlock *head, *listed;

  if (fault != NULL)
    return fault;
  if (!tlsf_block_is_free (block))
    return tlsf->is_checked && !sli_tlsf_tail_is_whole (tlsf, block)
               ? "the bytes behind an object were overwritten"
               : NULL;
  list = sli_tlsf_list_of (tlsf_block_stride (block));
  head = list < tlsf->n_lists ? tlsf->lists[list] : sli_tlsf_none (tlsf);
  listed = head;
  while (listed != NULL && listed != sli_tlsf_none (tlsf) && listed != block)
    listed = listed_next (tlsf, head, listed);
  return listed == block ? NULL : "a free block is not in its list";
}

static const char *
region_damage (const SliceTlsf *tlsf, const Region *region, size_t *n_free)
{
  const TlsfBlock *end = tlsf_block_at (region->first, region->bytes);
  bool before_is_free = false;
  const TlsfBlock *block = region->first;

  while (block < end)
    {
      const char *fault = tlsf_block_damage (tlsf, block, end, before_is_free);

      if (fault != NULL)
        return fault;
      before_is_free = tlsf_block_is_free (block);
      *n_free += before_is_free;
      block = tlsf_block_at (block, tlsf_block_stride (block));
    }
  if (!end_is_sound (tlsf, end, before_is_free))
    return "the end of a region was overwritten";
  return NULL;
}

/* Checks that the lists have all free blocks and no others, and that the maps
 * show which lists are empty. */
static const char *
index_damage (const SliceTlsf *tlsf, size_t n_free)
{
  for (unsigned list = 0; list < tlsf->n_lists; list++)
    {
      unsigned word = list / TLSF_MAP_BITS;
      bool is_mapped = (tlsf->map_map >> word & 1) != 0;
      bool bit;
      const TlsfBlock *block;

      if (is_mapped != (word > 0 && tlsf->maps[word] != 0))
        return "the map of maps is wrong";
      bit = (tlsf->maps[word] >> (list % TLSF_MAP_BITS) & 1) != 0;
      block = tlsf->lists[list];
      if (bit != (block != sli_tlsf_none (tlsf)))
        return "a map of lists is wrong";
      for (; block != sli_tlsf_none (tlsf);
           block = listed_next (tlsf, tlsf->lists[list], block))
        if (block == NULL || !tlsf_block_is_free (block) || n_free-- == 0)
          return "a list holds a block that is not free";
    }
  return n_free == 0 ? NULL : "a free block is in no list";
}

static bool
tlsf_is_valid (const SliceTlsf *tlsf, const char **why)
{
  const char *fault = NULL;
  size_t n_free = 0;

  for (uint32_t i = 0; i < sli_tlsf_n_regions (tlsf) && fault == NULL; i++)
    {
      Region region = sli_tlsf_region (tlsf, i);

      fault = region_damage (tlsf, &region, &n_free);
    }
  if (fault == NULL)
    fault = index_damage (tlsf, n_free);
  if (why != NULL)
    *why = fault;
  return fault == NULL;
}

bool
slice_tlsf_is_valid (const SliceTlsf *tlsf, const char **why)
{
  const SliceTlsf *inner = sli_tlsf_acquire (tlsf, "slice_tlsf_is_valid");
  bool is_valid = tlsf_is_valid (inner, why);

  sli_tlsf_release (tlsf);
  return is_valid;
}
