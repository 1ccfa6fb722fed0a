/* observe.c - checked mode: every block is remembered, filled and verified
 *
 * A table of all live blocks, by address:
 *
 *   alloc  the address must be new, aligned as promised and must not be NULL;
 *          the bytes that the workload does not use for itself are filled with
 *          a pattern made from address and birth
 *   free   the address must be there, the size must be the one asked for, the
 *          pattern must be whole: an overlap of two blocks, or an allocator
 *          that writes into a live block, breaks it
 *   end    the table must be empty, and as many bytes freed as allocated
 *
 * One lock protects it all: this mode is for checking, not for timing.  The
 * histograms of sizes and lifetimes (a lifetime is the number of allocations
 * in the whole process from birth to death) are by-products.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A place in the table; free when address is 0. */
typedef struct
{
  uintptr_t address;
  uint64_t birth; /* number of the allocation */
  size_t size;
  size_t n_own; /* bytes at the start that the workload uses */
} Live;

enum
{
  LIVE_N_MIN = 1 << 16, /* places at first: 2 MiB */
  N_BINS = 128          /* two a power of two */
};

static struct
{
  pthread_mutex_t lock;
  Live *places;
  size_t n_sites; /* a power of two */
  size_t n_live;
  uint64_t n_allocs, n_frees;
  uint64_t allocated_bytes, freed_bytes;
  uint64_t sizes[N_BINS];
  uint64_t lifetimes[N_BINS];
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static size_t
place_hash (uintptr_t address)
{
  return (size_t) ((address >> 3) * UINT64_C (0x9e3779b97f4a7c15) >> 20)
         & (table.n_sites - 1);
}

/* The place of an address, or the free place where it would go. */
static Live *
chunk_find (uintptr_t address)
{
  size_t i = place_hash (address);

  while (table.places[i].address != 0 && table.places[i].address != address)
    i = (i + 1) & (table.n_sites - 1);
  return &table.places[i];
}

static void
table_grow (void)
{
  Live *old = table.places;
  size_t n_old = table.n_sites;

  table.n_sites = n_old != 0 ? 2 * n_old : LIVE_N_MIN;
  table.places = bench_map (table.n_sites * sizeof (Live));
  for (size_t i = 0; i < n_old; i++)
    if (old[i].address != 0)
      *chunk_find (old[i].address) = old[i];
  if (old != NULL)
    bench_unmap (old, n_old * sizeof (Live));
}

/* Frees a place and moves up those behind it that belong before. */
static void
place_erase (Live *place)
{
  size_t mask = table.n_sites - 1, hole = (size_t) (place - table.places);

  for (size_t i = (hole + 1) & mask; table.places[i].address != 0;
       i = (i + 1) & mask)
    {
      size_t home = place_hash (table.places[i].address);

      if (((i - home) & mask) >= ((i - hole) & mask))
        {
          table.places[hole] = table.places[i];
          hole = i;
        }
    }
  table.places[hole].address = 0;
}

/* Bin 2n for [2^n, 1.5 * 2^n), bin 2n + 1 for the rest; 0 counts as 1. */
static unsigned
bin_index (uint64_t value)
{
  unsigned power;

  if (value < 2)
    return 0;
  power = 63 - (unsigned) __builtin_clzll (value);
  return 2 * power + (unsigned) (value >> (power - 1) & 1);
}

static double
bin_start (unsigned bin)
{
  double power = (double) (UINT64_C (1) << bin / 2);

  return bin & 1 ? 1.5 * power : power;
}

static uint64_t
pattern_seed (const Live *live)
{
  return (uint64_t) live->address ^ live->birth << 40;
}

static void
pattern_fill (const Live *live)
{
  uint64_t state = pattern_seed (live);
  unsigned char *bytes = (unsigned char *) live->address;

  for (size_t i = live->n_own; i < live->size; i++)
    bytes[i] = (unsigned char) random_next (&state);
}

static void
pattern_verify (const Live *live)
{
  uint64_t state = pattern_seed (live);
  const unsigned char *bytes = (const unsigned char *) live->address;

  for (size_t i = live->n_own; i < live->size; i++)
    if (bytes[i] != (unsigned char) random_next (&state))
      bench_die ("block %p of %zu bytes: byte %zu was changed",
                 (void *) live->address, live->size, i);
}

void
observe_alloc (void *block, size_t size, size_t n_own)
{
  Live *live;
  Live copy;

  if (block == NULL)
    bench_die ("no memory for a block of %zu bytes", size);
  if ((uintptr_t) block % bench_adaptor_alignment (size) != 0)
    bench_die ("block %p of %zu bytes is badly aligned", block, size);
  pthread_mutex_lock (&table.lock);
  if (2 * table.n_live >= table.n_sites)
    table_grow ();
  live = chunk_find ((uintptr_t) block);
  if (live->address != 0)
    bench_die ("block %p was handed out twice", block);
  *live = (Live){ (uintptr_t) block, table.n_allocs++, size,
                  n_own < size ? n_own : size };
  copy = *live;
  table.n_live++;
  table.allocated_bytes += size;
  table.sizes[bin_index (size)]++;
  pthread_mutex_unlock (&table.lock);
  pattern_fill (&copy);
}

void
observe_free (void *block, size_t size)
{
  Live *live;
  Live copy;

  pthread_mutex_lock (&table.lock);
  live = chunk_find ((uintptr_t) block);
  if (live->address == 0)
    bench_die ("block %p is not live", block);
  copy = *live;
  if (copy.size != size)
    bench_die ("block %p: %zu bytes, freed as %zu", block, copy.size, size);
  place_erase (live);
  table.n_live--;
  table.n_frees++;
  table.freed_bytes += size;
  table.lifetimes[bin_index (table.n_allocs - copy.birth)]++;
  pthread_mutex_unlock (&table.lock);
  pattern_verify (&copy);
}

static void
histogram_add (Run *run, const char *name, const char *x_name,
               const uint64_t *bins)
{
  Series *series = bench_add_series (run, name, x_name, "blocks", N_BINS);

  for (unsigned i = 0; i < N_BINS; i++)
    if (bins[i] != 0)
      bench_add_point (series, bin_start (i), (double) bins[i]);
}

void
observe_finish (Run *run)
{
  if (table.n_live != 0 || table.n_allocs != table.n_frees
      || table.allocated_bytes != table.freed_bytes)
    bench_die ("%zu blocks were not freed", table.n_live);
  if (table.n_allocs == 0)
    bench_die ("the workload asked for no block");
  bench_add_value (run, "checked_blocks", (double) table.n_allocs);
  bench_add_value (run, "checked_bytes", (double) table.allocated_bytes);
  if (run->is_histogram)
    {
      histogram_add (run, "sizes", "bytes_from", table.sizes);
      histogram_add (run, "lifetimes", "allocations_from", table.lifetimes);
    }
}
