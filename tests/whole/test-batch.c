/* test-batch.c - batches that fit in the magazines make no trips
 *
 * Magazines begin small and grow by trips to the depot.  A batch that fits in
 * grown ones must stop going there, at any size of batch: small magazines that
 * were filled meanwhile may not come and go for ever.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/libslice.h>

#include "tests/testlib.h"
#include "tests/teststats.h"

enum
{
  N_WARM = 400,
  N_ROUNDS = 100,
  N_BATCH_MAX = 200
};

static void
run_batches (size_t size, unsigned n, unsigned rounds)
{
  void *blocks[N_BATCH_MAX];

  for (unsigned round = 0; round < rounds; round++)
    {
      for (unsigned i = 0; i < n; i++)
        blocks[i] = slice_alloc (size);
      for (unsigned i = 0; i < n; i++)
        slice_free1 (size, blocks[i]);
    }
}

static uint64_t
trips (size_t size)
{
  const SliceClassStats *stats = test_class_stats (size);

  return stats->n_depot_pops + stats->n_depot_misses + stats->n_depot_pushes;
}

static void
test_no_trips (void)
{
  static const size_t sizes[] = { 16, 48, 64, 120 };

  for (size_t s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (unsigned n = 8; n <= N_BATCH_MAX; n += 8)
      {
        uint64_t before;

        run_batches (sizes[s], n, N_WARM);
        before = trips (sizes[s]);
        run_batches (sizes[s], n, N_ROUNDS);
        if (trips (sizes[s]) - before > N_ROUNDS / 10)
          g_error ("size %zu, batches of %u: %u trips", sizes[s], n,
                   (unsigned) (trips (sizes[s]) - before));
      }
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/magazine/batches-settle", test_no_trips);
  return g_test_run ();
}
