/* slab.c - chunks of one class, cut from runs
 *
 * Layer: slab.  Locks: one for each class (rank 30).  Design: chapter 4.
 * slab-free.c frees chunks, slab-stats.c counts and validates; slab-class.h
 * has what the three share.
 * Sources: Bonwick 1994, section 4 (slabs, colouring); Bonwick & Adams 2001,
 * section 2; the bitmaps outside the slab, by measurement (design chapter 4).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "slab.h"
#include "page/page.h"
#include "slab-class.h"
#include "slab-guard.h"
#include "last-allocator.h"
#include "base/align.h"
#include "base/check.h"
#include "base/list.h"
#include "base/option.h"
#include "port/annotate.h"
#include "port/compiler.h"
#include "port/os/os.h"
#include "port/probe.h"
#include "port/thread/shard.h"

#include <string.h>

/* Colour steps from slab to slab (Bonwick 1994, section 4.3).  A build with
 * -DSLAB_COLOUR_INCREMENT=0 measures what they gain: all slabs are alike. */
#ifndef SLAB_COLOUR_INCREMENT
# define SLAB_COLOUR_INCREMENT 1
#endif

enum
{
  /* A search for the fullest slab examines at most this many of a ring. */
  SLAB_PROBES_MAX = 8
};

SlabClass sli_slab_classes[N_CLASSES];

/* While it is held, no classes are made. */
static Lock make_lock = LOCK_INIT (LOCK_RANK_SLAB);

COMMON_TEXT void
sli_slab_init (void)
{
  sli_page_init ();
  sli_slab_guard_init ();
  /* There is a tag for each 16 bytes.  Canaries and red zones make chunks
   * larger than their blocks, so only a spacing of 16 keeps the alignment that
   * a block's size promises. */
  sli_sizeclass_init (sli_page_granule_bytes (),
                      sli_page_has_tags ()
                          || sli_option_is_on (SLICE_OPTION_ALIGN_16));
  for (unsigned i = 0; i < N_CLASSES; i++)
    if (sli_slab_classes[i].is_made)
      memset (&sli_slab_classes[i], 0, sizeof sli_slab_classes[i]);
}

/* While this thread forks, it holds the locks of all classes, and gives them
 * back afterwards. */
COMMON_TEXT void
sli_slab_class_make (SlabClass *class)
{
  sli_lock (&make_lock);
  if (!class->is_made)
    {
      sli_lock_init (&class->lock, LOCK_RANK_SLAB);
      for (int ring = 0; ring < N_RINGS; ring++)
        link_init (&class->rings[ring]);
      if (sli_lock_forking_here ())
        sli_lock_for_fork (&class->lock);
      STORE_RELEASE (&class->is_made, true);
    }
  sli_unlock (&make_lock);
}

COMMON_TEXT Lock *
sli_slab_make_lock (void)
{
  return &make_lock;
}

COMMON_TEXT Lock *
sli_slab_lock (unsigned class_index)
{
  SlabClass *class = &sli_slab_classes[class_index];

  assert_here (class_index > 0 && class_index < N_CLASSES);
  return slab_class_is_made (class) ? &class->lock : NULL;
}

/* --- one slab ------------------------------------------------------------ */

COMMON_TEXT static bool
slab_has_free (const Slab *slab)
{
  const SizeClass *sizeclass = &sli_sizeclasses[slab->class_index];

  if (LOAD (&slab->n_carved) < sizeclass->n_chunks)
    return true;
  for (unsigned i = 0; i < sizeclass->n_words; i++)
    if (LOAD (&slab->words[i]) != 0)
      return true;
  return false;
}

static unsigned
ring_for (const Slab *slab, unsigned n_free)
{
  assert_here (n_free <= sli_sizeclasses[slab->class_index].n_chunks); /* S2 */
  return n_free * FREE_RINGS
         / (sli_sizeclasses[slab->class_index].n_chunks + 1);
}

static void
slab_set_full (Slab *slab)
{
  assert_held (&sli_slab_classes[slab->class_index].lock);
  assert_here (slab->state == SLAB_PARTIAL && !slab_has_free (slab)); /* S5 */
  link_remove (&slab->link);
  STORE (&slab->state, (uint8_t) SLAB_FULL);
}

/* Makes a slab of a run. */
static void
slab_init (SlabClass *class, unsigned class_index, char *run, Slab *slab)
{
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];

  assert_held (&class->lock);
  assert_here (slab->class_index == 0); /* no slab, and no metadata */
  link_init (&slab->link);
  slab->words = sizeclass->bitmap_offset == 0
                    ? slab->own_words
                    : (uint64_t *) (void *) (run + sizeclass->bitmap_offset);
  memset (slab->words, 0, sizeclass->n_words * sizeof slab->words[0]);
  if (sli_page_has_tags ())
    memset (region_tag_of (run), 0,
            (sizeclass->slab_bytes >> TAG_GRAIN_SHIFT) * sizeof (uint16_t));
  slab->first_offset
      = class->colour % sizeclass->n_colours * sizeclass->colour_bytes;
  class->colour += SLAB_COLOUR_INCREMENT;
  STORE (&slab->n_carved, 0);
  STORE (&slab->needed_stamp,
         (uint16_t) (sli_os_clock_msec () >> STAMP_SHIFT));
  STORE_RELEASE (&slab->class_index, (uint16_t) class_index);
  region_set_class (run, sizeclass->n_granules, class_index);
  slab_file (class, slab, FREE_RINGS - 1);
  STORE (&class->n_slabs, class->n_slabs + 1);
  class->n_made++;
  if (sli_annotate_is_on ())
    sli_annotate_no_access (slab_chunk (slab, run, 0),
                       (size_t) sizeclass->n_chunks * sizeclass->chunk_bytes);
}

/* --- chunks -------------------------------------------------------------- */

/* Clears a word and returns the bits it had. */
static inline uint64_t
words_alloc (uint64_t *word)
{
  return __atomic_exchange_n (word, 0, __ATOMIC_ACQUIRE);
}

/* Allocates chunks that are free in a slab, the lowest address first. */
static unsigned
slab_alloc_free (Slab *slab, char *run, unsigned n, void **end)
{
  const SizeClass *sizeclass = &sli_sizeclasses[slab->class_index];
  unsigned n_words = (LOAD (&slab->n_carved) + BITS_PER_WORD - 1u)
                     / BITS_PER_WORD;
  unsigned n_done = 0;

  assert_held (&sli_slab_classes[slab->class_index].lock);
  assert_here (n_words <= sizeclass->n_words);
  for (unsigned i = 0; i < n_words && n_done < n; i++)
    {
      uint64_t bits;
      char *base;

      if (LOAD (&slab->words[i]) == 0)
        continue;
      bits = words_alloc (&slab->words[i]);
      SCHEDULE_POINT ("words cleared");
      base = slab_chunk (slab, run, i * BITS_PER_WORD);
      for (; bits != 0 && n_done < n; bits &= bits - 1, n_done++)
        *--end = base + (size_t) (unsigned) __builtin_ctzll (bits)
                            * sizeclass->chunk_bytes;
      if (bits != 0)
        __atomic_fetch_or (&slab->words[i], bits, __ATOMIC_RELEASE);
    }
  return n_done;
}

/* Writes the addresses of n neighbours below end, the lowest at end[-1]. */
static inline void
chunks_list (char *chunk, size_t chunk_bytes, unsigned n, void **end)
{
  uintptr_t address = (uintptr_t) chunk;
  Pair low = { address + chunk_bytes, address };
  Pair high = low + 2 * chunk_bytes;

  for (; n >= 4; n -= 4, end -= 4)
    {
      ((Pair *) (void *) end)[-1] = low;
      ((Pair *) (void *) end)[-2] = high;
      low += 4 * chunk_bytes;
      high += 4 * chunk_bytes;
    }
  for (address = low[1]; n > 0; n--, address += chunk_bytes)
    *--end = (void *) address;
}

/* Allocates chunks that were never used, for which the system may not have
 * committed memory so far. */
COMMON_TEXT static unsigned
slab_carve (Slab *slab, char *run, unsigned n, void **end)
{
  const SizeClass *sizeclass = &sli_sizeclasses[slab->class_index];
  unsigned n_carved = LOAD (&slab->n_carved);
  char *chunk = slab_chunk (slab, run, n_carved);

  assert_held (&sli_slab_classes[slab->class_index].lock);
  assert_here (n_carved <= sizeclass->n_chunks); /* S2 */
  if (n > sizeclass->n_chunks - n_carved)
    n = sizeclass->n_chunks - n_carved;
  chunks_list (chunk, sizeclass->chunk_bytes, n, end);
  STORE (&slab->n_carved, (uint16_t) (n_carved + n));
  return n;
}

/* The fullest of the first few slabs of a ring; of several that are equally
 * full, the one at the lowest address.  Moves slabs that are in the wrong ring
 * because chunks were freed. */
static Slab *
ring_choose (SlabClass *class, unsigned ring)
{
  unsigned n_probes = 0, best_free = 0;
  Slab *best = NULL;

  assert_held (&class->lock);
  assert_here (ring < FREE_RINGS);
  for (Link *link = class->rings[ring].next, *next;
       link != &class->rings[ring] && n_probes < SLAB_PROBES_MAX;
       link = next, n_probes++)
    {
      Slab *slab = LINK_OWNER (link, Slab, link);
      unsigned n_free = slab_count_free (slab, slab->class_index);
      unsigned right_ring = ring_for (slab, n_free);

      next = link->next;
      if (right_ring != ring)
        slab_file (class, slab, right_ring);
      /* Ignore a slab that belongs in an emptier ring. */
      if (right_ring <= ring
          && (best == NULL || n_free < best_free
              || (n_free == best_free && slab < best)))
        {
          best = slab;
          best_free = n_free;
        }
    }
  return best;
}

/* A slab that no shard has claimed, the fullest that a short search finds;
 * NULL if there is none. */
COMMON_TEXT static Slab *
class_choose_fullest (SlabClass *class)
{
  Slab *slab = NULL;

  assert_held (&class->lock);
  for (unsigned ring = 0; slab == NULL && ring < FREE_RINGS; ring++)
    slab = ring_choose (class, ring);
  /* All slabs examined may have moved to other rings. */
  for (unsigned ring = 0; slab == NULL && ring < FREE_RINGS; ring++)
    if (!link_is_alone (&class->rings[ring]))
      slab = LINK_OWNER (class->rings[ring].next, Slab, link);
  return slab;
}

/* --- claims -------------------------------------------------------------- */

/* The slab that a shard has claimed; NULL: none.  A thread that comes from
 * another processor brings along the slab that it allocated from last: the two
 * shards exchange their claims. */
COMMON_TEXT static Slab *
class_claimed (SlabClass *class, unsigned shard)
{
  Slab *of_shard = NULL, *of_thread = NULL;

  assert_held (&class->lock);
  LINK_EACH (link, &class->rings[CLAIMED_RING])
    {
      Slab *slab = LINK_OWNER (link, Slab, link);

      if (slab_claimant (slab) == shard)
        of_shard = slab;
      if (of_thread == NULL && last_allocator_is_me (slab))
        of_thread = slab;
    }
  if (of_thread == NULL
      || (of_shard != NULL && last_allocator_is_me (of_shard)))
    return of_shard;
  if (of_shard != NULL)
    of_shard->claim = of_thread->claim;
  of_thread->claim = (uint8_t) shard;
  return of_thread;
}

/* A slab that another shard has claimed, if sharing it costs less than making
 * one more slab: the other shard has not allocated from it since the last such
 * search, or the class's chunks share no cache lines.  Else NULL. */
static Slab *
class_take_over (SlabClass *class)
{
  unsigned class_index = (unsigned) (class - sli_slab_classes);

  assert_held (&class->lock);
  LINK_EACH (link, &class->rings[CLAIMED_RING])
    {
      Slab *slab = LINK_OWNER (link, Slab, link);

      if ((slab->claim & CLAIM_USED) == 0 || !class_shares_lines (class_index))
        return slab;
      slab->claim &= (uint8_t) ~CLAIM_USED;
    }
  return NULL;
}

/* Chooses a slab for the caller's shard and claims it; NULL if there is
 * none. */
COMMON_TEXT static Slab *
class_choose (SlabClass *class)
{
  unsigned shard = sli_shard ();
  Slab *slab = class_claimed (class, shard);

  assert_held (&class->lock);
  assert_here (slab == NULL || slab->ring == CLAIMED_RING);
  if (slab == NULL && (slab = class_choose_fullest (class)) != NULL)
    slab_file (class, slab, CLAIMED_RING);
  if (slab == NULL)
    slab = class_take_over (class);
  assert_here (slab == NULL || slab->state == SLAB_PARTIAL); /* S1 */
  if (slab != NULL)
    slab->claim = (uint8_t) (shard | CLAIM_USED);
  return slab;
}

/* Files all claimed slabs by how full they are. */
static void
class_give_up_claims (SlabClass *class)
{
  if (!slab_class_is_made (class))
    return;
  sli_lock (&class->lock);
  while (!link_is_alone (&class->rings[CLAIMED_RING]))
    {
      Slab *slab = LINK_OWNER (class->rings[CLAIMED_RING].next, Slab, link);

      slab_file (class, slab,
                 ring_for (slab, slab_count_free (slab, slab->class_index)));
    }
  sli_unlock (&class->lock);
}

void
sli_slab_give_up_claims (void)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    class_give_up_claims (&sli_slab_classes[i]);
}

/* --- allocation ---------------------------------------------------------- */

/* Allocates from the slabs that the class has. */
static unsigned
class_alloc (SlabClass *class, unsigned n, void **end)
{
  unsigned n_done = 0;
  Slab *slab;

  assert_held (&class->lock);
  while (n_done < n && (slab = class_choose (class)) != NULL)
    {
      char *run = sli_page_run_of_record (slab);

      last_allocator_note (slab);
      n_done += slab_alloc_free (slab, run, n - n_done, end - n_done);
      if (n_done < n)
        n_done += slab_carve (slab, run, n - n_done, end - n_done);
      /* Chunks of a slab without a set bit are freed under the lock only (S5),
       * so the slab stays full until the unlock. */
      if (!slab_has_free (slab))
        slab_set_full (slab);
      assert_slow (sli_slab_is_right (slab));
    }
  assert_here (n_done <= n);
  class->n_allocs += n_done;
  return n_done;
}

/* Allocates a run for one more slab; the lock is not held. */
static void *
class_alloc_run (unsigned class_index, void **record, bool *is_guarded)
{
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];
  bool is_zero;
  void *reserve = sli_slab_guard_reserve ();
  void *run = sli_page_alloc_run (sizeclass->n_granules + (reserve != NULL),
                                  record, &is_zero);

  *is_guarded = reserve != NULL;
  if (run != NULL && reserve != NULL)
    sli_slab_guard_set (run, sizeclass, reserve);
  else if (reserve != NULL)
    sli_slab_guard_end_reserve (reserve);
  return run;
}

/* Makes one more slab and returns with the class locked; NULL (and not locked)
 * if there is no memory.  The caller allocates from it before it unlocks,
 * since only a free can retire a slab. */
COMMON_TEXT static Slab *
class_grow (SlabClass *class, unsigned class_index)
{
  bool is_guarded;
  void *record, *run = class_alloc_run (class_index, &record, &is_guarded);

  if (run == NULL)
    return NULL;
  PROBE2 (slab_new, class_index, run);
  slab_class_lock (class);
  slab_init (class, class_index, run, record);
  ((Slab *) record)->is_guarded = is_guarded;
  return record;
}

/* Claims a new slab for the caller's shard, unless the shard has claimed
 * another meanwhile. */
COMMON_TEXT static void
slab_claim_new (SlabClass *class, Slab *slab)
{
  unsigned shard = sli_shard ();

  assert_held (&class->lock);
  assert_here (slab->state == SLAB_PARTIAL);
  if (class_claimed (class, shard) != NULL)
    return;
  slab_file (class, slab, CLAIMED_RING);
  slab->claim = (uint8_t) (shard | CLAIM_USED);
}

/* Allocates the first chunks of a new slab. */
static unsigned
slab_alloc_first (SlabClass *class, Slab *slab, unsigned n, void **end)
{
  unsigned n_done = slab_carve (slab, sli_page_run_of_record (slab), n, end);

  assert_held (&class->lock);
  assert_here (n_done > 0);
  last_allocator_note (slab);
  if (!slab_has_free (slab))
    slab_set_full (slab);
  else
    slab_claim_new (class, slab);
  assert_slow (sli_slab_is_right (slab));
  class->n_allocs += n_done;
  return n_done;
}

COMMON_TEXT unsigned
sli_slab_alloc (unsigned class_index, unsigned n, void **end)
{
  SlabClass *class = &sli_slab_classes[class_index];
  unsigned n_done;
  Slab *slab;

  assert_here (class_index > 0 && class_index < N_CLASSES);
  slab_class_lock (class);
  n_done = class_alloc (class, n, end);
  sli_unlock (&class->lock);
  /* A quarter of n is enough: fewer chunks are better than one more slab while
   * slabs that other shards have claimed have free ones. */
  while (n_done < (n + 3) / 4
         && (slab = class_grow (class, class_index)) != NULL)
    {
      n_done += slab_alloc_first (class, slab, n - n_done, end - n_done);
      sli_unlock (&class->lock);
      assert_slow (sli_slab_is_valid (class_index));
    }
  return n_done;
}
