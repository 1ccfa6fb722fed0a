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
#include "block-check.h"
#include "magazine.h"
#include "place.h"
#include "record.h"
#include "base/align.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/option.h"
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
} guard;

/* Bytes before a block in its chunk, and behind it at least.  Where the mode
 * is a constant these are, too. */
static inline size_t
front_of (GuardMode mode)
{
  return mode == GUARD_DEBUG ? ZONE_BYTES : 0;
}

static inline size_t
back_of (GuardMode mode)
{
  return mode == GUARD_DEBUG      ? ZONE_BYTES
         : mode == GUARD_HARDENED ? CANARY_BYTES
                                  : 0;
}

GuardMode
sli_guard_begin (void)
{
  guard.mode = sli_option_is_on (SLICE_OPTION_DEBUG)      ? GUARD_DEBUG
               : sli_option_is_on (SLICE_OPTION_HARDENED) ? GUARD_HARDENED
               : sli_option_is_on (SLICE_OPTION_CHECKED)  ? GUARD_CHECKED
                                                          : GUARD_OFF;
  guard.front_bytes = front_of (guard.mode);
  guard.free_byte = guard.mode == GUARD_DEBUG ? BYTE_FREED : 0;
  if (guard.mode >= GUARD_HARDENED)
    sli_os_random (&guard.key, sizeof guard.key);
  return guard.mode;
}

unsigned
sli_guard_quarantine_chunks (GuardMode mode)
{
  return mode == GUARD_DEBUG      ? QUARANTINE_DEBUG
         : mode == GUARD_HARDENED ? QUARANTINE_HARDENED
                                  : 0;
}

size_t
sli_guard_front_bytes (void)
{
  return guard.front_bytes;
}

/* What a block needs of a chunk. */
static inline size_t
chunk_size_for (GuardMode mode, size_t size)
{
  return front_of (mode) + size + back_of (mode);
}

size_t
sli_guard_size_max (void)
{
  return SLICE_SIZE_MAX - front_of (guard.mode) - back_of (guard.mode);
}

/* --- contents ----------------------------------------------------------------- */

/* No byte is 0, so that a string that is one too long shows. */
static uint64_t
canary_of (const void *block)
{
  uint64_t canary = ((uint64_t) (uintptr_t) block * 0x9e3779b97f4a7c15u)
                    ^ guard.key;

  return canary | 0x0101010101010101u;
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
  return found == canary;
}

/* Does each byte have this value? */
static bool
bytes_are (const char *bytes, size_t n, uint8_t value)
{
  uint64_t word = value * 0x0101010101010101u, found, wrong = 0;
  size_t i = 0;

  for (; i + sizeof found <= n; i += sizeof found)
    {
      memcpy (&found, bytes + i, sizeof found);
      wrong |= found ^ word;
    }
  for (; i < n; i++)
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

/* A chunk about to be handed out must be as it was left. */
static void
check_free_bytes (char *chunk, size_t chunk_bytes, size_t size)
{
  if (UNLIKELY (!bytes_are (chunk, chunk_bytes, guard.free_byte)))
    complain_of_bytes (ERROR_WRITTEN_FREE, "slice_alloc",
                       chunk + guard.front_bytes, size, chunk, chunk_bytes,
                       guard.free_byte);
}

static void
contents_begin (char *chunk, size_t size, size_t chunk_bytes, bool is_fresh)
{
  char *block = chunk + guard.front_bytes;

  if (is_fresh)
    memset (chunk, guard.free_byte, chunk_bytes);
  else
    check_free_bytes (chunk, chunk_bytes, size);
  if (guard.mode == GUARD_HARDENED)
    {
      canary_write (block, size);
      return;
    }
  memset (chunk, BYTE_ZONE, guard.front_bytes);
  memset (block, BYTE_NEW, size);
  memset (block + size, BYTE_ZONE,
          chunk_bytes - guard.front_bytes - size);
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

static void
contents_end (char *block, size_t size, size_t chunk_bytes,
              const char *operation)
{
  if (guard.mode == GUARD_DEBUG)
    check_zones (block, size, chunk_bytes, operation);
  else if (UNLIKELY (!canary_is_whole (block, size)))
    sli_diag_misuse (ERROR_OVERRUN, operation, block, size, 0);
  memset (block - guard.front_bytes, guard.free_byte, chunk_bytes);
}

/* --- blocks --------------------------------------------------------------------- */

/* The class of a chunk for a block, by the thread's table. */
static inline unsigned
class_for (GuardMode mode, const ThreadRecord *record, size_t size)
{
  return record->class_table[(chunk_size_for (mode, size) + 7) >> 3];
}

/* A round of the loaded magazine, or NULL.  Trimmers let the records of these
 * modes alone, so only those that look for a call within a call enter it. */
static inline void *
pop_round (GuardMode mode, ThreadRecord *record, unsigned class_index)
{
  void *chunk;

  if (mode == GUARD_CHECKED)
    return sli_record_pop (record, class_index);
  if (UNLIKELY (LOAD (&record->is_busy)))
    sli_record_complain_of_reentry ();
  STORE (&record->is_busy, true);
  sli_record_shuffle_top (record, class_index);
  chunk = sli_record_pop (record, class_index);
  sli_record_leave (record);
  return chunk;
}

/* What hardened and debug do to a chunk that is handed out. */
static bool
dress_block (char *chunk, unsigned class_index, size_t size, uint16_t mark,
             const void *site)
{
  contents_begin (chunk, size, sli_sizeclasses[class_index].chunk_bytes,
                  mark == MARK_FRESH);
  return guard.mode != GUARD_DEBUG
         || sli_block_check_add_at (chunk + guard.front_bytes, size, site);
}

/* A chunk by the long way, and its class. */
COLD static void *
alloc_chunk_slowly (size_t size, unsigned *class_index)
{
  *class_index = SLICE_CLASS_V1 (chunk_size_for (guard.mode, size));
  return sli_magazine_alloc (*class_index);
}

/* Compiled once for each mode. */
static inline __attribute__ ((always_inline)) void *
alloc_in (GuardMode mode, size_t size, const void *site)
{
  ThreadRecord *record = sli_record_self; /* none will do: it is empty */
  unsigned class_index = class_for (mode, record, size);
  char *chunk = pop_round (mode, record, class_index);
  uint16_t *mark;

  if (UNLIKELY (chunk == NULL)
      && (chunk = alloc_chunk_slowly (size, &class_index)) == NULL)
    return NULL;
  mark = place_mark_of (chunk, &sli_sizeclasses[class_index]);
  if (UNLIKELY (LOAD (mark) >= MARK_LIVE))
    sli_diag_misuse (ERROR_ALREADY_FREE, "slice_alloc", chunk, size,
                     LOAD (mark) - (size_t) MARK_LIVE);
  if (mode != GUARD_CHECKED
      && UNLIKELY (!dress_block (chunk, class_index, size, LOAD (mark),
                                 site)))
    {
      sli_magazine_free (class_index, chunk);
      return NULL;
    }
  STORE (mark, (uint16_t) (MARK_LIVE + size));
  return chunk + front_of (mode);
}

static void *
alloc_checked (size_t size, const void *site)
{
  return alloc_in (GUARD_CHECKED, size, site);
}

static void *
alloc_hardened (size_t size, const void *site)
{
  return alloc_in (GUARD_HARDENED, size, site);
}

static void *
alloc_debug (size_t size, const void *site)
{
  return alloc_in (GUARD_DEBUG, size, site);
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

/* What hardened and debug look at when a block comes back, and leave. */
static void
undress_block (char *block, unsigned class_index, size_t size,
               size_t real_bytes, const char *operation, const void *site)
{
  /* Another size of the same class is harmless, and checked lets it pass. */
  if (UNLIKELY (size != DIAG_SIZE_UNKNOWN && size != real_bytes))
    complain (ERROR_WRONG_SIZE, operation, block, size, real_bytes);
  contents_end (block, real_bytes, sli_sizeclasses[class_index].chunk_bytes,
                operation);
  if (guard.mode == GUARD_DEBUG)
    sli_block_check_remove_at (block, real_bytes, operation, site);
}

/* A chunk whose mark says that it is free goes back to the magazines. */
static inline void
push_round (GuardMode mode, unsigned class_index, void *chunk)
{
  if (mode == GUARD_CHECKED
      && LIKELY (sli_record_push (sli_record_self, class_index, chunk)))
    return;
  sli_magazine_free_late (class_index, chunk);
}

/* Compiled once for each mode. */
static inline __attribute__ ((always_inline)) void
free_in (GuardMode mode, size_t size, void *block, const char *operation,
         const void *site)
{
  char *chunk = (char *) block - front_of (mode);
  unsigned class_index
      = LIKELY (size != DIAG_SIZE_UNKNOWN)
            ? class_for (mode, sli_record_self, size)
            : 0;
  uint16_t *mark = place_live_mark (chunk, class_index);

  if (UNLIKELY (mark == NULL || LOAD (mark) < MARK_LIVE))
    mark = live_mark (size, block, &class_index, operation);
  if (mode != GUARD_CHECKED)
    undress_block (block, class_index, size,
                   LOAD (mark) - (size_t) MARK_LIVE, operation, site);
  STORE (mark, MARK_FREE);
  push_round (mode, class_index, chunk);
}

static void
free_checked (size_t size, void *block, const char *operation,
              const void *site)
{
  free_in (GUARD_CHECKED, size, block, operation, site);
}

static void
free_hardened (size_t size, void *block, const char *operation,
               const void *site)
{
  free_in (GUARD_HARDENED, size, block, operation, site);
}

static void
free_debug (size_t size, void *block, const char *operation, const void *site)
{
  free_in (GUARD_DEBUG, size, block, operation, site);
}

const GuardCalls *
sli_guard_calls (void)
{
  static const GuardCalls calls[]
      = { [GUARD_OFF] = { alloc_checked, free_checked },
          [GUARD_CHECKED] = { alloc_checked, free_checked },
          [GUARD_HARDENED] = { alloc_hardened, free_hardened },
          [GUARD_DEBUG] = { alloc_debug, free_debug } };

  return &calls[guard.mode];
}

bool
sli_guard_add_large (void *block, size_t size, const void *site)
{
  return sli_block_check_add_at (block, size, site);
}

void
sli_guard_remove_large (const void *block, size_t size, const char *operation,
                        const void *site)
{
  sli_block_check_remove_at (block, size, operation, site);
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
