/* guard.c - the checking modes: checked, hardened, debug
 *
 * Floor 6 (alloc).  Below: magazine, and slab for the marks (as alloc.c may).
 * No locks: a mark is written by the one who owns the chunk; if two free it
 * at the same moment, the slab's bitmap finds the second.
 * Theory: section 6.
 * Sources: the mechanisms that mimalloc, Scudo and hardened_malloc made known,
 * chosen by measured cost (THEORY 11).
 *
 *   checked, hardened:                 debug:
 *   | block | canary | (slack) |       | red zone | block | red zone | (slack) |
 *            8 bytes (hardened)          16 bytes            16 bytes
 *
 * The mark of a chunk says what it is: fresh, free, or live with the exact
 * size that was asked for.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "guard.h"
#include "alloc.h"
#include "block-check.h"
#include "magazine.h"
#include "place.h"
#include "record.h"
#include "base/align.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/option.h"
#include "port/annotate.h"
#include "port/compiler.h"
#include "port/os.h"

#include <string.h>

enum
{
  MARK_FRESH = 0,  /* never handed out since the slab was cut */
  MARK_FREE = 1,
  MARK_LIVE = 16   /* plus the size that was asked for */
};

enum
{
  CANARY_BYTES = 8,
  ZONE_BYTES = 16,             /* a red zone; keeps the block's alignment */
  QUARANTINE_HARDENED = 32,    /* chunks of a class in a thread */
  QUARANTINE_DEBUG = 4096,
  BYTE_ZONE = 0xfb,            /* debug: red zones */
  BYTE_NEW = 0xd0,             /* debug: what was never written */
  BYTE_FREED = 0xdf            /* debug: what was freed */
};

SLICE_STATIC_ASSERT (MARK_LIVE + SLICE_SIZE_MAX <= UINT16_MAX,
                     "a mark holds every size");

/* Constant after sli_guard_begin(). */
static struct
{
  GuardMode mode;
  size_t front_bytes; /* of that mode */
  uint64_t key;       /* of the canaries */
  uint8_t free_byte;  /* what a free chunk is filled with */
  bool clears_freed;  /* clear-freed; the modes that look at contents fill a
                         freed chunk anyway */
} guard;

/* Bytes before a block in its chunk, and behind it at least.  Where the mode
 * is a constant these are, too. */
static inline size_t
front_of (GuardMode mode)
{
  return mode >= GUARD_DEBUG ? ZONE_BYTES : 0;
}

static inline size_t
back_of (GuardMode mode)
{
  return mode >= GUARD_DEBUG      ? ZONE_BYTES
         : mode == GUARD_HARDENED ? CANARY_BYTES
                                  : 0;
}

GuardMode
sli_guard_begin (void)
{
  guard.mode = sli_annotate_is_on ()                      ? GUARD_ANNOTATED
               : sli_option_is_on (SLICE_OPTION_DEBUG)    ? GUARD_DEBUG
               : sli_option_is_on (SLICE_OPTION_HARDENED) ? GUARD_HARDENED
               : sli_option_is_on (SLICE_OPTION_CHECKED)  ? GUARD_CHECKED
                                                          : GUARD_OFF;
  guard.front_bytes = front_of (guard.mode);
  guard.free_byte = guard.mode == GUARD_DEBUG ? BYTE_FREED : 0;
  guard.clears_freed = sli_option_is_on (SLICE_OPTION_CLEAR_FREED);
  if (guard.mode >= GUARD_HARDENED)
    sli_os_random (&guard.key, sizeof guard.key);
  return guard.mode;
}

unsigned
sli_guard_quarantine_chunks (GuardMode mode)
{
  return mode >= GUARD_DEBUG      ? QUARANTINE_DEBUG
         : mode == GUARD_HARDENED ? QUARANTINE_HARDENED
                                  : 0;
}

size_t
sli_guard_front_bytes (void)
{
  return guard.front_bytes;
}

/* The largest block of a chunk. */
#define SIZE_MAX_OF(mode) (SLICE_SIZE_MAX - front_of (mode) - back_of (mode))

/* What a block needs of a chunk. */
static inline size_t
chunk_size_for (GuardMode mode, size_t size)
{
  return front_of (mode) + size + back_of (mode);
}

size_t
sli_guard_size_max (void)
{
  return SIZE_MAX_OF (guard.mode);
}

/* --- contents ----------------------------------------------------------------- */

/* Who reads one canary knows the key, whatever is done with both: so as little
 * as can be.  No byte is 0, so that a string that is one too long shows. */
static uint64_t
canary_of (const void *block)
{
  return ((uint64_t) (uintptr_t) block ^ guard.key) | 0x0101010101010101u;
}

static void
canary_write (char *block, size_t size)
{
  uint64_t canary = canary_of (block);

  memcpy (block + size, &canary, sizeof canary);
}

static bool
canary_is_whole (const char *block, size_t size)
{
  uint64_t canary = canary_of (block), found;

  memcpy (&found, block + size, sizeof found);
  return found == canary || SEEDED (12);
}

/* Chunks are whole numbers of these, 16 bytes: two are looked at or written in
 * a turn.  A call of memset() costs more than a small chunk itself, and the
 * compiler would make one of the loop (THEORY 11). */
typedef uint64_t Pair
    __attribute__ ((vector_size (16), aligned (8), may_alias));

#define KEEP_LOOP() __asm__ volatile ("" ::: "memory")

enum
{
  FILL_INLINE_BYTES = 512 /* above, memset() is faster */
};

/* For chunks of at most FILL_INLINE_BYTES. */
static inline void
chunk_fill_inline (char *chunk, size_t chunk_bytes, uint64_t word)
{
  Pair pair = { word, word }, *at = (Pair *) (void *) chunk;
  Pair *end = (Pair *) (void *) (chunk + chunk_bytes);

  for (; at + 4 <= end; at += 4)
    {
      at[0] = at[1] = at[2] = at[3] = pair;
      KEEP_LOOP ();
    }
  if ((chunk_bytes & 32) != 0)
    {
      at[0] = at[1] = pair;
      at += 2;
    }
  if ((chunk_bytes & 16) != 0)
    at[0] = pair;
}

static inline void
chunk_fill (char *chunk, size_t chunk_bytes, uint8_t value)
{
  if (chunk_bytes <= FILL_INLINE_BYTES)
    chunk_fill_inline (chunk, chunk_bytes, value * 0x0101010101010101u);
  else
    memset (chunk, value, chunk_bytes);
}

static inline bool
chunk_is (const char *chunk, size_t chunk_bytes, uint8_t value)
{
  uint64_t word = value * 0x0101010101010101u;
  Pair pair = { word, word }, wrong = { 0, 0 }, more = { 0, 0 };
  const Pair *at = (const Pair *) (const void *) chunk;
  const Pair *end = (const Pair *) (const void *) (chunk + chunk_bytes);

  for (; at + 4 <= end; at += 4)
    {
      wrong |= (at[0] ^ pair) | (at[1] ^ pair);
      more |= (at[2] ^ pair) | (at[3] ^ pair);
    }
  if ((chunk_bytes & 32) != 0)
    {
      wrong |= (at[0] ^ pair) | (at[1] ^ pair);
      at += 2;
    }
  if ((chunk_bytes & 16) != 0)
    more |= at[0] ^ pair;
  wrong |= more;
  return (wrong[0] | wrong[1]) == 0;
}

/* Does each byte have this value? */
static bool
bytes_are (const char *bytes, size_t n, uint8_t value)
{
  uint8_t wrong = 0;

  for (size_t i = 0; i < n; i++)
    wrong |= (uint8_t) bytes[i] ^ value;
  return wrong == 0;
}

/* Some words on where bytes are wrong, and what they are: "debug" shows them
 * as numbers. */
static void
describe_bytes (char *to, size_t room, const char *block, const char *bytes,
                size_t n, uint8_t value)
{
  size_t at = 0;
  unsigned shown[4];

  while (at + 1 < n && (uint8_t) bytes[at] == value)
    at++;
  for (size_t i = 0; i < 4; i++)
    shown[i] = at + i < n ? (uint8_t) bytes[at + i] : 0;
  sli_diag_format (to, room, ", at byte %d: %u %u %u %u (was %u)",
                   (int) (bytes + at - block), shown[0], shown[1], shown[2],
                   shown[3], (unsigned) value);
}

_Noreturn static void
complain_of_bytes (ErrorNumber number, const char *operation, char *block,
                   size_t size, const char *bytes, size_t n, uint8_t value)
{
  char more[DIAG_MORE_BYTES], where[DIAG_MORE_BYTES];

  describe_bytes (where, sizeof where, block, bytes, n, value);
  if (guard.mode == GUARD_DEBUG)
    sli_block_check_describe (block, more, sizeof more);
  else
    more[0] = '\0';
  sli_diag_format (where + strlen (where), sizeof where - strlen (where),
                   "%s", more);
  sli_diag_misuse_more (number, operation, block, size, 0, where);
}

_Noreturn COLD static void
complain_of_free_bytes (char *chunk, size_t chunk_bytes, size_t size)
{
  complain_of_bytes (ERROR_WRITTEN_FREE, "slice_alloc",
                     chunk + guard.front_bytes, size, chunk, chunk_bytes,
                     guard.free_byte);
}

/* The chunk about to be handed out must be as it was left. */
static inline void
contents_begin (GuardMode mode, char *chunk, size_t size, size_t chunk_bytes,
                bool is_fresh)
{
  uint8_t free_byte = mode == GUARD_DEBUG ? BYTE_FREED : 0;
  char *block = chunk + front_of (mode);

  if (UNLIKELY (is_fresh))
    chunk_fill (chunk, chunk_bytes, free_byte);
  else if (UNLIKELY (!chunk_is (chunk, chunk_bytes, free_byte)))
    complain_of_free_bytes (chunk, chunk_bytes, size);
  if (mode == GUARD_HARDENED)
    {
      canary_write (block, size);
      return;
    }
  memset (chunk, BYTE_ZONE, ZONE_BYTES);
  memset (block, BYTE_NEW, size);
  memset (block + size, BYTE_ZONE, chunk_bytes - ZONE_BYTES - size);
}

static void
check_zones (char *block, size_t size, size_t chunk_bytes,
             const char *operation)
{
  char *chunk = block - guard.front_bytes;
  size_t back_bytes = chunk_bytes - guard.front_bytes - size;

  if (!bytes_are (chunk, guard.front_bytes, BYTE_ZONE))
    complain_of_bytes (ERROR_UNDERRUN, operation, block, size, chunk,
                       guard.front_bytes, BYTE_ZONE);
  if (!bytes_are (block + size, back_bytes, BYTE_ZONE))
    complain_of_bytes (ERROR_OVERRUN, operation, block, size, block + size,
                       back_bytes, BYTE_ZONE);
}

static inline void
contents_end (GuardMode mode, char *block, size_t size, size_t chunk_bytes,
              const char *operation)
{
  if (mode == GUARD_DEBUG)
    check_zones (block, size, chunk_bytes, operation);
  else if (UNLIKELY (!canary_is_whole (block, size)))
    sli_diag_misuse (ERROR_OVERRUN, operation, block, size, 0);
  chunk_fill (block - front_of (mode), chunk_bytes,
              mode == GUARD_DEBUG ? BYTE_FREED : 0);
}

/* --- blocks --------------------------------------------------------------------- */

/* The class of a chunk for a block, by the thread's table. */
static inline unsigned
class_for (GuardMode mode, const ThreadRecord *record, size_t size)
{
  return record->class_table[(chunk_size_for (mode, size) + 7) >> 3] / 2;
}

/* A chunk by the long way, and its class. */
COLD static void *
alloc_chunk_slowly (size_t size, unsigned *class_index)
{
  *class_index = SLICE_CLASS_V1 (chunk_size_for (guard.mode, size));
  return sli_magazine_alloc (*class_index);
}

_Noreturn COLD static void
complain_of_live (const void *chunk, size_t size, uint16_t mark)
{
  sli_diag_misuse (ERROR_ALREADY_FREE, "slice_alloc", chunk, size,
                   mark - (size_t) MARK_LIVE);
}

/* The registry of live blocks had no room. */
COLD static void *
undo_alloc (char *chunk, unsigned class_index, uint16_t *mark)
{
  chunk_fill (chunk, sli_sizeclasses[class_index].chunk_bytes, BYTE_FREED);
  STORE (mark, MARK_FREE);
  sli_magazine_free (class_index, chunk);
  return NULL;
}

/* Compiled once for each mode.  Trimmers let the records of these modes
 * alone, so they are used without being entered. */
static inline __attribute__ ((always_inline)) void *
alloc_body (GuardMode mode, ThreadRecord *record, size_t size,
            const void *site)
{
  unsigned class_index = class_for (mode, record, size);
  const SizeClass *sizeclass;
  uint16_t *mark;
  char *chunk;

  chunk = sli_record_pop (record, class_index);
  if (UNLIKELY (chunk == NULL))
    {
      unsigned real_class; /* class_index stays in a register */

      chunk = alloc_chunk_slowly (size, &real_class);
      if (chunk == NULL)
        return NULL;
      class_index = real_class;
    }
  sizeclass = &sli_sizeclasses[class_index];
  mark = place_mark_of (chunk, sizeclass);
  if (UNLIKELY (LOAD (mark) >= MARK_LIVE))
    complain_of_live (chunk, size, LOAD (mark));
  if (mode != GUARD_CHECKED)
    contents_begin (mode, chunk, size, sizeclass->chunk_bytes,
                    LOAD (mark) == MARK_FRESH);
  STORE (mark, (uint16_t) (MARK_LIVE + size));
  if (mode == GUARD_DEBUG
      && UNLIKELY (!sli_block_check_add_at (chunk + ZONE_BYTES, size, site)))
    return undo_alloc (chunk, class_index, mark);
  return chunk + front_of (mode);
}

/* The end of the program, with what is known of the block. */
_Noreturn static void
complain (ErrorNumber number, const char *operation, const void *block,
          size_t given_bytes, size_t real_bytes)
{
  char more[DIAG_MORE_BYTES] = "";

  if (guard.mode == GUARD_DEBUG)
    sli_block_check_describe (block, more, sizeof more);
  sli_diag_misuse_more (number, operation, block, given_bytes, real_bytes,
                        more);
}

/* It is no live block: say what it is. */
_Noreturn COLD static void
complain_of_place (const Place *place, size_t size, const void *block,
                   unsigned expected, const char *operation)
{
  ErrorNumber error = place_error (place, expected);
  uint16_t mark = place->state == CHUNK_OUT ? *place_mark (place) : MARK_LIVE;

  if (mark < MARK_LIVE)
    error = mark == MARK_FREE ? ERROR_ALREADY_FREE : ERROR_NEVER_ALLOCATED;
  complain (error, operation, block, size,
            mark >= MARK_LIVE ? mark - (size_t) MARK_LIVE : 0);
}

/* The mark of a live block by the long way, which finds out what it is if it
 * is none. */
COLD static uint16_t *
live_mark (size_t size, char *block, unsigned *class_index,
           const char *operation)
{
  unsigned expected
      = size == DIAG_SIZE_UNKNOWN
            ? 0
            : (unsigned) SLICE_CLASS_V1 (chunk_size_for (guard.mode, size));
  uint16_t *mark = NULL;
  Place place;

  place_find (block - guard.front_bytes, &place);
  if (LIKELY (place.state == CHUNK_OUT))
    {
      mark = place_mark (&place);
      *class_index = place.slab->class_index;
    }
  if (UNLIKELY (mark == NULL || LOAD (mark) < MARK_LIVE
                || (expected != 0 && expected != *class_index)))
    complain_of_place (&place, size, block, expected, operation);
  return mark;
}

/* Into the quarantine, and what has been there longest out of it; NULL: none
 * was. */
static inline void *
quarantine_exchange (GuardMode mode, ClassCache *cache, void *chunk)
{
  unsigned n = mode == GUARD_DEBUG ? QUARANTINE_DEBUG : QUARANTINE_HARDENED;
  unsigned at = cache->quarantine_next;
  void *oldest = cache->quarantine[at];

  cache->quarantine[at] = chunk;
  cache->quarantine_next = (uint16_t) ((at + 1) % n);
  return oldest;
}

/* A chunk whose mark says that it is free goes back to the magazines. */
static inline void
push_round (GuardMode mode, ThreadRecord *record, unsigned class_index,
            void *chunk)
{
  if (mode != GUARD_CHECKED)
    {
      ClassCache *cache = &record->caches[class_index];

      if (UNLIKELY (cache->quarantine == NULL))
        {
          sli_magazine_free_late (class_index, chunk);
          return;
        }
      chunk = quarantine_exchange (mode, cache, chunk);
      if (UNLIKELY (chunk == NULL))
        return;
    }
  if (UNLIKELY (!sli_record_push (record, class_index, chunk)))
    sli_magazine_free (class_index, chunk);
  else if (mode != GUARD_CHECKED)
    sli_record_shuffle_top (record, class_index);
}

/* Compiled once for each mode. */
static inline __attribute__ ((always_inline)) void
free_body (GuardMode mode, ThreadRecord *record, size_t size, void *block,
           const char *operation, const void *site)
{
  char *chunk = (char *) block - front_of (mode);
  unsigned class_index = LIKELY (size != DIAG_SIZE_UNKNOWN)
                             ? class_for (mode, record, size)
                             : 0;
  size_t real_bytes;
  uint16_t *mark;

  if (UNLIKELY (!place_live_mark (chunk, class_index, &mark)
                || LOAD (mark) < MARK_LIVE))
    {
      unsigned real_class; /* class_index stays in a register */

      mark = live_mark (size, block, &real_class, operation);
      class_index = real_class;
    }
  if (mode != GUARD_CHECKED)
    {
      real_bytes = LOAD (mark) - (size_t) MARK_LIVE;
      /* Another size of the same class is harmless: checked lets it pass. */
      if (UNLIKELY (size != real_bytes && size != DIAG_SIZE_UNKNOWN))
        complain (ERROR_WRONG_SIZE, operation, block, size, real_bytes);
      contents_end (mode, block, real_bytes,
                    sli_sizeclasses[class_index].chunk_bytes, operation);
      if (mode == GUARD_DEBUG)
        sli_block_check_remove_at (block, real_bytes, operation, site);
    }
  else if (UNLIKELY (guard.clears_freed))
    memset (block, 0, sli_sizeclasses[class_index].chunk_bytes);
  STORE (mark, MARK_FREE);
  push_round (mode, record, class_index, chunk);
}

/* --- the usual case of checked and hardened ------------------------------------ */

/* No function is called, so nothing is saved: what is unusual in any way is
 * left, untouched, to the code above. */
static inline void *
alloc_quick (GuardMode mode, ThreadRecord *record, size_t size)
{
  unsigned class_index = class_for (mode, record, size);
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];
  SliceEntryV1 *entry = &record->entries[class_index];
  void **top = LOAD (&entry->top);
  char *chunk = *top;
  uint16_t *mark;

  if (UNLIKELY (chunk == NULL))
    return NULL;
  mark = place_mark_of (chunk, sizeclass);
  if (mode == GUARD_CHECKED ? UNLIKELY (LOAD (mark) >= MARK_LIVE)
                            : UNLIKELY (LOAD (mark) != MARK_FREE))
    return NULL;
  if (mode == GUARD_HARDENED
      && UNLIKELY (!chunk_is (chunk, sizeclass->chunk_bytes, 0)))
    return NULL;
  STORE (&entry->top, top - 1);
  STORE (mark, (uint16_t) (MARK_LIVE + size));
  if (mode == GUARD_HARDENED)
    canary_write (chunk, size);
  return chunk;
}

static inline bool
free_quick_checked (ThreadRecord *record, size_t size, char *block)
{
  unsigned class_index = class_for (GUARD_CHECKED, record, size);
  uint16_t *mark;

  if (UNLIKELY (!place_live_mark (block, class_index, &mark)
                || LOAD (mark) < MARK_LIVE
                || !sli_record_push (record, class_index, block)))
    return false;
  if (!SEEDED (13))
    STORE (mark, MARK_FREE);
  return true;
}

static inline bool
free_quick_hardened (ThreadRecord *record, size_t size, char *block)
{
  unsigned class_index = class_for (GUARD_HARDENED, record, size);
  size_t chunk_bytes = sli_sizeclasses[class_index].chunk_bytes;
  ClassCache *cache = &record->caches[class_index];
  SliceEntryV1 *entry = &record->entries[class_index];
  void **top = LOAD (&entry->top);
  uint16_t *mark;
  void *oldest;

  if (UNLIKELY (!place_live_mark (block, class_index, &mark)
                || LOAD (mark) != MARK_LIVE + size
                || !canary_is_whole (block, size)
                || chunk_bytes > FILL_INLINE_BYTES
                || cache->quarantine == NULL || top == entry->end))
    return false;
  chunk_fill_inline (block, chunk_bytes, 0);
  STORE (mark, MARK_FREE);
  oldest = quarantine_exchange (GUARD_HARDENED, cache, block);
  if (LIKELY (oldest != NULL))
    {
      void **pick = sli_record_pick (record, cache, ++top);

      STORE (&entry->top, top);
      STORE (top, oldest);
      STORE (top, *pick);
      STORE (pick, oldest);
    }
  return true;
}

/* --- calls ------------------------------------------------------------------------ */

/* hardened and debug say of each thread whether it is in a call: who finds
 * himself in one already is a signal handler that interrupted it.  A thread
 * that has no record does without. */
static inline bool
call_begin (ThreadRecord *record)
{
  if (UNLIKELY (LOAD (&record->call) != CALL_NONE))
    return false;
  STORE (&record->call, CALL_IN);
  __atomic_signal_fence (__ATOMIC_SEQ_CST);
  return true;
}

static inline void
call_end (ThreadRecord *record)
{
  __atomic_signal_fence (__ATOMIC_SEQ_CST);
  STORE (&record->call, CALL_NONE);
}

/* Compiled once for each mode. */
static inline __attribute__ ((always_inline)) void *
alloc_in (GuardMode mode, size_t size, const void *site)
{
  ThreadRecord *record = sli_record_self;
  bool is_told = mode != GUARD_CHECKED && call_begin (record);
  void *block;

  if (mode != GUARD_CHECKED && !is_told && LOAD (&record->call) == CALL_IN)
    sli_record_complain_of_reentry ();
  block = alloc_body (mode, record, size, site);
  if (is_told)
    call_end (record);
  return block;
}

static inline __attribute__ ((always_inline)) void
free_in (GuardMode mode, size_t size, void *block, const char *operation,
         const void *site)
{
  ThreadRecord *record = sli_record_self;
  bool is_told = mode != GUARD_CHECKED && call_begin (record);

  if (mode != GUARD_CHECKED && !is_told && LOAD (&record->call) == CALL_IN)
    sli_record_complain_of_reentry ();
  free_body (mode, record, size, block, operation, site);
  if (is_told)
    call_end (record);
}

/* Is it a size of this mode's chunks? */
static inline bool
fits_mode (GuardMode mode, size_t size)
{
  return size - 1 < SIZE_MAX_OF (mode);
}

/* --- under a tool ------------------------------------------------------------------ */

SLICE_STATIC_ASSERT ((int) ZONE_BYTES == (int) ANNOTATE_ZONE_BYTES,
                     "the tool's zones fit around a block");

/* Contents are the tool's to look after. */
static void *
annotated_alloc (size_t size, const void *site UNUSED)
{
  unsigned class_index
      = SLICE_CLASS_V1 (chunk_size_for (GUARD_ANNOTATED, size));
  char *chunk = sli_magazine_alloc (class_index);

  if (chunk == NULL)
    return NULL;
  STORE (place_mark_of (chunk, &sli_sizeclasses[class_index]),
         (uint16_t) (MARK_LIVE + size));
  sli_annotate_alloc (chunk + ZONE_BYTES, size);
  return chunk + ZONE_BYTES;
}

/* What the tool has complained of is left alone, for it goes on. */
static void
annotated_free (size_t size, void *block, const char *operation,
                const void *site UNUSED)
{
  char *chunk = (char *) block - ZONE_BYTES;
  uint16_t mark = MARK_FREE;
  Place place;

  place_find (chunk, &place);
  if (place.state == CHUNK_OUT)
    mark = LOAD (place_mark (&place));
  if (mark < MARK_LIVE)
    {
      /* Of what is not the pool's the tool may think otherwise. */
      if (place.state == CHUNK_FOREIGN
          || !sli_annotate_free (block, size, false))
        complain_of_place (&place, size, block, 0, operation);
      return;
    }
  if (size != DIAG_SIZE_UNKNOWN && size != mark - (size_t) MARK_LIVE)
    complain (ERROR_WRONG_SIZE, operation, block, size,
              mark - (size_t) MARK_LIVE);
  (void) sli_annotate_free (block, mark - (size_t) MARK_LIVE, true);
  STORE (place_mark (&place), MARK_FREE);
  sli_magazine_free_late (place.slab->class_index, chunk);
}

/* What the public calls come to at once; alloc.c does what is unusual. */
static inline __attribute__ ((always_inline)) void *
take_in (GuardMode mode, size_t size, bool may_fail, const void *site)
{
  void *block;

  if (LIKELY (fits_mode (mode, size))
      && LIKELY ((block = alloc_in (mode, size, site)) != NULL))
    return block;
  return sli_alloc_any (size, may_fail, site);
}

static inline __attribute__ ((always_inline)) void
give_in (GuardMode mode, size_t size, void *block, const void *site)
{
  if (LIKELY (fits_mode (mode, size)) && LIKELY (block != NULL))
    free_in (mode, size, block, "slice_free1", site);
  else
    sli_free_any (size, block, site);
}

#define CALLS_OF(name, mode)                                                  \
  static void *name##_alloc (size_t size, const void *site)                   \
  {                                                                           \
    return alloc_in (mode, size, site);                                       \
  }                                                                           \
  static void name##_free (size_t size, void *block, const char *operation,   \
                           const void *site)                                  \
  {                                                                           \
    free_in (mode, size, block, operation, site);                             \
  }                                                                           \
  NOINLINE static void *name##_take (size_t size, const void *site)           \
  {                                                                           \
    return take_in (mode, size, false, site);                                 \
  }                                                                           \
  NOINLINE static void *name##_try_take (size_t size, const void *site)       \
  {                                                                           \
    return take_in (mode, size, true, site);                                  \
  }                                                                           \
  NOINLINE static void name##_give (size_t size, void *block,                 \
                                    const void *site)                         \
  {                                                                           \
    give_in (mode, size, block, site);                                        \
  }

CALLS_OF (checked, GUARD_CHECKED)
CALLS_OF (hardened, GUARD_HARDENED)
CALLS_OF (debug, GUARD_DEBUG)

static void *
annotated_take (size_t size, const void *site)
{
  void *block;

  if (fits_mode (GUARD_ANNOTATED, size)
      && (block = annotated_alloc (size, site)) != NULL)
    return block;
  return sli_alloc_any (size, false, site);
}

static void *
annotated_try_take (size_t size, const void *site)
{
  void *block;

  if (fits_mode (GUARD_ANNOTATED, size)
      && (block = annotated_alloc (size, site)) != NULL)
    return block;
  return sli_alloc_any (size, true, site);
}

static void
annotated_give (size_t size, void *block, const void *site)
{
  if (fits_mode (GUARD_ANNOTATED, size) && block != NULL)
    annotated_free (size, block, "slice_free1", site);
  else
    sli_free_any (size, block, site);
}

/* Size 0 is of class 0, which has no chunks, and NULL lies in no slab: both
 * are unusual without a question. */
static void *
hardened_take_quick (size_t size, const void *site)
{
  ThreadRecord *record = sli_record_self;
  void *block;

  if (LIKELY (size <= SIZE_MAX_OF (GUARD_HARDENED)) && call_begin (record))
    {
      block = alloc_quick (GUARD_HARDENED, record, size);
      call_end (record);
      if (LIKELY (block != NULL))
        return block;
    }
  return hardened_take (size, site);
}

static void
hardened_give_quick (size_t size, void *block, const void *site)
{
  ThreadRecord *record = sli_record_self;
  bool is_done;

  if (LIKELY (size <= SIZE_MAX_OF (GUARD_HARDENED)) && call_begin (record))
    {
      is_done = free_quick_hardened (record, size, block);
      call_end (record);
      if (LIKELY (is_done))
        return;
    }
  hardened_give (size, block, site);
}

static void *
checked_take_quick (size_t size, const void *site)
{
  void *block;

  if (LIKELY (size <= SIZE_MAX_OF (GUARD_CHECKED))
      && LIKELY ((block = alloc_quick (GUARD_CHECKED, sli_record_self, size))
                 != NULL))
    return block;
  return checked_take (size, site);
}

static void
checked_give_quick (size_t size, void *block, const void *site)
{
  if (UNLIKELY (size > SIZE_MAX_OF (GUARD_CHECKED)
                || !free_quick_checked (sli_record_self, size, block)))
    checked_give (size, block, site);
}

const GuardCalls *
sli_guard_calls (void)
{
  static const GuardCalls calls[] = {
    [GUARD_OFF] = { checked_take, checked_try_take, checked_give,
                    checked_alloc, checked_free },
    [GUARD_CHECKED] = { checked_take_quick, checked_try_take,
                        checked_give_quick, checked_alloc, checked_free },
    [GUARD_HARDENED] = { hardened_take_quick, hardened_try_take,
                         hardened_give_quick, hardened_alloc, hardened_free },
    [GUARD_DEBUG] = { debug_take, debug_try_take, debug_give, debug_alloc,
                      debug_free },
    [GUARD_ANNOTATED] = { annotated_take, annotated_try_take, annotated_give,
                          annotated_alloc, annotated_free }
  };
  /* The quick way of checked does not look at contents. */
  static const GuardCalls checked_clearing_calls
      = { checked_take_quick, checked_try_take, checked_give, checked_alloc,
          checked_free };

  return guard.mode == GUARD_CHECKED && guard.clears_freed
             ? &checked_clearing_calls
             : &calls[guard.mode];
}

bool
sli_guard_add_large (void *block, size_t size, const void *site)
{
  /* The tool knows the size of malloc's blocks. */
  return guard.mode == GUARD_ANNOTATED
         || sli_block_check_add_at (block, size, site);
}

void
sli_guard_remove_large (const void *block, size_t size, const char *operation,
                        const void *site)
{
  size_t real_bytes;

  if (guard.mode != GUARD_ANNOTATED)
    {
      sli_block_check_remove_at (block, size, operation, site);
      return;
    }
  real_bytes = sli_os_malloc_bytes (block);
  if (real_bytes != 0 && real_bytes != size && size != BLOCK_CHECK_ANY_SIZE)
    sli_diag_misuse (ERROR_MALLOC_SIZE, operation, block, size, real_bytes);
}

bool
sli_guard_is_large (const void *block)
{
  if (sli_slab_is_ours (block))
    return false;
  return guard.mode == GUARD_ANNOTATED
         || sli_block_check_size (block) != SIZE_MAX;
}

size_t
sli_guard_block_size (const void *block)
{
  Place place;

  place_find ((const char *) block - guard.front_bytes, &place);
  if (place.state != CHUNK_OUT || LOAD (place_mark (&place)) < MARK_LIVE)
    return 0;
  return LOAD (place_mark (&place)) - (size_t) MARK_LIVE;
}
