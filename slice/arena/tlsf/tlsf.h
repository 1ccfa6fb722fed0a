/* tlsf.h - inside a TLSF heap
 *
 * Layer: arena: shared by tlsf.c and the tlsf-*.c beside it.
 *
 * Design: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_TLSF_TLSF_H
#define SLI_ARENA_TLSF_TLSF_H

#include "arena/bump/bump.h"
#include "arena/locked.h"
#include "arena/tlsf/tlsf-block.h"

/* A region: blocks, then an empty block that is never free.
 *
 *   +-----+-------+-------+-- ... --+-------+-----+
 *   | pad | block | block |         | block | end |
 *   +-----+-------+-------+-- ... --+-------+-----+
 *         ^ first                             stride 0
 */
typedef struct
{
  TlsfBlock *first;
  size_t bytes;   /* of all blocks, the end block not counted */
  uint32_t block; /* its index in the chain */
} Region;

typedef struct TlsfAdded TlsfAdded;

struct SliceTlsf
{
  ArenaKind kind;
  ArenaKind quick_kind; /* the same, but 0 if the heap is checked, traced or
                           under a tool, so that alloc and free take their slow
                           paths */
  uint32_t control_bytes;
  uint32_t n_lists;
  uintptr_t low;     /* start of the range that holds all blocks */
  size_t span_bytes; /* its size */
  size_t span_units; /* the same, in units */
  size_t tag;        /* the high bits of live headers */
  uint32_t map_map;  /* a bit for each word of maps that is not 0, except the
                        first word */
  bool is_fixed;
  bool is_annotated;
  bool is_checked;      /* live blocks have tails; never under a tool */
  uint16_t extra_bytes; /* of a live block, beside header and object */
  uint16_t front_bytes; /* a gap before each object under a tool */
  void (*end) (void *);
  const void *handle; /* for messages: what the program calls the heap */
  Region fixed;                   /* over buffers: the first region */
  size_t fixed_bytes;             /* the first buffer */
  TlsfAdded *added;               /* over buffers: further regions */
  BlockChain chain;               /* a heap that grows: a block is a region */
  uint32_t n_empty;               /* regions without an object */
  TlsfBlock none;                 /* the end of each list */
  uint64_t maps[TLSF_N_MAPS_MAX]; /* a bit for each list with a block */
  TlsfBlock *lists[];
};

/* The handle of a heap with SLICE_ARENA_LOCKED.  It starts as SliceTlsf does;
 * its quick_kind is 0. */
typedef struct
{
  ArenaKind kind;
  ArenaKind quick_kind;
  SliceTlsf *tlsf;
  void (*end) (void *);
  ArenaLock lock;
} LockedTlsf;

#define LOCKED_TLSF_BYTES align_up (sizeof (LockedTlsf), 16)

#define TLSF_CONTROL_BYTES(n_lists)                                           \
 align_up (sizeof (SliceTlsf) + (n_lists) * sizeof (TlsfBlock *), 16)

/* The stride of an object of `size' bytes in this heap, with what the heap
 * needs beside it. */
static inline size_t
sli_tlsf_stride_for (const SliceTlsf *tlsf, size_t size)
{
  return sli_tlsf_stride_of (size + tlsf->extra_bytes);
}

/* --- tlsf-index.c: the lists by size ------------------------------------- */

/* Lists for strides up to `bytes`. */
uint32_t sli_tlsf_n_lists_for (size_t bytes);
void sli_tlsf_index_clear (SliceTlsf *tlsf);

_Noreturn void sli_tlsf_report_damaged (const SliceTlsf *tlsf,
                                        const void *block);

/* --- sound links --------------------------------------------------------- */

/* The heap does not follow a word that was overwritten, nor write through it.
 * A link must lead to a block whose link leads back, and the last word of a
 * free block to its start.  To keep this cheap a link is compared with the
 * range of the heap, not with each region: in a heap of several regions a
 * damaged link may lead into a gap between two. */

static inline bool
sli_tlsf_in_range (const SliceTlsf *tlsf, const TlsfBlock *block)
{
  size_t offset = (uintptr_t) block - tlsf->low;
  /* In units; an offset that is no multiple of one becomes too large. */
  size_t units = offset >> TLSF_UNIT_BITS
                 | offset << (SIZE_BITS - TLSF_UNIT_BITS);

  return units < tlsf->span_units;
}

/* Returns true if this can be the stride of a free block, which is in
 * range. */
static inline bool
sli_tlsf_stride_is_sound (const SliceTlsf *tlsf, TlsfBlock *block,
                          size_t stride)
{
  size_t space = tlsf->span_bytes - ((uintptr_t) block - tlsf->low);

  return (stride & (TLSF_UNIT_BYTES - 1)) == 0 && stride >= BLOCK_STRIDE_MIN
         && stride <= space
         && *(TlsfBlock **) ((uintptr_t) block + stride - sizeof (TlsfBlock *))
                == block;
}

static inline unsigned
sli_log2_floor (size_t value)
{
  return (unsigned) (8 * sizeof (unsigned long) - 1)
         ^ (unsigned) __builtin_clzl (value);
}

/* The list of a stride.  Rows 0 and 1 both have a list for each unit. */
static inline unsigned
sli_tlsf_list_of (size_t stride)
{
  unsigned bits = sli_log2_floor (stride | (size_t) 1 << TLSF_ROW0_BITS);

  return ((bits - TLSF_ROW0_BITS) << TLSF_COLUMN_BITS)
         + (unsigned) (stride >> (bits - TLSF_COLUMN_BITS));
}

/* The first list whose blocks all have at least the stride: rounds the stride
 * up to the next list's. */
static inline unsigned
sli_tlsf_list_for (size_t stride)
{
  unsigned bits = sli_log2_floor (stride | (size_t) 1 << TLSF_ROW0_BITS);
  size_t round = ((size_t) 1 << (bits - TLSF_COLUMN_BITS)) - 1;

  return sli_tlsf_list_of (stride + round);
}

/* The sentinel at both ends of each list.  It is linked like a real block, so
 * that no branch is needed; its contents have no meaning. */
static inline TlsfBlock *
sli_tlsf_none (const SliceTlsf *tlsf)
{
  return (TlsfBlock *) (uintptr_t) &tlsf->none;
}

/* The next block of the list, whose link leads back, or the sentinel. */
static inline TlsfBlock *
sli_tlsf_next_of (const SliceTlsf *tlsf, const TlsfBlock *block)
{
  TlsfBlock *next = block->next;
  TlsfBlock *none = sli_tlsf_none (tlsf);
  /* No branch on the end of the list, as it would often be mispredicted. */
  TlsfBlock *safe = sli_tlsf_in_range (tlsf, next) ? next : none;

  if (UNLIKELY ((next != none)
                & ((safe != next) | (safe->prev != block))))
    sli_tlsf_report_damaged (tlsf, block);
  return next;
}

/* The link that leads to a block of a list. */
static inline TlsfBlock **
sli_tlsf_link_to (SliceTlsf *tlsf, TlsfBlock *block, unsigned list)
{
  TlsfBlock *prev = block->prev;

  if (prev != sli_tlsf_none (tlsf))
    {
      if (UNLIKELY (!sli_tlsf_in_range (tlsf, prev) || prev->next != block))
        sli_tlsf_report_damaged (tlsf, block);
      return &prev->next;
    }
  if (UNLIKELY (list >= tlsf->n_lists || tlsf->lists[list] != block))
    sli_tlsf_report_damaged (tlsf, block);
  return &tlsf->lists[list];
}

/* Writes the header and the last word of a free block, and the flag in the
 * block behind it. */
static inline void
tlsf_block_mark_free (TlsfBlock *block, size_t stride)
{
  TlsfBlock *after = tlsf_block_at (block, stride);

  block->stride_and_bits = stride | BLOCK_FREE;
  after->stride_and_bits |= BLOCK_BEFORE_FREE;
  *tlsf_block_before_word (after) = block;
}

static inline void
sli_tlsf_list_push (SliceTlsf *tlsf, unsigned list, TlsfBlock *block)
{
  TlsfBlock *next = tlsf->lists[list];

  TLSF_STEP ();
  block->next = next;
  next->prev = block;
  block->prev = sli_tlsf_none (tlsf);
  tlsf->lists[list] = block;
}

/* Inserts a free block of less than TLSF_EXACT_BELOW, and writes its flags and
 * last word.  Under a tool the words must be accessible. */
static inline void
sli_tlsf_insert_exact (SliceTlsf *tlsf, TlsfBlock *block, size_t stride)
{
  unsigned list = (unsigned) (stride >> TLSF_UNIT_BITS) % TLSF_MAP_BITS;

  tlsf_block_mark_free (block, stride);
  tlsf->maps[0] |= UINT64_C (1) << list;
  sli_tlsf_list_push (tlsf, list, block);
}

static inline void
sli_tlsf_insert_large (SliceTlsf *tlsf, TlsfBlock *block, size_t stride)
{
  unsigned list = sli_tlsf_list_of (stride) % TLSF_N_LISTS_MAX;
  unsigned word = list / TLSF_MAP_BITS;

  tlsf_block_mark_free (block, stride);
  tlsf->maps[word] |= UINT64_C (1) << (list % TLSF_MAP_BITS);
  tlsf->map_map |= UINT32_C (1) << word;
  sli_tlsf_list_push (tlsf, list, block);
}

static inline void
sli_tlsf_insert (SliceTlsf *tlsf, TlsfBlock *block, size_t stride)
{
  if (LIKELY (stride < TLSF_EXACT_BELOW))
    sli_tlsf_insert_exact (tlsf, block, stride);
  else
    sli_tlsf_insert_large (tlsf, block, stride);
}

/* Removes the first block of a list. */
static inline void
sli_tlsf_list_pop (SliceTlsf *tlsf, unsigned list, const TlsfBlock *block)
{
  TlsfBlock *next = sli_tlsf_next_of (tlsf, block);
  uint64_t is_last = next == sli_tlsf_none (tlsf);
  uint64_t *map = &tlsf->maps[list / TLSF_MAP_BITS];

  tlsf->lists[list] = next;
  next->prev = sli_tlsf_none (tlsf);
  *map &= ~(is_last << (list % TLSF_MAP_BITS));
  if (list >= TLSF_MAP_BITS && *map == 0)
    tlsf->map_map &= ~(UINT32_C (1) << (list / TLSF_MAP_BITS));
}

/* Removes a free block from its list. */
static inline void
sli_tlsf_remove (SliceTlsf *tlsf, TlsfBlock *block, size_t stride)
{
  TlsfBlock *prev = block->prev;
  unsigned list;

  TLSF_STEP ();
  if (prev != sli_tlsf_none (tlsf))
    {
      TlsfBlock *next = sli_tlsf_next_of (tlsf, block);

      *sli_tlsf_link_to (tlsf, block, 0) = next;
      next->prev = prev;
      return;
    }
  list = sli_tlsf_list_of (stride);
  sli_tlsf_link_to (tlsf, block, list);
  sli_tlsf_list_pop (tlsf, list, block);
}

/* Changes the start or the stride of a free block.  It keeps its place in the
 * list if the list is the same. */
static inline void
sli_tlsf_move (SliceTlsf *tlsf, TlsfBlock *old, size_t old_stride,
               TlsfBlock *block, size_t stride)
{
  unsigned list = sli_tlsf_list_of (stride);
  TlsfBlock *next, *prev, **link;

  if (sli_tlsf_list_of (old_stride) != list)
    {
      sli_tlsf_remove (tlsf, old, old_stride);
      sli_tlsf_insert (tlsf, block, stride);
      return;
    }
  next = sli_tlsf_next_of (tlsf, old);
  prev = old->prev;
  link = sli_tlsf_link_to (tlsf, old, list);
  TLSF_STEP ();
  tlsf_block_mark_free (block, stride);
  block->next = next;
  block->prev = prev;
  *link = block;
  next->prev = block;
}

/* The first list from `list` on that has a block, or TLSF_N_LISTS_MAX. */
static inline unsigned
sli_tlsf_list_next (const SliceTlsf *tlsf, unsigned list)
{
  unsigned word;
  uint64_t map;

  if (UNLIKELY (list >= tlsf->n_lists))
    return TLSF_N_LISTS_MAX;
  word = list / TLSF_MAP_BITS;
  TLSF_STEP ();
  map = tlsf->maps[word] & ~UINT64_C (0) << (list % TLSF_MAP_BITS);
  if (map == 0)
    {
      uint32_t words;

      TLSF_STEP ();
      words = tlsf->map_map & ~UINT32_C (1) << word;
      if (words == 0)
        return TLSF_N_LISTS_MAX;
      word = (unsigned) __builtin_ctz (words);
      map = tlsf->maps[word];
    }
  return word * TLSF_MAP_BITS + (unsigned) __builtin_ctzll (map);
}

/* The first block of the first list whose blocks are all large enough.  If
 * there is none, tries the first block of the stride's own list, so that a
 * heap over a tight buffer can be filled.  The block stays in its list.  NULL:
 * none. */
static inline TlsfBlock *
sli_tlsf_find (const SliceTlsf *tlsf, size_t stride)
{
  unsigned list = sli_tlsf_list_next (tlsf, sli_tlsf_list_for (stride));
  TlsfBlock *block;
  size_t have;

  if (UNLIKELY (list == TLSF_N_LISTS_MAX))
    {
      list = sli_tlsf_list_of (stride);
      if (list >= tlsf->n_lists)
        return NULL;
    }
  block = tlsf->lists[list];
  TLSF_STEP ();
  if (block == sli_tlsf_none (tlsf))
    return NULL;
  have = block->stride_and_bits ^ BLOCK_FREE;
  if (UNLIKELY (!sli_tlsf_stride_is_sound (tlsf, block, have)
                || block->prev != sli_tlsf_none (tlsf)))
    sli_tlsf_report_damaged (tlsf, block);
  return have < stride ? NULL : block;
}

/* --- tlsf-region.c: memory ----------------------------------------------- */

/* Makes a region of one free block; false if the memory is too small. */
bool sli_tlsf_region_lay_out (SliceTlsf *tlsf, char *start, size_t bytes,
                              Region *region);
/* Makes one free block of a region that is laid out. */
void sli_tlsf_region_open (SliceTlsf *tlsf, const Region *region);
/* Adds a region for a block of `stride'.  It has at least TLSF_EXACT_BELOW
 * bytes, so that a block of an exact list is never a whole region.  False with
 * errno ENOMEM. */
bool sli_tlsf_grow (SliceTlsf *tlsf, size_t stride);
/* Returns true if a free block is a whole region.  Slow: check first whether
 * an end follows. */
bool sli_tlsf_is_region (const SliceTlsf *tlsf, const TlsfBlock *block,
                         size_t stride);
/* Called when a free block has become a whole region, which may be
 * returned. */
void sli_tlsf_region_emptied (SliceTlsf *tlsf, TlsfBlock *block,
                              size_t stride);
/* Bytes of the smallest region. */
size_t sli_tlsf_region_least (void);
uint32_t sli_tlsf_n_regions (const SliceTlsf *tlsf);
Region sli_tlsf_region (const SliceTlsf *tlsf, uint32_t index);

/* The region that has an address; false: none. */
bool sli_tlsf_region_of (const SliceTlsf *tlsf, const void *address,
                         Region *region);

/* --- tlsf-fixed.c: over buffers of the caller's --------------------------- */

uint32_t sli_tlsf_fixed_n_regions (const SliceTlsf *tlsf);
Region sli_tlsf_fixed_region (const SliceTlsf *tlsf, uint32_t index);
bool sli_tlsf_fixed_region_of (const SliceTlsf *tlsf, const void *address,
                               Region *region);
/* Of all buffers. */
size_t sli_tlsf_fixed_bytes (const SliceTlsf *tlsf);
/* Makes all regions empty; the lists are. */
void sli_tlsf_fixed_reset (SliceTlsf *tlsf);
/* The buffers are the caller's again. */
void sli_tlsf_fixed_fini (SliceTlsf *tlsf);

/* --- tlsf-life.c ---------------------------------------------------------- */

/* Initialises the control block of a heap that has no region yet. */
void sli_tlsf_init (SliceTlsf *tlsf, uint32_t n_lists, unsigned flags,
                    void (*end) (void *));
/* Reports the objects of a heap, which has none so far, to the hooks. */
void sli_tlsf_set_traced (SliceTlsf *tlsf);

/* --- tlsf-locked.c -------------------------------------------------------- */

static inline bool
sli_tlsf_is_locked (const SliceTlsf *shown)
{
  return shown->kind == ARENA_TLSF_LOCKED;
}

/* Find the heap of a handle and take its lock, if it has one; release the
 * lock.  Both report misuse. */
SliceTlsf *sli_tlsf_acquire (const SliceTlsf *shown, const char *operation);
void sli_tlsf_release (const SliceTlsf *shown);

/* Makes a shell in front of a heap that was made in the same memory. */
SliceTlsf *sli_tlsf_locked_setup (void *memory, SliceTlsf *tlsf,
                                  void (*end) (void *));
/* Ends the shell and returns the heap. */
SliceTlsf *sli_tlsf_locked_fini (SliceTlsf *shown);
void *sli_tlsf_locked_alloc (SliceTlsf *shown, size_t size);
void sli_tlsf_locked_free (SliceTlsf *shown, void *object);

/* --- tlsf-walk.c --------------------------------------------------------- */

/* Reports what is wrong with an address that no live object has, or whose
 * block is not sound. */
_Noreturn void sli_tlsf_report_object (const SliceTlsf *tlsf,
                                       const void *object,
                                       const char *operation);

/* --- tlsf-tail.c: checked heaps, and heaps under a tool ------------------ */

/* Make a new object known to the tool and the hooks, and return it; hide one
 * that is freed. */
char *sli_tlsf_note_alloc (const SliceTlsf *tlsf, TlsfBlock *block,
                           size_t size);
void sli_tlsf_note_free (const SliceTlsf *tlsf, TlsfBlock *block);
/* Tells the tool the new size of an object that stays in its block, and how
 * many of its bytes are kept. */
void sli_tlsf_note_resized (const SliceTlsf *tlsf, const TlsfBlock *block,
                            size_t kept, size_t size);
/* Writes the tail of a live block, with the size of its object. */
void sli_tlsf_tail_note (const SliceTlsf *tlsf, TlsfBlock *block, size_t size);
/* Returns true if the end of a live block is intact; its header is sound. */
bool sli_tlsf_tail_is_whole (const SliceTlsf *tlsf, const TlsfBlock *block);
/* The size that the tail has. */
size_t sli_tlsf_tail_size (const TlsfBlock *block);
/* The same for a live block of a heap under a tool. */
void sli_tlsf_gap_note (const TlsfBlock *block, size_t size);
size_t sli_tlsf_gap_size (const TlsfBlock *block);

_Noreturn void sli_tlsf_report_overrun (const SliceTlsf *tlsf,
                                        const TlsfBlock *block);

static inline void
sli_tlsf_require (const SliceTlsf *tlsf, const char *operation)
{
  sli_arena_require (tlsf, tlsf->kind, ARENA_TLSF, operation);
}

#endif
