/* checking.c - the checking modes: checked, hardened, debug
 *
 * Layer: checking.  Below: magazine, and slab for the tags (as alloc.c may).
 * No locks: the owner of a chunk writes its tag.  If two threads free it at
 * the same moment, the slab's bitmap finds the second free.
 * Design: chapter 6.
 * Sources: mechanisms of mimalloc, Scudo and hardened_malloc, chosen by
 * measured cost (design chapter 11).
 *
 *   checked, hardened:               debug:
 *   | block | canary | (slack) |     | red zone | block | red zone | (slack) |
 *            8 bytes (hardened)        16 bytes            16 bytes
 *
 * checking-contents.h: canaries, zeroes, red zones; checking-report.c:
 * messages; checking-tool.c: under a tool.
 *
 * The tag of a chunk says what the chunk is: new, free, or live with its exact
 * requested size.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "checking.h"
#include "checking-contents.h"
#include "checking-state.h"
#include "checking/registry/block-registry.h"
#include "magazine/magazine.h"
#include "base/diag.h"
#include "base/option.h"
#include "port/annotate.h"
#include "port/compiler.h"
#include "port/os/os.h"

#include <string.h>

Checking sli_checking;

COMMON_TEXT CheckingMode
sli_checking_begin (const CheckingFallback *fallback)
{
  sli_checking.fallback = *fallback;
  sli_checking.mode
      = sli_annotate_is_on ()                      ? CHECKING_ANNOTATED
        : sli_option_is_on (SLICE_OPTION_DEBUG)    ? CHECKING_DEBUG
        : sli_option_is_on (SLICE_OPTION_HARDENED) ? CHECKING_HARDENED
        : sli_option_is_on (SLICE_OPTION_CHECKED)  ? CHECKING_CHECKED
                                                   : CHECKING_OFF;
  sli_checking.front_bytes = front_of (sli_checking.mode);
  sli_checking.free_byte
      = sli_checking.mode == CHECKING_DEBUG ? BYTE_FREED : 0;
  if (sli_checking.mode >= CHECKING_HARDENED)
    sli_os_random (&sli_checking.key, sizeof sli_checking.key);
  sli_checking_watch_retired ();
  return sli_checking.mode;
}

COMMON_TEXT unsigned
sli_checking_quarantine_chunks (CheckingMode mode)
{
  return quarantine_of (mode);
}

/* --- blocks -------------------------------------------------------------- */

/* Allocates a chunk by the magazine layer's slow path, and returns its class,
 * too. */
COLD static void *
alloc_chunk_slowly (size_t size, unsigned *class_index)
{
  *class_index = SLICE_CLASS_V1 (chunk_size_for (sli_checking.mode, size));
  return sli_magazine_alloc (*class_index);
}

_Noreturn COLD static void
report_live (const void *chunk, size_t size, uint16_t tag)
{
  sli_diag_misuse (ERROR_ALREADY_FREE, "slice_alloc",
                   &(BlockFacts){ .address = chunk,
                                  .given_bytes = size,
                                  .real_bytes = tag_size (tag) });
}

/* Undoes an allocation that could not be registered. */
COLD static void *
undo_alloc (char *chunk, unsigned class_index, uint16_t *tag)
{
  chunk_fill (chunk, sli_sizeclasses[class_index].chunk_bytes, BYTE_FREED);
  STORE (tag, TAG_FREE);
  sli_magazine_free (class_index, chunk);
  return NULL;
}

/* Compiled once for each mode.  Trimmers leave the records of these modes
 * alone, so a call uses its record without entering it. */
static ALWAYS_INLINE void *
alloc_body (CheckingMode mode, ThreadRecord *record, size_t size,
            const void *site)
{
  unsigned class_index = class_for (mode, record, size);
  const SizeClass *sizeclass;
  char *chunk = sli_record_pop (record, class_index);
  uint16_t *tag;

  if (UNLIKELY (chunk == NULL))
    {
      unsigned real_class; /* class_index stays in a register */

      chunk = alloc_chunk_slowly (size, &real_class);
      if (chunk == NULL)
        return NULL;
      class_index = real_class;
    }
  sizeclass = &sli_sizeclasses[class_index];
  assert_here (chunk_size_for (mode, size) <= sizeclass->chunk_bytes);
  tag = region_tag_of (chunk);
  if (UNLIKELY (LOAD (tag) >= TAG_LIVE))
    report_live (chunk, size, LOAD (tag));
  if (mode != CHECKING_CHECKED)
    contents_begin (mode, chunk, size, sizeclass->chunk_bytes,
                    LOAD (tag) == TAG_NEW);
  STORE (tag, (uint16_t) (TAG_LIVE + size));
  if (mode == CHECKING_DEBUG
      && UNLIKELY (!sli_block_registry_add (chunk + ZONE_BYTES, size, site)))
    return undo_alloc (chunk, class_index, tag);
  return chunk + front_of (mode);
}

/* Finds the tag of a live block by a chunk lookup.  If no such block lives
 * there, ends the program and reports what the address is. */
COLD static uint16_t *
live_tag (size_t size, char *block, unsigned *class_index,
          const char *operation)
{
  uint16_t *tag = NULL;
  ChunkRef ref;

  chunk_find (block - sli_checking.front_bytes, &ref);
  if (LIKELY (ref.state == CHUNK_OUT))
    {
      KNOWN (ref.slab != NULL);
      tag = chunk_tag (&ref);
      *class_index = ref.slab->class_index;
    }
  if (UNLIKELY (tag == NULL || LOAD (tag) < TAG_LIVE))
    sli_checking_report_chunk (&ref, size, block, operation);
  if (UNLIKELY (size != DIAG_SIZE_UNKNOWN && LOAD (tag) != TAG_LIVE + size))
    sli_checking_report_size (LOAD (tag), size, block, operation);
  return tag;
}

/* Returns a chunk to the magazines; its tag is TAG_FREE already. */
static inline void
push_round (CheckingMode mode, ThreadRecord *record, unsigned class_index,
            void *chunk)
{
  if (mode != CHECKING_CHECKED)
    {
      ClassCache *cache = &record->caches[class_index];

      if (UNLIKELY (cache->quarantine == NULL))
        {
          sli_magazine_free_late (class_index, chunk);
          return;
        }
      chunk = quarantine_exchange (cache, quarantine_of (mode), chunk);
      if (UNLIKELY (chunk == NULL))
        return;
    }
  if (UNLIKELY (!sli_record_push (record, class_index, chunk)))
    sli_magazine_free (class_index, chunk);
  else if (mode != CHECKING_CHECKED)
    sli_record_shuffle_top (record, class_index);
}

/* Compiled once for each mode. */
static ALWAYS_INLINE void
free_body (CheckingMode mode, ThreadRecord *record, size_t size, void *block,
           const char *operation, const void *site)
{
  char *chunk = (char *) block - front_of (mode);
  unsigned class_index = LIKELY (size != DIAG_SIZE_UNKNOWN)
                             ? class_for (mode, record, size)
                             : 0;
  size_t real_bytes;
  uint16_t *tag;

  /* The table of a thread without a record has no class for any size. */
  if (UNLIKELY (class_index == 0 || !chunk_has_tag (chunk, &tag)
                || LOAD (tag) != TAG_LIVE + size))
    {
      unsigned real_class; /* class_index stays in a register */

      tag = live_tag (size, block, &real_class, operation);
      class_index = real_class;
    }
  if (mode != CHECKING_CHECKED)
    {
      real_bytes = tag_size (LOAD (tag));
      contents_end (mode, block, real_bytes,
                    sli_sizeclasses[class_index].chunk_bytes, operation);
      if (mode == CHECKING_DEBUG)
        sli_block_registry_remove (block, real_bytes, operation, site);
    }
  assert_here (LOAD (tag) >= TAG_LIVE);
  STORE (tag, TAG_FREE);
  push_round (mode, record, class_index, chunk);
}

/* --- calls --------------------------------------------------------------- */

/* Marks the thread as in a call where call_begin() could not: the thread is in
 * one, or it has no record.  Makes the record first, so that the mark covers
 * all of a thread's first call.  Returns the record; if it is no thread's, it
 * has no mark. */
static COLD ThreadRecord *
call_begin_slowly (const ThreadRecord *record, const char *operation)
{
  ThreadRecord *made;

  if (LOAD (&record->call) == CALL_IN)
    sli_record_report_reentry (operation);
  made = sli_record_begin ();
  if (made == NULL)
    return sli_record_self;
  if (!call_begin (made))
    sli_record_report_reentry (operation);
  return made;
}

/* Compiled once for each mode. */
static ALWAYS_INLINE void *
alloc_in (CheckingMode mode, size_t size, const void *site)
{
  ThreadRecord *record = sli_record_self;
  bool is_marked = mode != CHECKING_CHECKED && call_begin (record);
  void *block;

  if (mode != CHECKING_CHECKED && UNLIKELY (!is_marked))
    {
      record = call_begin_slowly (record, "slice_alloc");
      is_marked = record->tls != NULL;
    }
  block = alloc_body (mode, record, size, site);
  if (is_marked)
    call_end (record);
  return block;
}

static ALWAYS_INLINE void
free_in (CheckingMode mode, size_t size, void *block, const char *operation,
         const void *site)
{
  ThreadRecord *record = sli_record_self;
  bool is_marked = mode != CHECKING_CHECKED && call_begin (record);

  if (mode != CHECKING_CHECKED && UNLIKELY (!is_marked))
    {
      record = call_begin_slowly (record, operation);
      is_marked = record->tls != NULL;
    }
  free_body (mode, record, size, block, operation, site);
  if (is_marked)
    call_end (record);
}

/* The public calls; the fallbacks of alloc.c serve the unusual cases. */
static ALWAYS_INLINE void *
alloc_any_in (CheckingMode mode, size_t size, bool may_fail, const void *site)
{
  void *block;

  if (LIKELY (fits_mode (mode, size))
      && LIKELY ((block = alloc_in (mode, size, site)) != NULL))
    return block;
  return sli_checking.fallback.alloc (size, may_fail, site);
}

static ALWAYS_INLINE void
free_any_in (CheckingMode mode, size_t size, void *block, const void *site)
{
  if (LIKELY (fits_mode (mode, size)) && LIKELY (block != NULL))
    free_in (mode, size, block, "slice_free1", site);
  else
    sli_checking.fallback.free (size, block, site);
}

/* Not inlined, so that the usual case below saves no registers. */
#define CALLS_OF(name, mode)                                                  \
 static void *name##_alloc (size_t size, const void *site)                    \
 {                                                                            \
  return alloc_in (mode, size, site);                                         \
 }                                                                            \
 static void name##_free (size_t size, void *block, const char *operation,    \
                          const void *site)                                   \
 {                                                                            \
  free_in (mode, size, block, operation, site);                               \
 }                                                                            \
 static NOINLINE void *name##_alloc_any (size_t size, const void *site)       \
 {                                                                            \
  return alloc_any_in (mode, size, false, site);                              \
 }                                                                            \
 static void *name##_try_alloc_any (size_t size, const void *site)            \
 {                                                                            \
  return alloc_any_in (mode, size, true, site);                               \
 }                                                                            \
 static NOINLINE void name##_free_any (size_t size, void *block,              \
                                       const void *site)                      \
 {                                                                            \
  free_any_in (mode, size, block, site);                                      \
 }

CALLS_OF (checked, CHECKING_CHECKED)
CALLS_OF (hardened, CHECKING_HARDENED)
CALLS_OF (debug, CHECKING_DEBUG)

/* --- checked and hardened in the usual case ------------------------------ */

/* These call no function, so they save no registers.  They leave unusual cases
 * to the calls above, with nothing changed. */
static ALWAYS_INLINE void *
alloc_quick (CheckingMode mode, ThreadRecord *record, size_t size)
{
  unsigned class_index = class_for (mode, record, size);
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];
  SliceEntryV1 *entry = &record->fast.entries[class_index];
  void **top = LOAD (&entry->top);
  char *chunk = *top;
  uint16_t *tag;

  if (UNLIKELY (chunk == NULL))
    return NULL;
  tag = region_tag_of (chunk);
  if (mode == CHECKING_CHECKED ? UNLIKELY (LOAD (tag) >= TAG_LIVE)
                               : UNLIKELY (LOAD (tag) != TAG_FREE))
    return NULL;
  if (mode == CHECKING_HARDENED
      && UNLIKELY (!chunk_is (chunk, sizeclass->chunk_bytes, 0)))
    return NULL;
  STORE (&entry->top, top - 1);
  STORE (tag, (uint16_t) (TAG_LIVE + size));
  if (mode == CHECKING_HARDENED)
    canary_write (chunk, size);
  return chunk;
}

static inline bool
free_quick_checked (ThreadRecord *record, size_t size, char *block)
{
  unsigned class_index = class_for (CHECKING_CHECKED, record, size);
  uint16_t *tag;

  if (UNLIKELY (!chunk_has_tag (block, &tag) || LOAD (tag) != TAG_LIVE + size
                || !sli_record_push (record, class_index, block)))
    return false;
  STORE (tag, TAG_FREE);
  return true;
}

static ALWAYS_INLINE bool
free_quick_hardened (ThreadRecord *record, size_t size, char *block,
                     size_t fill_bytes)
{
  unsigned class_index = class_for (CHECKING_HARDENED, record, size);
  size_t chunk_bytes = sli_sizeclasses[class_index].chunk_bytes;
  ClassCache *cache = &record->caches[class_index];
  SliceEntryV1 *entry = &record->fast.entries[class_index];
  void **top = LOAD (&entry->top);
  uint16_t *tag;
  void *oldest;

  if (UNLIKELY (!chunk_has_tag (block, &tag) || LOAD (tag) != TAG_LIVE + size
                || !canary_is_whole (block, size) || chunk_bytes > fill_bytes
                || cache->quarantine == NULL || top == entry->end))
    return false;
  chunk_fill_inline (block, chunk_bytes, 0);
  STORE (tag, TAG_FREE);
  oldest = quarantine_exchange (cache, QUARANTINE_HARDENED, block);
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

/* Size 0 has class 0, which has no chunks, and NULL is in no slab, so neither
 * needs a test here. */
static ALWAYS_INLINE void *
hardened_alloc_quick (size_t size, const void *site)
{
  ThreadRecord *record = sli_record_self;
  void *block;

  if (LIKELY (size <= SIZE_MAX_OF (CHECKING_HARDENED)) && call_begin (record))
    {
      block = alloc_quick (CHECKING_HARDENED, record, size);
      call_end (record);
      if (LIKELY (block != NULL))
        return block;
    }
  return hardened_alloc_any (size, site);
}

static ALWAYS_INLINE void
hardened_free_quick (size_t size, void *block, const void *site,
                     size_t fill_bytes)
{
  ThreadRecord *record = sli_record_self;
  bool is_done;

  if (LIKELY (size <= SIZE_MAX_OF (CHECKING_HARDENED)) && call_begin (record))
    {
      is_done = free_quick_hardened (record, size, block, fill_bytes);
      call_end (record);
      if (LIKELY (is_done))
        return;
    }
  hardened_free_any (size, block, site);
}

void *
sli_hardened_alloc_quick (size_t size, const void *site)
{
  return hardened_alloc_quick (size, site);
}

void
sli_hardened_free_quick (size_t size, void *block, const void *site)
{
  hardened_free_quick (size, block, site, FILL_INLINE_BYTES);
}

/* The same code with wider registers, for chunks of any size, since memset()
 * is no faster then (decisions/0009). */
#ifdef WIDE
WIDE void *
sli_hardened_alloc_wide (size_t size, const void *site)
{
  return hardened_alloc_quick (size, site);
}

WIDE void
sli_hardened_free_wide (size_t size, void *block, const void *site)
{
  hardened_free_quick (size, block, site, SIZE_MAX);
}
#endif

static void *
checked_alloc_quick (size_t size, const void *site)
{
  void *block;

  if (LIKELY (size <= SIZE_MAX_OF (CHECKING_CHECKED))
      && LIKELY (
          (block = alloc_quick (CHECKING_CHECKED, sli_record_self, size))
          != NULL))
    return block;
  return checked_alloc_any (size, site);
}

static void
checked_free_quick (size_t size, void *block, const void *site)
{
  if (UNLIKELY (size > SIZE_MAX_OF (CHECKING_CHECKED)
                || !free_quick_checked (sli_record_self, size, block)))
    checked_free_any (size, block, site);
}

/* --- by mode -------------------------------------------------------------- */

COMMON_TEXT const CheckingCalls *
sli_checking_calls (void)
{
  static const CheckingCalls checked
      = { checked_alloc_quick, checked_try_alloc_any,
          checked_free_quick, checked_alloc, checked_free };
  static const CheckingCalls hardened
      = { sli_hardened_alloc_quick, hardened_try_alloc_any,
          sli_hardened_free_quick, hardened_alloc, hardened_free };
#ifdef WIDE
  static const CheckingCalls hardened_wide
      = { sli_hardened_alloc_wide, hardened_try_alloc_any,
          sli_hardened_free_wide, hardened_alloc, hardened_free };
#endif
  static const CheckingCalls debug
      = { debug_alloc_any, debug_try_alloc_any, debug_free_any, debug_alloc,
          debug_free };

  switch (sli_checking.mode)
    {
    case CHECKING_HARDENED:
#ifdef WIDE
      if (HAS_WIDE ())
        return &hardened_wide;
#endif
      return &hardened;
    case CHECKING_DEBUG:
      return &debug;
    case CHECKING_ANNOTATED:
      return &sli_checking_tool_calls;
    default:
      return &checked;
    }
}
