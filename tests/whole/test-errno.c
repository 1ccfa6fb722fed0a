/* test-errno.c - calls that succeed leave errno alone
 *
 * The program's own madvise() and others fail, as they do where the kernel has
 * been built without them or a sandbox refuses them.  The library goes on
 * without what they would have done, and the program finds its errno as it was.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <glib.h>
#include <slice/arena.h>
#include <slice/address.h>
#include <slice/heap.h>
#include <slice/libslice.h>
#include <slice/ralloc.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define OURS EXDEV /* nothing here fails so */

static unsigned n_refused;

/* A sanitizer has such functions of its own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
# define MAY_REFUSE 1

static int
refuse (void)
{
  n_refused++;
  errno = EINVAL;
  return -1;
}

int
madvise (void *address, size_t bytes, int advice)
{
  (void) address;
  (void) bytes;
  (void) advice;
  return refuse ();
}

int
mincore (void *address, size_t bytes, unsigned char *present)
{
  (void) address;
  (void) bytes;
  (void) present;
  return refuse ();
}

int
mprotect (void *address, size_t bytes, int protection)
{
  (void) address;
  (void) bytes;
  (void) protection;
  return refuse ();
}

void *
mremap (void *address, size_t old_bytes, size_t bytes, int flags, ...)
{
  (void) address;
  (void) old_bytes;
  (void) bytes;
  (void) flags;
  refuse ();
  return MAP_FAILED;
}

/* Large mappings; the library is content with less. */
void *
mmap (void *address, size_t bytes, int protection, int flags, int fd,
      off_t offset)
{
  static void *(*real) (void *address, size_t bytes, int protection, int flags,
                        int fd, off_t offset);
  if (bytes > (size_t) 6 << 20)
    {
      refuse ();
      errno = ENOMEM;
      return MAP_FAILED;
    }
  if (real == NULL)
    *(void **) &real = dlsym (RTLD_NEXT, "mmap");
  return real (address, bytes, protection, flags, fd, offset);
}

/* The membarrier, which has no function of its own. */
long
syscall (long number, ...)
{
  static long (*real) (long number, ...);
  long words[6];
  va_list arguments;
  if (number == SYS_membarrier)
    return refuse ();
  if (real == NULL)
    *(void **) &real = dlsym (RTLD_NEXT, "syscall");
  va_start (arguments, number);
  for (int i = 0; i < 6; i++)
    words[i] = va_arg (arguments, long);
  va_end (arguments);
  return real (number, words[0], words[1], words[2], words[3], words[4],
               words[5]);
}

#else
# define MAY_REFUSE 0
#endif

#define KEEPS_ERRNO(call)                                                     \
  do                                                                          \
    {                                                                         \
      errno = OURS;                                                           \
      call;                                                                   \
      g_assert_cmpint (errno, ==, OURS);                                      \
    }                                                                         \
  while (0)

enum { N_BLOCKS = 60000 };
static void *blocks[N_BLOCKS];

static void
test_blocks (void)
{
  for (size_t size = 8; size < 5000; size += size / 2)
    {
      int n = (int) (N_BLOCKS * 8 / (size + 64));

      for (int i = 0; i < n; i++)
        KEEPS_ERRNO (blocks[i] = slice_alloc (size));
      for (int i = 0; i < n; i++)
        KEEPS_ERRNO (slice_free1 (size, blocks[i]));
      KEEPS_ERRNO (slice_trim (0));
    }
  for (int i = 0; i < 100; i++)
    KEEPS_ERRNO (blocks[i] = slice_alloc_aligned (4096, 5000));
  for (int i = 0; i < 100; i++)
    KEEPS_ERRNO (slice_free_aligned (4096, 5000, blocks[i]));
}

static void
test_contexts (void)
{
  void *root = NULL;

  KEEPS_ERRNO (root = ralloc_context (NULL));
  for (int i = 0; i < 3000; i++)
    {
      char *node = NULL;

      KEEPS_ERRNO (node = ralloc_size (root, (size_t) i * 7));
      KEEPS_ERRNO (node = reralloc_size (root, node, (size_t) i * 19));
      if (i % 50 == 0)
        KEEPS_ERRNO (reralloc_size (root, node, 1 << 20));
    }
  KEEPS_ERRNO (ralloc_free (root));
  KEEPS_ERRNO (slice_trim (0));
}

static void
test_arenas (void)
{
  for (unsigned flags = 0; flags <= SLICE_ARENA_CHECKED; flags++)
    {
      SliceArenaOptions options = { .flags = flags };
      SlicePoolOptions pooled = { .object_bytes = 24, .arena = options };
      SliceLinear *linear = NULL;
      SliceStack *stack = NULL;
      SlicePool *pool = NULL;
      SliceTlsf *tlsf = NULL;

      KEEPS_ERRNO (linear = slice_linear_new (&options));
      KEEPS_ERRNO (stack = slice_stack_new (&options));
      KEEPS_ERRNO (pool = slice_pool_new (&pooled));
      KEEPS_ERRNO (tlsf = slice_tlsf_new (&options));
      for (int i = 0; i < N_BLOCKS; i++)
        {
          KEEPS_ERRNO (slice_linear_alloc (linear, 40));
          KEEPS_ERRNO (slice_stack_alloc (stack, 40));
          KEEPS_ERRNO (slice_pool_alloc (pool));
          KEEPS_ERRNO (slice_tlsf_alloc (tlsf, 40));
        }
      KEEPS_ERRNO (slice_linear_destroy (linear));
      KEEPS_ERRNO (slice_stack_destroy (stack));
      KEEPS_ERRNO (slice_pool_destroy (pool));
      KEEPS_ERRNO (slice_tlsf_destroy (tlsf));
      KEEPS_ERRNO (slice_arena_trim (0));
    }
}

static void
test_heap (void)
{
  for (size_t size = 1; size < (size_t) 3 << 20; size += size / 2 + 1)
    for (int i = 0; i < 20; i++)
      {
        char *block = NULL;

        KEEPS_ERRNO (block = slice_heap_alloc (size));
        KEEPS_ERRNO (block = slice_heap_realloc (block, 2 * size));
        KEEPS_ERRNO (slice_heap_free (block));
      }
  KEEPS_ERRNO (slice_heap_trim ());
}

/* The other questions, and what a thread does at its end. */
static gpointer
work (gpointer unused)
{
  KEEPS_ERRNO (slice_free1 (40, slice_alloc (40)));
  return unused;
}

static void
test_others (void)
{
  SliceBlockInfo info;
  SliceStats stats;

  for (int i = 0; i < 10; i++)
    g_thread_join (g_thread_new ("errno", work, NULL));
  KEEPS_ERRNO (slice_block_info (&stats, &info));
  KEEPS_ERRNO (slice_is_ours (&info));
  KEEPS_ERRNO (slice_get_stats (&stats));
  KEEPS_ERRNO (slice_validate (NULL));
}

/* Something must have been refused, or the test shows nothing. */
static void
test_refused (void)
{
  int64_t mallocs;

  slice_get_option (SLICE_OPTION_ALWAYS_MALLOC, &mallocs);
  if (!MAY_REFUSE || mallocs != 0)
    {
      g_test_skip ("nothing is mapped here");
      return;
    }
  g_assert_cmpuint (n_refused, >, 0);
}

int
main (int argc, char **argv)
{
  void *first;
  int after;

  slice_set_option (SLICE_OPTION_PAGE_SOURCE, SLICE_PAGES_MMAP);
  /* the first call of all, before GLib's */
  errno = OURS;
  first = slice_alloc (40);
  after = errno;
  slice_free1 (40, first);
  g_test_init (&argc, &argv, NULL);
  g_assert_cmpint (after, ==, OURS);
  g_test_add_func ("/slice/errno/blocks", test_blocks);
  g_test_add_func ("/slice/errno/contexts", test_contexts);
  g_test_add_func ("/slice/errno/arenas", test_arenas);
  g_test_add_func ("/slice/errno/heap", test_heap);
  g_test_add_func ("/slice/errno/others", test_others);
  g_test_add_func ("/slice/errno/refused", test_refused);
  return g_test_run ();
}
