/* test-failures.c - no memory, at every point where there can be none
 *
 * Every request for pages, mappings or large blocks is made to fail in turn:
 * once, or from then on.  The workload must go on without what it did not get
 * and lose nothing; the validator must be content; and once there is memory
 * again the same workload must get all it asks for, in the same process.
 *
 *   test-failures             some of the points, for `make check'
 *   test-failures --all       all of them, and the number of failures
 *   test-failures --mode=M    in one of the modes alone
 *
 * Technique: SQLite's out-of-memory loops.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slice/libslice.h>

#include "tests/hang.h"
#include "tests/testlib.h"

enum
{
  N_BLOCKS = 1500,
  N_OPERATIONS = 6000,
  N_THREADS = 2,
  PIECE_BYTES_MAX = 1 << 20, /* the source refuses more: many requests */
  POINTS_QUICK = 3,  /* of those that there are, in the first tier */
  POINTS_SECOND = 12
};

/* --- what fails --- */

/* Shared with the parent, which adds up. */
typedef struct
{
  gint64 n_requests;  /* made while it was armed */
  gint64 n_failures;  /* of these, refused */
  gint64 n_nulls;     /* NULL was the answer to the program */
} Tally;

static Tally *tally;

static struct
{
  gboolean armed;
  gint64 at;           /* which request fails, from 0 */
  gboolean for_good;   /* and all after it */
} plan;

static gboolean
must_fail (void)
{
  gint64 number;

  if (!__atomic_load_n (&plan.armed, __ATOMIC_RELAXED))
    return FALSE;
  number = __atomic_fetch_add (&tally->n_requests, 1, __ATOMIC_RELAXED);
  if (number != plan.at && !(plan.for_good && number > plan.at))
    return FALSE;
  __atomic_fetch_add (&tally->n_failures, 1, __ATOMIC_RELAXED);
  return TRUE;
}

static void *
failing_map (const SliceSource *source G_GNUC_UNUSED, size_t bytes,
             size_t alignment)
{
  void *piece;

  if (bytes > PIECE_BYTES_MAX || must_fail ())
    return NULL;
  return posix_memalign (&piece, alignment, bytes) == 0 ? piece : NULL;
}

static void
failing_unmap (const SliceSource *source G_GNUC_UNUSED, void *address,
               size_t bytes G_GNUC_UNUSED)
{
  free (address);
}

static bool
failing_advise (const SliceSource *source G_GNUC_UNUSED, void *address,
                size_t bytes)
{
  return !must_fail () && madvise (address, bytes, MADV_DONTNEED) == 0;
}

static const SliceSource failing_source
    = { "failing", failing_map, failing_unmap, failing_advise, false, NULL };

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* The library's own mappings (tables of the debug modes) and its large blocks,
 * and nobody else's: the calls are ours only while the workload runs. */
extern void *__libc_malloc (size_t size);

void *
malloc (size_t size)
{
  if (size > SLICE_SIZE_MAX - 64 && size < 16384 && must_fail ())
    {
      errno = ENOMEM;
      return NULL;
    }
  return __libc_malloc (size);
}

void *
mmap (void *address, size_t bytes, int protection, int flags, int fd,
      off_t offset)
{
  static void *(*of_libc) (void *, size_t, int, int, int, off_t);

  if (of_libc == NULL)
    *(void **) &of_libc = dlsym (RTLD_NEXT, "mmap");
  if (must_fail ())
    {
      errno = ENOMEM;
      return MAP_FAILED;
    }
  return of_libc (address, bytes, protection, flags, fd, offset);
}
#endif

/* --- workloads --- */

typedef struct
{
  void *block;
  size_t size;
  size_t alignment; /* 0: none was asked for */
} Held;

static void
let_go (Held *held, unsigned key)
{
  if (held->block == NULL)
    return;
  if (!test_is_filled (held->block, held->size, key))
    abort ();
  if (held->alignment != 0)
    slice_free_aligned (held->alignment, held->size, held->block);
  else
    slice_free1 (held->size, held->block);
  held->block = NULL;
}

/* Some kind of block of some size. */
static void
get (Held *held, TestRandom *random)
{
  size_t size = 1 + test_random_below (random, 400);

  held->alignment = 0;
  switch (test_random_below (random, 7))
    {
    case 0:
      size = 1 + test_random_below (random, 6000);
      held->block = slice_try_alloc (size);
      break;
    case 1:
      held->block = slice_try_alloc0 (size);
      if (held->block != NULL && !test_is_zero (held->block, size))
        abort ();
      break;
    case 2:
      held->block = slice_try_alloc_n (size, 3);
      size *= 3;
      break;
    case 3:
      held->alignment = (size_t) 8 << test_random_below (random, 6);
      held->block = slice_try_alloc_aligned (held->alignment, size);
      if ((uintptr_t) held->block % held->alignment != 0)
        abort ();
      break;
    default:
      held->block = slice_try_alloc (size);
      break;
    }
  held->size = size;
}

/* Returns how often there was no memory. */
static gint64
work (unsigned number)
{
  Held *held = calloc (N_BLOCKS, sizeof *held);
  gint64 n_nulls = 0;
  TestRandom random;

  test_random_init (&random, number);
  for (int i = 0; i < N_OPERATIONS; i++)
    {
      unsigned key = test_random_below (&random, N_BLOCKS);

      let_go (&held[key], key);
      get (&held[key], &random);
      if (held[key].block == NULL)
        n_nulls++;
      else
        test_fill (held[key].block, held[key].size, key);
      if (i % 1500 == 1499)
        slice_trim (0);
    }
  for (unsigned key = 0; key < N_BLOCKS; key++)
    let_go (&held[key], key);
  free (held);
  return n_nulls;
}

static gint64
work_alone (void)
{
  return work (1);
}

static void
work_in_gang (unsigned index, void *n_nulls)
{
  __atomic_fetch_add ((gint64 *) n_nulls, work (index), __ATOMIC_RELAXED);
}

static gint64
work_together (void)
{
  gint64 n_nulls = 0;

  test_gang (N_THREADS, work_in_gang, &n_nulls);
  return n_nulls;
}

/* A list that is freed as a chain, and in bulk: magazines are drained. */
static gint64
work_with_chains (void)
{
  gint64 n_nulls = 0;

  for (int round = 0; round < 4; round++)
    {
      static void *blocks[N_BLOCKS];
      void **list = NULL;

      for (int i = 0; i < 4000; i++)
        {
          void **node = slice_try_alloc (24);

          if (node == NULL)
            {
              n_nulls++;
              continue;
            }
          *node = list;
          list = node;
        }
      for (int i = 0; i < N_BLOCKS; i++)
        n_nulls += (blocks[i] = slice_try_alloc (200)) == NULL;
      slice_free_chain_with_offset (24, list, 0);
      slice_free_bulk (N_BLOCKS, blocks);
      slice_thread_flush ();
    }
  return n_nulls;
}

static const struct
{
  const char *name;
  gint64 (*run) (void);
} workloads[] = { { "mixed", work_alone },
                  { "threads", work_together },
                  { "chains", work_with_chains } };

static const char *const modes[]
    = { "default", "checked", "hardened", "debug", "bypass-magazines",
        "debug-blocks" };

/* --- one point --- */

static void
validate (void)
{
  const char *broken = slice_validate (NULL);

  if (broken != NULL)
    g_error ("%s", broken);
}

static void
run_point (const char *mode, gint64 (*run) (void))
{
  static SliceStats stats;

  test_options (strcmp (mode, "default") == 0 ? "" : mode);
  slice_set_source (&failing_source);
  __atomic_store_n (&plan.armed, TRUE, __ATOMIC_RELAXED);
  tally->n_nulls += run ();
  __atomic_store_n (&plan.armed, FALSE, __ATOMIC_RELAXED);
  validate ();
  if (run () != 0)
    g_error ("there is memory again, and not all of it was given");
  validate ();
  slice_get_stats (&stats);
  if (stats.live_blocks != 0)
    g_error ("%u blocks are lost", (unsigned) stats.live_blocks);
}

/* False: the child failed. */
static gboolean
try_point (const char *mode, gint64 (*run) (void))
{
  int status;
  pid_t pid = fork ();

  if (pid == 0)
    {
      hang_after (300);
      run_point (mode, run);
      _exit (0);
    }
  waitpid (pid, &status, 0);
  return status == 0;
}

/* --- all points --- */

static gboolean do_all;

static void
run_all (const char *mode, unsigned workload, gboolean for_good)
{
  const gint64 n_tried = test_is_second_tier () ? POINTS_SECOND : POINTS_QUICK;
  gint64 n_points, step;

  plan.for_good = FALSE;
  plan.at = -1; /* count them */
  memset (tally, 0, sizeof *tally);
  g_assert_true (try_point (mode, workloads[workload].run));
  n_points = tally->n_requests;
  step = do_all ? 1 : MAX (1, n_points / n_tried);
  memset (tally, 0, sizeof *tally);
  plan.for_good = for_good;
  for (gint64 at = 0; at < n_points; at += step)
    {
      plan.at = at;
      tally->n_requests = 0;
      if (!try_point (mode, workloads[workload].run))
        g_error ("%s, %s, request %d fails %s", mode,
                 workloads[workload].name, (int) at,
                 for_good ? "for good" : "once");
    }
  g_test_message ("%s, %s, %s: %d points, %d failures, %d times NULL", mode,
                  workloads[workload].name, for_good ? "for good" : "once",
                  (int) n_points, (int) tally->n_failures,
                  (int) tally->n_nulls);
  g_assert_cmpint (tally->n_failures, >, 0);
  if (for_good)
    g_assert_cmpint (tally->n_nulls, >, 0);
}

typedef struct
{
  const char *mode;
  unsigned workload;
  gboolean for_good;
} Loop;

static gint64 n_failures, n_nulls;

static void
run_loop (const void *data)
{
  const Loop *loop = data;

  run_all (loop->mode, loop->workload, loop->for_good);
  n_failures += tally->n_failures;
  n_nulls += tally->n_nulls;
}

int
main (int argc, char **argv)
{
  const char *only_mode = NULL;
  int n_kept = 1, result;

  for (int i = 1; i < argc; i++)
    if (strcmp (argv[i], "--all") == 0)
      do_all = TRUE;
    else if (g_str_has_prefix (argv[i], "--mode="))
      only_mode = argv[i] + strlen ("--mode=");
    else
      argv[n_kept++] = argv[i];
  argv[n_kept] = NULL;
  argc = n_kept;
  test_init (&argc, &argv);
  tally = mmap (NULL, sizeof *tally, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (unsigned m = 0; m < G_N_ELEMENTS (modes); m++)
    for (unsigned w = 0; w < G_N_ELEMENTS (workloads); w++)
      for (int for_good = 0; for_good < 2; for_good++)
        {
          Loop *loop;
          char *path;

          if (only_mode != NULL && strcmp (only_mode, modes[m]) != 0)
            continue;
          loop = g_new (Loop, 1);
          path = g_strdup_printf (
              "/slice/failures/%s/%s/%s", modes[m], workloads[w].name,
              for_good ? "for-good" : "once");
          *loop = (Loop){ modes[m], w, for_good };
          g_test_add_data_func_full (path, loop, run_loop, g_free);
          g_free (path);
        }
  result = g_test_run ();
  g_print ("# %" G_GINT64_FORMAT " failures injected, %" G_GINT64_FORMAT
           " times NULL\n", n_failures, n_nulls);
  return result;
}
