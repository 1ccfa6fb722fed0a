/* tlsf.h - inside a TLSF heap
 *
 * Layer: arena: shared by tlsf.c and the tlsf-*.c beside it.
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
 *           +--------+------------- ... ---------+-------+--------+
 *   checked | stride | object           | fill   | size  | guard  |
 *           +--------+------+------+--- ... -------------+--------+
 *   free:   | stride | next | prev |                     | start  |
 *           +--------+------+------+--- ... -------------+--------+
 *
 * The stride's low bits say whether the piece is free and whether the one
 * before it is; then, and only then, that one's last word tells where it
 * starts.  Its high bits are the heap's own in a live piece and in the end of
 * a region, and 0 in a free one: so another heap's object, and most of what
 * an overrun leaves, is no header.  Objects are aligned to 16, so pieces start
 * 8 below. */
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
/* Where sizes have 32 bits there are none to spare. */
#define PIECE_TAG_SHIFT 44
#define PIECE_TAG_MASK                                                        \
  (sizeof (size_t) == 8 ? ~(size_t) 0 << PIECE_TAG_SHIFT % SIZE_BITS          \
                        : (size_t) 0)
#define SIZE_BITS (8 * sizeof (size_t))
#define PIECE_HEAD_BYTES sizeof (size_t)
/* Header, two links and the last word. */
#define PIECE_STRIDE_MIN ((size_t) 32)

/* What ends a live piece of a checked heap. */
typedef struct
{
  size_t size;  /* that was asked for */
  size_t guard; /* depends on it and on the address */
} PieceTail;

/* Between an object and its tail. */
#define PIECE_FILL 0xfb

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
  ArenaKind quick_kind; /* the same; but 0 when a tool watches, hooks are
                           told or the heap is checked, so that alloc and
                           free take their slow paths */
  uint32_t control_bytes;
  uint32_t n_lists;
  uintptr_t low;     /* all pieces lie at or above */
  size_t span_bytes; /* and end so far above */
  size_t span_units; /* the same, in units */
  size_t tag;        /* the high bits of live headers */
  uint32_t map_map;  /* words of maps that are not 0, but for the first */
  bool is_fixed;
  bool is_watched;
  bool is_checked;      /* live pieces have tails; never when watched */
  uint16_t extra_bytes; /* of a live piece, beside header and object */
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
  return piece->stride_and_bits & ~(PIECE_BITS | PIECE_TAG_MASK);
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

/* --- what is sound ------------------------------------------------------- */

/* A word that was written over is not followed, and nothing is written through
 * it: a link leads to a piece whose link leads back, a free piece's last word
 * to its start.  That the range of the heap is looked at, not each region, is
 * what keeps it cheap: in a heap of several regions a stray link may lead into
 * a gap between two. */

static inline bool
sli_tlsf_in_range (const SliceTlsf *tlsf, const Piece *piece)
{
  size_t offset = (uintptr_t) piece - tlsf->low;
  /* In units; what is no multiple of one is beyond all of them. */
  size_t units = offset >> TLSF_UNIT_BITS
                 | offset << (SIZE_BITS - TLSF_UNIT_BITS);
  return units < tlsf->span_units;
}

/* Is this a free piece's stride?  The piece is in range. */
static inline bool
sli_tlsf_stride_is_sound (const SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  size_t room = tlsf->span_bytes - ((uintptr_t) piece - tlsf->low);
  return (stride & (TLSF_UNIT_BYTES - 1)) == 0 && stride >= PIECE_STRIDE_MIN
         && stride <= room
         && *(Piece **) ((uintptr_t) piece + stride - sizeof (Piece *))
                == piece;
}

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

/* Its link forward, which leads back to it or ends the list. */
static inline Piece *
sli_tlsf_next_of (const SliceTlsf *tlsf, const Piece *piece)
{
  Piece *next = piece->next;
  Piece *none = sli_tlsf_none (tlsf);
  /* Without a branch on whether it ends, which is guessed wrong often. */
  Piece *look = sli_tlsf_in_range (tlsf, next) ? next : none;
  if (SLICE_UNLIKELY ((next != none)
                      & ((look != next) | (look->prev != piece))))
    sli_tlsf_fault_damaged (tlsf, piece);
  return next;
}

/* The place that leads to a piece of a list. */
static inline Piece **
sli_tlsf_link_to (SliceTlsf *tlsf, Piece *piece, unsigned list)
{
  Piece *prev = piece->prev;
  if (prev != sli_tlsf_none (tlsf))
    {
      if (SLICE_UNLIKELY (!sli_tlsf_in_range (tlsf, prev)
                          || prev->next != piece))
        sli_tlsf_fault_damaged (tlsf, piece);
      return &prev->next;
    }
  if (SLICE_UNLIKELY (list >= tlsf->n_lists || tlsf->lists[list] != piece))
    sli_tlsf_fault_damaged (tlsf, piece);
  return &tlsf->lists[list];
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
  Piece *next = sli_tlsf_next_of (tlsf, piece);
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
      Piece *next = sli_tlsf_next_of (tlsf, piece);
      *sli_tlsf_link_to (tlsf, piece, 0) = next;
      next->prev = prev;
      return;
    }
  unsigned list = sli_tlsf_list_of (stride);
  sli_tlsf_link_to (tlsf, piece, list);
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
  Piece *next = sli_tlsf_next_of (tlsf, old);
  Piece *prev = old->prev;
  Piece **link = sli_tlsf_link_to (tlsf, old, list);
  TLSF_STEP ();
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
  if (piece == sli_tlsf_none (tlsf))
    return NULL;
  size_t have = piece->stride_and_bits ^ PIECE_FREE;
  if (SLICE_UNLIKELY (!sli_tlsf_stride_is_sound (tlsf, piece, have)
                      || piece->prev != sli_tlsf_none (tlsf)))
    sli_tlsf_fault_damaged (tlsf, piece);
  return have < stride ? NULL : piece;
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
/* Bytes of the smallest region. */
size_t sli_tlsf_region_least (void);
uint32_t sli_tlsf_n_regions (const SliceTlsf *tlsf);
Region sli_tlsf_region (const SliceTlsf *tlsf, uint32_t index);

/* The region that an address lies in; false: none. */
bool sli_tlsf_region_of (const SliceTlsf *tlsf, const void *address,
                         Region *region);

/* --- tlsf-walk.c --------------------------------------------------------- */

/* Says what is wrong with an address that no live object has, or whose piece
 * is not sound, and ends the program. */
_Noreturn void sli_tlsf_fault_object (const SliceTlsf *tlsf,
                                      const void *object);

/* --- tlsf-tail.c: checked and watched heaps ------------------------------ */

/* Notes the size of the object that a live piece holds. */
void sli_tlsf_tail_note (const SliceTlsf *tlsf, Piece *piece, size_t size);
/* Is the end of a live piece as it was left?  Its header is sound. */
bool sli_tlsf_tail_is_whole (const SliceTlsf *tlsf, const Piece *piece);
/* The noted size. */
size_t sli_tlsf_tail_size (const Piece *piece);
/* The same of a live piece of a watched heap. */
void sli_tlsf_gap_note (const Piece *piece, size_t size);
size_t sli_tlsf_gap_size (const Piece *piece);

_Noreturn void sli_tlsf_fault_overrun (const SliceTlsf *tlsf,
                                       const Piece *piece);

static inline void
sli_tlsf_require (const SliceTlsf *tlsf)
{
  sli_arena_require (tlsf, tlsf->kind, ARENA_TLSF);
}

#endif
