/* tlsf.h - inside a TLSF heap
 *
 * Floor 7: shared by tlsf.c, tlsf-index.c, tlsf-region.c and tlsf-walk.c.
 *
 * Theory: section 8.5.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_TLSF_H
#define SLI_ARENA_TLSF_H

#include "bump.h"

/* Strides (a piece's bytes with its header) are multiples of 16; below 512
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
 * starts.  Objects are aligned to 16, so pieces start 8 below.
 *
 * A third bit marks a piece that waits: its object was freed, but to its
 * neighbours it is as live. */
typedef struct Piece Piece;
struct Piece
{
  size_t stride_and_bits;
  Piece *next; /* in its list; free pieces only */
  Piece *prev;
};

#define PIECE_FREE ((size_t) 1)
#define PIECE_BEFORE_FREE ((size_t) 2)
#define PIECE_WAITS ((size_t) 4)
#define PIECE_BITS ((size_t) 7)
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

/* Small pieces of a heap that grows, which wait for a request of just their
 * stride: a few in each list, the last one freed first.  A free and an alloc
 * then touch no other piece.  Such a heap asks the system for memory, so it
 * is not for real-time threads, and what waits is bounded; a heap over a
 * buffer joins everything at once. */
#define TLSF_WAIT_BELOW ((size_t) 1 << TLSF_ROW0_BITS)
#define TLSF_N_WAIT_MAX 16

typedef struct
{
  Piece *first[TLSF_N_COLUMNS];
  uint8_t n_more[TLSF_N_COLUMNS]; /* that each list may still take */
} Waiting;

struct SliceTlsf
{
  ArenaKind kind;
  uint32_t control_bytes;
  void (*end) (void *);
  uintptr_t low;  /* all pieces lie at or above */
  uintptr_t high; /* and below */
  Region fixed;   /* over a buffer: the only region */
  bool is_fixed;
  bool is_watched;
  bool is_asked;       /* watched, or chain.is_told */
  uint8_t front_bytes; /* a gap before each object when a tool watches */
  uint32_t n_rows;
  size_t fixed_bytes; /* the caller's buffer */
  BlockChain chain;   /* a heap that grows: a block is a region */
  uint32_t n_empty;   /* regions without an object */
  Waiting *waiting;   /* a heap that grows: behind the lists */
  size_t wait_below;  /* strides below this may wait; 0: none does */
  size_t n_out;       /* objects that are live */
  Piece **lists;      /* heads of lists, behind column_maps */
  uint64_t row_map;   /* rows with a piece */
  /* And behind it, for each row: a word of columns with a piece; then the
   * heads of the lists. */
  uint32_t column_maps[];
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

static inline bool
piece_is_waiting (const Piece *piece)
{
  return (piece->stride_and_bits & PIECE_WAITS) != 0;
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

/* Bytes of the maps and heads for so many rows. */
size_t sli_tlsf_index_bytes (uint32_t n_rows);
/* Rows for strides up to `bytes`. */
uint32_t sli_tlsf_rows_for (size_t bytes);
void sli_tlsf_index_clear (SliceTlsf *tlsf);

_Noreturn void sli_tlsf_fault_damaged (const SliceTlsf *tlsf,
                                       const void *piece);

/* The list of free pieces at a place of the table. */
static inline Piece **
sli_tlsf_list (const SliceTlsf *tlsf, uint32_t row, uint32_t column)
{
  return tlsf->lists + (size_t) row * TLSF_N_COLUMNS + column;
}

static inline unsigned
sli_log2_floor (size_t value)
{
  return (unsigned) (8 * sizeof (unsigned long) - 1)
         - (unsigned) __builtin_clzl (value);
}

/* The place of a stride. */
static inline void
sli_tlsf_place (size_t stride, uint32_t *row, uint32_t *column)
{
  if (stride < (size_t) 1 << TLSF_ROW0_BITS)
    {
      *row = 0;
      *column = (uint32_t) (stride >> TLSF_UNIT_BITS);
      return;
    }
  unsigned bits = sli_log2_floor (stride);
  *row = bits - TLSF_ROW0_BITS + 1;
  *column = (uint32_t) (stride >> (bits - TLSF_COLUMN_BITS))
            & (TLSF_N_COLUMNS - 1);
}

/* Shows the tool the heap's words in a free piece. */
void sli_tlsf_watch_insert (Piece *piece, Piece *after) __attribute__ ((cold));

/* Makes a free piece known, flags and last word too. */
static inline void
sli_tlsf_insert (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  uint32_t row;
  uint32_t column;
  sli_tlsf_place (stride, &row, &column);
  Piece **list = sli_tlsf_list (tlsf, row, column);
  TLSF_STEP ();
  Piece *after = piece_at (piece, stride);
  if (tlsf->is_watched)
    sli_tlsf_watch_insert (piece, after);
  piece->next = *list;
  piece->prev = NULL;
  if (piece->next != NULL)
    piece->next->prev = piece;
  *list = piece;
  tlsf->column_maps[row] |= UINT32_C (1) << column;
  tlsf->row_map |= UINT64_C (1) << row;
  piece->stride_and_bits = stride | PIECE_FREE;
  after->stride_and_bits |= PIECE_BEFORE_FREE;
  *piece_before_word (after) = piece;
}

/* The first piece of a list goes: the list may be empty then. */
static inline void
sli_tlsf_list_pop (SliceTlsf *tlsf, Piece *piece, uint32_t row,
                   uint32_t column)
{
  *sli_tlsf_list (tlsf, row, column) = piece->next;
  if (piece->next != NULL)
    {
      piece->next->prev = NULL;
      return;
    }
  tlsf->column_maps[row] &= ~(UINT32_C (1) << column);
  if (tlsf->column_maps[row] == 0)
    tlsf->row_map &= ~(UINT64_C (1) << row);
}

/* Takes a free piece out. */
static inline void
sli_tlsf_remove (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  TLSF_STEP ();
  if (piece->prev != NULL)
    {
      if (piece->prev->next != piece
          || (piece->next != NULL && piece->next->prev != piece))
        sli_tlsf_fault_damaged (tlsf, piece);
      piece->prev->next = piece->next;
      if (piece->next != NULL)
        piece->next->prev = piece->prev;
      return;
    }
  uint32_t row;
  uint32_t column;
  sli_tlsf_place (stride, &row, &column);
  if (*sli_tlsf_list (tlsf, row, column) != piece)
    sli_tlsf_fault_damaged (tlsf, piece);
  sli_tlsf_list_pop (tlsf, piece, row, column);
}

/* A list that holds only pieces of at least the stride: the place of the
 * stride rounded up to the next column. */
static inline bool
sli_tlsf_search (const SliceTlsf *tlsf, size_t stride, uint32_t *row,
                 uint32_t *column)
{
  if (stride >= (size_t) 1 << TLSF_ROW0_BITS)
    stride += ((size_t) 1 << (sli_log2_floor (stride) - TLSF_COLUMN_BITS)) - 1;
  sli_tlsf_place (stride, row, column);
  if (*row >= tlsf->n_rows)
    return false;
  TLSF_STEP ();
  uint32_t columns = tlsf->column_maps[*row] & (~UINT32_C (0) << *column);
  if (columns == 0)
    {
      TLSF_STEP ();
      uint64_t rows = tlsf->row_map & (~UINT64_C (1) << *row);
      if (rows == 0)
        return false;
      *row = (uint32_t) __builtin_ctzll (rows);
      columns = tlsf->column_maps[*row];
    }
  *column = (uint32_t) __builtin_ctz (columns);
  return true;
}

/* When nothing larger is free the first piece of the stride's own list may
 * do: one look more, so a heap over a tight buffer can be filled. */
static inline Piece *
sli_tlsf_own_list (const SliceTlsf *tlsf, size_t stride, uint32_t *row,
                   uint32_t *column)
{
  sli_tlsf_place (stride, row, column);
  if (*row >= tlsf->n_rows)
    return NULL;
  Piece *piece = *sli_tlsf_list (tlsf, *row, *column);
  TLSF_STEP ();
  return piece != NULL && piece_stride (piece) >= stride ? piece : NULL;
}

/* Takes a free piece of at least `stride` out, or NULL. */
static inline Piece *
sli_tlsf_find (SliceTlsf *tlsf, size_t stride)
{
  uint32_t row;
  uint32_t column;
  Piece *piece;
  if (sli_tlsf_search (tlsf, stride, &row, &column))
    piece = *sli_tlsf_list (tlsf, row, column);
  else
    piece = sli_tlsf_own_list (tlsf, stride, &row, &column);
  if (piece == NULL)
    return NULL;
  if (!piece_is_free (piece) || piece->prev != NULL)
    sli_tlsf_fault_damaged (tlsf, piece);
  sli_tlsf_list_pop (tlsf, piece, row, column);
  return piece;
}

/* --- pieces that wait ---------------------------------------------------- */

/* One of just that stride, or NULL. */
static inline Piece *
sli_tlsf_wait_pop (SliceTlsf *tlsf, size_t stride)
{
  Waiting *waiting = tlsf->waiting;
  size_t column = stride >> TLSF_UNIT_BITS;
  Piece *piece = waiting->first[column];
  if (piece == NULL)
    return NULL;
  if (!piece_is_waiting (piece))
    sli_tlsf_fault_damaged (tlsf, piece);
  waiting->first[column] = piece->next;
  waiting->n_more[column]++;
  piece->stride_and_bits &= ~PIECE_WAITS;
  return piece;
}

/* False if enough of its stride wait already. */
static inline bool
sli_tlsf_wait_push (SliceTlsf *tlsf, Piece *piece, size_t stride)
{
  Waiting *waiting = tlsf->waiting;
  size_t column = stride >> TLSF_UNIT_BITS;
  if (waiting->n_more[column] == 0)
    return false;
  waiting->n_more[column]--;
  piece->next = waiting->first[column];
  waiting->first[column] = piece;
  piece->stride_and_bits |= PIECE_WAITS;
  return true;
}

/* No piece waits; their lists are empty. */
void sli_tlsf_wait_clear (SliceTlsf *tlsf);
/* Joins all that wait to their neighbours; false if none did. */
bool sli_tlsf_wait_end (SliceTlsf *tlsf);

/* --- tlsf-region.c: memory ----------------------------------------------- */

/* Makes memory one free piece; false if it is too small. */
bool sli_tlsf_region_lay_out (SliceTlsf *tlsf, char *start, size_t bytes,
                              Region *region);
/* Adds a region for a piece of `stride`; false with errno ENOMEM. */
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
