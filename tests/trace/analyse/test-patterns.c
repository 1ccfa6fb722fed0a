/* test-patterns.c - the decision list on traces whose answers are known
 *
 * Tests.  SPDX-License-Identifier: MIT
 */
#include "tests/trace/format/make-trace.h"
#include "tools/trace/profile/profile.h"
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *
trace_path (const char *name)
{
  return g_strdup_printf ("%s/slice-known-%d-%s.trace", g_get_tmp_dir (),
                          (int)getpid (), name);
}

static const ProfileOptions plain = { .n_hot = 10, .chosen_time = -1 };

/* The site whose innermost frame is at that pc. */
static const SiteResult *
result_at (const Profile *profile, uint64_t pc)
{
  for (uint32_t i = 0; i < profile->n_results; i++)
    {
      uint64_t pcs[SITE_DEPTH_MAX];

      sli_sites_frames (profile->sites, profile->results[i].site, pcs);
      if (pcs[0] == pc)
        return &profile->results[i];
    }
  g_assert_not_reached ();
}

/* Within one percent, or within a thousandth for what is next to zero. */
static void
assert_near (const char *name, double value, double wanted)
{
  double slack;

  if (wanted < 0)
    return;
  slack = fmax (0.01 * fabs (wanted), 0.005);
  if (fabs (value - wanted) > slack)
    g_error ("%s is %g, not %g", name, value, wanted);
}

static void
test_known (gconstpointer data)
{
  const KnownTrace *known = data;
  char *path = trace_path (known->name);
  Maker *maker = maker_new (path, 1);
  Profile *profile;
  const SiteResult *result;
  const double *numbers;

  known->make (maker);
  maker_end (maker);
  profile = sli_profile_new (path, &plain);
  result = result_at (profile, 0x1000);
  numbers = result->verdict.numbers;
  g_test_message ("%s: %s (%s; %s)", known->name,
                  sli_class_name (result->verdict.class),
                  result->verdict.holds, result->verdict.missed);
  g_assert_cmpstr (sli_class_name (result->verdict.class), ==, known->class);
  assert_near ("L", numbers[NUMBER_L], known->L);
  assert_near ("W", numbers[NUMBER_W], known->W);
  assert_near ("SW", numbers[NUMBER_SW], known->SW);
  assert_near ("R", numbers[NUMBER_R], known->R);
  assert_near ("P2", numbers[NUMBER_P2], known->P2);
  assert_near ("B", numbers[NUMBER_B], known->B);
  g_assert_cmpuint (profile->totals.n_unknown_frees, ==, 0);
  sli_profile_free (profile);
  g_remove (path);
  g_free (path);
}

static void
test_owner_named (void)
{
  char *path = trace_path ("owner");

  for (int with = 0; with < 2; with++)
    {
      Maker *maker = maker_new (path, 1);
      const char *wanted = with ? "parents-8" : "random-batches";
      Profile *profile;
      const Verdict *verdict;

      for (size_t i = 0; i < n_known_traces; i++)
        if (strcmp (known_traces[i].name, wanted) == 0)
          known_traces[i].make (maker);
      maker_end (maker);
      profile = sli_profile_new (path, &plain);
      verdict = &result_at (profile, 0x1000)->verdict;
      if (with)
        {
          uint64_t pcs[SITE_DEPTH_MAX];

          sli_sites_frames (profile->sites,
                            profile->first_sites[verdict->owner], pcs);
          g_assert_cmphex (pcs[0], ==, 0x3000);
          g_assert_false (verdict->burst_unknown);
        }
      else
        g_assert_true (verdict->burst_unknown);
      sli_profile_free (profile);
    }
  g_remove (path);
  g_free (path);
}

/* Three behaviours through one function: split without a word about it. */
static void
test_wrapper_split (void)
{
  char *path = trace_path ("wrapper");
  Maker *maker = maker_new (path, 1);
  uint32_t linear = maker_site (maker, 0x1000, 0x2000, 0);
  uint32_t stack = maker_site (maker, 0x1000, 0x3000, 0);
  uint32_t immortal = maker_site (maker, 0x1000, 0x4000, 0);
  uint64_t blocks[200], tower[400];
  size_t height = 0;
  Profile *profile;

  for (int round = 0; round < 100; round++)
    {
      for (int i = 0; i < 200; i++)
        {
          blocks[i] = maker_alloc (maker, linear, maker_size (maker));
          if (height < 2 || (height < 399 && maker_random (maker, 2)))
            tower[height++] = maker_alloc (maker, stack, maker_size (maker));
          else
            maker_free (maker, tower[--height]);
          maker_alloc (maker, immortal, maker_size (maker));
        }
      maker_shuffle (maker, blocks, 200);
      for (int i = 0; i < 200; i++)
        maker_free (maker, blocks[i]);
    }
  maker_end (maker);
  profile = sli_profile_new (path, &plain);
  g_assert_cmpuint (profile->n_results, ==, 3);
  for (uint32_t i = 0; i < 3; i++)
    {
      uint64_t pcs[SITE_DEPTH_MAX];
      SiteClass wanted;

      sli_sites_frames (profile->sites, profile->results[i].site, pcs);
      wanted = pcs[1] == 0x2000   ? CLASS_LINEAR
               : pcs[1] == 0x3000 ? CLASS_STACK
                                  : CLASS_IMMORTAL;
      g_assert_cmpint (profile->results[i].verdict.class, ==, wanted);
    }
  sli_profile_free (profile);
  g_remove (path);
  g_free (path);
}

/* Callers that behave alike leave the site whole. */
static void
test_wrapper_whole (void)
{
  char *path = trace_path ("whole");
  Maker *maker = maker_new (path, 1);
  uint32_t sites[3] = { maker_site (maker, 0x1000, 0x2000, 0),
                        maker_site (maker, 0x1000, 0x3000, 0),
                        maker_site (maker, 0x1000, 0x4000, 0) };
  uint64_t slots[300] = { 0 };
  Profile *profile;

  for (int i = 0; i < 30000; i++)
    {
      uint32_t at = maker_random (maker, 300);

      if (slots[at] != 0)
        maker_free (maker, slots[at]);
      slots[at] = maker_alloc (maker, sites[maker_random (maker, 3)],
                               16 + maker_random (maker, 600));
    }
  maker_end (maker);
  profile = sli_profile_new (path, &plain);
  g_assert_cmpuint (profile->n_results, ==, 1);
  g_assert_cmpint (profile->results[0].verdict.class, ==, CLASS_GENERAL);
  sli_profile_free (profile);
  g_remove (path);
  g_free (path);
}

/* One pc with many callers and most allocs is a wrapper by itself. */
static void
test_wrapper_found (void)
{
  char *path = trace_path ("found");
  Maker *maker = maker_new (path, 1);
  uint32_t sites[20];
  Profile *profile;

  for (uint64_t i = 0; i < 20; i++)
    sites[i] = maker_site (maker, 0x1000, 0x2000 + i, 0);
  for (int i = 0; i < 20000; i++)
    maker_alloc (maker, sites[i % 20], 64);
  maker_end (maker);
  profile = sli_profile_new (path, &plain);
  g_assert_cmpuint (profile->n_results, ==, 20);
  g_assert_cmpuint (profile->sites->n_wrapper_pcs, ==, 1);
  g_assert_cmphex (profile->sites->wrapper_pcs[0], ==, 0x1000);
  sli_profile_free (profile);
  g_remove (path);
  g_free (path);
}

static void
test_callers (void)
{
  char *path = trace_path ("callers");
  Maker *maker = maker_new (path, 1);
  uint32_t sites[3] = { maker_site (maker, 0x1000, 0x2000, 0),
                        maker_site (maker, 0x1000, 0x3000, 0),
                        maker_site (maker, 0x1000, 0x4000, 0) };
  uint64_t counts[3] = { 0 };
  Profile *profile;
  Caller *callers;

  for (int i = 0; i < 10000; i++)
    {
      uint32_t at = maker_random (maker, 10);

      at = at < 6 ? 0 : at < 9 ? 1 : 2;
      counts[at]++;
      maker_alloc (maker, sites[at], 64);
    }
  maker_end (maker);
  profile = sli_profile_new (path, &plain);
  callers = sli_profile_callers (profile, 0, NULL);
  for (int i = 0; i < 3; i++)
    {
      char *name = g_strdup_printf ("0x%x", 0x2000 + 0x1000 * i);

      g_assert_cmpstr (callers[i].function, ==, name);
      g_assert_cmpuint (callers[i].allocs, ==, counts[i]);
      g_free (name);
    }
  g_assert_null (callers[3].function);
  free (callers);
  sli_profile_free (profile);
  g_remove (path);
  g_free (path);
}

/* More threads than are looked through one by one, all with blocks at once,
 * each a strict stack; and the first ten come back. */
static void
test_many_threads (void)
{
  enum
  {
    THREADS = 200,
    BLOCKS = 50
  };
  char *path = trace_path ("threads");
  Maker *maker = maker_new (path, 1);
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);
  static uint64_t blocks[THREADS][BLOCKS];
  Profile *profile;
  const double *numbers;

  for (uint32_t i = 0; i < BLOCKS; i++)
    for (uint32_t thread = 0; thread < THREADS; thread++)
      {
        maker_thread (maker, thread + 1);
        blocks[thread][i] = maker_alloc (maker, site, 64);
      }
  for (uint32_t i = BLOCKS; i-- > 0;)
    for (uint32_t thread = 0; thread < THREADS; thread++)
      {
        maker_thread (maker, thread + 1);
        maker_free (maker, blocks[thread][i]);
      }
  for (uint32_t thread = 0; thread < THREADS; thread += THREADS / 10)
    {
      maker_thread (maker, thread + 1);
      maker_free (maker, maker_alloc (maker, site, 64));
    }
  maker_end (maker);
  profile = sli_profile_new (path, &plain);
  numbers = result_at (profile, 0x1000)->verdict.numbers;
  g_assert_cmpfloat (numbers[NUMBER_T], ==, THREADS);
  g_assert_cmpfloat (numbers[NUMBER_N1], ==, BLOCKS);
  g_assert_cmpfloat (numbers[NUMBER_RESETS], ==, THREADS + 10);
  g_assert_cmpfloat (numbers[NUMBER_L], ==, 1);
  g_assert_cmpfloat (numbers[NUMBER_SW], ==, 1);
  sli_profile_free (profile);
  g_remove (path);
  g_free (path);
}

/* One after the other: each counts once, however many lanes were given on. */
static void
test_threads_again (void)
{
  char *path = trace_path ("again");
  Maker *maker = maker_new (path, 1);
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);
  Profile *profile;
  const double *numbers;

  for (int round = 0; round < 5; round++)
    for (uint32_t thread = 0; thread < 80; thread++)
      {
        maker_thread (maker, thread + 1);
        maker_free (maker, maker_alloc (maker, site, 64));
      }
  maker_end (maker);
  profile = sli_profile_new (path, &plain);
  numbers = result_at (profile, 0x1000)->verdict.numbers;
  g_assert_cmpfloat (numbers[NUMBER_T], ==, 80);
  g_assert_cmpfloat (numbers[NUMBER_N1], ==, 1);
  sli_profile_free (profile);
  g_remove (path);
  g_free (path);
}

/* The peak of a site is what its callers asked for, as the program's is. */
static void
test_peak (void)
{
  char *path = trace_path ("peak");
  Maker *maker = maker_new (path, 1);
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);
  uint64_t first = maker_alloc (maker, site, 100);
  Profile *profile;
  const SiteResult *result;

  for (int i = 1; i < 1000; i++)
    maker_alloc (maker, site, 100);
  maker_free (maker, first);
  maker_alloc (maker, site, 10);
  maker_end (maker);
  profile = sli_profile_new (path, &plain);
  result = result_at (profile, 0x1000);
  g_assert_cmpuint (result->stats->peak_bytes, ==, 100000);
  g_assert_cmpuint (profile->totals.peak, ==, 100000);
  g_assert_cmpfloat (result->verdict.numbers[NUMBER_P], ==, 112000);
  sli_profile_free (profile);
  g_remove (path);
  g_free (path);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  known_traces_add ("/slice/trace/known", test_known);
  g_test_add_func ("/slice/trace/owner-named", test_owner_named);
  g_test_add_func ("/slice/trace/wrapper-split", test_wrapper_split);
  g_test_add_func ("/slice/trace/wrapper-whole", test_wrapper_whole);
  g_test_add_func ("/slice/trace/wrapper-found", test_wrapper_found);
  g_test_add_func ("/slice/trace/callers", test_callers);
  g_test_add_func ("/slice/trace/many-threads", test_many_threads);
  g_test_add_func ("/slice/trace/threads-again", test_threads_again);
  g_test_add_func ("/slice/trace/peak", test_peak);
  return g_test_run ();
}
