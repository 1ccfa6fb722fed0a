/* medium.c - blocks of up to 32 KiB: several of one size in a run
 *
 * Layer: heap.  Below: page.  Locks: one for the runs of each class and of its
 * fitted class, one for each cache, and one under which classes are made (rank
 * 25); a thread holds one at a time.
 * Design: chapter 14.
 *
 *   sizes:  8 in each doubling, from 144 to 32768 (sizes up to 2064 only for
 *           alignments that slices don't have); and for each a fitted size,
 *           the largest that the program has requested of it, if it has many
 *
 *   run:    | block 0 | block 1 | ... | block n-1 | spare |
 *   live       1         0         ...                         (a bit each)
 *   free       0         1
 *
 * A block is free in its run, or in a cache, or the program has it.  Its live
 * bit is set only while the program has it.  An atomic operation clears it, so
 * the second free of a block is found.
 *
 * A cache serves a group of threads, which a hash of the thread selects, so
 * the end of a thread needs no work.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "heap.h"
#include "base/align.h"
#include "base/list.h"
#include "port/os/os.h"
#include "port/thread/tls.h"

#include <limits.h>

enum
{
  STEPS = 8,             /* sizes in a doubling */
  STEP_SHIFT = 3,
  SIZE_SHIFT_MIN = 7,    /* the sizes begin above 128: those up to 2064 are for
                            alignments that slices don't have */
  MEDIUM_CLASSES = 64,   /* up to MEDIUM_BYTES_MAX */
  ALL_CLASSES = 2 * MEDIUM_CLASSES, /* with the fitted ones, behind them */
  RUN_GRANULES = 9,      /* the longest run that is cut */
  WASTE_DIVISOR = 32,    /* the shortest run that wastes at most this part */
  BLOCKS_MAX = 64,       /* bits of a word */
  FIT_RUNS = 16,         /* a class of so many runs may get a fitted one, */
  FIT_DIVISOR = 32,      /* if that saves at least this part */
  CACHES = 8,            /* a power of two */
  CACHE_BLOCKS_MAX = 16,
  CACHE_BYTES = 32 * 1024 /* of a class, in a cache */
};

SLICE_STATIC_ASSERT (MEDIUM_BYTES_MAX
                         == 1 << (SIZE_SHIFT_MIN
                                  + MEDIUM_CLASSES / STEPS),
                     "the classes end where runs begin");

/* The lock protects the ring, the runs' bits of free blocks, and the
 * counts.  A class that is not used takes no memory: it is made with its first
 * block. */
typedef struct
{
  _Alignas (CACHE_LINE_BYTES) Lock lock; /* of a fitted class: not used, see
                                            class_lock() */
  Link runs;           /* with blocks that are free or were never used */
  uint32_t n_runs;
  uint32_t n_runs_fit; /* with so many the class looks for a fitted one */
  uint32_t wanted_bytes; /* the largest size requested of it since then */
  uint32_t fitted_bytes; /* of its fitted class, which is constant from then
                            on; 0: it has none.  Read without the lock */
  /* constant */
  uint32_t bytes;      /* of a block; 0: the class is not made.  Written last */
  uint32_t reciprocal; /* 2^32 / bytes, rounded up */
  uint8_t n_granules;  /* of a run */
  uint8_t n_blocks;
  uint8_t n_cached;    /* the most in a cache */
} MediumClass;

typedef struct
{
  _Alignas (CACHE_LINE_BYTES) Lock lock;
  uint8_t n[ALL_CLASSES];
  void *(*blocks)[CACHE_BLOCKS_MAX]; /* of each class */
} MediumCache;

/* Most programs use one cache and a few classes: the blocks and classes of
 * others take no memory. */
SPARSE_DATA static struct
{
  MediumCache caches[CACHES];
  MediumClass classes[ALL_CLASSES];
  void *blocks[CACHES][ALL_CLASSES][CACHE_BLOCKS_MAX];
} medium;

/* While it is held, no classes are made. */
static Lock make_lock = LOCK_INIT (LOCK_RANK_HEAP);

/* --- sizes --------------------------------------------------------------- */

static size_t
class_bytes (unsigned class)
{
  unsigned doubling = class >> STEP_SHIFT, step = class & (STEPS - 1);

  return (size_t) (STEPS + 1 + step)
         << (SIZE_SHIFT_MIN - STEP_SHIFT + doubling);
}

/* The smallest class with blocks of `size' bytes; sizes up to 1 <<
 * SIZE_SHIFT_MIN count as the next. */
static unsigned
class_of (size_t size)
{
  size_t last = max_size (size, (1 << SIZE_SHIFT_MIN) + 1) - 1;
  unsigned shift = (unsigned) (sizeof (long) * CHAR_BIT - 1)
                   - (unsigned) __builtin_clzl (last);

  return ((shift - SIZE_SHIFT_MIN) << STEP_SHIFT)
         + (unsigned) (last >> (shift - STEP_SHIFT)) - STEPS;
}

/* Chooses the shortest run that wastes little, or the one that wastes
 * least. */
HEAP_TEXT static void
class_cut (MediumClass *class, size_t block_bytes)
{
  size_t granule_bytes = sli_page_granule_bytes ();
  size_t best_waste = SIZE_MAX, best_bytes = 1;

  for (unsigned n = 1; n <= RUN_GRANULES; n++)
    {
      size_t bytes = n * granule_bytes;
      size_t n_blocks = min_size (bytes / block_bytes, BLOCKS_MAX);
      size_t waste = bytes - n_blocks * block_bytes;

      if (n_blocks == 0 || (best_waste != SIZE_MAX
                            && waste * best_bytes >= best_waste * bytes))
        continue;
      best_waste = waste;
      best_bytes = bytes;
      class->n_granules = (uint8_t) n;
      class->n_blocks = (uint8_t) n_blocks;
      if (waste * WASTE_DIVISOR <= bytes)
        break;
    }
}

HEAP_TEXT static void
class_set_bytes (MediumClass *class, size_t bytes)
{
  link_init (&class->runs);
  class->reciprocal
      = (uint32_t) (((UINT64_C (1) << 32) + bytes - 1) / bytes);
  class->n_cached = (uint8_t) max_size (
      1, min_size (CACHE_BYTES / bytes, CACHE_BLOCKS_MAX));
  class_cut (class, bytes);
  STORE_RELEASE (&class->bytes, (uint32_t) bytes);
}

static bool
class_is_made (const MediumClass *class)
{
  return LOAD_ACQUIRE (&class->bytes) != 0;
}

/* While this thread forks, it holds all locks, and gives them back
 * afterwards. */
HEAP_TEXT static void
class_make (unsigned index)
{
  MediumClass *class = &medium.classes[index];

  sli_lock (&make_lock);
  if (!class_is_made (class))
    {
      sli_lock_init (&class->lock, LOCK_RANK_HEAP);
      if (sli_lock_forking_here ())
        sli_lock_for_fork (&class->lock);
      class->n_runs_fit = FIT_RUNS;
      class_set_bytes (class, class_bytes (index));
    }
  sli_unlock (&make_lock);
}

static Lock *
class_lock (const MediumClass *class)
{
  return &medium.classes[(class - medium.classes) % MEDIUM_CLASSES].lock;
}

HEAP_TEXT void
sli_medium_init (void)
{
  for (unsigned i = 0; i < CACHES; i++)
    {
      sli_lock_init (&medium.caches[i].lock, LOCK_RANK_HEAP);
      medium.caches[i].blocks = medium.blocks[i];
    }
}

/* Before other locks that are taken, and after others that are released,
 * make_lock: those that were taken are those that are released. */
void
sli_medium_each_lock (void (*act) (Lock *lock))
{
  bool is_first = act == sli_lock_for_fork;

  if (is_first)
    act (&make_lock);
  for (unsigned i = 0; i < CACHES; i++)
    act (&medium.caches[i].lock);
  for (unsigned i = 0; i < MEDIUM_CLASSES; i++)
    if (class_is_made (&medium.classes[i]))
      act (&medium.classes[i].lock);
  if (!is_first)
    act (&make_lock);
}

static MediumCache *
cache_mine (void)
{
  return &medium.caches[sli_tls_tag () & (CACHES - 1)];
}

/* --- runs ---------------------------------------------------------------- */

static MediumClass *
run_class (const HeapRun *run)
{
  return &medium.classes[run->ring];
}

/* Returns true if a run has no free block. */
static bool
run_is_full (const HeapRun *run, const MediumClass *class)
{
  return run->own_words[HEAP_FREE] == 0 && run->n_carved == class->n_blocks;
}

static bool
run_is_empty (const HeapRun *run)
{
  return COUNT_BITS (run->own_words[HEAP_FREE]) == run->n_carved;
}

static char *
run_start (HeapRun *run)
{
  return sli_page_run_of_record (run);
}

/* Takes up to n free blocks of a run, the lowest first; if there is none,
 * takes the next that was never used, and sets *is_zero. */
static unsigned
run_take (MediumClass *class, HeapRun *run, unsigned n, void **blocks,
          bool *is_zero)
{
  char *start = run_start (run);
  unsigned taken = 0;

  assert_held (class_lock (class));
  *is_zero = false;
  while (taken < n && run->own_words[HEAP_FREE] != 0)
    {
      unsigned index
          = (unsigned) __builtin_ctzll (run->own_words[HEAP_FREE]);

      run->own_words[HEAP_FREE] &= run->own_words[HEAP_FREE] - 1;
      blocks[taken++] = start + (size_t) index * class->bytes;
    }
  if (taken == 0)
    {
      blocks[taken++] = start + (size_t) run->n_carved * class->bytes;
      STORE (&run->n_carved, (uint16_t) (run->n_carved + 1));
      *is_zero = run->is_zero;
    }
  if (run_is_full (run, class))
    link_remove (&run->link);
  return taken;
}

/* Gives a class with many runs a fitted class, if all sizes that the program
 * has requested of it lately leave a part of their blocks unused. */
HEAP_TEXT static void
class_fit (MediumClass *class)
{
  uint32_t bytes = (uint32_t) align_up (class->wanted_bytes, HEAP_ALIGN_BYTES);

  assert_held (class_lock (class));
  if (class >= &medium.classes[MEDIUM_CLASSES] || class->fitted_bytes != 0
      || class->n_runs < class->n_runs_fit)
    return;
  class->wanted_bytes = 0;
  class->n_runs_fit = class->n_runs + FIT_RUNS;
  if (bytes + bytes / FIT_DIVISOR > class->bytes)
    return;
  class_set_bytes (class + MEDIUM_CLASSES, bytes);
  STORE_RELEASE (&class->fitted_bytes, bytes);
}

/* Takes 1 to n blocks of a class for a call that requests `size' bytes; 0:
 * there is no memory. */
HEAP_TEXT static unsigned
class_take (MediumClass *class, size_t size, unsigned n, void **blocks,
            bool *is_zero)
{
  unsigned taken = 0;
  HeapRun *run;

  for (;;)
    {
      sli_lock (class_lock (class));
      class->wanted_bytes
          = (uint32_t) max_size (class->wanted_bytes, size);
      if (!link_is_alone (&class->runs))
        taken = run_take (class, LINK_OWNER (class->runs.next, HeapRun, link),
                          n, blocks, is_zero);
      sli_unlock (class_lock (class));
      if (taken != 0)
        return taken;
      if (sli_heap_new_run (class->n_granules, SLAB_HEAP_MEDIUM, &run,
                            is_zero)
          == NULL)
        return 0;
      run->is_zero = *is_zero;
      run->ring = (uint8_t) (class - medium.classes);
      sli_lock (class_lock (class));
      link_after (&run->link, &class->runs);
      class->n_runs++;
      class_fit (class);
      sli_unlock (class_lock (class));
    }
}

/* Returns a block to its run; true: the run is empty and was removed from its
 * class. */
HEAP_TEXT static bool
run_return (HeapRun *run, const void *block)
{
  MediumClass *class = run_class (run);
  size_t offset = (size_t) ((const char *) block - run_start (run));
  bool was_full, is_empty;

  sli_lock (class_lock (class));
  was_full = run_is_full (run, class);
  run->own_words[HEAP_FREE] |= (uint64_t) 1 << (offset / class->bytes);
  is_empty = run_is_empty (run);
  if (was_full && !is_empty)
    link_after (&run->link, &class->runs);
  if (!was_full && is_empty)
    link_remove (&run->link);
  class->n_runs -= is_empty;
  sli_unlock (class_lock (class));
  return is_empty;
}

HEAP_TEXT static void
blocks_return (unsigned n, void *const *blocks)
{
  for (unsigned i = 0; i < n; i++)
    {
      HeapRun *run = NULL;
      char *start = heap_run_of (blocks[i], &run);

      KNOWN (run != NULL);
      if (run_return (run, blocks[i]))
        sli_heap_end_run (start, run);
    }
}

/* --- blocks -------------------------------------------------------------- */

/* The bit of a block; 0: the address is not a block's start. */
static uint64_t
block_bit (const char *start, const HeapRun *run, const void *block)
{
  const MediumClass *class = run_class (run);
  uint32_t offset = (uint32_t) ((const char *) block - start);
  uint32_t index
      = (uint32_t) (((uint64_t) offset * class->reciprocal) >> 32);

  return index < LOAD (&run->n_carved) && index * class->bytes == offset
             ? (uint64_t) 1 << index
             : 0;
}

static void *
block_begin (void *block)
{
  HeapRun *run = NULL;
  const char *start = heap_run_of (block, &run);

  KNOWN (run != NULL);
  __atomic_fetch_or (&run->own_words[HEAP_LIVE],
                     block_bit (start, run, block), __ATOMIC_RELAXED);
  sli_heap_count_runs (0, 0, (ptrdiff_t) run_class (run)->bytes);
  return block;
}

/* Allocates a block of a class from a cache; else takes some from the runs and
 * puts the others into the cache. */
HEAP_TEXT static void *
class_alloc (unsigned index, size_t size, bool *is_zero)
{
  MediumClass *class = &medium.classes[index];
  MediumCache *cache = cache_mine ();
  void *blocks[CACHE_BLOCKS_MAX];
  void *block = NULL;
  unsigned n;

  *is_zero = false;
  sli_lock (&cache->lock);
  if (cache->n[index] > 0)
    block = cache->blocks[index][--cache->n[index]];
  sli_unlock (&cache->lock);
  if (block != NULL)
    return block;
  n = class_take (class, size, (class->n_cached + 1) / 2, blocks, is_zero);
  if (n == 0)
    return NULL;
  block = blocks[0];
  sli_lock (&cache->lock);
  while (n > 1 && cache->n[index] < class->n_cached)
    cache->blocks[index][cache->n[index]++] = blocks[--n];
  sli_unlock (&cache->lock);
  blocks_return (n - 1, blocks + 1);
  return block;
}

/* The class for a size and an alignment; ALL_CLASSES: there is none.  Blocks
 * have the alignment of their size, since runs are aligned to granules. */
HEAP_TEXT static unsigned
class_find (size_t size, size_t alignment)
{
  unsigned index = class_of (size);

  if (alignment <= HEAP_ALIGN_BYTES
      && size <= LOAD_ACQUIRE (&medium.classes[index].fitted_bytes))
    return MEDIUM_CLASSES + index;
  while (index < MEDIUM_CLASSES
         && lowest_bit (class_bytes (index)) < alignment)
    index++;
  return index < MEDIUM_CLASSES ? index : ALL_CLASSES;
}

HEAP_TEXT void *
sli_medium_alloc (size_t size, size_t alignment, bool *is_zero)
{
  unsigned index = class_find (size, alignment);
  void *block;

  if (index == ALL_CLASSES)
    return NULL;
  if (UNLIKELY (!class_is_made (&medium.classes[index])))
    class_make (index);
  block = class_alloc (index, size, is_zero);
  return block != NULL ? block_begin (block) : NULL;
}

HEAP_TEXT size_t
sli_medium_bytes (const HeapRun *run)
{
  return run_class (run)->bytes;
}

void
sli_medium_note_whole (const void *block, bool is_whole)
{
  HeapRun *run = NULL;
  const char *start = heap_run_of (block, &run);
  uint64_t bit = start != NULL && run->state == SLAB_HEAP_MEDIUM
                     ? block_bit (start, run, block)
                     : 0;

  assert_here (bit != 0 || !is_whole);
  if (is_whole)
    __atomic_fetch_or (&run->own_words[HEAP_WHOLE], bit, __ATOMIC_RELAXED);
  else if (bit != 0)
    __atomic_fetch_and (&run->own_words[HEAP_WHOLE], ~bit, __ATOMIC_RELAXED);
}

bool
sli_medium_is_whole (const void *block)
{
  HeapRun *run = NULL;
  const char *start = heap_run_of (block, &run);

  return start != NULL && run->state == SLAB_HEAP_MEDIUM
         && (LOAD (&run->own_words[HEAP_WHOLE])
             & block_bit (start, run, block))
                != 0;
}

HEAP_TEXT void
sli_medium_check (const char *start, HeapRun *run, const void *block,
                  const char *operation)
{
  uint64_t bit = block_bit (start, run, block);

  if (UNLIKELY (bit == 0))
    sli_heap_report (ERROR_INTERIOR, block, operation);
  if (UNLIKELY ((LOAD (&run->own_words[HEAP_LIVE]) & bit) == 0))
    sli_heap_report (ERROR_ALREADY_FREE, block, operation);
}

/* If the cache is full, returns the older half of it to the runs. */
HEAP_TEXT void
sli_medium_free (char *start, HeapRun *run, void *block,
                 const char *operation)
{
  uint64_t bit = block_bit (start, run, block);
  unsigned index = run->ring, n = 0;
  const MediumClass *class = &medium.classes[index];
  MediumCache *cache = cache_mine ();
  void *old[CACHE_BLOCKS_MAX];

  if (UNLIKELY (bit == 0))
    sli_heap_report (ERROR_INTERIOR, block, operation);
  if (UNLIKELY ((__atomic_fetch_and (&run->own_words[HEAP_LIVE], ~bit,
                                     __ATOMIC_ACQ_REL)
                 & bit)
                == 0))
    sli_heap_report (ERROR_ALREADY_FREE, block, operation);
  sli_heap_count_runs (0, 0, -(ptrdiff_t) class->bytes);
  sli_lock (&cache->lock);
  if (cache->n[index] == class->n_cached)
    {
      n = (class->n_cached + 1u) / 2;
      for (unsigned i = 0; i < n; i++)
        old[i] = cache->blocks[index][i];
      cache->n[index] = (uint8_t) (cache->n[index] - n);
      for (unsigned i = 0; i < cache->n[index]; i++)
        cache->blocks[index][i] = cache->blocks[index][i + n];
    }
  cache->blocks[index][cache->n[index]++] = block;
  sli_unlock (&cache->lock);
  blocks_return (n, old);
}

static void
cache_empty (MediumCache *cache, unsigned index)
{
  void *blocks[CACHE_BLOCKS_MAX];
  unsigned n;

  sli_lock (&cache->lock);
  n = cache->n[index];
  for (unsigned i = 0; i < n; i++)
    blocks[i] = cache->blocks[index][i];
  cache->n[index] = 0;
  sli_unlock (&cache->lock);
  blocks_return (n, blocks);
}

void
sli_medium_trim (void)
{
  for (unsigned i = 0; i < CACHES; i++)
    for (unsigned index = 0; index < ALL_CLASSES; index++)
      cache_empty (&medium.caches[i], index);
}
