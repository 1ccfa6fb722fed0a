/* test-page.c - slice/page/page.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/options.h>

#include "tests/testlib.h"
#include "base/option.h"
#include "page/map/extent-cache.h"
#include "page/map/map.h"
#include "page/page.h"
#include "page/region.h"
#include "port/thread/lock.h"
#include "port/os/os.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>


#define GRANULE (sli_page_granule_bytes ())
/* What a run of four granules has. */
#define RUN_BYTES (4 * GRANULE)
/* The first extent. */
#define FIRST_BYTES MAX (KIB (256), 8 * GRANULE)
/* All others. */
#define EXTENT_BYTES (sizeof (void *) > 4 ? MIB (32) : MIB (4))

static TestPages pages;
/* What a test's own function calls. */
static void *(*map_of_pages) (const SliceSource *source, size_t bytes,
                              size_t alignment);

static PageCounts
counts_now (void)
{
  PageCounts counts;

  sli_page_count (&counts);
  return counts;
}

/* The page layer on a source that counts its calls. */
static void
begin (void)
{
  g_assert_cmpint (slice_set_source (&pages.source), ==, SLICE_SET_OK);
  sli_option_freeze ();
  sli_page_init ();
}

static void
begin_plain (void)
{
  test_pages_init (&pages);
  begin ();
}

static void
check_valid (void)
{
  const void *where;

  g_assert_cmpstr (sli_page_check (&where), ==, NULL);
}

static void
free_run (void *run, unsigned n_granules)
{
  sli_page_free_run (run, n_granules, sli_os_clock_msec ());
}

/* --- runs --- */

static void
test_one_run (void)
{
  void *record, *found = NULL;
  bool is_zero;
  char *run;

  begin_plain ();
  g_assert_cmpuint (GRANULE, ==, MAX (KIB (16), sli_os_page_bytes ()));
  run = sli_page_alloc_run (3, &record, &is_zero);
  g_assert_nonnull (run);
  g_assert_true (is_zero);
  g_assert_true (test_is_zero (run, 3 * GRANULE));
  g_assert_cmpuint ((uintptr_t) run % GRANULE, ==, 0);
  /* The first extent is small. */
  g_assert_cmpuint (pages.mapped_bytes, ==, FIRST_BYTES);
  for (size_t offset = 0; offset < 3 * GRANULE; offset += 1000)
    {
      g_assert_true (region_run_of (run + offset, &found) == run);
      g_assert_true (found == record);
      g_assert_true (sli_map_has (run + offset));
    }
  g_assert_true (sli_page_run_of_record (record) == run);
  g_assert_null (region_run_of (run + 3 * GRANULE, &found));
  g_assert_true (sli_map_has (run + 3 * GRANULE));
  free_run (run, 3);
  g_assert_null (region_run_of (run, &found));
  g_assert_true (sli_map_has (run));
}

static void
test_foreign (void)
{
  void *record, *elsewhere = g_malloc (10);
  bool is_zero;
  char *run;
  /* gcc would warn that no header lies beside these. */
  void *volatile local = &run, *volatile null = NULL;
  void *volatile last = (void *) UINTPTR_MAX;

  begin_plain ();
  run = sli_page_alloc_run (1, &record, &is_zero);
  g_assert_null (region_run_of (elsewhere, &record));
  g_assert_null (region_run_of (local, &record));
  g_assert_null (region_run_of (null, &record));
  g_assert_null (region_run_of (last, &record));
  g_assert_false (sli_map_has (elsewhere));
  g_assert_false (sli_map_has (NULL));
  /* The rest of the window of the short first extent. */
  g_assert_null (region_run_of (run + MIB (1), &record));
  g_assert_false (sli_map_has (run + MIB (1)));
  g_free (elsewhere);
}

typedef struct
{
  char *start;
  unsigned n_granules;
  void *record;
} Run;

static void
run_fill (const Run *run, unsigned key)
{
  size_t granule = sli_page_granule_bytes ();

  for (unsigned i = 0; i < run->n_granules; i++)
    {
      memset (run->start + i * granule, (int) key, 64);
      memset (run->start + (i + 1) * granule - 64, (int) key, 64);
    }
}

static void
run_check (const Run *run, unsigned key)
{
  size_t granule = sli_page_granule_bytes ();
  void *record = NULL;

  for (unsigned i = 0; i < run->n_granules; i++)
    {
      unsigned char *at = (unsigned char *) run->start + i * granule;

      g_assert_cmpuint (at[0], ==, key);
      g_assert_cmpuint (at[63], ==, key);
      g_assert_cmpuint (at[granule - 1], ==, key);
      g_assert_true (region_run_of (at + 99, &record) == run->start);
      g_assert_true (record == run->record);
    }
}

/* A run may get shorter, or longer where what is behind it is free. */
static void
run_resize (Run *run, unsigned n_wanted, unsigned key)
{
  if (!sli_page_resize_run (run->start, run->n_granules, n_wanted))
    {
      g_assert_cmpuint (n_wanted, >, run->n_granules);
      return;
    }
  run->n_granules = n_wanted;
  run_fill (run, key);
}

/* Runs of all lengths are allocated, resized and freed at random, and trimmed
 * now and then: none overlaps another, those that are said to be zero are, and
 * all invariants hold. */
static void
random_runs (unsigned n_turns)
{
  enum { N = 600 };
  static Run runs[N];
  TestRandom random;

  test_random_init (&random, 0);
  for (unsigned turn = 0; turn < n_turns; turn++)
    {
      unsigned which = test_random_below (&random, N);
      Run *run = &runs[which];

      if (run->start == NULL)
        {
          bool is_zero;

          run->n_granules = 1 + test_random_below (&random, 4);
          run->start
              = sli_page_alloc_run (run->n_granules, &run->record, &is_zero);
          g_assert_nonnull (run->start);
          if (is_zero)
            g_assert_true (
                test_is_zero (run->start,
                              run->n_granules * sli_page_granule_bytes ()));
          run_fill (run, which % 251 + 1);
        }
      else if (test_random_below (&random, 3) == 0)
        {
          run_check (run, which % 251 + 1);
          run_resize (run, 1 + test_random_below (&random, 6),
                      which % 251 + 1);
        }
      else
        {
          run_check (run, which % 251 + 1);
          free_run (run->start, run->n_granules);
          run->start = NULL;
        }
      if (test_random_below (&random, 100) == 0)
        sli_page_trim_granules (0, UINT_MAX);
      if (test_random_below (&random, 100) == 0)
        sli_page_trim (0, 1);
      if (turn % 16 == 0)
        check_valid ();
    }
  for (unsigned i = 0; i < N; i++)
    if (runs[i].start != NULL)
      {
        run_check (&runs[i], i % 251 + 1);
        free_run (runs[i].start, runs[i].n_granules);
        runs[i].start = NULL;
      }
}

static void
test_random_runs (void)
{
  PageCounts counts;

  begin_plain ();
  random_runs (test_times (60000, 5000));
  sli_page_trim (0, 10000);
  counts = counts_now ();
  g_assert_cmpuint (counts.n_idle, ==, counts.n_regions);
  g_assert_cmpuint (counts.held_bytes, ==,
                    counts.n_regions * counts.granule_bytes);
  g_assert_cmpuint (counts.mapped_bytes, ==, pages.mapped_bytes);
}

static void
test_random_runs_of_malloc (void)
{
  test_pages_init (&pages);
  pages.source = *slice_source_builtin (SLICE_PAGES_MALLOC);
  begin ();
  random_runs (test_times (20000, 2000));
}

static void
test_random_runs_without_advice (void)
{
  test_pages_init (&pages);
  pages.source.advise_away = NULL;
  pages.source.is_zeroed = false;
  begin ();
  random_runs (test_times (20000, 2000));
}

static void
churn_run (unsigned index, void *data G_GNUC_UNUSED)
{
  for (unsigned turn = 0; turn < test_times (3000, 300); turn++)
    {
      Run runs[6];
      bool is_zero;

      for (unsigned i = 0; i < G_N_ELEMENTS (runs); i++)
        {
          runs[i].n_granules = 1 + i % 4;
          runs[i].start = sli_page_alloc_run (runs[i].n_granules,
                                              &runs[i].record, &is_zero);
          run_fill (&runs[i], index * 10 + i + 1);
        }
      if (turn % 16 == index)
        sli_page_trim_granules (0, UINT_MAX);
      if (turn % 16 == index + 8)
        sli_page_trim (0, 1);
      for (unsigned i = 0; i < G_N_ELEMENTS (runs); i++)
        {
          run_check (&runs[i], index * 10 + i + 1);
          free_run (runs[i].start, runs[i].n_granules);
        }
    }
}

static void
test_threads (void)
{
  PageCounts counts;

  begin_plain ();
  test_gang (4, churn_run, NULL);
  sli_page_trim (0, 10000);
  counts = counts_now ();
  g_assert_cmpuint (counts.n_idle, ==, counts.n_regions);
}

static void
count_run (void *run, void *record, void *data)
{
  g_assert_true (sli_page_run_of_record (record) == run);
  ++*(unsigned *) data;
}

static void
test_each_run (void)
{
  unsigned n = 0;
  void *record;
  bool is_zero;

  begin_plain ();
  for (int i = 0; i < 500; i++)
    sli_page_alloc_run (1 + i % 4, &record, &is_zero);
  sli_page_each_run (count_run, &n);
  g_assert_cmpuint (n, ==, 500);
}

static void
add_bytes (char *start, size_t bytes, void *data)
{
  g_assert_cmpuint ((uintptr_t) start % sli_page_granule_bytes (), ==, 0);
  *(size_t *) data += bytes;
}

static size_t
free_bytes (void)
{
  size_t bytes = 0;

  sli_page_each_free (add_bytes, &bytes);
  return bytes;
}

/* Visits what is free and was not purged. */
static void
test_each_free (void)
{
  size_t before;
  void *record, *run;
  bool is_zero;

  begin_plain ();
  before = free_bytes ();
  sli_page_alloc_run (1, &record, &is_zero);
  run = sli_page_alloc_run (3, &record, &is_zero);
  g_assert_cmpuint (free_bytes (), ==, before);
  sli_page_free_run (run, 3, 0);
  g_assert_cmpuint (free_bytes (), ==,
                    before + 3 * sli_page_granule_bytes ());
  sli_page_trim_granules (0, 1000);
  g_assert_cmpuint (free_bytes (), ==, before);
}

static struct
{
  char *start;
  size_t bytes;
} taken;

static void
note_taken (char *start, size_t bytes)
{
  taken.start = start;
  taken.bytes = bytes;
}

/* Each run is seen when it is allocated, and what it grows by. */
static void
test_watch_taken (void)
{
  size_t granule_bytes;
  void *record;
  bool is_zero;
  char *run;

  begin_plain ();
  granule_bytes = sli_page_granule_bytes ();
  sli_page_watch_taken (note_taken);
  run = sli_page_alloc_run (2, &record, &is_zero);
  g_assert_true (taken.start == run && taken.bytes == 2 * granule_bytes);
  g_assert_true (sli_page_resize_run (run, 2, 5));
  g_assert_true (taken.start == run + 2 * granule_bytes
                 && taken.bytes == 3 * granule_bytes);
  taken.start = NULL;
  g_assert_true (sli_page_resize_run (run, 5, 1));
  g_assert_null (taken.start);
}

/* --- trimming --- */

enum { MANY = 2000 };
static void *many[MANY];

static void
take_many (void)
{
  void *record;
  bool is_zero;

  for (int i = 0; i < MANY; i++)
    {
      many[i] = sli_page_alloc_run (4, &record, &is_zero);
      g_assert_nonnull (many[i]);
      memset (many[i], 1, RUN_BYTES);
    }
}

static void
give_many (void)
{
  for (int i = 0; i < MANY; i++)
    free_run (many[i], 4);
}

/* All 125 MiB are returned; only the permanent extents stay mapped. */
static void
test_trim_returns_all (void)
{
  PageCounts counts;
  size_t bytes;

  begin_plain ();
  take_many ();
  g_assert_cmpuint (counts_now ().held_bytes, >=, MANY * RUN_BYTES);
  g_assert_cmpuint (sli_page_trim (0, 10000), ==, 0);
  give_many ();
  bytes = sli_page_trim (0, 10000);
  g_assert_cmpuint (bytes, >=, MANY * RUN_BYTES);
  counts = counts_now ();
  g_assert_cmpuint (counts.returned_bytes, ==, bytes);
  g_assert_cmpuint (counts.mapped_bytes, ==, pages.mapped_bytes);
  g_assert_cmpuint (pages.mapped_bytes, <=, 2 * MIB (32) + FIRST_BYTES);
  g_assert_cmpuint (counts.held_bytes, ==,
                    counts.n_regions * counts.granule_bytes);
  /* All can be allocated again. */
  take_many ();
  give_many ();
}

/* No more than the number asked for. */
static void
test_trim_is_bounded (void)
{
  begin_plain ();
  take_many ();
  give_many ();
  for (unsigned n = 1; n < 4; n++)
    {
      int before = pages.n_advised;

      g_assert_cmpuint (sli_page_trim (0, n), <=,
                        n * MIB (2) + 16 * sli_page_granule_bytes ());
      g_assert_cmpint (pages.n_advised - before, ==, (int) n);
    }
  g_assert_cmpuint (sli_page_trim (0, 0), ==, 0);
}

static void
test_trim_by_age (void)
{
  size_t n_regions;

  begin_plain ();
  sli_os_pretend_clock_msec (1000);
  take_many ();
  n_regions = counts_now ().n_regions;
  give_many ();
  sli_os_pretend_clock_msec (15999);
  g_assert_cmpuint (sli_page_trim (15000, 10000), ==, 0);
  g_assert_cmpuint (counts_now ().n_regions, ==, n_regions);
  sli_os_pretend_clock_msec (16000);
  g_assert_cmpuint (sli_page_trim (15000, 10000), >=, MANY * RUN_BYTES);
}

/* Free granules between used ones are purged too, and read as zero again. */
static void
test_trim_units (void)
{
  const void *where;
  void *record;
  bool is_zero;
  size_t held;

  begin_plain ();
  take_many ();
  for (int i = 0; i < MANY; i += 2)
    free_run (many[i], 4);
  held = counts_now ().held_bytes;
  g_assert_cmpuint (sli_page_trim (0, 10000), <=, 4 * RUN_BYTES);
  g_assert_cmpuint (sli_page_trim_granules (0, UINT_MAX), >=,
                    (MANY / 2 - 4) * RUN_BYTES);
  g_assert_cmpuint (counts_now ().held_bytes, <=,
                    held - (MANY / 2 - 4) * RUN_BYTES);
  g_assert_cmpuint (sli_page_trim_granules (0, UINT_MAX), ==, 0);
  g_assert_cmpstr (sli_page_check (&where), ==, NULL);
  for (int i = 1; i < MANY; i += 2)
    g_assert_cmpint (*(char *) many[i], ==, 1);
  for (int i = 0; i < MANY; i += 2)
    {
      many[i] = sli_page_alloc_run (4, &record, &is_zero);
      if (is_zero)
        g_assert_true (test_is_zero (many[i], RUN_BYTES));
    }
}

/* Each granule has its own age, whatever else of its region is in use or was
 * until a moment ago. */
static void
test_trim_units_by_age (void)
{
  void *record, *busy, *quiet, *rest;
  bool is_zero;

  begin_plain ();
  sli_os_pretend_clock_msec (1000);
  busy = sli_page_alloc_run (1, &record, &is_zero);
  rest = sli_page_alloc_run (1, &record, &is_zero);
  quiet = sli_page_alloc_run (2, &record, &is_zero);
  free_run (quiet, 2);
  for (uint64_t msec = 2000; msec < 16000; msec += 1000)
    {
      sli_os_pretend_clock_msec (msec);
      free_run (busy, 1);
      g_assert_cmpuint (sli_page_trim_granules (15000, UINT_MAX), ==, 0);
      g_assert_true (sli_page_alloc_run (1, &record, &is_zero) == busy);
    }
  sli_os_pretend_clock_msec (16000);
  g_assert_cmpuint (sli_page_trim_granules (15000, UINT_MAX), ==,
                    2 * sli_page_granule_bytes ());
  g_assert_cmpuint (sli_page_trim_granules (15000, UINT_MAX), ==, 0);

  /* The same in a region without runs. */
  free_run (rest, 1);
  sli_os_pretend_clock_msec (30000);
  free_run (busy, 1);
  sli_os_pretend_clock_msec (31000);
  g_assert_cmpuint (sli_page_trim (15000, UINT_MAX), ==, 0);
  g_assert_cmpuint (sli_page_trim_granules (15000, UINT_MAX), ==,
                    sli_page_granule_bytes ());
  g_assert_cmpuint (counts_now ().n_idle, ==, counts_now ().n_regions);
  sli_os_pretend_clock_msec (45000);
  g_assert_cmpuint (sli_page_trim (15000, UINT_MAX), ==,
                    sli_page_granule_bytes ());
}

/* The age of a region counts from when it was last needed, not from when it
 * became idle. */
static void
test_idle_by_age (void)
{
  void *record, *first[3], *second[31];
  bool is_zero, is_kept;
  unsigned n_first, n_second;

  begin_plain ();
  /* Both regions are full. */
  n_first = (unsigned) (FIRST_BYTES / GRANULE - 1) / 5;
  n_second = (unsigned) (REGION_BYTES / GRANULE - 1) / 4;
  g_assert_cmpuint (n_second, <=, G_N_ELEMENTS (second));
  sli_os_pretend_clock_msec (1000);
  for (unsigned i = 0; i < n_first; i++)
    first[i] = sli_page_alloc_run (5, &record, &is_zero);
  for (unsigned i = 0; i < n_second; i++)
    second[i] = sli_page_alloc_run (4, &record, &is_zero);
  g_assert_cmpuint (counts_now ().n_regions, ==, 2);
  for (unsigned i = 0; i < n_first; i++)
    sli_page_free_run (first[i], 5, 5000);
  for (unsigned i = 0; i < n_second; i++)
    sli_page_free_run (second[i], 4, 2000);
  sli_os_pretend_clock_msec (17000);
  /* The extent goes with the region: its header, too, is given back.  (Unless
   * the system has put the extent where it needs a leaf of the map.) */
  is_kept = region_of (second[0])->extent->is_permanent;
  g_assert_cmpuint (sli_page_trim (15000, UINT_MAX), ==,
                    (n_second * 4 + !is_kept) * GRANULE);
}

/* Returns true if an address is in a mapping with that flag (man 5 proc,
 * VmFlags). */
static bool
mapping_has_flag (const void *address, const char *flag)
{
  unsigned long start, end;
  bool is_in = false, has = false;
  char line[512];
  FILE *file = fopen ("/proc/self/smaps", "r");

  while (file != NULL && fgets (line, sizeof line, file) != NULL)
    if (sscanf (line, "%lx-%lx ", &start, &end) == 2)
      is_in = (uintptr_t) address >= start && (uintptr_t) address < end;
    else if (is_in && g_str_has_prefix (line, "VmFlags:"))
      has = strstr (line, flag) != NULL;
  if (file != NULL)
    fclose (file);
  return has;
}

/* Whether this machine has huge pages.  An emulator does without the advice. */
static bool
huge_pages_can_be_seen (void)
{
  enum { BYTES = 4 << 20 };
  char *mapping = mmap (NULL, BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bool can;

  g_assert_true (mapping != MAP_FAILED);
  can = madvise (mapping, BYTES, MADV_HUGEPAGE) == 0
        && mapping_has_flag (mapping, " hg");
  munmap (mapping, BYTES);
  return can;
}

/* A purged region is advised to have small pages: the system would fill a huge
 * one with memory again.  When it is used again, it gets huge pages. */
static void
test_trim_ends_huge_pages (void)
{
  enum { N = 5000 };
  static void *runs[N];
  void *record;
  bool is_zero;

  begin_plain ();
  for (int i = 0; i < N; i++)
    runs[i] = sli_page_alloc_run (4, &record, &is_zero);
  if (!mapping_has_flag (runs[N - 1], " hg"))
    {
      g_test_skip ("no huge pages for a large heap here");
      return;
    }
  for (int i = 0; i < N; i++)
    if (i % 62 != 0 || i > 4900)
      free_run (runs[i], 4);
  sli_page_trim_granules (0, UINT_MAX);
  g_assert_true (mapping_has_flag (runs[4000], " nh"));
  for (int i = 0; i <= 4900; i += 62)
    free_run (runs[i], 4);
  sli_page_trim (0, UINT_MAX);
  for (int i = 0; i < N; i++)
    runs[i] = sli_page_alloc_run (4, &record, &is_zero);
  g_assert_true (mapping_has_flag (runs[N - 1], " hg"));
  g_assert_false (mapping_has_flag (runs[N - 1], " nh"));
}

static bool
same_leaf (const void *a, const void *b)
{
  return ((uintptr_t) a ^ (uintptr_t) b) >> MAP_LEAF_BITS == 0;
}

/* The cache has the first two extents until they are unmapped.  Where
 * extents are small (32 bits), or runs are large, the last run is in a third,
 * which is not cached. */
static void
test_extent_cache (void)
{
  enum { N = 200 };
  void *record, *runs[N];
  bool is_zero;
  int n, n_known = 0;
  char *end;

  begin_plain ();
  g_assert_false (extent_cache_has (runs));
  for (n = 0; n < N && n_known == n; n++)
    {
      runs[n] = sli_page_alloc_run (4, &record, &is_zero);
      n_known += pages.n_maps <= CACHED_EXTENTS;
      g_assert_true (extent_cache_has (runs[n]) == (n_known == n + 1));
      g_assert_true (extent_cache_has ((char *) runs[n] + RUN_BYTES - 1)
                     == (n_known == n + 1));
    }
  g_assert_true (EXTENT_BYTES / RUN_BYTES > N ? n_known == N : n_known > 32);
  g_assert_false (extent_cache_has (NULL));
  g_assert_false (extent_cache_has (runs));
  /* A header of 32 bytes may begin at its last address, and no further. */
  end = (char *) region_of (runs[0]) + FIRST_BYTES;
  g_assert_true (extent_cache_has (end - CACHED_EXTENT_END_BYTES - 1));
  g_assert_false (extent_cache_has (end - CACHED_EXTENT_END_BYTES));
  for (int i = 0; i < n; i++)
    free_run (runs[i], 4);
  sli_page_trim (0, UINT_MAX);
  g_assert_true (extent_cache_has (runs[0]));
  /* If the second extent is in another leaf of the map, it has that leaf and
   * is permanent. */
  if (same_leaf (runs[0], runs[n_known - 1]))
    {
      g_assert_cmpuint (pages.mapped_bytes, ==, FIRST_BYTES);
      g_assert_false (extent_cache_has (runs[n_known - 1]));
    }
}

/* A source whose addresses have a leaf of the map already, as have those near
 * a large node of a context. */
static void *
map_noted (const SliceSource *source, size_t bytes, size_t alignment)
{
  void *start = map_of_pages (source, bytes, alignment);

  g_assert_true (sli_map_note (start, NOTE_NODE));
  sli_map_forget (start);
  return start;
}

/* The first extent stays, even where it has no leaf: else a program of a few
 * blocks would map and unmap it over and over. */
static void
test_first_extent_stays (void)
{
  void *record;
  bool is_zero;

  test_pages_init (&pages);
  map_of_pages = pages.source.map;
  pages.source.map = map_noted;
  begin ();
  for (int i = 0; i < 3; i++)
    {
      free_run (sli_page_alloc_run (4, &record, &is_zero), 4);
      sli_page_trim (0, UINT_MAX);
    }
  g_assert_cmpint (pages.n_maps, ==, 1);
  g_assert_cmpint (pages.n_unmaps, ==, 0);
}

static bool
huge_from_the_start (void)
{
  enum { N = 64 };
  void *record, *first, *run = NULL;
  bool is_zero;

  first = sli_page_alloc_run (4, &record, &is_zero);
  for (int i = 0; i < N; i++)
    run = sli_page_alloc_run (4, &record, &is_zero);
  g_assert_false (mapping_has_flag (first, " hg"));
  return mapping_has_flag (run, " hg");
}

/* Where the option says so, the second extent already is of huge pages. */
static void
test_huge_early (void)
{
  g_assert_cmpint (slice_set_option (SLICE_OPTION_HUGE_PAGES, 2), ==,
                   SLICE_SET_OK);
  begin_plain ();
  if (huge_pages_can_be_seen ())
    g_assert_true (huge_from_the_start ());
  else
    g_test_skip ("no huge pages here");
}

/* Regions that were purged and are used again, over and over: their count is
 * right each time (P6).  Whether the system has huge pages does not matter. */
static void
test_small_pages_count (void)
{
  const void *where;

  g_assert_cmpint (slice_set_option (SLICE_OPTION_HUGE_PAGES, 2), ==,
                   SLICE_SET_OK);
  begin_plain ();
  for (int i = 0; i < 3; i++)
    {
      take_many ();
      g_assert_cmpstr (sli_page_check (&where), ==, NULL);
      for (int j = 0; j < MANY; j++)
        if (j % 40 != 0)
          free_run (many[j], 4);
      sli_page_trim_granules (0, UINT_MAX);
      g_assert_cmpstr (sli_page_check (&where), ==, NULL);
      for (int j = 0; j < MANY; j += 40)
        free_run (many[j], 4);
      sli_page_trim (0, 20);
      g_assert_cmpstr (sli_page_check (&where), ==, NULL);
    }
}

/* A purged region that is used again gets huge pages at its first run; one of
 * which some granules alone were purged keeps its small ones. */
static void
test_small_pages_end (void)
{
  void *run, *record;
  bool is_zero;

  g_assert_cmpint (slice_set_option (SLICE_OPTION_HUGE_PAGES, 2), ==,
                   SLICE_SET_OK);
  begin_plain ();
  take_many ();
  for (int i = 0; i < MANY - 1; i++)
    free_run (many[i], 4);
  sli_page_trim_granules (0, UINT_MAX);
  g_assert_true (region_of (many[MANY - 1])->has_small_pages);
  run = sli_page_alloc_run (4, &record, &is_zero);
  g_assert_true (region_of (run) == region_of (many[MANY - 1]));
  g_assert_true (region_of (run)->has_small_pages);
  free_run (run, 4);
  free_run (many[MANY - 1], 4);
  sli_page_trim (0, UINT_MAX);
  for (int i = 0; i < MANY; i++)
    {
      run = sli_page_alloc_run (4, &record, &is_zero);
      g_assert_false (region_of (run)->has_small_pages);
    }
}

static void
test_huge_late (void)
{
  begin_plain ();
  g_assert_false (huge_from_the_start ());
}

/* Only so many idle regions keep their memory for a working set; purged ones
 * do not count. */
static void
test_idle_share (void)
{
  enum
  {
    REGIONS = 160,
    RUNS_A_REGION = 31,
    RUNS_AN_EXTENT = EXTENT_BYTES / MIB (2) * RUNS_A_REGION
  };
  static void *runs[REGIONS * RUNS_A_REGION];
  unsigned n = G_N_ELEMENTS (runs), n_too_much = 0;
  void *record, *run;
  size_t n_idle;
  bool is_zero;

  begin_plain ();
  for (unsigned i = 0; i < n; i++)
    runs[i] = sli_page_alloc_run (4, &record, &is_zero);
  /* One run of each extent stays, so that the extents do. */
  for (unsigned i = 0; i < n; i++)
    if (i % RUNS_AN_EXTENT != RUNS_A_REGION)
      n_too_much += sli_page_free_run (runs[i], 4, sli_os_clock_msec ());
  g_assert_cmpuint (n_too_much, >, 0);
  sli_page_trim (0, 10000);
  n_idle = counts_now ().n_idle;
  g_assert_cmpuint (n_idle, >, 64);
  /* The first run that comes from one of them makes it idle again. */
  do
    run = sli_page_alloc_run (4, &record, &is_zero);
  while (counts_now ().n_idle == n_idle);
  g_assert_false (sli_page_free_run (run, 4, sli_os_clock_msec ()));
  g_assert_cmpuint (counts_now ().n_idle, ==, n_idle);
}

/* Half-used regions are filled before new ones are initialised. */
static void
test_fullest_first (void)
{
  size_t n_regions;
  void *record;
  bool is_zero;

  begin_plain ();
  take_many ();
  n_regions = counts_now ().n_regions;
  for (int i = 0; i < MANY; i += 3)
    free_run (many[i], 4);
  for (int i = 0; i < MANY; i += 3)
    many[i] = sli_page_alloc_run (4, &record, &is_zero);
  g_assert_cmpuint (counts_now ().n_regions, ==, n_regions);
}

/* Frees every second granule of a region that is full of runs of one; or as
 * many, two of them neighbours. */
static void
fragment (Region *region, bool with_pair)
{
  unsigned first = region->n_header, n = region->n_granules - first;

  for (unsigned i = with_pair ? 3 : 0; i + 1 < n; i += 2)
    free_run (region_granule (region, first + i), 1);
  if (with_pair)
    for (unsigned i = 0; i < 2; i++)
      free_run (region_granule (region, first + i), 1);
}

/* A search looks into so many regions that are equally full, and then
 * elsewhere, though the last would have a place. */
static void
test_fit_probes (void)
{
  enum { N_PROBES = 8, N_REGIONS = N_PROBES + 4 };
  Region *regions[N_REGIONS] = { NULL };
  void *record, *run;
  bool is_zero;

  for (unsigned n_between = N_PROBES - 1; n_between <= N_PROBES; n_between++)
    {
      unsigned n = 0;

      if (n_between == N_PROBES - 1)
        begin_plain ();
      /* Fills the regions before the one that has come last. */
      while (n < N_REGIONS)
        {
          run = sli_page_alloc_run (1, &record, &is_zero);
          if (n == 0 || regions[n - 1] != region_of (run))
            regions[n++] = region_of (run);
        }
      for (unsigned i = 1; i <= n_between + 1; i++)
        fragment (regions[i], i == 1);
      run = sli_page_alloc_run (2, &record, &is_zero);
      g_assert_true ((region_of (run) == regions[1])
                     == (n_between < N_PROBES));
    }
}

/* --- sources --- */

static void
test_source_fails (void)
{
  void *record;
  bool is_zero;
  int n = 0;

  test_pages_init (&pages);
  pages.n_until_failure = 2;
  begin ();
  while (sli_page_alloc_run (1, &record, &is_zero) != NULL)
    n++;
  g_assert_cmpuint (n * GRANULE, >, EXTENT_BYTES * 31 / 32);
  g_assert_cmpint (pages.n_maps, ==, 2);
  g_assert_cmpint (pages.n_failed, >=, 1);
  /* It is asked for less and less, down to 256 KiB, and again the next
   * time. */
  g_assert_cmpuint (pages.n_failed, ==,
                    g_bit_storage (EXTENT_BYTES / KIB (256)));
  pages.n_until_failure = -1;
  g_assert_nonnull (sli_page_alloc_run (1, &record, &is_zero));
}

static void
test_source_fails_at_once (void)
{
  void *record;
  bool is_zero;

  test_pages_init (&pages);
  pages.n_until_failure = 0;
  begin ();
  for (int i = 0; i < 3; i++)
    g_assert_null (sli_page_alloc_run (1, &record, &is_zero));
  g_assert_cmpuint (counts_now ().n_maps, ==, 0);
  pages.n_until_failure = 1;
  g_assert_nonnull (sli_page_alloc_run (1, &record, &is_zero));
}

/* A caller that can do without does not ask a source that has just failed, for
 * a while or until there is memory; others always do. */
static void
test_optional_runs (void)
{
  const int n_sizes = (int) g_bit_storage (EXTENT_BYTES / KIB (256));
  void *record, *run, *last = NULL;
  uint64_t now_msec = 1000;
  bool is_zero;
  int n_failed;

  test_pages_init (&pages);
  pages.n_until_failure = 1;
  begin ();
  sli_os_pretend_clock_msec (now_msec);
  while ((run = sli_page_alloc_run (1, &record, &is_zero)) != NULL)
    last = run;
  n_failed = pages.n_failed;
  g_assert_cmpint (n_failed, ==, n_sizes);
  for (int i = 0; i < 100; i++)
    g_assert_null (sli_page_alloc_optional_run (1, &record, &is_zero));
  g_assert_cmpint (pages.n_failed, ==, n_failed);
  /* If there is no memory for the least size, there is none for others. */
  g_assert_null (sli_page_alloc_run (1, &record, &is_zero));
  g_assert_cmpint (pages.n_failed, ==, n_failed + 1);
  n_failed = pages.n_failed;
  for (int turn = 0; turn < 12; turn++)
    {
      sli_os_pretend_clock_msec (now_msec += 256);
      for (int i = 0; i < 100; i++)
        g_assert_null (sli_page_alloc_optional_run (1, &record, &is_zero));
      g_assert_cmpint (pages.n_failed, ==, n_failed + turn + 1);
    }
  /* A free run is used at once. */
  sli_page_free_run (last, 1, now_msec);
  g_assert_true (sli_page_alloc_optional_run (1, &record, &is_zero) == last);
  pages.n_until_failure = -1;
  sli_os_pretend_clock_msec (now_msec + 256);
  g_assert_nonnull (sli_page_alloc_optional_run (1, &record, &is_zero));
}

/* Where the system reserves all that is mapped, each extent is a region or a
 * quarter of what there is. */
static void
test_reserved_extents (void)
{
  PageCounts before = { 0 };
  void *record;
  bool is_zero;

  test_options ("page-source=mmap");
  sli_option_freeze ();
  sli_page_init ();
  sli_os_pretend_reserves_mapped (true);
  for (unsigned n_runs = 0; n_runs < 4000; n_runs++)
    {
      PageCounts counts;

      g_assert_nonnull (sli_page_alloc_run (1, &record, &is_zero));
      counts = counts_now ();
      if (before.n_maps > 0)
        g_assert_cmpuint (counts.mapped_bytes - before.mapped_bytes, <=,
                          MAX (MIB (2), before.mapped_bytes / 4));
      before = counts;
    }
  g_assert_cmpuint (before.n_maps, >, 4);
  sli_os_pretend_reserves_mapped (false);
  while (counts_now ().n_maps == before.n_maps)
    g_assert_nonnull (sli_page_alloc_run (1, &record, &is_zero));
  g_assert_cmpuint (counts_now ().mapped_bytes, ==,
                    before.mapped_bytes + EXTENT_BYTES);
}

/* Takes runs until the source is asked, which `asked' counts; returns the last
 * result. */
static void *
take_until (const int *asked, GArray *runs)
{
  int n = *asked;
  void *record, *run;
  bool is_zero;

  do
    {
      run = sli_page_alloc_optional_run (1, &record, &is_zero);
      if (run != NULL)
        g_array_append_val (runs, run);
    }
  while (run != NULL && *asked == n);
  return run;
}

/* A caller that can do without asks again as soon as there was an extent, or
 * one was unmapped, whatever the clock says. */
static void
test_optional_again (void)
{
  GArray *runs = g_array_new (FALSE, FALSE, sizeof (void *));
  void *record, *run;
  bool is_zero;
  int n_failed;

  test_pages_init (&pages);
  begin ();
  sli_os_pretend_clock_msec (1000);
  pages.n_until_failure = 2;
  while ((run = sli_page_alloc_run (1, &record, &is_zero)) != NULL)
    g_array_append_val (runs, run);
  g_assert_null (sli_page_alloc_optional_run (1, &record, &is_zero));
  pages.n_until_failure = -1;
  g_assert_null (sli_page_alloc_optional_run (1, &record, &is_zero));
  run = sli_page_alloc_run (1, &record, &is_zero);
  g_array_append_val (runs, run);
  g_assert_nonnull (take_until (&pages.n_maps, runs));

  pages.n_until_failure = 0;
  while ((run = sli_page_alloc_run (1, &record, &is_zero)) != NULL)
    g_array_append_val (runs, run);
  n_failed = pages.n_failed;
  g_assert_null (sli_page_alloc_optional_run (1, &record, &is_zero));
  g_assert_cmpint (pages.n_failed, ==, n_failed);
  for (guint i = 0; i < runs->len; i++)
    sli_page_free_run (g_array_index (runs, void *, i), 1, 1000);
  g_array_set_size (runs, 0);
  g_assert_cmpuint (sli_page_trim (0, UINT_MAX), >, 0);
  g_assert_null (take_until (&pages.n_failed, runs));
  g_assert_cmpint (pages.n_failed, >, n_failed);
  g_array_free (runs, TRUE);
}

static size_t largest_piece;
static void *(*pages_map) (const SliceSource *, size_t, size_t);

static void *
map_small_only (const SliceSource *source, size_t bytes, size_t alignment)
{
  return bytes > largest_piece ? NULL : pages_map (source, bytes, alignment);
}

static void
use_small_pieces (void)
{
  test_pages_init (&pages);
  pages_map = pages.source.map;
  pages.source.map = map_small_only;
  begin ();
  random_runs (test_times (4000, 400));
  g_assert_cmpint (pages.n_maps, >, 1);
}

/* Runs a function in a process of its own. */
static void
run_apart (TestBody body)
{
  char *said = test_said_by (body);

  g_assert_cmpstr (said, ==, "");
  g_free (said);
}

/* No extent is mapped that can't hold the run. */
static void
use_large_run (void)
{
  enum { N_GRANULES = 32 };
  void *record;
  bool is_zero;

  test_pages_init (&pages);
  pages_map = pages.source.map;
  pages.source.map = map_small_only;
  begin ();
  largest_piece = N_GRANULES * sli_page_granule_bytes ();
  g_assert_null (sli_page_alloc_run (N_GRANULES, &record, &is_zero));
  g_assert_cmpint (pages.n_maps, ==, 0);
  largest_piece *= 2;
  g_assert_nonnull (sli_page_alloc_run (N_GRANULES, &record, &is_zero));
  g_assert_cmpint (pages.n_maps, ==, 1);
}

static void
test_source_of_pieces_too_small (void)
{
  run_apart (use_large_run);
}

/* Extents become smaller by half until the source has the memory. */
static void
test_source_of_small_pieces (void)
{
  static const size_t largest[]
      = { KIB (256), MIB (1), MIB (2), MIB (3), MIB (16) };

  for (size_t i = 0; i < G_N_ELEMENTS (largest); i++)
    {
      /* A piece has space for a header and the largest run. */
      largest_piece = MAX (largest[i], 16 * sli_os_page_bytes ());
      run_apart (use_small_pieces);
    }
}

static void *
map_askew (const SliceSource *source, size_t bytes, size_t alignment)
{
  char *start = pages_map (source, bytes + sli_os_page_bytes (), alignment);

  return start + sli_os_page_bytes ();
}

static void
unmap_askew (const SliceSource *source, void *address, size_t bytes)
{
  g_assert_cmpuint ((uintptr_t) address % MIB (2), ==, sli_os_page_bytes ());
  pages.n_unmaps++;
  pages.mapped_bytes -= bytes + sli_os_page_bytes ();
  munmap ((char *) address - sli_os_page_bytes (),
          bytes + sli_os_page_bytes ());
  (void) source;
}

static void
use_askew_source (void)
{
  void *record;
  bool is_zero;

  test_pages_init (&pages);
  pages_map = pages.source.map;
  pages.source.map = map_askew;
  pages.source.unmap = unmap_askew;
  begin ();
  g_assert_null (sli_page_alloc_run (1, &record, &is_zero));
  g_assert_cmpint (pages.n_unmaps, ==, 1);
  g_assert_cmpuint (pages.mapped_bytes, ==, 0);
}

/* Where nothing is mapped, in user space, above it, and where its end would be
 * beyond the last address. */
static uintptr_t lie;

static void *
map_nowhere (const SliceSource *source G_GNUC_UNUSED,
             size_t bytes G_GNUC_UNUSED, size_t alignment G_GNUC_UNUSED)
{
  return (void *) lie;
}

static void
unmap_nowhere (const SliceSource *source G_GNUC_UNUSED, void *address,
               size_t bytes G_GNUC_UNUSED)
{
  g_assert_true (address == (void *) lie);
  pages.n_unmaps++;
}

/* The second request is refused as the first is, and says nothing more. */
static void
use_lying_source (void)
{
  void *record;
  bool is_zero;

  test_pages_init (&pages);
  pages.source.map = map_nowhere;
  pages.source.unmap = unmap_nowhere;
  begin ();
  g_assert_null (sli_page_alloc_run (1, &record, &is_zero));
  g_assert_cmpint (pages.n_unmaps, ==, 1);
  g_assert_null (sli_page_alloc_run (1, &record, &is_zero));
  g_assert_cmpint (pages.n_unmaps, ==, 2);
}

static void
test_source_lies (void)
{
  static const uint64_t lies[]
      = { 0x200000, 0x800000000000, 0x1000000000000, 0x100000000000000,
          0x8000000000000000, 0xffff800000000000, 0xffffffffffe00000 };

  for (size_t i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      char *said;

      lie = (uintptr_t) lies[i];
      if (lie != lies[i] || lie == 0)
        continue; /* 32 bits */
      said = test_said_by (use_lying_source);
      g_assert_true (
          g_pattern_match_simple ("slice: warning 132: page source test: "
                                  "memory at 0x* can't be used\n",
                                  said));
      g_free (said);
    }
}

/* Memory at a wrong alignment is reported and unmapped. */
static void
test_source_breaks_alignment (void)
{
  char *said = test_said_by (use_askew_source);

  g_assert_true (
      g_pattern_match_simple ("slice: warning 132: page source test: "
                              "memory at 0x*000 can't be used\n",
                              said));
  g_free (said);
}

/* Where the source returns memory the next time, from the start of the first
 * extent on. */
static char *first_start;
static size_t again_offset;

static void *
map_again (const SliceSource *source, size_t bytes G_GNUC_UNUSED,
           size_t alignment)
{
  if (first_start == NULL)
    {
      first_start = pages_map (source, 3 * EXTENT_BYTES, alignment);
      return first_start + MIB (2);
    }
  return first_start + again_offset;
}

static void
unmap_in_use (const SliceSource *source G_GNUC_UNUSED,
              void *address G_GNUC_UNUSED, size_t bytes G_GNUC_UNUSED)
{
  pages.n_unmaps++;
}

/* Fills the first extent, which is small, and asks for more. */
static void
use_repeating_source (void)
{
  char *runs[64];
  size_t n = 0;
  void *record;
  bool is_zero;

  test_pages_init (&pages);
  pages_map = pages.source.map;
  pages.source.map = map_again;
  pages.source.unmap = unmap_in_use;
  begin ();
  while (n < G_N_ELEMENTS (runs)
         && (runs[n] = sli_page_alloc_run (1, &record, &is_zero)) != NULL)
    {
      memset (runs[n], (int) n + 1, sli_page_granule_bytes ());
      n++;
    }
  g_assert_cmpuint (n, >, 0);
  g_assert_cmpuint (n, <, G_N_ELEMENTS (runs));
  g_assert_null (sli_page_alloc_run (1, &record, &is_zero));
  g_assert_cmpint (pages.n_unmaps, ==, 0);
  g_assert_cmpint (pages.n_advised, ==, 0);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < sli_page_granule_bytes (); j += 512)
      g_assert_cmpint (runs[i][j], ==, (int) i + 1);
  again_offset = 2 * EXTENT_BYTES; /* memory of its own */
  g_assert_nonnull (sli_page_alloc_run (1, &record, &is_zero));
}

/* Memory that is in use already is reported once, and left alone: its start,
 * what ends in it, and what is around it. */
static void
test_source_repeats (void)
{
  /* The last one is not aligned, either. */
  static const size_t offsets[] = { MIB (2), 0, MIB (2) + 4096 };

  for (size_t i = 0; i < G_N_ELEMENTS (offsets); i++)
    {
      char *said;

      again_offset = offsets[i];
      said = test_said_by (use_repeating_source);
      g_assert_true (
          g_pattern_match_simple ("slice: warning 132: page source test: "
                                  "memory at 0x* is in use already\n",
                                  said));
      g_free (said);
    }
}

static bool
refuse_advice (const SliceSource *source G_GNUC_UNUSED,
               void *address G_GNUC_UNUSED, size_t bytes G_GNUC_UNUSED)
{
  pages.n_advised++;
  return false;
}

/* Advice that fails is tried once a trim, and nothing counts as zero. */
static void
test_source_refuses_advice (void)
{
  PageCounts counts;

  test_pages_init (&pages);
  pages.source.advise_away = refuse_advice;
  begin ();
  take_many ();
  give_many ();
  pages.n_advised = 0;
  g_assert_cmpuint (sli_page_trim (0, 10000), ==, 0);
  g_assert_cmpint (pages.n_advised, ==, 1);
  counts = counts_now ();
  g_assert_cmpuint (counts.returned_bytes, ==, 0);
  g_assert_cmpuint (counts.n_idle, ==, counts.n_regions);
  random_runs (2000);
}

/* A fixed buffer: no unmap. */
static void
test_source_never_unmaps (void)
{
  test_pages_init (&pages);
  pages.source.unmap = NULL;
  begin ();
  take_many ();
  give_many ();
  g_assert_cmpuint (sli_page_trim (0, 10000), >=, MANY * RUN_BYTES);
  g_assert_cmpuint (counts_now ().mapped_bytes, ==, pages.mapped_bytes);
  take_many ();
  g_assert_cmpuint (counts_now ().mapped_bytes, ==, pages.mapped_bytes);
}

/* Granules of the first extent, for runs: 15 at most. */
enum { FIRST_UNITS_MOST = 15 };
#define FIRST_UNITS ((unsigned) (FIRST_BYTES / GRANULE - 1))
#define HALF_UNITS (FIRST_UNITS / 2)

/* Without unmap, an extent that another thread has made superfluous is used as
 * well. */

static void
other_takes (unsigned index G_GNUC_UNUSED, void *data G_GNUC_UNUSED)
{
  void *record;
  bool is_zero;

  g_assert_nonnull (sli_page_alloc_run (1, &record, &is_zero));
}

static void *
map_late (const SliceSource *source, size_t bytes, size_t alignment)
{
  static bool in_it;

  if (!in_it)
    {
      in_it = true;
      test_gang (1, other_takes, NULL);
    }
  return map_of_pages (source, bytes, alignment);
}

static void
test_late_extent_is_kept (void)
{
  const void *where;

  test_pages_init (&pages);
  pages.source.unmap = NULL;
  begin ();
  for (unsigned i = 0; i < FIRST_UNITS; i++)
    other_takes (0, NULL);
  g_assert_cmpint (pages.n_maps, ==, 1);
  map_of_pages = pages.source.map;
  pages.source.map = map_late;
  other_takes (0, NULL);
  g_assert_cmpint (pages.n_maps, ==, 3);
  g_assert_cmpuint (counts_now ().mapped_bytes, ==, pages.mapped_bytes);
  g_assert_cmpstr (sli_page_check (&where), ==, NULL);
  take_many ();
  give_many ();
  g_assert_cmpstr (sli_page_check (&where), ==, NULL);
}

/* held_bytes never wraps. */
static void
test_source_of_dirty_memory (void)
{
  test_pages_init (&pages);
  pages.source.advise_away = NULL;
  pages.source.is_zeroed = false;
  begin ();
  take_many ();
  g_assert_cmpuint (counts_now ().held_bytes, >=, MANY * RUN_BYTES);
  g_assert_cmpuint (counts_now ().held_bytes, <=, pages.mapped_bytes);
  give_many ();
  sli_page_trim (0, 10000);
  g_assert_cmpuint (counts_now ().held_bytes, <=, pages.mapped_bytes);
}

/* --- addresses of extents --- */

/* The addresses of one leaf of the map. */
#define LEAF_SPAN ((uintptr_t) 1 << (WINDOW_SHIFT + MAP_LEAF_SHIFT) % 64)

static uintptr_t next_border;

/* Maps at this address, or fails. */
static void *
map_at (uintptr_t address, size_t bytes)
{
  void *start = mmap ((void *) address, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  if (start == (void *) address)
    return start;
  if (start != MAP_FAILED)
    munmap (start, bytes);
  return NULL;
}

/* Maps extents half of which are in one leaf of the map, half in the next.
 * Where a border is not to be had, one twice as high is tried: the address
 * sanitizer's shadow memory has the lower 16 TiB, 2^44 bytes. */
enum { TRIES = 10 }; /* from 2^37 to 2^46 */

static void *
map_astride (const SliceSource *source, size_t bytes, size_t alignment)
{
  TestPages *counted = (TestPages *) source->data;
  void *start = NULL;

  if (bytes < MIB (4))
    return pages_map (source, bytes, alignment);
  for (int i = 0; start == NULL && i < TRIES; i++)
    {
      start = map_at (next_border - bytes / 2, bytes);
      next_border += start != NULL ? 2 * LEAF_SPAN : next_border;
    }
  g_assert_nonnull (start);
  counted->n_maps++;
  counted->mapped_bytes += bytes;
  return start;
}

static void
check_astride (bool is_zeroed)
{
  const void *where;
  int n_unmaps;

  test_pages_init (&pages);
  pages_map = pages.source.map;
  pages.source.map = map_astride;
  if (!is_zeroed)
    {
      pages.source.is_zeroed = false;
      pages.source.advise_away = NULL;
    }
  next_border = 16 * LEAF_SPAN;
  begin ();
  take_many ();
  g_assert_cmpstr (sli_page_check (&where), ==, NULL);
  n_unmaps = pages.n_unmaps;
  give_many ();
  sli_page_trim (0, 10000);
  g_assert_cmpstr (sli_page_check (&where), ==, NULL);
  /* An extent with a leaf stays mapped. */
  g_assert_cmpint (pages.n_unmaps, ==, n_unmaps);
  take_many ();
  g_assert_cmpstr (sli_page_check (&where), ==, NULL);
}

static void
astride_zeroed (void)
{
  check_astride (true);
}

static void
astride_dirty (void)
{
  check_astride (false);
}

/* --- an extent where another one was --- */

static char *place; /* of all extents but the first; nobody else maps there */
static size_t place_bytes_most;
static bool place_is_used;

static void
place_map (size_t bytes, int protection)
{
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;

  g_assert_true (mmap (place, bytes, protection, flags, -1, 0) == place);
}

static void *
map_in_place (const SliceSource *source, size_t bytes, size_t alignment)
{
  if (pages.n_maps == 0)
    return pages_map (source, bytes, alignment);
  if (place_is_used || bytes > place_bytes_most)
    return NULL;
  pages.n_maps++;
  pages.mapped_bytes += bytes;
  place_map (bytes, PROT_READ | PROT_WRITE);
  place_is_used = true;
  return place;
}

static void
unmap_in_place (const SliceSource *source G_GNUC_UNUSED, void *address,
                size_t bytes)
{
  g_assert_true (address == place);
  place_map (bytes, PROT_NONE);
  place_is_used = false;
  pages.n_unmaps++;
  pages.mapped_bytes -= bytes;
}

/* An entry of the extent cache has room for the classes of one region or of
 * all, as its extent was when it was added.  It does not serve a larger extent
 * at the same address. */
static void
test_source_same_address (void)
{
  void *record;
  bool is_zero;
  unsigned n_small = 0;
  void *runs[2 * FIRST_UNITS_MOST];
  char *large;

  test_pages_init (&pages);
  pages_map = pages.source.map;
  pages.source.map = map_in_place;
  pages.source.unmap = unmap_in_place;
  place = mmap (NULL, 2 * EXTENT_BYTES, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  g_assert_true (place != MAP_FAILED);
  place += -(uintptr_t) place & (REGION_BYTES - 1);
  begin ();
  place_bytes_most = FIRST_BYTES; /* known from here on */
  while (n_small < 2 * FIRST_UNITS)
    runs[n_small++] = sli_page_alloc_run (1, &record, &is_zero);
  g_assert_cmpint (pages.n_maps, ==, 2);
  g_assert_true (extent_cache_has (runs[n_small - 1]));
  while (n_small > FIRST_UNITS)
    free_run (runs[--n_small], 1);
  sli_page_trim (0, 10000);
  g_assert_cmpint (pages.n_unmaps, ==, 1);
  place_bytes_most = SIZE_MAX;
  large = sli_page_alloc_run (4, &record, &is_zero);
  g_assert_cmpint (pages.n_maps, ==, 3);
  g_assert_true (large > place && large < place + EXTENT_BYTES);
  g_assert_false (extent_cache_has (large));
}

/* An extent may begin in one leaf of the map and end in another. */
static void
test_source_astride (void)
{
  if (sizeof (void *) == 4)
    {
      g_test_skip ("one leaf holds all addresses");
      return;
    }
  run_apart (astride_zeroed);
  run_apart (astride_dirty);
}

/* Above 47 bits, where a process must ask for it: with 5-level paging on
 * x86-64, with 52 bits on arm64. */
static void *
map_high (const SliceSource *source, size_t bytes, size_t alignment)
{
  TestPages *counted = (TestPages *) source->data;
  void *start = NULL;

  for (unsigned bits = 48; start == NULL && bits < 8 * sizeof bytes; bits++)
    start = map_at (((uintptr_t) 1 << bits % (8 * sizeof (void *)))
                        + (uintptr_t) (counted->n_maps + 1) * 16 * EXTENT_BYTES,
                    bytes);
  if (start == NULL)
    return NULL;
  g_assert_cmpuint ((uintptr_t) start % alignment, ==, 0);
  counted->n_maps++;
  counted->mapped_bytes += bytes;
  return start;
}

static void
test_source_high (void)
{
  const void *where;
  void *piece;

  test_pages_init (&pages);
  piece = map_high (&pages.source, EXTENT_BYTES, MIB (2));
  if (piece == NULL)
    {
      g_test_skip ("no addresses above 47 bits here: see check-far.sh");
      return;
    }
  munmap (piece, EXTENT_BYTES);
  test_pages_init (&pages);
  pages.source.map = map_high;
  begin ();
  take_many ();
  g_assert_cmpuint ((uintptr_t) many[MANY - 1], >,
                    (uintptr_t) 1 << 48 % (8 * sizeof (void *)));
  g_assert_true (sli_map_has (many[0]));
  g_assert_cmpstr (sli_page_check (&where), ==, NULL);
  give_many ();
  sli_page_trim (0, 10000);
  g_assert_cmpstr (sli_page_check (&where), ==, NULL);
}

/* --- a fork during a trim --- */

static void *first_runs[FIRST_UNITS_MOST];
static pid_t forked = -1;
static unsigned n_free_then;

/* The child has all granules that the parent's trimmer had removed. */
static void
child_of_trimmer (void)
{
  unsigned n_maps = (unsigned) counts_now ().n_maps;
  const void *where;

  sli_lock_fork_begin ();
  sli_page_fork_child ();
  sli_lock_fork_end ();
  g_assert_cmpstr (sli_page_check (&where), ==, NULL);
  for (unsigned i = 0; i < n_free_then; i++)
    other_takes (0, NULL);
  g_assert_cmpuint (counts_now ().n_maps, ==, n_maps);
  g_assert_cmpstr (sli_page_check (&where), ==, NULL);
  _exit (0);
}

static bool
advise_and_fork (const SliceSource *source G_GNUC_UNUSED,
                 void *address G_GNUC_UNUSED, size_t bytes G_GNUC_UNUSED)
{
  int status;

  if (n_free_then == 0)
    return true;
  fflush (NULL);
  forked = fork ();
  if (forked == 0)
    child_of_trimmer ();
  g_assert_cmpint (waitpid (forked, &status, 0), ==, forked);
  g_assert_cmpint (status, ==, 0);
  return true;
}

static void
free_first_runs (unsigned from, unsigned to)
{
  for (unsigned i = from; i < to; i++)
    free_run (first_runs[i], 1);
}

static void
test_fork_in_trim (void)
{
  void *record;
  bool is_zero;

  test_pages_init (&pages);
  pages.source.advise_away = advise_and_fork;
  begin ();
  for (unsigned i = 0; i < FIRST_UNITS; i++)
    first_runs[i] = sli_page_alloc_run (1, &record, &is_zero);
  g_assert_cmpint (pages.n_maps, ==, 1);
  free_first_runs (0, HALF_UNITS);
  n_free_then = HALF_UNITS;
  sli_page_trim_granules (0, 1);
  g_assert_cmpint (forked, >, 0);
  forked = -1;
  free_first_runs (HALF_UNITS, FIRST_UNITS);
  n_free_then = FIRST_UNITS;
  sli_page_trim (0, 1);
  g_assert_cmpint (forked, >, 0);
}

/* Granules and regions that are being purged are not allocated meanwhile. */
static char *advised;
static size_t advised_bytes;

static bool
advise_and_take (const SliceSource *source G_GNUC_UNUSED, void *address,
                 size_t bytes)
{
  char *runs[2 * FIRST_UNITS_MOST];
  void *record;
  bool is_zero;

  advised = address;
  advised_bytes = bytes;
  for (unsigned i = 0; i < G_N_ELEMENTS (runs); i++)
    {
      runs[i] = sli_page_alloc_run (1, &record, &is_zero);
      g_assert_true (runs[i] < advised || runs[i] >= advised + advised_bytes);
    }
  for (unsigned i = 0; i < G_N_ELEMENTS (runs); i++)
    free_run (runs[i], 1);
  return true;
}

static void
test_take_in_trim (void)
{
  void *record;
  bool is_zero;

  test_pages_init (&pages);
  begin ();
  for (unsigned i = 0; i < FIRST_UNITS; i++)
    first_runs[i] = sli_page_alloc_run (1, &record, &is_zero);
  free_first_runs (0, HALF_UNITS);
  pages.source.advise_away = advise_and_take;
  g_assert_cmpuint (sli_page_trim_granules (0, 1), ==,
                    HALF_UNITS * GRANULE);
  g_assert_cmpuint (advised_bytes, ==, HALF_UNITS * GRANULE);
  free_first_runs (HALF_UNITS, FIRST_UNITS);
  g_assert_cmpuint (sli_page_trim (0, 1), >, 0);
}

/* --- other page sizes --- */

static size_t pretended_bytes;

static void
use_pretended_pages (void)
{
  sli_os_pretend_page_bytes (pretended_bytes);
  begin_plain ();
  g_assert_cmpuint (sli_page_granule_bytes (), ==, pretended_bytes);
  random_runs (test_times (10000, 1000));
}

static void
test_pretended_pages (void)
{
  static const size_t sizes[] = { KIB (16), KIB (64) };

  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      if (sizes[i] < sli_os_page_bytes ())
        continue; /* advice is for whole pages */
      pretended_bytes = sizes[i];
      run_apart (use_pretended_pages);
    }
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/page/one-run", test_one_run);
  test_add_fresh ("/slice/page/foreign", test_foreign);
  test_add_fresh ("/slice/page/random-runs", test_random_runs);
  test_add_fresh ("/slice/page/random-runs-of-malloc",
                  test_random_runs_of_malloc);
  test_add_fresh ("/slice/page/random-runs-without-advice",
                  test_random_runs_without_advice);
  test_add_fresh ("/slice/page/threads", test_threads);
  test_add_fresh ("/slice/page/each-run", test_each_run);
  test_add_fresh ("/slice/page/each-free", test_each_free);
  test_add_fresh ("/slice/page/watch-taken", test_watch_taken);
  test_add_fresh ("/slice/page/trim-returns-all", test_trim_returns_all);
  test_add_fresh ("/slice/page/trim-is-bounded", test_trim_is_bounded);
  test_add_fresh ("/slice/page/trim-by-age", test_trim_by_age);
  test_add_fresh ("/slice/page/trim-granules", test_trim_units);
  test_add_fresh ("/slice/page/trim-granules-by-age", test_trim_units_by_age);
  test_add_fresh ("/slice/page/idle-by-age", test_idle_by_age);
  test_add_fresh ("/slice/page/trim-ends-huge-pages",
                  test_trim_ends_huge_pages);
  test_add_fresh ("/slice/page/extent-cache", test_extent_cache);
  test_add_fresh ("/slice/page/huge-early", test_huge_early);
  test_add_fresh ("/slice/page/huge-late", test_huge_late);
  test_add_fresh ("/slice/page/first-extent-stays", test_first_extent_stays);
  test_add_fresh ("/slice/page/small-pages-count", test_small_pages_count);
  test_add_fresh ("/slice/page/small-pages-end", test_small_pages_end);
  test_add_fresh ("/slice/page/idle-share", test_idle_share);
  test_add_fresh ("/slice/page/fullest-first", test_fullest_first);
  test_add_fresh ("/slice/page/fit-probes", test_fit_probes);
  test_add_fresh ("/slice/page/source-fails", test_source_fails);
  test_add_fresh ("/slice/page/optional-runs", test_optional_runs);
  test_add_fresh ("/slice/page/reserved-extents", test_reserved_extents);
  test_add_fresh ("/slice/page/optional-again", test_optional_again);
  test_add_fresh ("/slice/page/source-fails-at-once",
                  test_source_fails_at_once);
  test_add ("/slice/page/source-of-small-pieces",
            test_source_of_small_pieces);
  test_add ("/slice/page/source-of-pieces-too-small",
            test_source_of_pieces_too_small);
  test_add ("/slice/page/source-repeats", test_source_repeats);
  test_add ("/slice/page/source-breaks-alignment",
            test_source_breaks_alignment);
  test_add ("/slice/page/source-lies", test_source_lies);
  test_add_fresh ("/slice/page/source-refuses-advice",
                  test_source_refuses_advice);
  test_add_fresh ("/slice/page/source-never-unmaps",
                  test_source_never_unmaps);
  test_add_fresh ("/slice/page/late-extent-is-kept",
                  test_late_extent_is_kept);
  test_add_fresh ("/slice/page/source-same-address", test_source_same_address);
  test_add_fresh ("/slice/page/source-astride", test_source_astride);
  test_add_fresh ("/slice/page/source-high", test_source_high);
  test_add_fresh ("/slice/page/source-of-dirty-memory",
                  test_source_of_dirty_memory);
  test_add_fresh ("/slice/page/fork-in-trim", test_fork_in_trim);
  test_add_fresh ("/slice/page/take-in-trim", test_take_in_trim);
  test_add ("/slice/page/pretended-pages", test_pretended_pages);
  return g_test_run ();
}
