/* test-sources.c - the page sources of the arenas
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/arena/arena-test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

typedef struct
{
  char *pages;
  size_t bytes;
  unsigned number;
} Run;

static void
run_free (const SliceSource *source, GArray *runs, guint i)
{
  Run run = g_array_index (runs, Run, i);

  g_assert_true (pattern_holds (run.pages, run.bytes, run.number));
  source->unmap (source, run.pages, run.bytes);
  g_array_remove_index_fast (runs, i);
}

/* Runs of random sizes and alignments come and go; none overlaps. */
static void
run_model (const SliceSource *source, unsigned n_operations, size_t n_pages)
{
  GArray *runs = g_array_new (FALSE, FALSE, sizeof (Run));

  for (unsigned i = 0; i < n_operations; i++)
    {
      bool frees = runs->len > 40 || g_test_rand_int_range (0, 5) < 2;
      size_t n;
      size_t alignment;
      Run run;

      if (runs->len > 0 && frees)
        {
          guint at = (guint) g_test_rand_int_range (0, (gint32) runs->len);

          run_free (source, runs, at);
          continue;
        }
      n = (size_t) g_test_rand_int_range (1, (gint32) n_pages + 1);
      alignment = (size_t) PAGE << g_test_rand_int_range (0, 3);
      run = (Run){ NULL, n * PAGE, i };
      run.pages = source->map (source, run.bytes, alignment);
      if (run.pages == NULL)
        continue;
      g_assert_cmpuint ((uintptr_t) run.pages % alignment, ==, 0);
      pattern_fill (run.pages, run.bytes, i);
      g_array_append_val (runs, run);
    }
  while (runs->len > 0)
    run_free (source, runs, 0);
  g_array_free (runs, TRUE);
}

static void
test_fixed (void)
{
  enum
  {
    BYTES = 100 * PAGE + 1000
  };
  char *buffer = g_malloc (BYTES);
  const SliceSource *source = slice_source_fixed_new (buffer + 7, BYTES - 7);
  char *whole;
  SliceArenaOptions options;
  SliceLinear *linear;
  size_t n = 0;

  g_assert_nonnull (source);
  run_model (source, 3000, 20);
  whole = source->map (source, 98 * PAGE, PAGE);
  g_assert_nonnull (whole);
  g_assert_null (source->map (source, 3 * PAGE, PAGE));
  source->unmap (source, whole, 98 * PAGE);

  options = (SliceArenaOptions){ .source = source };
  linear = slice_linear_new (&options);
  while (slice_linear_alloc (linear, 64) != NULL)
    n++;
  g_assert_cmpint (errno, ==, ENOMEM);
  if (!is_annotated ())
    g_assert_cmpuint (n * 64, >=, 96 * PAGE);
  slice_linear_destroy (linear);
  g_assert_nonnull (source->map (source, 98 * PAGE, PAGE));
  g_assert_null (slice_source_fixed_new (buffer, PAGE));
  g_free (buffer);
}

static void
test_huge (void)
{
  for (SliceHugeKind kind = SLICE_HUGE_ADVISED; kind <= SLICE_HUGE_RESERVED;
       kind++)
    {
      const SliceSource *source = slice_source_huge_new (kind, 2 << 20);
      char *large;

      g_assert_nonnull (source);
      run_model (source, 300, 100);
      large = source->map (source, 5 << 20, PAGE);
      memset (large, 1, 5 << 20);
      source->unmap (source, large, 5 << 20);
      slice_source_destroy (source);
    }
}

static size_t
file_blocks_bytes (int fd)
{
  struct stat status;

  g_assert_cmpint (fstat (fd, &status), ==, 0);
  return (size_t) status.st_blocks * 512;
}

static void
test_file (void)
{
  char name[] = "/tmp/slice-test-XXXXXX";
  int fd = mkstemp (name);
  const SliceSource *source;
  char *pages;
  size_t n_written = 0;
  char byte;

  g_assert_cmpint (fd, >=, 0);
  unlink (name);
  source = slice_source_file_new (fd, 64 << 20);
  g_assert_nonnull (source);
  run_model (source, 500, 100);
  pages = source->map (source, 8 << 20, PAGE);
  memset (pages, 0x33, 8 << 20);
  for (off_t at = 0; pread (fd, &byte, 1, at) == 1; at += PAGE)
    n_written += byte == 0x33;
  g_assert_cmpuint (n_written, >=, (8 << 20) / PAGE);
  g_assert_cmpuint (file_blocks_bytes (fd), >=, 8 << 20);
  source->unmap (source, pages, 8 << 20);
  g_assert_cmpuint (file_blocks_bytes (fd), <, 4 << 20);
  g_assert_null (source->map (source, 100 << 20, PAGE));
  slice_source_destroy (source);
  close (fd);
  errno = 0;
  g_assert_null (slice_source_file_new (-1, 64 << 20));
  g_assert_cmpint (errno, ==, EBADF);
  g_assert_null (slice_source_file_new (0, 100));
  g_assert_cmpint (errno, ==, EINVAL);
}

/* The mmap source takes and gives back at once. */
static void
test_mmap_at_once (void)
{
  const SliceSource *source = slice_source_builtin (SLICE_PAGES_MMAP);
  SliceArenaOptions options = { .source = source };
  SliceLinear *linear = slice_linear_new (&options);
  char *object = slice_linear_alloc (linear, 1 << 20);
  unsigned char there;
  uintptr_t page;

  g_assert_cmpint (mincore ((void *) ((uintptr_t) object & ~(uintptr_t) 4095),
                            PAGE, &there),
                   ==, 0);
  page = (uintptr_t) object & ~(uintptr_t) (PAGE - 1);
  slice_linear_reset (linear, SLICE_KEEP_NONE);
  g_assert_cmpint (mincore ((void *) page, PAGE, &there), ==, -1);
  g_assert_cmpint (errno, ==, ENOMEM);
  slice_linear_destroy (linear);
}

/* --- several threads ----------------------------------------------------- */

static void *
thread_body (void *data)
{
  (void) data;
  for (int round = 0; round < 200; round++)
    {
      SliceLinear *linear = slice_linear_new (NULL);
      unsigned number = (unsigned) round;
      char *first = slice_linear_alloc (linear, 3000);

      pattern_fill (first, 3000, number);
      for (int i = 0; i < 500; i++)
        slice_linear_alloc (linear, 500);
      g_assert_true (pattern_holds (first, 3000, number));
      slice_linear_destroy (linear);
    }
  return NULL;
}

static void
test_threads (void)
{
  pthread_t threads[4];

  for (int i = 0; i < 4; i++)
    pthread_create (&threads[i], NULL, thread_body, NULL);
  for (int i = 0; i < 4; i++)
    pthread_join (threads[i], NULL);
  slice_arena_trim (0);
}

/* A trim returns to the program's source the bytes that it says. */
static void
test_trim_bytes (void)
{
  static CountingSource counting;
  SliceLinear *linear;
  size_t out_bytes;
  size_t bytes;

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
      g_test_trap_assert_passed ();
      return;
    }
  counting_source_init (&counting);
  g_assert_cmpint (slice_set_source (&counting.source), ==, SLICE_SET_OK);
  linear = slice_linear_new (NULL);
  g_assert_nonnull (slice_linear_alloc (linear, 50000));
  slice_linear_destroy (linear);
  out_bytes = counting.out_bytes;
  g_assert_cmpuint (out_bytes, >=, 50000);
  bytes = slice_arena_trim (0);
  g_assert_cmpuint (bytes, >, 0);
  g_assert_cmpuint (counting.out_bytes, ==, out_bytes - bytes);
}

/* --- misuse -------------------------------------------------------------- */

static void
test_misuse_busy (void)
{
  if (g_test_subprocess ())
    {
      const SliceSource *source
          = slice_source_huge_new (SLICE_HUGE_ADVISED, 0);

      source->map (source, PAGE, PAGE);
      slice_source_destroy (source);
      return;
    }
  expect_error (307, "ended while its memory is in use");
}

static void
test_misuse_kind (void)
{
  if (g_test_subprocess ())
    {
      slice_source_destroy (slice_source_builtin (SLICE_PAGES_MMAP));
      return;
    }
  expect_error (308, "it can't be ended");
}

static void
test_misuse_unmap (void)
{
  if (g_test_subprocess ())
    {
      const SliceSource *source
          = slice_source_huge_new (SLICE_HUGE_ADVISED, 0);
      char *pages = source->map (source, 4 * PAGE, PAGE);

      source->map (source, PAGE, PAGE);
      source->unmap (source, pages, 4 * PAGE);
      source->unmap (source, pages, 4 * PAGE);
      return;
    }
  expect_error (309, "unmap of pages that are not out");
}

/* What is no mapping of the source, for a source of each kind. */
static void
unmap_wrongly (const SliceSource *source, int what)
{
  enum
  {
    LARGE = 8 << 20
  };
  const SliceSource *others = slice_source_builtin (SLICE_PAGES_MMAP);
  char *small = source->map (source, 2 * PAGE, PAGE);
  char *large = source->map (source, LARGE, PAGE);

  g_assert_nonnull (small);
  g_assert_nonnull (large);
  switch (what)
    {
    case 0:
      source->unmap (source, others->map (others, PAGE, PAGE), PAGE);
      break;
    case 1:
      source->unmap (source, small + 16, PAGE);
      break;
    case 2:
      source->unmap (source, large, LARGE / 2);
      break;
    case 3:
      source->unmap (source, large, LARGE);
      source->unmap (source, large, LARGE);
      break;
    case 4:
      source->unmap (source, small, SIZE_MAX);
      break;
    case 5:
      source->unmap (source, NULL, PAGE);
      break;
    }
}

static void
test_misuse_unmap_foreign (void)
{
  for (int what = 0; what < 12; what++)
    {
      pid_t child = fork ();
      int status;

      g_assert_cmpint (child, >=, 0);
      if (child == 0)
        {
          const SliceSource *source
              = what < 6
                    ? slice_source_huge_new (SLICE_HUGE_ADVISED, 0)
                    : slice_source_file_new (fileno (tmpfile ()), 64 << 20);

          setrlimit (RLIMIT_CORE, &(struct rlimit){ 0, 0 });
          dup2 (open ("/dev/null", O_WRONLY), 2);
          g_assert_nonnull (source);
          unmap_wrongly (source, what % 6);
          _exit (0);
        }
      g_assert_cmpint (waitpid (child, &status, 0), ==, child);
      g_test_message ("fault %d: %#x", what, (unsigned) status);
      g_assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGABRT);
    }
}

/* --- a signal in a first call -------------------------------------------- */

static void
alloc_in_handler (int number)
{
  (void) number;
  slice_free1 (64, slice_alloc (64));
}

/* The pages that a first call needs: a signal comes in the middle of it. */
static void *
signalling_map (const SliceSource *source, size_t bytes, size_t alignment)
{
  const SliceSource *pages = slice_source_builtin (SLICE_PAGES_MMAP);

  (void) source;
  raise (SIGUSR1);
  return pages->map (pages, bytes, alignment);
}

static void
signalling_unmap (const SliceSource *source, void *memory, size_t bytes)
{
  const SliceSource *pages = slice_source_builtin (SLICE_PAGES_MMAP);

  (void) source;
  pages->unmap (pages, memory, bytes);
}

static const SliceSource signalling = { .name = "signalling",
                                        .map = signalling_map,
                                        .unmap = signalling_unmap,
                                        .is_zeroed = true };

static void
test_misuse_signal (gconstpointer data)
{
  if (g_test_subprocess ())
    {
      const SliceOption *mode = data;

      signal (SIGUSR1, alloc_in_handler);
      slice_set_option (SLICE_OPTION_FORCE_POOL, 1);
      slice_set_option (*mode, 1);
      slice_set_source (&signalling);
      slice_free1 (64, slice_alloc (64));
      return;
    }
  expect_error (116, "called again before a call had ended");
}

/* --- a source whose runs adjoin ---------------------------------------- */

static char *rising_next, *rising_end;

static void *
rising_map (const SliceSource *source, size_t bytes, size_t alignment)
{
  uintptr_t at = ((uintptr_t) rising_next + alignment - 1) & -alignment;

  (void) source;
  if (at + bytes > (uintptr_t) rising_end)
    return NULL;
  rising_next = (char *) at + bytes;
  return (char *) at;
}

static void
rising_unmap (const SliceSource *source, void *pages, size_t bytes)
{
  (void) source;
  g_assert_cmpint (mprotect (pages, bytes, PROT_NONE), ==, 0);
}

static const SliceSource rising = { .name = "rising",
                                    .map = rising_map,
                                    .unmap = rising_unmap,
                                    .is_zeroed = true };

/* Heaps that fill a span, and one more block right behind it that is a run
 * of its own: it must not go back together with the span's last. */
static void
test_adjoining (void)
{
  enum { N_HEAPS = 16, RANGE_BYTES = 256 << 20 };
  SliceTlsf *heaps[N_HEAPS];

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, 0);
      g_test_trap_assert_passed ();
      return;
    }
  rising_next = mmap (NULL, RANGE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  g_assert_true (rising_next != MAP_FAILED);
  rising_end = rising_next + RANGE_BYTES;
  g_assert_cmpint (slice_set_source (&rising), ==, SLICE_SET_OK);
  for (int i = 0; i < N_HEAPS; i++)
    heaps[i] = slice_tlsf_new (NULL);
  g_assert_nonnull (slice_tlsf_alloc (heaps[N_HEAPS - 1], 600 * 1024));
  for (int i = N_HEAPS; i-- > 0;)
    slice_tlsf_destroy (heaps[i]);
}

/* --- sources that lie ---------------------------------------------------- */

static struct
{
  uintptr_t address; /* what is given; 0: what `pages' has at `offset' */
  char *pages;
  size_t offset;
  unsigned n_unmaps;
} lie;

static void *
lying_map (const SliceSource *source, size_t bytes, size_t alignment)
{
  (void) source;
  (void) bytes;
  (void) alignment;
  return lie.address != 0 ? (void *) lie.address : lie.pages + lie.offset;
}

static void
lying_unmap (const SliceSource *source, void *pages, size_t bytes)
{
  (void) source;
  (void) pages;
  (void) bytes;
  lie.n_unmaps++;
}

static const SliceSource lying
    = { .name = "lying", .map = lying_map, .unmap = lying_unmap };

/* No kind of arena gets memory, and nothing is written there. */
static void
use_lies (const SliceSource *source)
{
  SliceArenaOptions options = { .source = source };
  SlicePoolOptions pool_options = { .object_bytes = 5000, .arena = options };
  SliceLinear *linear = slice_linear_new (&options);
  SliceStack *stack = slice_stack_new (&options);
  SlicePool *pool = slice_pool_new (&pool_options);
  SliceTlsf *tlsf = slice_tlsf_new (&options);

  if (linear != NULL)
    g_assert_null (slice_linear_alloc (linear, 3 << 20));
  if (stack != NULL)
    g_assert_null (slice_stack_alloc (stack, 3 << 20));
  if (pool != NULL)
    g_assert_null (slice_pool_alloc (pool));
  if (tlsf != NULL)
    g_assert_null (slice_tlsf_alloc (tlsf, 3 << 20));
  g_assert_cmpuint (lie.n_unmaps, >, 0);
  slice_linear_destroy (linear);
  slice_stack_destroy (stack);
  slice_pool_destroy (pool);
  slice_tlsf_destroy (tlsf);
}

/* In its own process: the warning is the last line of what it says. */
static void
test_lies (gconstpointer data)
{
  const uint64_t *address = data;

  if (g_test_subprocess ())
    {
      lie.address = (uintptr_t) *address;
      use_lies (&lying);
      return;
    }
  if ((uintptr_t) *address != *address)
    {
      g_test_skip ("32 bits");
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("*slice: warning 132: page source lying: memory "
                             "at 0x* can't be used*");
}

/* The shared spans come from the process's page source. */
static void
test_shared_lies (void)
{
  if (g_test_subprocess ())
    {
      lie.address = 0x200000;
      g_assert_cmpint (slice_set_source (&lying), ==, SLICE_SET_OK);
      g_assert_cmpint (slice_set_option (SLICE_OPTION_ALWAYS_MALLOC, 1), ==,
                       SLICE_SET_OK);
      use_lies (NULL);
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("*slice: warning 132: page source lying: *");
}

static void
test_lies_askew (void)
{
  if (g_test_subprocess ())
    {
      lie.pages = mmap (NULL, 8 << 20, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      lie.offset = 8;
      use_lies (&lying);
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("*slice: warning 132: page source lying: *");
}

/* The second block is the first once more, or begins or ends within it. */
static void
test_lies_overlap (void)
{
  if (g_test_subprocess ())
    {
      static const size_t offsets[]
          = { 64 * PAGE, 65 * PAGE, 63 * PAGE, 32 * PAGE };
      SliceArenaOptions options = { .source = &lying };
      char *pages = mmap (NULL, 8 << 20, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

      for (size_t i = 0; i < G_N_ELEMENTS (offsets); i++)
        {
          SliceLinear *linear;
          char *first;

          lie.pages = pages;
          lie.offset = 64 * PAGE;
          linear = slice_linear_new (&options);
          first = slice_linear_alloc (linear, 40 * PAGE);
          g_assert_nonnull (first);
          pattern_fill (first, 40 * PAGE, 1);
          lie.offset = offsets[i];
          g_assert_null (slice_linear_alloc (linear, 60 * PAGE));
          g_assert_true (pattern_holds (first, 40 * PAGE, 1));
          lie.offset = 128 * PAGE;
          g_assert_nonnull (slice_linear_alloc (linear, 60 * PAGE));
          slice_linear_destroy (linear);
        }
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("*slice: warning 132: page source lying: *");
}

static void
add_lies (void)
{
  static const uint64_t lies[]
      = { 0x2000,           0x200000,           0x800000000000,
          0x1000000000000,  0x100000000000000,  0x8000000000000000,
          0xffff800000000000, 0xffffffffffe00000, 0xfffffffffffff000 };

  for (size_t i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      char *name
          = g_strdup_printf ("/slice/sources/lies/%" G_GINT64_MODIFIER "x",
                             lies[i]);

      g_test_add_data_func (name, &lies[i], test_lies);
      g_free (name);
    }
}

int
main (int argc, char **argv)
{
  static const SliceOption hardened = SLICE_OPTION_HARDENED;
  static const SliceOption debug = SLICE_OPTION_DEBUG;

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/sources/fixed", test_fixed);
  g_test_add_func ("/slice/sources/huge", test_huge);
  g_test_add_func ("/slice/sources/file", test_file);
  g_test_add_func ("/slice/sources/mmap-at-once", test_mmap_at_once);
  g_test_add_func ("/slice/sources/threads", test_threads);
  g_test_add_func ("/slice/sources/trim-bytes", test_trim_bytes);
  g_test_add_func ("/slice/sources/adjoining", test_adjoining);
  add_lies ();
  g_test_add_func ("/slice/sources/lies/shared", test_shared_lies);
  g_test_add_func ("/slice/sources/lies/askew", test_lies_askew);
  g_test_add_func ("/slice/sources/lies/overlap", test_lies_overlap);
  g_test_add_func ("/slice/sources/misuse/busy", test_misuse_busy);
  g_test_add_func ("/slice/sources/misuse/kind", test_misuse_kind);
  g_test_add_func ("/slice/sources/misuse/unmap", test_misuse_unmap);
  g_test_add_func ("/slice/sources/misuse/unmap-foreign",
                   test_misuse_unmap_foreign);
  g_test_add_data_func ("/slice/sources/misuse/signal/hardened", &hardened,
                        test_misuse_signal);
  g_test_add_data_func ("/slice/sources/misuse/signal/debug", &debug,
                        test_misuse_signal);
  return g_test_run ();
}
