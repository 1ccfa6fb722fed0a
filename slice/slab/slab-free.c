/* slab-free.c - frees chunks to their slabs
 *
 * Layer: slab.  Locks: one for each class (rank 30).  Design: chapter 4.
 *
 * A chunk is freed without a lock, unless its bitmap word has no bit set or
 * gets its last one (S5).  It takes one compare-and-swap, which also finds a
 * double free, or one store while the process has a single thread.  If the word
 * has no bit set or gets its last, the thread locks the class, because the slab
 * may have to be linked (it was full) or freed (it is empty).  Once a thread
 * has set its bits without the lock, another may free the slab.  So the first
 * does not touch the header again.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "slab.h"
#include "page/page.h"
#include "slab-class.h"
#include "slab-guard.h"
#include "base/align.h"
#include "base/diag.h"
#include "port/annotate.h"
#include "port/probe.h"
#include "port/thread/one-thread.h"
#include "port/os/os.h"

/* Returns true if all chunks of a slab are free or not carved, so that its run
 * may be freed. */
static bool
slab_is_empty (const Slab *slab)
{
  unsigned n_words = sli_sizeclasses[slab->class_index].n_words;

  /* A thread reads the header before it sets a bit, not after.  The acquire
   * orders all such reads before the header is written. */
  for (unsigned i = 0; i < n_words; i++)
    if (LOAD_ACQUIRE (&slab->words[i]) != carved_mask (slab, i))
      return false;
  return true;
}

static void
slab_retire (SlabClass *class, Slab *slab, char *run)
{
  assert_held (&class->lock);
  assert_here (slab->state == SLAB_PARTIAL && class->n_slabs > 0);
  assert_here (!link_is_alone (&slab->link)); /* S1 */
  link_remove (&slab->link);
  STORE (&slab->state, (uint8_t) SLAB_NONE);
  region_set_class (run, sli_sizeclasses[slab->class_index].n_granules, 0);
  STORE (&slab->class_index, 0);
  STORE (&class->n_slabs, class->n_slabs - 1);
  class->n_freed++;
}

static SlabRetired retired_watch; /* NULL: nothing looks at retired slabs */

COLD void
sli_slab_watch (SlabRetired retired, MemoryTaken taken)
{
  retired_watch = retired;
  sli_page_watch_taken (taken);
}

/* Shows a retired slab to the watch.  Its header stays as it was until the run
 * is freed. */
static COLD void
slab_show_retired (const Slab *slab, char *run, unsigned class_index)
{
  retired_watch (&(RetiredSlab){ .first = run + slab->first_offset,
                                 .n_carved = LOAD (&slab->n_carved),
                                 .class_index = class_index });
}

/* Frees the run of a retired slab.  If the system fails to remove the guard,
 * the run waits until it can, because its next user could not write there. */
static void
run_return (char *run, unsigned class_index, bool is_guarded,
            uint64_t since_msec)
{
  const SizeClass *sizeclass = &sli_sizeclasses[class_index];

  assert_here (class_index > 0 && class_index < N_CLASSES);
  PROBE2 (slab_free, class_index, run);
  assert_slow (sli_slab_is_valid (class_index));
  if (sli_annotate_is_on ())
    sli_annotate_access (run, sizeclass->slab_bytes);
  if (is_guarded && !sli_slab_guard_end (run, sizeclass, since_msec))
    return;
  if (sli_page_free_run (run, sizeclass->n_granules + is_guarded, since_msec))
    sli_page_trim (0, 1);
}

_Noreturn static void
chunk_report_misuse (const ChunkRef *ref, ErrorNumber number,
                     unsigned class_index, const void *chunk,
                     const char *operation)
{
  const SizeClass *given = &sli_sizeclasses[class_index];
  BlockFacts facts = { .address = chunk, .given_bytes = DIAG_SIZE_UNKNOWN };

  if (class_index != 0)
    facts.given_bytes = given->block_bytes;
  if (ref->slab != NULL)
    facts.real_bytes = sli_sizeclasses[ref->slab->class_index].block_bytes;
  sli_diag_misuse (number, operation, &facts);
}

/* Sets bits of a word that has none set, or gets its last.  Returns true if
 * the slab is retired; the caller then frees its run.  *ok is false if a chunk
 * was free already. */
static bool
word_free_locked (const ChunkRef *ref, unsigned word, uint64_t bits, bool *ok)
{
  Slab *slab = ref->slab;
  unsigned class_index = slab->class_index;
  SlabClass *class = &sli_slab_classes[class_index];
  bool is_retired = false;

  slab_class_lock (class);
  assert_here (slab->state != SLAB_NONE && slab->class_index == class_index);
  assert_here ((bits & ~carved_mask (slab, word)) == 0); /* S2 */
  *ok = (LOAD (&slab->words[word]) & bits) == 0;
  if (*ok)
    {
      /* Acquire: other threads wrote to their chunks before they freed them
       * without the lock, and another class may use the run next. */
      __atomic_fetch_or (&slab->words[word], bits, __ATOMIC_ACQ_REL);
      if (slab->state == SLAB_FULL)
        slab_file (class, slab, 0);
      is_retired = slab_is_empty (slab);
      assert_slow (sli_slab_is_right (slab));
      if (is_retired)
        slab_retire (class, slab, ref->run);
    }
  sli_unlock (&class->lock);
  return is_retired;
}

/* Adds bits to a word if it is still *old; else stores its value in *old.  May
 * fail spuriously. */
static inline bool
word_exchange (uint64_t *word, uint64_t *old, uint64_t bits)
{
  if (sli_has_one_thread ())
    {
      STORE (word, *old | bits);
      return true;
    }
  return __atomic_compare_exchange_n (word, old, *old | bits, true,
                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* Sets some bits of one word; false if one was set already. */
static bool
word_free (const ChunkRef *ref, unsigned word, uint64_t bits,
           uint64_t needed_msec, uint64_t now_msec)
{
  Slab *slab = ref->slab;
  unsigned class_index = slab->class_index;
  uint64_t old = LOAD (&slab->words[word]);
  uint64_t mask = carved_mask (slab, word);
  bool ok, is_guarded;

  assert_here (bits != 0 && word < sli_sizeclasses[class_index].n_words);
  slab_note_needed (slab, needed_msec, now_msec);
  do
    {
      if ((old & bits) != 0)
        return false;
      SCHEDULE_POINT ("chunk to be freed");
      if (old == 0 || ((old | bits) & mask) == mask)
        {
          is_guarded = slab->is_guarded;
          if (word_free_locked (ref, word, bits, &ok))
            {
              if (UNLIKELY (retired_watch != NULL))
                slab_show_retired (slab, ref->run, class_index);
              run_return (ref->run, class_index, is_guarded,
                          max_size (needed_msec,
                                    slab_needed_msec (slab, now_msec)));
            }
          return ok;
        }
    }
  while (!word_exchange (&slab->words[word], &old, bits));
  return true;
}

/* The part of a slab that one word of its bitmap describes: those of its 64
 * chunks that are carved. */
typedef struct
{
  const char *start;
  size_t bytes;
  const SizeClass *sizeclass;
} WordSpan;

static inline WordSpan
word_span (const ChunkRef *ref)
{
  const SizeClass *sizeclass = &sli_sizeclasses[ref->slab->class_index];
  unsigned first = ref->index & ~(BITS_PER_WORD - 1u);
  unsigned n = LOAD (&ref->slab->n_carved) - first;

  assert_here (LOAD (&ref->slab->n_carved) > ref->index); /* S2 */
  if (n > BITS_PER_WORD)
    n = BITS_PER_WORD;
  return (WordSpan){ ref->run + ref->slab->first_offset
                         + (size_t) first * sizeclass->chunk_bytes,
                     (size_t) n * sizeclass->chunk_bytes, sizeclass };
}

/* The bit of a chunk if it is in the span; else 0. */
static inline uint64_t
span_bit (const WordSpan *span, const void *chunk)
{
  size_t offset = (size_t) ((const char *) chunk - span->start);
  uint32_t reciprocal = span->sizeclass->reciprocal;
  uint64_t product;

  if (offset >= span->bytes)
    return 0;
  /* One product for sli_sizeclass_index() and sli_sizeclass_is_start(). */
  product = (uint64_t) offset * reciprocal;
  if ((uint32_t) product >= reciprocal)
    return 0;
  return (uint64_t) 1 << (product >> 32);
}

/* Counts how many of n addresses, from the first on, are `below',
 * below - chunk_bytes, below - 2 * chunk_bytes and so on. */
static inline unsigned
count_descending (void *const *chunks, unsigned n, const char *below,
                  size_t chunk_bytes)
{
  uintptr_t first = (uintptr_t) below;
  Pair expected = { first, first - chunk_bytes };
  unsigned i = 0, n_by_eights;

  /* If the eighth address is as expected, compares eight at a time: any
   * difference leaves a bit. */
  for (; i + 8 <= n
         && (uintptr_t) chunks[i + 7] == expected[0] - 7 * chunk_bytes;
       i += 8)
    {
      const Pair *pairs = (const Pair *) (const void *) (chunks + i);
      Pair wrong = pairs[0] ^ expected;

      wrong |= pairs[1] ^ (expected - 2 * chunk_bytes);
      wrong |= pairs[2] ^ (expected - 4 * chunk_bytes);
      wrong |= pairs[3] ^ (expected - 6 * chunk_bytes);
      if ((wrong[0] | wrong[1]) != 0)
        break;
      expected -= 8 * chunk_bytes;
    }
  n_by_eights = i;
  for (first = expected[0]; i < n && (uintptr_t) chunks[i] == first; i++)
    first -= chunk_bytes;
  /* Eight more would have been compared at once. */
  assert_here (i < n_by_eights + 8);
  return i;
}

/* The bits of chunks[*next - 1], which `ref' describes, and of the next chunks
 * of the array, as long as each is just below its predecessor in the slab.
 * Trees are freed in this order, and it needs no division.  Moves *next behind
 * those chunks. */
static inline uint64_t
descending_bits (const ChunkRef *ref, unsigned n, void *const *chunks,
                 unsigned *next)
{
  size_t chunk_bytes = sli_sizeclasses[ref->slab->class_index].chunk_bytes;
  unsigned index = ref->index % BITS_PER_WORD;
  const char *below = (const char *) chunks[*next - 1] - chunk_bytes;
  unsigned end = n - *next < index ? n : *next + index;
  unsigned i = *next;
  uint64_t bit = (uint64_t) 1 << index;

  assert_here (*next > 0 && end <= n);
  i += count_descending (chunks + i, end - i, below, chunk_bytes);
  /* All bits from the lowest chunk's to the first one's. */
  bit = (bit | (bit - 1)) & ~((bit >> (i - *next)) - 1);
  *next = i;
  return bit;
}

/* Returns true if two chunks of a class may be in one word, by their
 * addresses.  Chunks that are freed in random order rarely are. */
static inline bool
may_share_word (const void *chunk, const void *other, unsigned class_index)
{
  size_t reach_bytes
      = BITS_PER_WORD * (size_t) sli_sizeclasses[class_index].chunk_bytes;

  return (uintptr_t) other - (uintptr_t) chunk + reach_bytes
         < 2 * reach_bytes;
}

/* The bits of chunks[*next - 1], which `ref' describes, and of the next chunks
 * of the array, as long as they are in the same word.  Moves *next behind those
 * chunks.  Stops before a chunk whose bit is in the result already. */
static inline uint64_t
word_bits (const ChunkRef *ref, unsigned n, void *const *chunks,
           unsigned *next)
{
  void *const *chunk, *const *end = chunks + n;
  uint64_t bits, bit;
  WordSpan span;

  if (*next == n || !may_share_word (chunks[*next - 1], chunks[*next],
                                     ref->slab->class_index))
    return (uint64_t) 1 << ref->index % BITS_PER_WORD;
  bits = descending_bits (ref, n, chunks, next);
  span = word_span (ref);
  for (chunk = chunks + *next; chunk != end; chunk++)
    {
      bit = span_bit (&span, *chunk);
      if (bit == 0 || (bits & bit) != 0)
        break;
      bits |= bit;
    }
  *next = (unsigned) (chunk - chunks);
  return bits;
}

/* Reports the first of n chunks of one word that is free already. */
_Noreturn static void
report_already_free (const ChunkRef *ref, unsigned class_index, unsigned n,
                     void *const *chunks, const char *operation)
{
  uint64_t free_bits
      = LOAD (&ref->slab->words[ref->index / BITS_PER_WORD]);
  WordSpan span = word_span (ref);
  unsigned i = 0;

  assert_here (n > 0);
  while (i < n - 1 && (free_bits & span_bit (&span, chunks[i])) == 0)
    i++;
  chunk_report_misuse (ref, ERROR_ALREADY_FREE, class_index, chunks[i],
                       operation);
}

COMMON_TEXT void
sli_slab_free_old (unsigned class_index, unsigned n, void *const *chunks,
                   uint64_t needed_msec, const char *operation)
{
  uint64_t now_msec = sli_os_clock_msec ();

  assert_here (class_index < N_CLASSES); /* 0: of any */
  if (needed_msec == 0)
    needed_msec = now_msec;
  for (unsigned i = 0, next; i < n; i = next)
    {
      ErrorNumber error;
      ChunkRef ref;
      uint64_t bits;

      next = i + 1;
      if (chunks[i] == NULL)
        continue;
      chunk_find (chunks[i], &ref);
      error = chunk_error (&ref, class_index);
      if (UNLIKELY (error != 0))
        chunk_report_misuse (&ref, error, class_index, chunks[i], operation);
      KNOWN (ref.slab != NULL);
      /* Neighbours in the array are often neighbours in the slab. */
      bits = word_bits (&ref, n, chunks, &next);
      if (UNLIKELY (!word_free (&ref, ref.index / BITS_PER_WORD, bits,
                                needed_msec, now_msec)))
        report_already_free (&ref, class_index, next - i, chunks + i,
                             operation);
    }
}

COMMON_TEXT void
sli_slab_free (unsigned class_index, unsigned n, void *const *chunks,
               const char *operation)
{
  sli_slab_free_old (class_index, n, chunks, 0, operation);
}

COMMON_TEXT uint32_t
sli_slab_n_fresh (void)
{
  return sli_page_n_fresh ();
}

size_t
sli_slab_returned_bytes (void)
{
  PageCounts counts;

  sli_page_count (&counts);
  return counts.returned_bytes;
}

COMMON_TEXT size_t
sli_slab_trim (uint64_t max_age_msec, unsigned max_regions)
{
  size_t bytes;

  if (max_regions > 1)
    sli_slab_give_up_claims ();
  sli_slab_guard_retry ();
  bytes = sli_page_trim (max_age_msec, max_regions);
  if (bytes == 0 || max_regions > 1)
    bytes += sli_page_trim_granules (max_age_msec, max_regions);
  return bytes;
}
