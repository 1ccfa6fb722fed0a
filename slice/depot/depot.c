/* depot.c - a stack of full magazines for each class
 *
 * Layer: depot.  Locks: depots[i].lock (rank 40).  Design: chapter 5.
 * Sources: Bonwick & Adams 2001, sections 3.3 and 3.6 (the depot, its working
 * set); magazines have ages as in GSlice, but by a clock that can't jump.
 *
 *   push, pop --> | magazine | magazine | ... | magazine | --> trim
 *                   latest                      oldest
 *
 * The magazine that was pushed last is popped first.  So the one at the bottom
 * has been spare for longest, and its age is how long it was not needed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "depot.h"
#include "slab/slab.h"
#include "slab/last-allocator.h"
#include "base/align.h"
#include "base/check.h"
#include "base/option.h"
#include "base/probe.h"
#include "port/compiler.h"
#include "port/os.h"

#include <limits.h>
#include <string.h>

enum
{
  /* The depot of a class may hold so much, or an eighth of its slabs if that
   * is more.  A higher limit hardly pays (design chapter 11): 100,000 blocks
   * in FIFO order cost 3.2 ns each with 1 MiB and 1.7 with 8, 3.7 with 64
   * KiB. */
  DEPOT_BYTES_MIN = 256 * 1024,
  DEPOT_SLAB_SHARE = 8,
  /* Upkeep runs so often, and flushes so many old magazines. */
  UPKEEP_PER_WORKING_SET = 8,
  UPKEEP_MAGAZINES_MAX = 8,
  /* Empty magazines that a class keeps; others are freed. */
  EMPTIES_MAX = 4
};

/* The depot of one class.  The lock protects everything. */
typedef struct
{
  _Alignas (2 * CACHE_LINE_BYTES) Lock lock;
  Link stack;           /* of full magazines, latest first (D1, D2) */
  Link empties;         /* of magazines that were exchanged for full ones */
  unsigned n_empties;   /* length of `empties' */
  uint64_t n_magazines; /* length of `stack' (D3); read without the lock */
  uint64_t n_chunks;    /* rounds in the stack (D3) */
  uint64_t n_pops;      /* that found a magazine */
  uint64_t n_misses;    /* pops that found none */
  uint64_t n_pushes;
  uint64_t n_contended; /* times another thread had the lock */
  uint64_t n_trimmed;   /* magazines removed to be flushed */
} Depot;

static Depot depots[N_CLASSES];

static struct
{
  uint64_t last_msec;  /* when it last ran */
  unsigned next_class; /* the class where it stopped */
  bool is_more_due;    /* it returned memory, so there may be more */
} upkeep;

/* Constant after sli_depot_init(). */
static struct
{
  uint64_t working_set_msec;
} depot_options;

DepotLimits sli_depot_limits = { .rounds_max = MAGAZINE_ROUNDS_MAX };

COMMON_TEXT void
sli_depot_init (void)
{
  sli_slab_init ();
  sli_depot_init_rounds ();
  depot_options.working_set_msec
      = (uint64_t) sli_option (SLICE_OPTION_WORKING_SET_MSEC);
  for (unsigned i = 0; i < N_CLASSES; i++)
    {
      memset (&depots[i], 0, sizeof depots[i]);
      sli_lock_init (&depots[i].lock, LOCK_RANK_DEPOT);
      link_init (&depots[i].stack);
      link_init (&depots[i].empties);
    }
}

COMMON_TEXT Lock *
sli_depot_lock (unsigned class_index)
{
  return &depots[class_index].lock;
}

/* --- the stack ----------------------------------------------------------- */

UNUSED static bool depot_is_right (Depot *depot); /* for assert_slow () */

static bool
depot_lock (Depot *depot)
{
  bool contended = sli_lock_contended (&depot->lock);

  depot->n_contended += contended;
  return contended;
}

static void
depot_insert (Depot *depot, Magazine *magazine)
{
  assert_held (&depot->lock);
  assert_here (magazine->n_rounds > 0
               && magazine->n_rounds <= magazine->n_rounds_max); /* D1 */
  assert_here (link_is_alone (&magazine->link));
  SCHEDULE_POINT ("depot push");
  link_after (&magazine->link, &depot->stack);
  SCHEDULE_POINT ("depot pushed");
  STORE (&depot->n_magazines, depot->n_magazines + 1);
  depot->n_chunks += magazine->n_rounds;
}

static void
depot_remove (Depot *depot, Magazine *magazine)
{
  assert_held (&depot->lock);
  assert_here (depot->n_magazines > 0
               && depot->n_chunks >= magazine->n_rounds); /* D3 */
  SCHEDULE_POINT ("depot pop");
  link_remove (&magazine->link);
  STORE (&depot->n_magazines, depot->n_magazines - 1);
  depot->n_chunks -= magazine->n_rounds;
}

static Magazine *
depot_oldest (Depot *depot)
{
  return LINK_OWNER (depot->stack.previous, Magazine, link);
}

/* Removes the oldest magazine, if it is old enough; else NULL. */
static Magazine *
depot_pop_older (Depot *depot, uint64_t now_msec, uint64_t max_age_msec)
{
  Magazine *magazine;

  assert_held (&depot->lock);
  if (link_is_alone (&depot->stack))
    return NULL;
  magazine = depot_oldest (depot);
  if (now_msec - magazine->pushed_msec < max_age_msec)
    return NULL;
  depot_remove (depot, magazine);
  depot->n_trimmed++;
  return magazine;
}

static size_t
depot_limit_bytes (unsigned class_index)
{
  if (sli_depot_limits.bytes != 0)
    return sli_depot_limits.bytes;
  return max_size (DEPOT_BYTES_MIN,
                   sli_slab_held_bytes (class_index) / DEPOT_SLAB_SHARE);
}

CONTEXT_TEXT bool
sli_depot_has (unsigned class_index)
{
  return LOAD (&depots[class_index].n_magazines) != 0;
}

/* Keeps an empty magazine; returns it if there are enough, else NULL. */
static Magazine *
depot_keep_empty (Depot *depot, Magazine *empty)
{
  assert_held (&depot->lock);
  if (empty == NULL || depot->n_empties == EMPTIES_MAX)
    return empty;
  assert_here (link_is_alone (&empty->link));
  link_after (&empty->link, &depot->empties);
  depot->n_empties++;
  return NULL;
}

/* Removes the empty magazine that was kept last, if it is large enough; else
 * NULL. */
static Magazine *
depot_pop_empty (Depot *depot, unsigned n_wanted)
{
  Magazine *empty;

  assert_held (&depot->lock);
  if (depot->n_empties == 0)
    return NULL;
  empty = LINK_OWNER (depot->empties.next, Magazine, link);
  if (empty->n_rounds_max < n_wanted)
    return NULL;
  link_remove (&empty->link);
  depot->n_empties--;
  return empty;
}

COMMON_TEXT Magazine *
sli_depot_pop (unsigned class_index, Magazine *empty, bool *contended)
{
  Depot *depot = &depots[class_index];
  Magazine *magazine = NULL;

  *contended = depot_lock (depot);
  if (link_is_alone (&depot->stack))
    depot->n_misses++;
  else
    {
      magazine = LINK_OWNER (depot->stack.next, Magazine, link);
      depot_remove (depot, magazine);
      magazine->pushed_msec = 0; /* it is needed now */
      depot->n_pops++;
      empty = depot_keep_empty (depot, empty);
    }
  assert_slow (depot_is_right (depot));
  sli_unlock (&depot->lock);
  if (magazine != NULL && empty != NULL)
    sli_depot_end_magazine (empty);
  if (magazine != NULL)
    sli_last_allocator_claim (class_index, magazine->n_rounds,
                              magazine->slots + 1);
  PROBE2 (depot_pop, class_index, magazine);
  return magazine;
}

COMMON_TEXT void
sli_depot_push (Magazine *magazine, unsigned n_wanted,
                DepotExchange *exchange)
{
  unsigned class_index = magazine->class_index;
  Depot *depot = &depots[class_index];
  size_t limit_bytes = depot_limit_bytes (class_index);
  size_t chunk_bytes = sli_sizeclasses[class_index].chunk_bytes;
  uint64_t now_msec;

  /* One thread has allocated small blocks, and others free them: each of these
   * has some blocks of every cache line.  If they went through the depot,
   * threads would go on to share lines.  Flushed to their slabs, neighbours
   * are allocated to one thread again. */
  exchange->is_remote = sli_last_allocator_is_remote (
      class_index, magazine->n_rounds, magazine->slots + 1);
  exchange->contended = depot_lock (depot);
  now_msec = sli_os_clock_msec ();
  magazine->pushed_msec = now_msec; /* under the lock, for D2 */
  depot_insert (depot, magazine);
  depot->n_pushes++;
  if (exchange->is_remote || depot->n_chunks * chunk_bytes > limit_bytes)
    {
      /* This magazine, because its chunks and slabs are in the cache. */
      exchange->spare = magazine;
      depot_remove (depot, exchange->spare);
      depot->n_trimmed++;
    }
  else
    exchange->spare
        = depot_pop_older (depot, now_msec, depot_options.working_set_msec);
  exchange->empty = depot_pop_empty (depot, n_wanted);
  assert_slow (depot_is_right (depot));
  sli_unlock (&depot->lock);
  PROBE2 (depot_push, class_index, magazine);
}

COMMON_TEXT Magazine *
sli_depot_pop_old (unsigned class_index, uint64_t max_age_msec)
{
  Depot *depot = &depots[class_index];
  Magazine *magazine;

  if (LOAD (&depot->n_magazines) == 0)
    return NULL;
  sli_lock (&depot->lock);
  magazine = depot_pop_older (depot, sli_os_clock_msec (), max_age_msec);
  sli_unlock (&depot->lock);
  return magazine;
}

/* --- fragmented magazines ------------------------------------------------ */

COMMON_TEXT Magazine *
sli_depot_pop_fragmented (unsigned class_index)
{
  Depot *depot = &depots[class_index];
  Magazine *magazine = NULL;

  if (LOAD (&depot->n_magazines) == 0)
    return NULL;
  sli_lock (&depot->lock);
  if (!link_is_alone (&depot->stack)
      && sli_depot_is_fragmented (depot_oldest (depot)))
    {
      magazine = depot_oldest (depot);
      depot_remove (depot, magazine);
      depot->n_trimmed++;
    }
  sli_unlock (&depot->lock);
  if (magazine != NULL)
    magazine->pushed_msec = 0; /* its chunks were in use until now */
  return magazine;
}

/* --- trim and upkeep ----------------------------------------------------- */

/* Flushes at most n_max magazines that have been in the depot for a working
 * set; returns how many.  Begins with the class behind the last one. */
static unsigned
flush_old (unsigned n_max)
{
  unsigned class_index = LOAD (&upkeep.next_class), n = 0;
  Magazine *magazine;

  for (unsigned i = 0; i < N_CLASSES && n < n_max; i++)
    {
      class_index = class_index + 1 < N_CLASSES ? class_index + 1 : 1;
      while (n < n_max
             && (magazine = sli_depot_pop_old (class_index,
                                               depot_options.working_set_msec))
                    != NULL)
        {
          sli_depot_flush (magazine);
          n++;
        }
    }
  STORE (&upkeep.next_class, class_index);
  return n;
}

/* Returns true if upkeep is due; to one thread only. */
static bool
upkeep_is_due (void)
{
  uint64_t now_msec = sli_os_clock_msec ();
  uint64_t last_msec = LOAD (&upkeep.last_msec);

  return (sli_depot_is_more_due ()
          || now_msec - last_msec
                 >= depot_options.working_set_msec / UPKEEP_PER_WORKING_SET)
         && __atomic_compare_exchange_n (&upkeep.last_msec, &last_msec,
                                         now_msec, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED);
}

/* Design chapter 5.  Due at every call while it returns memory, otherwise
 * UPKEEP_PER_WORKING_SET times a working set. */
COMMON_TEXT void
sli_depot_upkeep (void)
{
  unsigned n_flushed;
  size_t bytes;

  if (!upkeep_is_due ())
    return;
  n_flushed = flush_old (UPKEEP_MAGAZINES_MAX);
  bytes = sli_slab_trim (depot_options.working_set_msec, 1);
  STORE (&upkeep.is_more_due, n_flushed > 0 || bytes > 0);
}

COMMON_TEXT bool
sli_depot_is_more_due (void)
{
  return LOAD (&upkeep.is_more_due);
}

static void
class_end_empties (unsigned class_index)
{
  Depot *depot = &depots[class_index];
  Magazine *empty;

  do
    {
      sli_lock (&depot->lock);
      empty = depot_pop_empty (depot, 0);
      sli_unlock (&depot->lock);
      if (empty != NULL)
        sli_depot_end_magazine (empty);
    }
  while (empty != NULL);
}

size_t
sli_depot_trim (uint64_t max_age_msec)
{
  Magazine *magazine;

  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      while ((magazine = sli_depot_pop_old (i, max_age_msec)) != NULL)
        sli_depot_flush (magazine);
      class_end_empties (i);
    }
  return sli_slab_trim (max_age_msec, UINT_MAX);
}

/* --- statistics and invariants ------------------------------------------- */

/* Looks at every round: only statistics need the number. */
static uint64_t
depot_count_chunks (Depot *depot)
{
  uint64_t n_chunks = 0;

  assert_held (&depot->lock);
  LINK_EACH (link, &depot->stack)
    {
      const Magazine *magazine = LINK_OWNER (link, Magazine, link);

      n_chunks += rounds_count_chunks (&magazine->slots[1],
                                       magazine->n_rounds);
    }
  return n_chunks;
}

void
sli_depot_count (unsigned class_index, DepotCounts *counts)
{
  Depot *depot = &depots[class_index];

  sli_lock (&depot->lock);
  *counts = (DepotCounts){ depot->n_magazines, depot_count_chunks (depot),
                           depot->n_pops,      depot->n_misses,
                           depot->n_pushes,    depot->n_contended,
                           depot->n_trimmed };
  sli_unlock (&depot->lock);
}

/* The id of an invariant that does not hold for a magazine, or NULL.
 * later_msec: when the one above it was pushed. */
static const char *
magazine_check (const Magazine *magazine, unsigned class_index,
                uint64_t later_msec)
{
  if (magazine->class_index != class_index || magazine->n_rounds == 0
      || magazine->n_rounds > magazine->n_rounds_max
      || magazine->slots[0] != NULL)
    return "D1";
  return magazine->pushed_msec > later_msec ? "D2" : NULL;
}

/* The id of one of D1 to D3 that does not hold, and where; or NULL. */
static const char *
depot_check (Depot *depot, const void **where)
{
  unsigned class_index = (unsigned) (depot - depots);
  uint64_t n_magazines = 0, n_chunks = 0, later_msec = UINT64_MAX;
  const char *broken = NULL;

  assert_held (&depot->lock);
  LINK_EACH (link, &depot->stack)
    {
      Magazine *magazine = LINK_OWNER (link, Magazine, link);

      n_magazines++;
      n_chunks += magazine->n_rounds;
      if (broken == NULL)
        {
          broken = magazine_check (magazine, class_index, later_msec);
          *where = magazine;
        }
      later_msec = magazine->pushed_msec;
    }
  if (broken == NULL
      && (n_magazines != depot->n_magazines || n_chunks != depot->n_chunks))
    {
      broken = "D3";
      *where = depot;
    }
  return broken;
}

static bool
depot_is_right (Depot *depot)
{
  const void *where;

  return depot_check (depot, &where) == NULL;
}

const char *
sli_depot_check (unsigned class_index, const void **where)
{
  Depot *depot = &depots[class_index];
  const char *broken;

  sli_lock (&depot->lock);
  broken = depot_check (depot, where);
  sli_unlock (&depot->lock);
  return broken;
}

bool
sli_depot_is_valid (unsigned class_index)
{
  const void *where;

  return sli_depot_check (class_index, &where) == NULL;
}

void
sli_depot_each (unsigned class_index, MagazineVisit visit, void *data)
{
  Depot *depot = &depots[class_index];

  sli_lock (&depot->lock);
  LINK_EACH (link, &depot->stack)
    {
      Magazine *magazine = LINK_OWNER (link, Magazine, link);

      visit (class_index, magazine->slots + 1, magazine->n_rounds, data);
    }
  sli_unlock (&depot->lock);
}
