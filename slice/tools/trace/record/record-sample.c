/* record-sample.c - which blocks a sampled recording takes, and their set
 *
 * Tools, in the preloaded object (record-sample.h).  The sampled blocks that
 * live are in tables of buckets, each a cache line.  A block whose bucket is
 * full goes to the next table, which is eight times as large.  Tables are
 * added when they are needed, and never removed.
 *
 * Locks: none; each slot and each byte of the filter is exchanged by itself.
 * So a signal handler may free, and a fork finds nothing locked.
 *
 * Design: section 13.12.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-sample.h"
#include "sample-gap.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUCKET_SLOTS 8
#define N_TABLES 6 /* the last has 128 Mi slots */
#define FIRST_BITS 9
#define MORE_BITS 3 /* of each further table */

typedef struct
{
  _Atomic uint64_t blocks[BUCKET_SLOTS]; /* addresses; 0: none */
} __attribute__ ((aligned (64))) Bucket;

/* Until the start everything goes on to the event. */
uint8_t sli_sample_filter[SAMPLE_FILTER_SLOTS]
    = { [0 ... SAMPLE_FILTER_SLOTS - 1] = SAMPLE_FILTER_ALWAYS };

static Bucket first_table[1 << FIRST_BITS];
static Bucket *_Atomic tables[N_TABLES] = { first_table };

static struct
{
  uint64_t seed;
  bool is_fixed;              /* the seed was given */
  _Atomic uint64_t n_threads; /* that have drawn a gap */
} sampling;

/* --- the filter ---------------------------------------------------------- */

static void
filter_add (uint64_t address, int n)
{
  uint8_t *count = &sli_sample_filter[sample_slot (address)];
  uint8_t old = __atomic_load_n (count, __ATOMIC_SEQ_CST);

  while (old != SAMPLE_FILTER_ALWAYS
         && !__atomic_compare_exchange_n (count, &old, (uint8_t) (old + n),
                                          true, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST))
    ;
}

/* --- the set ------------------------------------------------------------- */

/* The next table; NULL: there is none. */
static Bucket *
table_at (unsigned number, bool make)
{
  Bucket *table = atomic_load (&tables[number]);
  size_t n_bytes;
  Bucket *fresh;

  if (table != NULL || !make)
    return table;
  n_bytes = sizeof (Bucket) << (FIRST_BITS + MORE_BITS * number);
  fresh = mmap (NULL, n_bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fresh == MAP_FAILED)
    return NULL;
  if (atomic_compare_exchange_strong (&tables[number], &table, fresh))
    return fresh;
  munmap (fresh, n_bytes); /* another thread was faster */
  return table;
}

static Bucket *
bucket_of (Bucket *table, unsigned number, uint64_t address)
{
  uint64_t hash = (address >> 4) * UINT64_C (0x9E3779B97F4A7C15);

  return &table[hash >> (64 - FIRST_BITS - MORE_BITS * number)];
}

/* Exchanges the first slot of the bucket that has `from'. */
static bool
bucket_exchange (Bucket *bucket, uint64_t from, uint64_t to)
{
  for (unsigned i = 0; i < BUCKET_SLOTS; i++)
    {
      uint64_t found = from;

      if (atomic_load_explicit (&bucket->blocks[i], memory_order_relaxed)
              == from
          && atomic_compare_exchange_strong (&bucket->blocks[i], &found, to))
        return true;
    }
  return false;
}

bool
sli_sample_remember (const void *block)
{
  uint64_t address = (uint64_t) block;

  filter_add (address, 1);
  for (unsigned number = 0; number < N_TABLES; number++)
    {
      Bucket *table = table_at (number, true);

      if (table == NULL)
        break;
      if (bucket_exchange (bucket_of (table, number, address), 0, address))
        return true;
    }
  filter_add (address, -1);
  return false;
}

bool
sli_sample_forget (const void *block)
{
  uint64_t address = (uint64_t) block;

  if (sample_is_no_block (block))
    return false;
  for (unsigned number = 0; number < N_TABLES; number++)
    {
      Bucket *table = table_at (number, false);

      if (table == NULL)
        return false;
      if (bucket_exchange (bucket_of (table, number, address), address, 0))
        {
          filter_add (address, -1);
          return true;
        }
    }
  return false;
}

/* --- the choice ---------------------------------------------------------- */

/* The bytes before the next point: the last byte of a gap is at the point. */
static size_t
gap_draw (RecordThread *self)
{
  return sample_gap (&self->sample_random, sli_record.sample_bytes) - 1;
}

/* Draws a thread's first gap. */
static void
thread_start (RecordThread *self)
{
  uint64_t number = atomic_fetch_add (&sampling.n_threads, 1);

  self->sample_random = sample_mix (sampling.seed ^ sample_mix (number + 1));
  self->sample_left = gap_draw (self);
  self->line_left = self->sample_left;
}

bool
sli_sample_take (RecordThread *self, size_t size)
{
  if (UNLIKELY (self->sample_random == 0))
    thread_start (self);
  if (sample_passes (self, size == 0 ? 1 : size))
    return false;
  /* a source line that was reported for an earlier block */
  if (self->line_left != self->sample_left)
    self->line = 0;
  /* a block with several points is one sample, and the process has no memory:
   * it starts again at the block's end */
  self->sample_left = gap_draw (self);
  return true;
}

void
sli_sample_child_start (RecordThread *self)
{
  uint64_t other = sampling.is_fixed ? sli_record.epoch : (uint64_t) getpid ();

  sampling.seed = sample_mix (sampling.seed ^ sample_mix (other));
  if (self->sample_random != 0)
    self->sample_random = sample_mix (self->sample_random ^ sampling.seed);
}

void
sli_sample_start (uint32_t mean_bytes, uint32_t seed, const uint8_t *early,
                  size_t n_early)
{
  sampling.is_fixed = seed != 0;
  sampling.seed = seed != 0
                      ? seed
                      : sample_mix (ticks_now () ^ (uint64_t) getpid () << 32);
  sli_record.sample_bytes = mean_bytes;
  memset (sli_sample_filter, 0, sizeof sli_sample_filter);
  for (size_t i = 0; i < n_early; i += 16)
    sli_sample_filter[sample_slot ((uint64_t) &early[i])]
        = SAMPLE_FILTER_ALWAYS;
}
