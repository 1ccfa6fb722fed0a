/* load-set.c - sets of live blocks of which random ones are replaced
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/bench/frame/measured.h"
#include "load.h"

/* --- working set
 * ---------------------------------------------------------------
 *
 * Three groups of blocks: 80 % of the replacements hit 64 short-lived ones,
 * 15 % a twentieth of n_blocks, 5 % n_blocks long-lived ones.  One in ten of
 * the new blocks changes places with a block in the mail, an array of `batch`
 * places that all threads share.
 *
 * A block and its size travel in one word, so that the mail needs no lock:
 * bits 0..47 the address, 48..63 the size. */

enum
{
  SET_N_SHORT = 64,
  SET_ADDRESS_BITS = 48
};

typedef struct
{
  uint64_t *words;
  size_t n_short, n_middle, n_long; /* in this order in words */
  uint64_t random;
} Set;

static uint64_t *mail;

BENCH_INLINE void *
word_block (uint64_t word)
{
  return (void *) (uintptr_t) (word
                               & ((UINT64_C (1) << SET_ADDRESS_BITS) - 1));
}

BENCH_INLINE size_t
word_size (uint64_t word)
{
  return (size_t) (word >> SET_ADDRESS_BITS);
}

BENCH_INLINE uint64_t
word_new (size_t size, const bool observed)
{
  void *block = bench_alloc (observed, size, 8);

  *(volatile uint64_t *) block = size;
  return (uint64_t) (uintptr_t) block | (uint64_t) size << SET_ADDRESS_BITS;
}

BENCH_INLINE void
word_free (uint64_t word, const bool observed)
{
  if (observed && *(uint64_t *) word_block (word) != word_size (word))
    bench_die ("block %p lost its size", word_block (word));
  bench_free (observed, word_size (word), word_block (word));
}

/* Puts a word in the mail and takes what was there.  (By hand with 32 bits,
 * where gcc 12 makes of this exchange one that puts the old word there.) */
BENCH_INLINE uint64_t
mail_swap (uint64_t *place, uint64_t word)
{
#if UINTPTR_MAX > UINT32_MAX
  return __atomic_exchange_n (place, word, __ATOMIC_ACQ_REL);
#else
  uint64_t there = __atomic_load_n (place, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n (place, &there, word, true,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    ;
  return there;
#endif
}

/* Which place the next replacement hits. */
BENCH_INLINE uint64_t *
set_place (Set *set, uint64_t random)
{
  uint32_t percent = (uint32_t) ((random & 0xffff) * 100 >> 16);
  uint64_t index = random >> 32;

  if (percent < 80)
    return &set->words[index * set->n_short >> 32];
  if (percent < 95)
    return &set->words[set->n_short + (index * set->n_middle >> 32)];
  return &set->words[set->n_short + set->n_middle
                     + (index * set->n_long >> 32)];
}

BENCH_INLINE void
set_body (Run *run, Set *set, const bool observed)
{
  uint64_t random = set->random, n_mail = run->parameters.batch;

  for (uint64_t i = 0; i < run->parameters.n_operations; i++)
    {
      uint64_t number = random_next (&random);
      uint64_t *place = set_place (set, number);
      uint64_t word;

      word_free (*place, observed);
      word = word_new (random_size (run, &random), observed);
      if ((number >> 16 & 0xffff) < 6554) /* a tenth of 65536 */
        word = mail_swap (&mail[random_below (&random, n_mail)], word);
      *place = word;
    }
  set->random = random;
}

static void
set_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  (void) thread;
  lap->n_pairs = run->parameters.n_operations;
  BENCH_BODY (run, set_body, run, state);
}

static void
words_fill (Run *run, uint64_t *words, size_t n, uint64_t *random)
{
  for (size_t i = 0; i < n; i++)
    words[i] = word_new (random_size (run, random), run->is_observed);
}

static void
words_free (Run *run, uint64_t *words, size_t n)
{
  for (size_t i = 0; i < n; i++)
    word_free (words[i], run->is_observed);
}

static void *
set_enter (Run *run, unsigned thread)
{
  Set *set = bench_map (sizeof *set);
  size_t n;

  set->n_short = SET_N_SHORT;
  set->n_middle = run->parameters.n_blocks / 20 + 1;
  set->n_long = run->parameters.n_blocks;
  set->random = random_seed (run, thread);
  n = set->n_short + set->n_middle + set->n_long;
  set->words = bench_map (n * sizeof *set->words);
  words_fill (run, set->words, n, &set->random);
  return set;
}

static void
set_leave (Run *run, unsigned thread, void *state)
{
  Set *set;

  (void) thread;
  set = state;
  words_free (run, set->words, set->n_short + set->n_middle + set->n_long);
}

static void
mail_open (Run *run)
{
  uint64_t random = random_seed (run, THREADS_MAX);

  if (run->parameters.size_min < 8 || run->parameters.size_max > 65535)
    bench_die ("a working set takes blocks of 8 to 65535 bytes");
  mail = bench_map (run->parameters.batch * sizeof *mail);
  words_fill (run, mail, run->parameters.batch, &random);
}

void
load_set (Run *run)
{
  mail_open (run);
  bench_gang (
      run,
      &(GangWork){ .enter = set_enter, .lap = set_lap, .leave = set_leave });
  words_free (run, mail, run->parameters.batch);
}

/* --- latency
 * --------------------------------------------------------------------
 *
 * The same set, each call between two readings of the tick counter
 * (latency.h).  A free and the allocation after it have a reading in common. */

BENCH_INLINE void
latency_body (Run *run, Set *set, Latencies *latencies, const bool observed)
{
  uint64_t random = set->random, n_mail = run->parameters.batch;

  for (uint64_t i = 0; i < run->parameters.n_operations; i++)
    {
      uint64_t number = random_next (&random);
      uint64_t *place = set_place (set, number), word = *place;
      size_t size = random_size (run, &random);
      uint64_t start = bench_ticks ();
      uint64_t middle;
      void *block;
      uint64_t end;

      bench_free (observed, word_size (word), word_block (word));
      middle = bench_ticks ();
      block = bench_alloc (observed, size, 8);
      end = bench_ticks ();
      latency_add (&latencies->of_free, middle - start);
      latency_add (&latencies->of_alloc, end - middle);
      *(volatile uint64_t *) block = size;
      word
          = (uint64_t) (uintptr_t) block | (uint64_t) size << SET_ADDRESS_BITS;
      if ((number >> 16 & 0xffff) < 6554)
        word = mail_swap (&mail[random_below (&random, n_mail)], word);
      *place = word;
    }
  set->random = random;
}

static void
latency_lap (Run *run, unsigned thread, void *state, Lap *lap)
{
  (void) thread;
  lap->n_pairs = run->parameters.n_operations;
  BENCH_BODY (run, latency_body, run, state, latency_own ());
}

void
load_latency (Run *run)
{
  mail_open (run);
  bench_gang (run, &(GangWork){ .part_names = { "ns_with_clock" },
                                .enter = set_enter,
                                .lap = latency_lap,
                                .leave = set_leave });
  words_free (run, mail, run->parameters.batch);
  if (!latency_is_on) /* else bench.c does it */
    latency_report (run);
}
