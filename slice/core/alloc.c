/* alloc.c - the entries: slice_alloc() and its family
 *
 * Floor 6 (alloc).  Below: magazine; and, for routing only, slab (magazines
 * bypassed) and the system's malloc (large blocks).  No locks of its own
 * while it calls down; `failure.lock` (rank 10) guards the handler.
 * Theory: sections 2 and 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

/* This file is where the inline functions of slice.h get their bodies. */
#define SLICE_DEFINE_EXPORTS
#include <slice/slice.h>

#include "alloc.h"
#include "block-check.h"
#include "guard.h"
#include "magazine.h"
#include "slab.h"
#include "base/align.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/option.h"
#include "port/compiler.h"
#include "port/os.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum
{
  ALIGNMENT_MAX = 4096,     /* of slice_alloc_aligned() */
  ALIGNMENT_OF_MALLOC = 16  /* what malloc gives anyway on 64 bits; on 32 it
                               may be 8, but then memalign is asked */
};

/* Where the user's call was, for the debug mode's messages. */
#define CALL_SITE __builtin_return_address (0)

static pthread_once_t alloc_once = PTHREAD_ONCE_INIT;

/* Constant once `ready`; the counters are shared, and rarely touched. */
static struct
{
  bool ready;
  bool is_guarded;      /* ready, and in a checking mode */
  AllocRoute route;
  GuardMode guard;      /* a checking mode, or GUARD_OFF */
  GuardCalls checked;   /* what it does */
  size_t size_max;      /* what is larger goes to the system's malloc */
  bool checks_blocks;   /* debug-blocks */
  bool clears_freed;    /* clear-freed */
  bool malloc_is_exact; /* malloc tells the exact size that was asked for */
  _Alignas (8) uint64_t n_large_allocs;
  _Alignas (8) uint64_t n_large_frees;
} alloc;

static struct
{
  Lock lock;
  SliceFailureHandler handler;
  void *data;
} failure = { .lock = LOCK_INIT (LOCK_RANK_BASE) };

/* --- the first block -------------------------------------------------------- */

static AllocRoute
choose_route (const char *tool, GuardMode guard)
{
  if (sli_option_is_on (SLICE_OPTION_ALWAYS_MALLOC)
      || (tool != NULL && !sli_option_is_on (SLICE_OPTION_FORCE_POOL)))
    return ROUTE_MALLOC;
  if (guard != GUARD_OFF)
    return ROUTE_GUARD;
  if (sli_option_is_on (SLICE_OPTION_BYPASS_MAGAZINES))
    return ROUTE_SLABS;
  return ROUTE_MAGAZINES;
}

static void
alloc_begin (void)
{
  const char *tool = sli_os_memory_tool ();
  MagazineOptions options = { 0 };

  sli_option_freeze ();
  alloc.guard = sli_guard_begin ();
  alloc.route = choose_route (tool, alloc.guard);
  alloc.checked = *sli_guard_calls ();
  alloc.size_max = alloc.route == ROUTE_MALLOC  ? 0
                   : alloc.route == ROUTE_GUARD ? sli_guard_size_max ()
                                                : SLICE_SIZE_MAX;
  alloc.malloc_is_exact = tool != NULL;
  alloc.checks_blocks = sli_option_is_on (SLICE_OPTION_DEBUG_BLOCKS);
  alloc.clears_freed = sli_option_is_on (SLICE_OPTION_CLEAR_FREED);
  options.counts_hits = sli_option_is_on (SLICE_OPTION_COUNT);
  options.is_inline = alloc.route == ROUTE_MAGAZINES && !alloc.checks_blocks
                      && !alloc.clears_freed && !options.counts_hits;
  options.picks_randomly = alloc.guard >= GUARD_HARDENED;
  options.checks_reentry = alloc.guard >= GUARD_HARDENED;
  options.n_quarantine = sli_guard_quarantine_chunks (alloc.guard);
  sli_magazine_load ();
  sli_magazine_begin ();
  sli_magazine_init (&options);
  STORE_RELEASE (&alloc.is_guarded, alloc.route == ROUTE_GUARD);
  STORE_RELEASE (&alloc.ready, true);
  if (sli_option_is_on (SLICE_OPTION_TRIM_THREAD))
    sli_trim_thread_start ();
}

/* As the first thing in every slow path. */
static inline void
alloc_make_ready (void)
{
  if (UNLIKELY (!LOAD_ACQUIRE (&alloc.ready)))
    pthread_once (&alloc_once, alloc_begin);
}

bool
sli_alloc_is_ready (void)
{
  return LOAD_ACQUIRE (&alloc.ready);
}

AllocRoute
sli_alloc_route (void)
{
  return alloc.route;
}

void
sli_alloc_count_large (uint64_t *n_allocs, uint64_t *n_frees)
{
  *n_allocs = LOAD (&alloc.n_large_allocs);
  *n_frees = LOAD (&alloc.n_large_frees);
}

/* Early, so that our key is destroyed and our prepare handler called in the
 * best order; options may still be set after this. */
__attribute__ ((constructor)) static void
alloc_load (void)
{
  sli_magazine_load ();
  sli_fork_load ();
}

/* --- routing ------------------------------------------------------------------ */

static inline bool
goes_to_malloc (size_t size)
{
  return size > alloc.size_max;
}

static void *
malloc_alloc (size_t size, const void *site)
{
  void *block = malloc (size);

  if (block == NULL)
    return NULL;
  if (alloc.route == ROUTE_GUARD && !sli_guard_add_large (block, size, site))
    {
      free (block);
      return NULL;
    }
  if (size > SLICE_SIZE_MAX)
    COUNT_UP_SHARED (&alloc.n_large_allocs, 1);
  return block;
}

static void *
slab_alloc (unsigned class_index)
{
  void *chunk[1];

  return sli_slab_take (class_index, 1, chunk + 1) == 1 ? chunk[0] : NULL;
}

static void *
route_alloc (size_t size, const void *site)
{
  if (goes_to_malloc (size))
    return malloc_alloc (size, site);
  switch (alloc.route)
    {
    case ROUTE_MAGAZINES:
      return sli_magazine_alloc (SLICE_CLASS_V1 (size));
    case ROUTE_GUARD:
      return alloc.checked.alloc (size, site);
    default:
      return slab_alloc (SLICE_CLASS_V1 (size));
    }
}

/* A malloc'd block tells how large it is: exactly under a tool, else at
 * least. */
static void
check_malloc_size (size_t size, void *block)
{
  size_t bytes = sli_os_malloc_bytes (block);

  if (bytes != 0 && (bytes < size || (alloc.malloc_is_exact && bytes != size)))
    sli_diag_misuse (ERROR_MALLOC_SIZE, "slice_free1", block, size, bytes);
}

static void
malloc_free (size_t size, void *block, const void *site)
{
  if (UNLIKELY (sli_slab_is_ours (block)))
    sli_diag_misuse (
        ERROR_WRONG_SIZE, "slice_free1", block, size,
        sli_sizeclasses[sli_slab_class_of (block)].block_bytes);
  if (alloc.route == ROUTE_MALLOC)
    check_malloc_size (size, block);
  if (alloc.route == ROUTE_GUARD)
    sli_guard_remove_large (block, size, "slice_free1", site);
  if (size > SLICE_SIZE_MAX)
    COUNT_UP_SHARED (&alloc.n_large_frees, 1);
  free (block);
}

static void
route_free (size_t size, void *block, const void *site)
{
  if (alloc.clears_freed)
    memset (block, 0, size);
  if (goes_to_malloc (size))
    {
      malloc_free (size, block, site);
      return;
    }
  switch (alloc.route)
    {
    case ROUTE_MAGAZINES:
      sli_magazine_free (SLICE_CLASS_V1 (size), block);
      break;
    case ROUTE_GUARD:
      alloc.checked.free (size, block, "slice_free1", site);
      break;
    default:
      sli_slab_give (SLICE_CLASS_V1 (size), 1, &block, "slice_free1");
      break;
    }
}

/* A block of any size but 0; NULL: no memory. */
static void *
block_alloc (size_t size, const void *site)
{
  void *block = route_alloc (size, site);

  if (block != NULL && alloc.checks_blocks && alloc.route != ROUTE_GUARD
      && !sli_block_check_add (block, size))
    {
      route_free (size, block, site);
      return NULL;
    }
  return block;
}

static void
block_free (size_t size, void *block, const void *site)
{
  if (alloc.checks_blocks && alloc.route != ROUTE_GUARD)
    sli_block_check_remove (block, size, "slice_free1");
  route_free (size, block, site);
}

/* --- no memory ----------------------------------------------------------------- */

void
slice_set_failure_handler (SliceFailureHandler handler, void *data)
{
  sli_lock (&failure.lock);
  failure.handler = handler;
  failure.data = data;
  sli_unlock (&failure.lock);
}

/* Asks the failure handler, with no lock held; false if there is none or it
 * gives up. */
static bool
ask_handler (size_t size, size_t alignment)
{
  SliceFailureHandler handler;
  void *data;

  sli_lock (&failure.lock);
  handler = failure.handler;
  data = failure.data;
  sli_unlock (&failure.lock);
  return handler != NULL && handler (size, alignment, data);
}

_Noreturn COLD static void
die_of_no_memory (size_t size, size_t alignment)
{
  sli_diag_die (ERROR_NO_MEMORY,
                "out of memory: %z bytes, alignment %z [thread %u]", size,
                alignment, sli_os_thread_id ());
}

/* One attempt to get a block in whatever manner. */
typedef void *(*Attempt) (size_t alignment, size_t size, const void *site);

static void *
attempt_block (size_t alignment UNUSED, size_t size, const void *site)
{
  return block_alloc (size, site);
}

/* What the manual promises: give back what is spare and try again; then, if
 * NULL may not be the answer, the handler, as often as it says so; then the
 * end. */
COLD static void *
alloc_after_failure (Attempt attempt, size_t alignment, size_t size,
                     bool may_fail, const void *site)
{
  void *block;

  sli_trim_all ();
  block = attempt (alignment, size, site);
  while (block == NULL && !may_fail)
    {
      if (!ask_handler (size, alignment))
        die_of_no_memory (size, alignment);
      block = attempt (alignment, size, site);
    }
  if (block == NULL)
    errno = ENOMEM;
  return block;
}

NOINLINE static void *
alloc_any (size_t size, bool may_fail, const void *site)
{
  void *block;

  alloc_make_ready ();
  if (size == 0)
    return NULL;
  block = block_alloc (size, site);
  if (UNLIKELY (block == NULL))
    block = alloc_after_failure (attempt_block, 0, size, may_fail, site);
  return block;
}

/* The checking modes come here with every call: a short way for them. */
static inline void *
alloc_checked_or_any (size_t size, bool may_fail, const void *site)
{
  void *block;

  if (LOAD_ACQUIRE (&alloc.is_guarded) && LIKELY (size - 1 < alloc.size_max)
      && LIKELY ((block = alloc.checked.alloc (size, site)) != NULL))
    return block;
  return alloc_any (size, may_fail, site);
}

/* --- blocks --------------------------------------------------------------------- */

void *
slice_alloc_slow_v1 (size_t size)
{
  return alloc_checked_or_any (size, false, CALL_SITE);
}

void *
slice_try_alloc_slow_v1 (size_t size)
{
  return alloc_checked_or_any (size, true, CALL_SITE);
}

NOINLINE static void
free_any (size_t size, void *block, const void *site)
{
  alloc_make_ready ();
  if (block == NULL)
    return;
  if (UNLIKELY (size == 0))
    sli_diag_misuse (ERROR_WRONG_SIZE, "slice_free1", block, 0, 0);
  block_free (size, block, site);
}

void
slice_free_slow_v1 (size_t size, void *block)
{
  if (LOAD_ACQUIRE (&alloc.is_guarded) && LIKELY (size - 1 < alloc.size_max)
      && LIKELY (block != NULL))
    alloc.checked.free (size, block, "slice_free1", CALL_SITE);
  else
    free_any (size, block, CALL_SITE);
}

/* Brent's way to notice a chain that comes back to itself: a mark that is
 * moved on after 1, 2, 4, ... steps. */
#define CHAIN_FREE(chain, next_offset, free_one)                              \
  do                                                                          \
    {                                                                         \
      const void *mark = NULL;                                                \
      size_t steps = 0, turn = 1;                                             \
      while ((chain) != NULL)                                                 \
        {                                                                     \
          void *next = *(void **) (void *) ((char *) (chain)                  \
                                            + (next_offset));                 \
          if (UNLIKELY ((chain) == mark))                                     \
            sli_diag_misuse (ERROR_CYCLIC_CHAIN, "slice_free_chain",          \
                             (chain), size, 0);                               \
          if (++steps == turn)                                                \
            {                                                                 \
              mark = (chain);                                                 \
              steps = 0;                                                      \
              turn *= 2;                                                      \
            }                                                                 \
          free_one;                                                           \
          (chain) = next;                                                     \
        }                                                                     \
    }                                                                         \
  while (0)

void
slice_free_chain_with_offset (size_t size, void *chain, size_t next_offset)
{
  CHAIN_FREE (chain, next_offset, slice_free1 (size, chain));
}

void
slice_free_chain_aligned (size_t alignment, size_t size, void *chain,
                          size_t next_offset)
{
  CHAIN_FREE (chain, next_offset, slice_free_aligned (alignment, size, chain));
}

/* --- arrays ------------------------------------------------------------------------ */

/* n * size; an overflow is the same as no memory.  False: return NULL. */
static bool
array_bytes (size_t n, size_t size, bool may_fail, size_t *bytes)
{
  while (UNLIKELY (__builtin_mul_overflow (n, size, bytes)))
    {
      if (may_fail)
        {
          errno = ENOMEM;
          return false;
        }
      if (!ask_handler (SIZE_MAX, 0))
        sli_diag_die (ERROR_OVERFLOW, "size overflow: %z times %z bytes", n,
                      size);
    }
  return true;
}

void *
slice_alloc_n (size_t n, size_t size)
{
  size_t bytes = 0;

  return array_bytes (n, size, false, &bytes) ? slice_alloc (bytes) : NULL;
}

void *
slice_alloc0_n (size_t n, size_t size)
{
  size_t bytes = 0;

  return array_bytes (n, size, false, &bytes) ? slice_alloc0 (bytes) : NULL;
}

void *
slice_try_alloc_n (size_t n, size_t size)
{
  size_t bytes = 0;

  return array_bytes (n, size, true, &bytes) ? slice_try_alloc (bytes) : NULL;
}

void
slice_free_n (size_t n, size_t size, void *block)
{
  size_t bytes;

  if (block == NULL)
    return;
  if (UNLIKELY (__builtin_mul_overflow (n, size, &bytes)))
    sli_diag_die (ERROR_OVERFLOW, "size overflow: %z times %z bytes", n, size);
  slice_free1 (bytes, block);
}

/* --- alignment ----------------------------------------------------------------------- */

/* The size to ask for, and whether its class is aligned by itself. */
static bool
is_aligned_by_class (size_t alignment, size_t bytes)
{
  if (goes_to_malloc (bytes))
    return alignment <= min_size (ALIGNMENT_OF_MALLOC, 2 * sizeof (void *));
  if (alloc.route == ROUTE_GUARD)
    return alignment <= 2 * sizeof (void *);
  return alignment <= sli_sizeclass_alignment (SLICE_CLASS_V1 (bytes));
}

static size_t
aligned_bytes (size_t alignment, size_t size, const char *operation,
               const void *block)
{
  if (UNLIKELY (!is_power_of_two (alignment) || alignment > ALIGNMENT_MAX))
    sli_diag_die (ERROR_BAD_ALIGNMENT,
                  "%s: alignment %z is no power of two up to %z: block %p, "
                  "given size %z [thread %u]",
                  operation, alignment, (size_t) ALIGNMENT_MAX, block, size,
                  sli_os_thread_id ());
  return align_up (size, alignment);
}

/* Are blocks of the system's malloc remembered, too? */
static bool
remembers_malloc (void)
{
  return alloc.checks_blocks || alloc.route == ROUTE_GUARD;
}

static void *
attempt_aligned (size_t alignment, size_t bytes, const void *site)
{
  void *block;

  if (is_aligned_by_class (alignment, bytes))
    return block_alloc (bytes, site);
  block = sli_os_posix_memalign (bytes, alignment);
  if (block == NULL)
    block = sli_os_memalign (bytes, alignment);
  if (block != NULL && remembers_malloc ()
      && !sli_block_check_add_at (block, bytes, site))
    {
      free (block);
      return NULL;
    }
  if (block != NULL)
    COUNT_UP_SHARED (&alloc.n_large_allocs, 1);
  return block;
}

static void *
alloc_aligned (size_t alignment, size_t size, bool may_fail,
               const char *operation, const void *site)
{
  size_t bytes = aligned_bytes (alignment, size, operation, NULL);
  void *block;

  alloc_make_ready ();
  if (size == 0)
    return NULL;
  /* Rounding up may have wrapped. */
  block = bytes < size ? NULL : attempt_aligned (alignment, bytes, site);
  if (UNLIKELY (block == NULL))
    block = alloc_after_failure (attempt_aligned, alignment,
                                 bytes < size ? SIZE_MAX : bytes, may_fail,
                                 site);
  return block;
}

void *
slice_alloc_aligned (size_t alignment, size_t size)
{
  return alloc_aligned (alignment, size, false, "slice_alloc_aligned",
                        CALL_SITE);
}

void *
slice_try_alloc_aligned (size_t alignment, size_t size)
{
  return alloc_aligned (alignment, size, true, "slice_try_alloc_aligned",
                        CALL_SITE);
}

void
slice_free_aligned (size_t alignment, size_t size, void *block)
{
  size_t bytes = aligned_bytes (alignment, size, "slice_free_aligned", block);

  alloc_make_ready ();
  if (block == NULL)
    return;
  if (is_aligned_by_class (alignment, bytes))
    {
      slice_free1 (bytes, block);
      return;
    }
  if (remembers_malloc ())
    sli_block_check_remove_at (block, bytes, "slice_free_aligned", CALL_SITE);
  if (UNLIKELY (sli_slab_is_ours (block)))
    sli_diag_misuse (ERROR_WRONG_SIZE, "slice_free_aligned", block, bytes, 0);
  COUNT_UP_SHARED (&alloc.n_large_frees, 1);
  free (block);
}

/* --- for the layers above ---------------------------------------------------------------- */

void *
slice_try_alloc_known (size_t size, bool *known_zero)
{
  *known_zero = false;
  if (LIKELY (size <= SLICE_SIZE_MAX))
    {
      SliceEntryV1 *entries = SLICE_LOAD (&slice_tls_v1);
      SliceEntryV1 *entry = SLICE_ENTRY_V1 (entries, size);
      void **top = SLICE_LOAD (&entry->top);
      void *block = *top;

      if (LIKELY (block != NULL))
        {
          SLICE_STORE (&entry->top, top - 1);
          return block;
        }
    }
  alloc_make_ready ();
  if (size != 0 && size <= SLICE_SIZE_MAX && alloc.route == ROUTE_MAGAZINES
      && !alloc.checks_blocks)
    {
      void *block = sli_magazine_alloc_known (SLICE_CLASS_V1 (size),
                                              known_zero);

      if (LIKELY (block != NULL))
        return block;
      *known_zero = false;
    }
  return slice_try_alloc (size);
}

/* Zeroes a block of unknown size; what is none is left for others to find. */
static void
clear_freed (void *block)
{
  ChunkInfo info;

  if (alloc.route == ROUTE_MALLOC)
    {
      memset (block, 0, sli_os_malloc_bytes (block));
      return;
    }
  sli_slab_look_up (block, &info);
  if (info.state == CHUNK_OUT)
    memset (block, 0, sli_sizeclasses[info.class_index].chunk_bytes);
}

/* Where blocks are looked at one by one. */
static void
bulk_free_each (size_t n, void *const *blocks, const void *site)
{
  for (size_t i = 0; i < n; i++)
    {
      if (blocks[i] == NULL)
        continue;
      if (alloc.route == ROUTE_GUARD)
        {
          alloc.checked.free (DIAG_SIZE_UNKNOWN, blocks[i],
                              "slice_free_bulk", site);
          continue;
        }
      if (alloc.checks_blocks)
        sli_block_check_remove (blocks[i], BLOCK_CHECK_ANY_SIZE,
                                "slice_free_bulk");
      if (alloc.clears_freed)
        clear_freed (blocks[i]);
      if (alloc.route == ROUTE_MALLOC)
        free (blocks[i]);
      else
        sli_slab_give (0, 1, &blocks[i], "slice_free_bulk");
    }
}

void
slice_free_bulk (size_t n, void *const *blocks)
{
  alloc_make_ready ();
  if (alloc.route == ROUTE_GUARD || alloc.route == ROUTE_MALLOC
      || alloc.checks_blocks || alloc.clears_freed)
    {
      bulk_free_each (n, blocks, CALL_SITE);
      return;
    }
  while (n > 0)
    {
      unsigned part = (unsigned) min_size (n, UINT32_MAX);

      sli_slab_give (0, part, blocks, "slice_free_bulk");
      n -= part;
      blocks += part;
    }
}

size_t
slice_block_size (const void *block)
{
  unsigned class_index = sli_slab_class_of (block);
  size_t size;

  if (alloc.route == ROUTE_GUARD)
    {
      size = sli_guard_block_size (block);
      return size != 0 ? size : sli_block_check_size (block);
    }
  return class_index != 0 ? sli_sizeclasses[class_index].chunk_bytes
                          : sli_os_malloc_bytes (block);
}

bool
slice_is_ours (const void *address)
{
  return sli_slab_is_ours (address);
}

size_t
slice_debug_size (const void *address)
{
  size_t size;

  if (!LOAD_ACQUIRE (&alloc.ready)
      || (!alloc.checks_blocks && alloc.route != ROUTE_GUARD))
    return 0;
  size = sli_block_check_size (address);
  return size == SIZE_MAX ? 0 : size;
}

void
slice_block_info (const void *address, SliceBlockInfo *info)
{
  static const SliceBlockKind kinds[]
      = { [CHUNK_FOREIGN] = SLICE_BLOCK_FOREIGN,
          [CHUNK_NONE] = SLICE_BLOCK_NONE,
          [CHUNK_INTERIOR] = SLICE_BLOCK_INTERIOR,
          [CHUNK_UNCARVED] = SLICE_BLOCK_FREE,
          [CHUNK_FREE] = SLICE_BLOCK_FREE,
          [CHUNK_OUT] = SLICE_BLOCK_OUT };
  ChunkInfo chunk;

  sli_slab_look_up (address, &chunk);
  info->kind = kinds[chunk.state];
  info->class_index = chunk.class_index;
  info->start = chunk.start;
  info->bytes = sli_sizeclasses[chunk.class_index].chunk_bytes;
  if (alloc.route == ROUTE_GUARD && chunk.start != NULL)
    {
      /* The block, not its chunk, is what the program knows. */
      info->start = (char *) chunk.start + sli_guard_front_bytes ();
      info->bytes = sli_guard_block_size (info->start);
      if (chunk.state == CHUNK_OUT || chunk.state == CHUNK_INTERIOR)
        info->kind = info->bytes == 0          ? SLICE_BLOCK_FREE
                     : address == info->start ? SLICE_BLOCK_OUT
                                              : SLICE_BLOCK_INTERIOR;
    }
}

const char *
slice_version (void)
{
  return SLICE_VERSION_STRING;
}
