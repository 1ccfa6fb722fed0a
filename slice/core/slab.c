/* slab.c - chunks of one class, cut from runs
 *
 * Floor 3 (slab).  Locks: classes[i].lock (rank 30).  Theory: section 4.
 * Sources: Bonwick 1994, section 4 (slabs, colouring); Bonwick & Adams 2001,
 * section 2; the bitmaps outside the slab, by measurement (THEORY 11).
 *
 * A chunk comes back without a lock as long as its bitmap word neither was
 * empty nor becomes complete: one compare-and-swap, which also tells a double
 * free.  The two transitions are made under the class lock, for then the slab
 * may have to be linked (it was full) or given back (it is empty).  So nobody
 * touches a slab's header after his chunk is back, unless he holds the lock:
 * the last one may free the slab at once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "slab.h"
#include "page.h"
#include "place.h"
#include "base/align.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/list.h"
#include "base/option.h"
#include "base/probe.h"
#include "port/annotate.h"
#include "port/compiler.h"
#include "port/os.h"

#include <string.h>

enum
{
  /* Slabs with free chunks wait in rings by how many are free, and where a
   * fuller one may be found so many are looked at. */
  FREE_RINGS = 4,
  SLAB_LOOKS_MAX = 8
};

/* All of one class.  The lock protects everything; n_slabs is read without. */
typedef struct
{
  _Alignas (CACHE_LINE_BYTES) Lock lock;
  Link rings[FREE_RINGS]; /* slabs with free chunks, fullest first */
  uint32_t colour;        /* of the next slab, in steps */
  uint64_t n_slabs;
  uint64_t n_locks;
  uint64_t n_taken;
  uint64_t n_made;
  uint64_t n_freed;
} SlabClass;

static SlabClass classes[N_CLASSES];
static uint32_t colour_increment;

/* Guard pages (hardened and debug): every so many slabs one ends at a page
 * that can't be touched, up to a number that the kernel's limit on mappings
 * (65,530) leaves plenty of room beside. */
enum
{
  GUARD_EVERY_SLABS = 8,
  GUARDS_MAX = 4096
};

static bool has_guards;
static unsigned n_guards;     /* in force now */
static unsigned n_guard_turn; /* slabs made, to tell whose turn it is */

/* Does somebody read all memory, as the leak sanitizer does at the end?  It
 * would run into the guard pages. */
static bool
is_scanned (void)
{
  const char *tool = sli_os_memory_tool ();

  return tool != NULL && strcmp (tool, "sanitizer") == 0;
}

void
sli_slab_init (void)
{
  sli_page_init ();
  has_guards = (sli_option_is_on (SLICE_OPTION_HARDENED)
                || sli_option_is_on (SLICE_OPTION_DEBUG))
               && !is_scanned ();
  /* A mark belongs to 16 bytes; and canaries and red zones make chunks larger
   * than their blocks: only a spacing of 16 keeps the alignment that the
   * block's own size promises. */
  sli_sizeclass_init (sli_page_unit_bytes (),
                      sli_page_has_marks ()
                          || sli_option_is_on (SLICE_OPTION_ALIGN_16));
  colour_increment = (uint32_t) sli_option (SLICE_OPTION_COLOUR_INCREMENT);
  for (unsigned i = 0; i < N_CLASSES; i++)
    {
      memset (&classes[i], 0, sizeof classes[i]);
      sli_lock_init (&classes[i].lock, LOCK_RANK_SLAB);
      for (int ring = 0; ring < FREE_RINGS; ring++)
        link_init (&classes[i].rings[ring]);
    }
}

Lock *
sli_slab_lock (unsigned class_index)
{
  return &classes[class_index].lock;
}

static void
class_lock (SlabClass *class)
{
  sli_lock (&class->lock);
  class->n_locks++;
}

/* --- one slab --------------------------------------------------------------- */

static char *
slab_chunk (const Slab *slab, char *run, unsigned index)
{
  return run + slab->first_offset
         + (size_t) index * sli_sizeclasses[slab->class_index].chunk_bytes;
}

/* The bits of a word whose chunks are carved. */
static uint64_t
carved_mask (const Slab *slab, unsigned word)
{
  unsigned n_carved = LOAD (&slab->n_carved);
  unsigned first = word * BITS_PER_WORD;

  if (n_carved >= first + BITS_PER_WORD)
    return ~(uint64_t) 0;
  return n_carved > first ? ((uint64_t) 1 << (n_carved - first)) - 1 : 0;
}

static unsigned
slab_count_free (const Slab *slab)
{
  const SizeClass *sizeclass = &sli_sizeclasses[slab->class_index];
  unsigned n = sizeclass->n_chunks - LOAD (&slab->n_carved);

  for (unsigned i = 0; i < sizeclass->n_words; i++)
    n += (unsigned) __builtin_popcountll (LOAD (&slab->words[i]));
  return n;
}

static unsigned
ring_for (const Slab *slab, unsigned n_free)
{
  return n_free * FREE_RINGS
         / (sli_sizeclasses[slab->class_index].n_chunks + 1);
}

static void
slab_file (SlabClass *class, Slab *slab, unsigned ring)
{
  assert_held (&class->lock);
  link_remove (&slab->link);
  slab->state = SLAB_PARTIAL;
  slab->ring = (uint8_t) ring;
  link_after (&slab->link, &class->rings[ring]);
}

static void
slab_set_full (Slab *slab)
{
  link_remove (&slab->link);
  slab->state = SLAB_FULL;
}

/* Writes the header of a fresh run. */
static void
slab_begin (SlabClass *class, unsigned class_index, char *run, Slab *slab,
            bool is_zero)
{
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];

  assert_held (&class->lock);
  link_init (&slab->link);
  slab->words = sizeclass->bitmap_offset == 0
                    ? slab->own_words
                    : (uint64_t *) (void *) (run + sizeclass->bitmap_offset);
  memset (slab->words, 0, sizeclass->n_words * sizeof slab->words[0]);
  if (sli_page_has_marks ())
    memset (region_mark_of (run), 0,
            (sizeclass->slab_bytes >> MARK_GRAIN_SHIFT) * sizeof (uint16_t));
  slab->first_offset
      = class->colour % sizeclass->n_colours * sizeclass->colour_bytes;
  class->colour += colour_increment;
  STORE (&slab->n_carved, 0);
  slab->is_zero = is_zero;
  STORE (&slab->class_index, (uint16_t) class_index);
  slab_file (class, slab, FREE_RINGS - 1);
  STORE (&class->n_slabs, class->n_slabs + 1);
  class->n_made++;
  if (sli_annotate_is_on ())
    sli_annotate_slab (slab_chunk (slab, run, 0),
                       (size_t) sizeclass->n_chunks * sizeclass->chunk_bytes);
}

/* Are all its chunks back?  Only then may the run be given back. */
static bool
slab_is_empty (const Slab *slab)
{
  const SizeClass *sizeclass = &sli_sizeclasses[slab->class_index];
  unsigned n = sizeclass->n_chunks - LOAD (&slab->n_carved);

  /* Whoever set a bit has read the header before and does not after: what
   * follows here is after that. */
  for (unsigned i = 0; i < sizeclass->n_words; i++)
    n += (unsigned) __builtin_popcountll (LOAD_ACQUIRE (&slab->words[i]));
  return n == sizeclass->n_chunks;
}

static void
slab_end (SlabClass *class, Slab *slab)
{
  assert_held (&class->lock);
  link_remove (&slab->link);
  slab->state = SLAB_NONE;
  STORE (&slab->class_index, 0);
  STORE (&class->n_slabs, class->n_slabs - 1);
  class->n_freed++;
}

/* --- taking ----------------------------------------------------------------- */

/* All bits of a word. */
static inline uint64_t
words_take (uint64_t *word)
{
  if (SEEDED (6))
    {
      uint64_t bits = LOAD (word);

      SCHEDULE_POINT ("words read");
      STORE (word, 0);
      return bits;
    }
  return __atomic_exchange_n (word, 0, __ATOMIC_ACQUIRE);
}

/* Chunks that came back, lowest address first. */
static unsigned
slab_take_free (Slab *slab, char *run, unsigned n, void **end)
{
  const SizeClass *sizeclass = &sli_sizeclasses[slab->class_index];
  unsigned n_words = (LOAD (&slab->n_carved) + BITS_PER_WORD - 1u)
                     / BITS_PER_WORD;
  unsigned taken = 0;

  for (unsigned i = 0; i < n_words && taken < n; i++)
    {
      uint64_t bits;
      char *base;

      if (LOAD (&slab->words[i]) == 0)
        continue;
      bits = words_take (&slab->words[i]);
      SCHEDULE_POINT ("words taken");
      base = slab_chunk (slab, run, i * BITS_PER_WORD);
      for (; bits != 0 && taken < n; bits &= bits - 1)
        *--end = base + (size_t) (unsigned) __builtin_ctzll (bits)
                            * sizeclass->chunk_bytes,
        taken++;
      if (bits != 0)
        __atomic_fetch_or (&slab->words[i], bits, __ATOMIC_RELEASE);
    }
  return taken;
}

/* Chunks that were never out: only now does their memory come into use. */
static unsigned
slab_carve (Slab *slab, char *run, unsigned n, void **end)
{
  const SizeClass *sizeclass = &sli_sizeclasses[slab->class_index];
  unsigned n_carved = LOAD (&slab->n_carved);
  char *chunk = slab_chunk (slab, run, n_carved);

  if (n > sizeclass->n_chunks - n_carved)
    n = sizeclass->n_chunks - n_carved + SEEDED (3);
  for (unsigned i = 0; i < n; i++, chunk += sizeclass->chunk_bytes)
    *--end = chunk;
  STORE (&slab->n_carved, (uint16_t) (n_carved + n));
  return n;
}

/* The fullest among the first few of a ring; of equals the lowest.  What has
 * changed since it was filed is filed anew on the way. */
static Slab *
ring_choose (SlabClass *class, unsigned ring)
{
  unsigned looks = 0, best_free = 0;
  Slab *best = NULL;

  for (Link *link = class->rings[ring].next, *next;
       link != &class->rings[ring] && looks < SLAB_LOOKS_MAX;
       link = next, looks++)
    {
      Slab *slab = LINK_OWNER (link, Slab, link);
      unsigned n_free = slab_count_free (slab);
      unsigned right_ring = ring_for (slab, n_free);

      next = link->next;
      if (right_ring != ring)
        slab_file (class, slab, right_ring);
      /* One that belongs among the fuller ones is the better choice. */
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

/* A slab to take from, as full as is easily found; NULL if there is none. */
static Slab *
class_choose (SlabClass *class)
{
  Slab *slab = NULL;

  assert_held (&class->lock);
  for (unsigned ring = 0; slab == NULL && ring < FREE_RINGS; ring++)
    slab = ring_choose (class, ring);
  /* All that were looked at may have moved to rings passed already. */
  for (unsigned ring = 0; slab == NULL && ring < FREE_RINGS; ring++)
    if (!link_is_alone (&class->rings[ring]))
      slab = LINK_OWNER (class->rings[ring].next, Slab, link);
  return slab;
}

/* From the slabs at hand. */
static unsigned
class_take (SlabClass *class, unsigned n, void **end)
{
  unsigned taken = 0;
  Slab *slab;

  assert_held (&class->lock);
  while (taken < n && (slab = class_choose (class)) != NULL)
    {
      char *run = sli_page_run_of_record (slab);

      taken += slab_take_free (slab, run, n - taken, end - taken);
      if (taken < n)
        taken += slab_carve (slab, run, n - taken, end - taken);
      /* Nothing can come back into a slab without a free bit but under the
       * lock, so this holds until we let go. */
      if (slab_count_free (slab) == 0)
        slab_set_full (slab);
    }
  class->n_taken += taken;
  return taken;
}

/* Is it this slab's turn to have a guard? */
static bool
take_guard_turn (void)
{
  return has_guards && LOAD (&n_guards) < GUARDS_MAX
         && __atomic_fetch_add (&n_guard_turn, 1, __ATOMIC_RELAXED)
                    % GUARD_EVERY_SLABS
                == 0;
}

/* Makes the unit behind a slab untouchable, or a unit like others again. */
static bool
guard_set (char *run, const SizeClass *sizeclass, bool on)
{
  if (!sli_os_protect (run + sizeclass->slab_bytes, sli_page_unit_bytes (),
                       on))
    return false;
  __atomic_fetch_add (&n_guards, on ? 1u : -1u, __ATOMIC_RELAXED);
  return true;
}

/* A run for one more slab, guarded perhaps; the lock is not held. */
static void *
class_get_run (unsigned class_index, void **record, bool *is_zero,
               bool *is_guarded)
{
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];
  void *run;

  *is_guarded = take_guard_turn ();
  run = sli_page_alloc_run (sizeclass->n_units + *is_guarded, record,
                            is_zero);
  if (run != NULL && *is_guarded)
    (void) guard_set (run, sizeclass, true); /* without it: no harm */
  return run;
}

/* Cuts one more slab and leaves the lock taken; NULL (and the lock let go) if
 * there is no memory.  The caller takes from it at once, so that no slab stays
 * that never had a chunk out. */
static Slab *
class_grow (SlabClass *class, unsigned class_index)
{
  bool is_guarded, is_zero;
  void *record, *run = class_get_run (class_index, &record, &is_zero,
                                      &is_guarded);

  if (run == NULL)
    return NULL;
  PROBE2 (slab_new, class_index, run);
  class_lock (class);
  slab_begin (class, class_index, run, record, is_zero);
  ((Slab *) record)->is_guarded = is_guarded;
  return record;
}

/* Gives the run of a slab that has ended back. */
static void
run_give_back (char *run, unsigned class_index, bool is_guarded,
               uint64_t since_msec)
{
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];

  PROBE2 (slab_free, class_index, run);
  if (sli_annotate_is_on ())
    sli_annotate_slab_end (run, sizeclass->slab_bytes);
  if (is_guarded)
    (void) guard_set (run, sizeclass, false);
  if (sli_page_free_run (run, sizeclass->n_units + is_guarded, since_msec))
    sli_page_trim (0, 1);
}

/* The first chunks of a slab that has none out yet. */
static unsigned
slab_take_first (SlabClass *class, Slab *slab, unsigned n, void **end)
{
  unsigned taken = slab_carve (slab, sli_page_run_of_record (slab), n, end);

  assert_held (&class->lock);
  if (slab_count_free (slab) == 0)
    slab_set_full (slab);
  class->n_taken += taken;
  return taken;
}

unsigned
sli_slab_take (unsigned class_index, unsigned n, void **end)
{
  SlabClass *class = &classes[class_index];
  unsigned taken;
  Slab *slab;

  class_lock (class);
  taken = class_take (class, n, end);
  sli_unlock (&class->lock);
  /* A quarter of what was asked for is worth a trip: rather that than one
   * more slab while others have holes. */
  while (taken < (n + 3) / 4
         && (slab = class_grow (class, class_index)) != NULL)
    {
      taken += slab_take_first (class, slab, n - taken, end - taken);
      sli_unlock (&class->lock);
    }
  return taken;
}

unsigned
sli_slab_take_zero (unsigned class_index, unsigned n, void **first)
{
  SlabClass *class = &classes[class_index];
  unsigned taken = 0;
  Slab *slab;

  class_lock (class);
  slab = class_choose (class);
  if (slab == NULL)
    {
      sli_unlock (&class->lock);
      slab = class_grow (class, class_index);
      if (slab == NULL)
        return 0;
    }
  /* Holes come first: zeroes only where all else is taken. */
  if (slab->is_zero
      && slab_count_free (slab)
             == sli_sizeclasses[class_index].n_chunks - slab->n_carved)
    {
      unsigned left = sli_sizeclasses[class_index].n_chunks - slab->n_carved;

      *first = slab_chunk (slab, sli_page_run_of_record (slab),
                           slab->n_carved);
      taken = n < left ? n : left;
      STORE (&slab->n_carved, (uint16_t) (slab->n_carved + taken));
      if (taken == left)
        slab_set_full (slab);
      class->n_taken += taken;
    }
  sli_unlock (&class->lock);
  return taken;
}

/* --- giving back ------------------------------------------------------------- */

_Noreturn static void
place_complain (const Place *place, ErrorNumber number, unsigned class_index,
                const void *chunk, const char *operation)
{
  size_t real_bytes
      = place->slab == NULL
            ? 0
            : sli_sizeclasses[place->slab->class_index].block_bytes;

  sli_diag_misuse (number, operation, chunk,
                   class_index == 0
                       ? DIAG_SIZE_UNKNOWN
                       : sli_sizeclasses[class_index].block_bytes,
                   real_bytes);
}

/* Under the class lock: the word was empty, or becomes complete.  Returns
 * true if the slab has ended and its run is to be given back; false in *ok
 * if a chunk was free already. */
static bool
word_give_locked (Slab *slab, unsigned word, uint64_t bits, bool *ok)
{
  unsigned class_index = slab->class_index;
  SlabClass *class = &classes[class_index];
  bool ended = false;

  class_lock (class);
  *ok = (LOAD (&slab->words[word]) & bits) == 0;
  if (*ok)
    {
      /* Acquires what others wrote to their chunks before they gave them back
       * without the lock: the run may be another's in a moment. */
      __atomic_fetch_or (&slab->words[word], bits, __ATOMIC_ACQ_REL);
      if (slab->state == SLAB_FULL)
        slab_file (class, slab, 0);
      ended = slab_is_empty (slab);
      if (ended)
        slab_end (class, slab);
    }
  sli_unlock (&class->lock);
  return ended;
}

/* Sets some bits of one word; false if one was set already. */
static bool
word_give (const Place *place, unsigned word, uint64_t bits,
           uint64_t since_msec)
{
  Slab *slab = place->slab;
  unsigned class_index = slab->class_index;
  uint64_t old = LOAD (&slab->words[word]);
  uint64_t mask = carved_mask (slab, word);
  bool ok, is_guarded;

  do
    {
      if ((old & bits) != 0 && !SEEDED (5))
        return false;
      SCHEDULE_POINT ("chunk to be given");
      if ((old == 0 && !SEEDED (4)) || ((old | bits) & mask) == mask)
        {
          is_guarded = slab->is_guarded;
          if (word_give_locked (slab, word, bits, &ok))
            run_give_back (place->run, class_index, is_guarded,
                           since_msec != 0 ? since_msec
                                           : sli_os_clock_msec ());
          return ok;
        }
    }
  while (!__atomic_compare_exchange_n (&slab->words[word], &old, old | bits,
                                       true, __ATOMIC_RELEASE,
                                       __ATOMIC_RELAXED));
  return true;
}

/* The part of a slab that one word of its bitmap stands for: what is carved
 * of its 64 chunks. */
typedef struct
{
  const char *start;
  size_t bytes;
  const SizeClass *sizeclass;
} WordSpan;

static inline WordSpan
word_span (const Place *place)
{
  const SizeClass *sizeclass = &sli_sizeclasses[place->slab->class_index];
  unsigned first = place->index & ~(BITS_PER_WORD - 1u);
  unsigned n = LOAD (&place->slab->n_carved) - first;

  if (n > BITS_PER_WORD)
    n = BITS_PER_WORD;
  return (WordSpan){ place->run + place->slab->first_offset
                         + (size_t) first * sizeclass->chunk_bytes,
                     (size_t) n * sizeclass->chunk_bytes, sizeclass };
}

/* The bit of a chunk if it is one of those; else 0. */
static inline uint64_t
span_bit (const WordSpan *span, const void *chunk)
{
  size_t offset = (size_t) ((const char *) chunk - span->start);
  uint32_t index;

  if (offset >= span->bytes)
    return 0;
  index = sli_sizeclass_index (span->sizeclass, (uint32_t) offset);
  if ((size_t) index * span->sizeclass->chunk_bytes != offset)
    return 0;
  return (uint64_t) 1 << index;
}

/* The bits of chunks[*next - 1], which place describes, and of the chunks
 * that follow it in the array, each just below the one before it in the slab,
 * as they come back from trees: no division for those.  *next becomes the
 * first chunk not taken. */
static inline uint64_t
descending_bits (const Place *place, unsigned n, void *const *chunks,
                 unsigned *next)
{
  size_t chunk_bytes = sli_sizeclasses[place->slab->class_index].chunk_bytes;
  unsigned index = place->index % BITS_PER_WORD;
  const char *below = (const char *) chunks[*next - 1] - chunk_bytes;
  unsigned end = n - *next < index ? n : *next + index;
  unsigned i = *next;
  uint64_t bit = (uint64_t) 1 << index;

  for (; i < end && chunks[i] == below; i++)
    below -= chunk_bytes;
  /* Ones from the lowest taken up to and with bit. */
  bit = (bit | (bit - 1)) & ~((bit >> (i - *next)) - 1);
  *next = i;
  return bit;
}

/* Some of n chunks of one word were free already: name the first. */
_Noreturn static void
complain_already_free (const Place *place, unsigned class_index, unsigned n,
                       void *const *chunks, const char *operation)
{
  uint64_t free_bits
      = LOAD (&place->slab->words[place->index / BITS_PER_WORD]);
  WordSpan span = word_span (place);
  unsigned i = 0;

  while (i < n - 1 && (free_bits & span_bit (&span, chunks[i])) == 0)
    i++;
  place_complain (place, ERROR_ALREADY_FREE, class_index, chunks[i],
                  operation);
}

void
sli_slab_give_old (unsigned class_index, unsigned n, void *const *chunks,
                   uint64_t since_msec, const char *operation)
{
  for (unsigned i = 0, next; i < n; i = next)
    {
      ErrorNumber error;
      uint64_t bits, bit;
      WordSpan span;
      Place place;

      next = i + 1;
      if (chunks[i] == NULL)
        continue;
      place_find (chunks[i], &place);
      error = place_error (&place, class_index);
      if (UNLIKELY (error != 0))
        place_complain (&place, error, class_index, chunks[i], operation);
      KNOWN (place.slab != NULL);
      /* Neighbours in the array are often neighbours in the slab. */
      bits = descending_bits (&place, n, chunks, &next);
      span = word_span (&place);
      for (; next < n && (bit = span_bit (&span, chunks[next])) != 0
             && (bits & bit) == 0;
           next++)
        bits |= bit;
      if (UNLIKELY (!word_give (&place, place.index / BITS_PER_WORD, bits,
                                since_msec)))
        complain_already_free (&place, class_index, next - i, chunks + i,
                               operation);
    }
}

void
sli_slab_give (unsigned class_index, unsigned n, void *const *chunks,
               const char *operation)
{
  sli_slab_give_old (class_index, n, chunks, 0, operation);
}

size_t
sli_slab_trim (uint64_t max_age_msec, unsigned max_regions)
{
  size_t bytes = sli_page_trim (max_age_msec, max_regions);

  if (bytes == 0 || max_regions > 1)
    bytes += sli_page_trim_units (max_age_msec, max_regions);
  return bytes;
}

/* --- looking ----------------------------------------------------------------- */

void
sli_slab_look_up (const void *address, ChunkInfo *info)
{
  Place place;

  place_find (address, &place);
  *info = (ChunkInfo){ .state = place.state };
  if (place.slab == NULL)
    return;
  info->class_index = place.slab->class_index;
  info->start = slab_chunk (place.slab, place.run, place.index);
  if (place.state == CHUNK_OUT
      && (LOAD (&place.slab->words[place.index / BITS_PER_WORD])
          >> (place.index % BITS_PER_WORD) & 1) != 0)
    info->state = CHUNK_FREE;
}

bool
sli_slab_is_ours (const void *address)
{
  return sli_page_is_ours (address);
}

unsigned
sli_slab_class_of (const void *chunk)
{
  void *record;

  if (sli_page_run_of (chunk, &record) == NULL)
    return 0;
  return LOAD (&((Slab *) record)->class_index);
}

static void
count_run (void *run UNUSED, void *record, void *data)
{
  const Slab *slab = record;
  SlabCounts *counts = data;
  unsigned class_index = LOAD (&slab->class_index);

  if (class_index == 0 || class_index >= N_CLASSES)
    return;
  counts[class_index].n_out
      += sli_sizeclasses[class_index].n_chunks - slab_count_free (slab);
}

void
sli_slab_count_all (SlabCounts counts[N_CLASSES])
{
  memset (counts, 0, N_CLASSES * sizeof counts[0]);
  sli_page_each_run (count_run, counts);
  for (unsigned i = 1; i < N_CLASSES; i++)
    {
      SlabClass *class = &classes[i];

      sli_lock (&class->lock);
      counts[i].n_slabs = class->n_slabs;
      counts[i].n_locks = class->n_locks;
      counts[i].n_taken = class->n_taken;
      counts[i].n_made = class->n_made;
      counts[i].n_freed = class->n_freed;
      sli_unlock (&class->lock);
    }
}

size_t
sli_slab_held_bytes (unsigned class_index)
{
  return LOAD (&classes[class_index].n_slabs)
         * sli_sizeclasses[class_index].slab_bytes;
}

/* Invariants S1 to S3 of THEORY section 10, of one slab in a ring. */
static const char *
slab_check (const Slab *slab, unsigned class_index, unsigned ring)
{
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];

  if (slab->class_index != class_index || slab->state != SLAB_PARTIAL
      || slab->ring != ring)
    return "S1";
  if (slab->n_carved > sizeclass->n_chunks)
    return "S3";
  for (unsigned i = 0; i < sizeclass->n_words; i++)
    if ((LOAD (&slab->words[i]) & ~carved_mask (slab, i)) != 0)
      return "S2";
  return slab_count_free (slab) == 0 ? "S1" : NULL;
}

const char *
sli_slab_check (unsigned class_index, const void **where)
{
  SlabClass *class = &classes[class_index];
  const char *broken = NULL;
  uint64_t n_partial = 0;

  class_lock (class);
  for (unsigned ring = 0; ring < FREE_RINGS; ring++)
    LINK_EACH (link, &class->rings[ring])
      {
        const Slab *slab = LINK_OWNER (link, Slab, link);

        n_partial++;
        if (broken == NULL)
          {
            broken = slab_check (slab, class_index, ring);
            *where = slab;
          }
      }
  if (broken == NULL && n_partial > class->n_slabs)
    {
      broken = "S4";
      *where = class;
    }
  sli_unlock (&class->lock);
  return broken;
}

bool
sli_slab_is_valid (unsigned class_index)
{
  const void *where;

  return sli_slab_check (class_index, &where) == NULL;
}

/* S6, of the slabs in no ring. */
static void
check_full_run (void *run UNUSED, void *record, void *data)
{
  const Slab *slab = record;
  const void **where = data;
  unsigned class_index = LOAD (&slab->class_index);

  if (class_index != 0 && class_index < N_CLASSES && slab->state == SLAB_FULL
      && slab_count_free (slab) != 0)
    *where = slab;
}

const char *
sli_slab_check_full (const void **where)
{
  *where = NULL;
  sli_page_each_run (check_full_run, where);
  return *where != NULL ? "S6" : NULL;
}

/* --- walking ------------------------------------------------------------------ */

typedef struct
{
  SlabVisit visit;
  void *data;
} SlabWalk;

static void
walk_run (void *run, void *record, void *data)
{
  const Slab *slab = record;
  const SlabWalk *walk = data;
  unsigned class_index = LOAD (&slab->class_index);

  if (class_index != 0 && class_index < N_CLASSES)
    walk->visit (run, class_index, walk->data);
}

void
sli_slab_each (SlabVisit visit, void *data)
{
  SlabWalk walk = { visit, data };

  sli_page_each_run (walk_run, &walk);
}

unsigned
sli_slab_chunk (const void *run, unsigned index, ChunkInfo *info)
{
  void *record;
  unsigned class_index;

  *info = (ChunkInfo){ .state = CHUNK_NONE };
  if (sli_page_run_of (run, &record) == NULL)
    return 0;
  class_index = LOAD (&((Slab *) record)->class_index);
  if (class_index == 0)
    return 0;
  if (index < sli_sizeclasses[class_index].n_chunks)
    sli_slab_look_up (slab_chunk (record, (char *) (uintptr_t) run, index),
                      info);
  return sli_sizeclasses[class_index].n_chunks;
}
