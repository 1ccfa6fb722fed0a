/* test-arenas.c - W, SW and PW against the library's own arenas
 *
 * Tests.  A site's numbers say what an arena, a stack, a pool would grow to.
 * Here the blocks of that site are put into real ones, in the order of the
 * trace, and what these hold at most is compared.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/trace/format/make-trace.h"
#include "tools/trace/replay/replay.h"
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <slice/linear.h>
#include <slice/pool.h>
#include <slice/stack.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITE_PC 0x1000
#define BLOCK_BYTES 4096
/* What a block's head and the alignment of its first object take. */
#define BLOCK_SLACK 64
#define STACK_HEAD_BYTES 16

typedef struct
{
  const Profile *profile;
  uint32_t result; /* the site's */
  ReplayArena arenas[3];
  ReplaySlot *slots; /* by place in this table: a block in all three */
  uint32_t n_slots, capacity;
  uint64_t live_n;
  uint64_t used[3], held[3]; /* most that each had */
} Peaks;

static const BackendId backends[3]
    = { BACKEND_LINEAR, BACKEND_STACK, BACKEND_POOL };

static void
peak_take (Peaks *peaks, unsigned which)
{
  SliceArenaStats stats;
  const void *arena = peaks->arenas[which].arena;
  size_t held;

  if (arena == NULL)
    return;
  if (which == 0)
    slice_linear_get_stats (arena, &stats);
  else if (which == 1)
    slice_stack_get_stats (arena, &stats);
  else
    slice_pool_get_stats (arena, &stats);
  peaks->used[which] = MAX (peaks->used[which], stats.used_bytes);
  /* blocks that are full or in use; their tails are what a chunk may differ */
  held = stats.used_bytes + stats.wasted_bytes;
  peaks->held[which] = MAX (peaks->held[which], held);
}

static void
arena_allocated (void *user, const Analysis *analysis, LiveObject *object,
                 uint32_t site)
{
  Peaks *peaks = user;
  uint32_t size;

  (void)analysis;
  (void)site;
  if (peaks->profile->final_map[object->node] != peaks->result)
    return;
  if (peaks->n_slots == peaks->capacity)
    {
      peaks->capacity = peaks->capacity * 2 + 1024;
      peaks->slots = g_renew (ReplaySlot, peaks->slots, 3 * peaks->capacity);
    }
  object->slot = peaks->n_slots++;
  size = (uint32_t) rounded_size (object->size);
  for (unsigned i = 0; i < 3; i++)
    {
      ReplaySlot *slot = &peaks->slots[3 * object->slot + i];

      slot->size = size;
      slot->block
          = sli_backends[backends[i]].alloc (&peaks->arenas[i], size, 0, slot);
      peak_take (peaks, i);
    }
  peaks->live_n++;
}

static void
arena_freed (void *user, const Analysis *analysis, const LiveObject *object,
             uint32_t site, unsigned op)
{
  Peaks *peaks = user;

  (void)analysis;
  (void)site;
  (void)op;
  if (peaks->profile->final_map[object->node] != peaks->result)
    return;
  peaks->live_n--;
  for (unsigned i = 0; i < 3; i++)
    {
      const Backend *backend = &sli_backends[backends[i]];

      backend->free (&peaks->arenas[i], &peaks->slots[3 * object->slot + i]);
      if (peaks->live_n == 0 && backend->empty != NULL)
        backend->empty (&peaks->arenas[i]);
    }
}

static void
peaks_measure (Peaks *peaks, uint32_t pool_bytes)
{
  const Profile *profile = peaks->profile;
  Analysis *analysis = sli_analysis_new (0, NULL, NULL);
  TraceEvent event;

  analysis->sites = profile->final_map;
  analysis->observer = (Observer){ arena_allocated, arena_freed, peaks };
  for (unsigned i = 0; i < 3; i++)
    peaks->arenas[i].backend = (uint8_t)backends[i];
  peaks->arenas[2].pool_bytes = pool_bytes;
  sli_backends_block_bytes (BLOCK_BYTES);
  sli_trace_rewind (profile->reader);
  while (sli_trace_next (profile->reader, &event))
    sli_analysis_event (analysis, &event);
  for (unsigned i = 0; i < 3; i++)
    if (peaks->arenas[i].arena != NULL)
      sli_backends[backends[i]].destroy (&peaks->arenas[i]);
  sli_analysis_free (analysis);
}

/* Objects must be the same to the byte (their sizes are multiples of 16), but
 * for the head that a stack counts in each of its blocks; with the tails of
 * blocks it may be a block more, and of each block that was filled less than
 * the largest object. */
static void
assert_peak (const char *what, double wanted, uint64_t used, uint64_t held,
             uint64_t largest, uint64_t block_head)
{
  uint64_t n_blocks;

  g_test_message ("%s: %.0f in the trace, %" G_GUINT64_FORMAT
                  " of objects, %" G_GUINT64_FORMAT " with tails",
                  what, wanted, used, held);
  n_blocks = used / (BLOCK_BYTES - BLOCK_SLACK - largest) + 1;
  g_assert_cmpfloat ((double)used, >=, wanted - 0.5);
  g_assert_cmpfloat ((double)used, <=,
                     wanted + (double)(n_blocks * block_head) + 0.5);
  g_assert_cmpuint (held, >=, used);
  g_assert_cmpuint (held, <=, used + n_blocks * largest + BLOCK_BYTES);
}

static uint32_t
result_at (const Profile *profile, uint64_t pc)
{
  for (uint32_t i = 0; i < profile->n_results; i++)
    {
      uint64_t pcs[SITE_DEPTH_MAX];

      sli_sites_frames (profile->sites, profile->results[i].site, pcs);
      if (pcs[0] == pc)
        return i;
    }
  g_assert_not_reached ();
}

/* The larger of the two commonest sizes: what a pool is made for. */
static uint32_t
pool_bytes_of (const SiteStats *stats)
{
  size_t n;
  SizeCount *sizes = sli_sizes_sorted (stats, &n);
  uint64_t first = n > 0 ? sizes[0].size : 0;
  uint64_t second = n > 1 ? sizes[1].size : 0;

  free (sizes);
  return (uint32_t)MAX (first, second);
}

static void
test_peaks (gconstpointer data)
{
  const KnownTrace *known = data;
  static const ProfileOptions plain = { .n_hot = 10, .chosen_time = -1 };
  char *path = g_strdup_printf ("%s/slice-arenas-%d.trace", g_get_tmp_dir (),
                                (int)getpid ());
  Maker *maker = maker_new (path, 1);
  Profile *profile;
  Peaks peaks;
  const SiteResult *result;
  const double *numbers;
  double peak;
  uint64_t largest;
  uint32_t pool_bytes;

  known->make (maker);
  maker_end (maker);
  profile = sli_profile_new (path, &plain);
  peaks = (Peaks){ .profile = profile };
  peaks.result = result_at (profile, SITE_PC);
  result = &profile->results[peaks.result];
  numbers = result->verdict.numbers;
  peak = numbers[NUMBER_P];
  largest = (uint64_t) numbers[NUMBER_LARGEST];
  pool_bytes = pool_bytes_of (result->stats);
  peaks_measure (&peaks, pool_bytes);
  /* of several threads each has an arena: test-answers.sh replays those */
  if (largest <= BLOCK_BYTES / 4 && numbers[NUMBER_T] <= 1)
    {
      assert_peak ("W P", numbers[NUMBER_W] * peak, peaks.used[0],
                   peaks.held[0], largest, 0);
      assert_peak ("SW P", numbers[NUMBER_SW] * peak, peaks.used[1],
                   peaks.held[1], largest, STACK_HEAD_BYTES);
    }
  /* a pool is thought of for two sizes, and serves all blocks only if none is
   * larger than its own */
  if (largest <= pool_bytes && numbers[NUMBER_P2] >= 0.95)
    assert_peak ("PW P", numbers[NUMBER_PW] * peak, peaks.used[2],
                 peaks.used[2], pool_bytes, 0);
  else
    g_test_message ("no pool for %" G_GUINT64_FORMAT " bytes", largest);
  g_free (peaks.slots);
  sli_profile_free (profile);
  g_remove (path);
  g_free (path);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  known_traces_add ("/slice/trace/arenas", test_peaks);
  return g_test_run ();
}
