/* tlsf.h - inside a TLSF heap
 *
 * Floor 7: shared by tlsf.c and the tlsf-*.c beside it.
 *
 * Theory: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_TLSF_H
#define SLI_ARENA_TLSF_H

#include "bump.h"

/* Strides (a piece's bytes with its header) are multiples of 16; below 1024
 * each has a list of its own, above each power of two is cut in 32.  So a
 * free piece is at most 1/32 larger than the least one that its list may
 * hold. */
#define TLSF_UNIT_BITS 4
#define TLSF_UNIT_BYTES ((size_t) 1 << TLSF_UNIT_BITS)
#define TLSF_COLUMN_BITS 5
#define TLSF_N_COLUMNS (1 << TLSF_COLUMN_BITS)
#define TLSF_ROW0_BITS (TLSF_UNIT_BITS + TLSF_COLUMN_BITS)

/* Rows for strides up to 2^40. */
#define TLSF_STRIDE_BITS_MAX 40
#define TLSF_N_ROWS_MAX (TLSF_STRIDE_BITS_MAX - TLSF_ROW0_BITS + 1)
#define TLSF_N_LISTS_MAX (TLSF_N_ROWS_MAX * TLSF_N_COLUMNS)

/* A bit for each list, in words of two rows. */
#define TLSF_MAP_BITS 64
#define TLSF_N_MAPS_MAX (TLSF_N_LISTS_MAX / TLSF_MAP_BITS)

/* The strides whose lists the first word tells: a piece of theirs has just
 * the stride of its list. */
#define TLSF_EXACT_BELOW ((size_t) TLSF_MAP_BITS << TLSF_UNIT_BITS)

/* A piece of a region; the object starts at `links`:
 *
 *           +--------+----------------- ... -------------+--------+
 *   live:   | stride | object                                     |
 *           +--------+------+------+--- ... -------------+--------+
 *   free:   | stride | next | prev |                     | start  |
 *           +--------+------+------+--- ... -------------+--------+
 *
 * The stride's low bits say whether the piece is free and whether the one
 * before it is; then, and only then, that one's last word tells where it
 * starts.  Objects are aligned to 16, so pieces start 8 below. */
typedef struct Piece Piece;
struct Piece
{
  size_t stride_and_bits;
  Piece *next; /* in its list; free pieces only */
  Piece *prev;
};

#define PIECE_FREE ((size_t) 1)
#define PIECE_BEFORE_FREE ((size_t) 2)
#define PIECE_BITS ((size_t) 3)
#define PIECE_HEAD_BYTES sizeof (size_t)
/* Header, two links and the last word. */
#define PIECE_STRIDE_MIN ((size_t) 32)

/* A region: pieces, then an empty piece that is never free.
 *
 *   +-----+-------+-------+-- ... --+-------+-----+
 *   | pad | piece | piece |         | piece | end |
 *   +-----+-------+-------+-- ... --+-------+-----+
 *         ^ first                             stride 0
 */
typedef struct
{
  Piece *first;
  size_t bytes;   /* of all pieces, the end piece not counted */
  uint32_t block; /* its index in the chain */
} Region;

struct SliceTlsf
{
  ArenaKind kind;
  ArenaKind quick_kind; /* the same; but 0 when a tool watches or hooks are
                           told, so that alloc and free take their slow
                           paths */
  uint32_t control_bytes;
  uint32_t n_lists;
  uintptr_t low;     /* all pieces lie at or above */
  size_t span_bytes; /* and end so far above */
  uint32_t map_map;  /* words of maps that are not 0, but for the first */
  bool is_fixed;
  bool is_watched;
  uint16_t front_bytes; /* a gap before each object when a tool watches */
  void (*end) (void *);
  Region fixed;                   /* over a buffer: the only region */
  size_t fixed_bytes;             /* the caller's buffer */
  BlockChain chain;               /* a heap that grows: a block is a region */
  uint32_t n_empty;               /* regions without an object */
  Piece none;                     /* the end of each list */
  uint64_t maps[TLSF_N_MAPS_MAX]; /* a bit for each list with a piece */
  Piece *lists[];
};

/* --- steps --------------------------------------------------------------- */

/* A step is a look at a piece's header, at a list or at a bitmap word.  The
 * worst-case test builds these files with TLSF_COUNT_STEPS. */
#ifdef TLSF_COUNT_STEPS
extern unsigned sli_tlsf_n_steps;
# define TLSF_STEP() (sli_tlsf_n_steps++)
#else
# define TLSF_STEP() ((void) 0)
#endif

/* --- pieces -------------------------------------------------------------- */

static inline size_t
piece_stride (const Piece *piece)
{
  TLSF_STEP ();
  return piece->stride_and_bits & ~PIECE_BITS;
}

static inline bool
piece_is_free (const Piece *piece)
{
  return (piece->stride_and_bits & PIECE_FREE) != 0;
}

static inline bool
piece_before_is_free (const Piece *piece)
{
  return (piece->stride_and_bits & PIECE_BEFORE_FREE) != 0;
}

static inline Piece *
piece_at (const void *start, size_t offset)
{
  return (Piece *) ((uintptr_t) start + offset);
}

/* The word that ends the piece before. */
static inline Piece **
piece_before_word (Piece *piece)
{
  return (Piece **) (void *) ((char *) piece - sizeof (Piece *));
}

static inline char *
piece_object (const Piece *piece)
{
  return (char *) (uintptr_t) piece + PIECE_HEAD_BYTES;
}

static inline Piece *
object_piece (const void *object)
{
  return (Piece *) ((uintptr_t) object - PIECE_HEAD_BYTES);
}

/* --- tlsf-index.c: the lists by size ------------------------------------- */

/* Lists for strides up to `bytes`. */
uint32_t sli_tlsf_n_lists_for (size_t bytes);
void sli_tlsf_index_clear (SliceTlsf *tlsf);

_Noreturn void sli_tlsf_fault_damaged (const SliceTlsf *tlsf,
                                       const void *piece);

static inline unsigned
sli_log2_floor (size_t value)
{
  return (unsigned) (8 * sizeof (unsigned long) - 1)
         ^ (unsigned) __builtin_clzl (value);
}

/* The list of a stride.  Rows 0 and 1 are cut alike, so that the lists of
 * both are numbered by units. */
static inline unsigned
sli_tlsf_list_of (size_t stride)
{
  unsigned bits = sli_log2_floor (stride | (size_t) 1 << TLSF_ROW0_BITS);
  return ((bits - TLSF_ROW0_BITS) << TLSF_COLUMN_BITS)
         + (unsigned) (stride >> (bits - TLSF_COLUMN_BITS));
}

/* The first list that holds only pieces of at least the stride: it rounds up
 * to the next one. */
static inline unsigned
sli_tlsf_list_for (size_t stride)
{
  unsigned bits = sli_log2_floor (stride | (size_t) 1 << TLSF_ROW0_BITS);
  size_t round = ((size_t) 1 << (bits - TLSF_COLUMN_BITS)) - 1;
  return sli_tlsf_list_of (stride + round);
}

/* What ends each list on both sides.  A piece is linked to it as to a real
 * one, so that no branch is needed; its contents mean nothing. */
static inline Piece *
sli_tlsf_none (const SliceTlsf *tlsf)
{
  return (Piece *) (uintptr_t) &tlsf->none;
}

/* The header and the last word of a free piece, and what the one behind it
 * says. */
static inline void
piece_mark_free (Piece *piece, size_t stride)
{
  Piece *after = piece_at (piece, stride);
  piece->stride_and_bits = stride | PIECE_FREE;
  after->stride_and_bits |= PIECE_BEFORE_FREE;
  *piece_before_word (after) = piece;
}

static inline void
sli_tlsf_list_push (SliceTlsf *tlsf, unsigned list, Piece *piece)
{
  Piece *next = tlsf->lists[list];
  TLSF_STEP ();
  piece->next = next;
  next->prev = piece;
  piece->prev = sli_tlsf_none (tlsf);
  tlsf->lists[list] = piece;
}

/* Makes a free piece of less than TLSF_EXACT_BELOW known, flags and last word
 * too.  A tool must have been shown the words. */
static inline void
sli_tlsf_insert_exact (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  unsigned list = (unsigned) (stride >> TLSF_UNIT_BITS) % TLSF_MAP_BITS;
  piece_mark_free (piece, stride);
  tlsf->maps[0] |= UINT64_C (1) << list;
  sli_tlsf_list_push (tlsf, list, piece);
}

static inline void
sli_tlsf_insert_large (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  unsigned list = sli_tlsf_list_of (stride) % TLSF_N_LISTS_MAX;
  unsigned word = list / TLSF_MAP_BITS;
  piece_mark_free (piece, stride);
  tlsf->maps[word] |= UINT64_C (1) << (list % TLSF_MAP_BITS);
  tlsf->map_map |= UINT32_C (1) << word;
  sli_tlsf_list_push (tlsf, list, piece);
}

static inline void
sli_tlsf_insert (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  if (SLICE_LIKELY (stride < TLSF_EXACT_BELOW))
    sli_tlsf_insert_exact (tlsf, piece, stride);
  else
    sli_tlsf_insert_large (tlsf, piece, stride);
}

/* The first piece of a list goes. */
static inline void
sli_tlsf_list_pop (SliceTlsf *tlsf, unsigned list, const Piece *piece)
{
  Piece *next = piece->next;
  uint64_t is_last = next == sli_tlsf_none (tlsf);
  uint64_t *map = &tlsf->maps[list / TLSF_MAP_BITS];
  tlsf->lists[list] = next;
  next->prev = sli_tlsf_none (tlsf);
  *map &= ~(is_last << (list % TLSF_MAP_BITS));
  if (list >= TLSF_MAP_BITS && *map == 0)
    tlsf->map_map &= ~(UINT32_C (1) << (list / TLSF_MAP_BITS));
}

/* Takes a free piece out. */
static inline void
sli_tlsf_remove (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  Piece *prev = piece->prev;
  TLSF_STEP ();
  if (prev != sli_tlsf_none (tlsf))
    {
      if (SLICE_UNLIKELY (prev->next != piece))
        sli_tlsf_fault_damaged (tlsf, piece);
      prev->next = piece->next;
      piece->next->prev = prev;
      return;
    }
  unsigned list = sli_tlsf_list_of (stride);
  if (SLICE_UNLIKELY (tlsf->lists[list] != piece))
    sli_tlsf_fault_damaged (tlsf, piece);
  sli_tlsf_list_pop (tlsf, list, piece);
}

/* A free piece has got another start or another stride.  It keeps its place
 * if its list is the same. */
static inline void
sli_tlsf_move (SliceTlsf *tlsf, Piece *old, size_t old_stride, Piece *piece,
               size_t stride)
{
  unsigned list = sli_tlsf_list_of (stride);
  if (sli_tlsf_list_of (old_stride) != list)
    {
      sli_tlsf_remove (tlsf, old, old_stride);
      sli_tlsf_insert (tlsf, piece, stride);
      return;
    }
  Piece *next = old->next;
  Piece *prev = old->prev;
  Piece **link
      = prev != sli_tlsf_none (tlsf) ? &prev->next : &tlsf->lists[list];
  TLSF_STEP ();
  if (SLICE_UNLIKELY (*link != old))
    sli_tlsf_fault_damaged (tlsf, old);
  piece_mark_free (piece, stride);
  piece->next = next;
  piece->prev = prev;
  *link = piece;
  next->prev = piece;
}

/* The first list from `list` on that has a piece, or TLSF_N_LISTS_MAX. */
static inline unsigned
sli_tlsf_list_next (const SliceTlsf *tlsf, unsigned list)
{
  if (SLICE_UNLIKELY (list >= tlsf->n_lists))
    return TLSF_N_LISTS_MAX;
  unsigned word = list / TLSF_MAP_BITS;
  TLSF_STEP ();
  uint64_t map = tlsf->maps[word] & ~UINT64_C (0) << (list % TLSF_MAP_BITS);
  if (map == 0)
    {
      TLSF_STEP ();
      uint32_t words = tlsf->map_map & ~UINT32_C (1) << word;
      if (words == 0)
        return TLSF_N_LISTS_MAX;
      word = (unsigned) __builtin_ctz (words);
      map = tlsf->maps[word];
    }
  return word * TLSF_MAP_BITS + (unsigned) __builtin_ctzll (map);
}

/* The first piece of the first list whose pieces are all large enough.  When
 * there is none the first piece of the stride's own list may do: one look
 * more, so a heap over a tight buffer can be filled.  It stays in its list.
 * NULL: none. */
static inline Piece *
sli_tlsf_find (const SliceTlsf *tlsf, size_t stride)
{
  unsigned list = sli_tlsf_list_next (tlsf, sli_tlsf_list_for (stride));
  if (SLICE_UNLIKELY (list == TLSF_N_LISTS_MAX))
    {
      list = sli_tlsf_list_of (stride);
      if (list >= tlsf->n_lists)
        return NULL;
    }
  Piece *piece = tlsf->lists[list];
  TLSF_STEP ();
  if (piece_stride (piece) < stride)
    return NULL;
  if (SLICE_UNLIKELY (!piece_is_free (piece)
                      || piece->prev != sli_tlsf_none (tlsf)))
    sli_tlsf_fault_damaged (tlsf, piece);
  return piece;
}

/* --- tlsf-region.c: memory ----------------------------------------------- */

/* Makes memory one free piece; false if it is too small. */
bool sli_tlsf_region_lay_out (SliceTlsf *tlsf, char *start, size_t bytes,
                              Region *region);
/* Adds a region for a piece of `stride`, and of at least TLSF_EXACT_BELOW, so
 * that a piece of an exact list is never a whole region; false with errno
 * ENOMEM. */
bool sli_tlsf_grow (SliceTlsf *tlsf, size_t stride);
/* Is this free piece a whole region?  Look first whether an end follows. */
bool sli_tlsf_is_region (const SliceTlsf *tlsf, const Piece *piece,
                         size_t stride);
/* A free piece has become a region: it may go back. */
void sli_tlsf_region_emptied (SliceTlsf *tlsf, Piece *piece, size_t stride);
uint32_t sli_tlsf_n_regions (const SliceTlsf *tlsf);
Region sli_tlsf_region (const SliceTlsf *tlsf, uint32_t index);

/* --- tlsf-walk.c --------------------------------------------------------- */

static inline void
sli_tlsf_require (const SliceTlsf *tlsf)
{
  sli_arena_require (tlsf, tlsf->kind, ARENA_TLSF);
}

#endif
