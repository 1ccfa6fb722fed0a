/* test-dlopen.c - the library in a program that was not linked with it
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/hang.h"
#include "tests/testlib.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is looked up in it. */
typedef struct
{
  void *handle;
  void *(*alloc) (size_t size);
  void (*free1) (size_t size, void *block);
  size_t (*trim) (unsigned max_age_msec);
  bool (*is_ours) (const void *address);
} Library;

static char *library_path;

static Library
library_open (const char *path)
{
  Library library;

  library.handle = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  if (library.handle == NULL)
    g_error ("%s", dlerror ());
  *(void **) &library.alloc = dlsym (library.handle, "slice_alloc");
  *(void **) &library.free1 = dlsym (library.handle, "slice_free1");
  *(void **) &library.trim = dlsym (library.handle, "slice_trim");
  *(void **) &library.is_ours = dlsym (library.handle, "slice_is_ours");
  g_assert_true (library.alloc != NULL && library.free1 != NULL
                 && library.trim != NULL && library.is_ours != NULL);
  return library;
}

static void
library_use (const Library *library)
{
  void *blocks[600];

  for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
    {
      blocks[i] = library->alloc (i + 1);
      g_assert_true (library->is_ours (blocks[i]));
      test_fill (blocks[i], i + 1, 0);
    }
  for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
    {
      g_assert_true (test_is_filled (blocks[i], i + 1, 0));
      library->free1 (i + 1, blocks[i]);
    }
}

static void
use_in_thread (unsigned index G_GNUC_UNUSED, void *data)
{
  library_use (data);
}

static void
test_open (void)
{
  Library library = library_open (library_path);

  library_use (&library);
  test_gang (3, use_in_thread, &library);
  library.trim (0);
}

/* Threads that were there before the library was. */
static Library late_library;
static pthread_barrier_t barrier;

static void
use_late (unsigned index, void *data G_GNUC_UNUSED)
{
  pthread_barrier_wait (&barrier);
  if (index == 0)
    late_library = library_open (library_path);
  pthread_barrier_wait (&barrier);
  library_use (&late_library);
}

static void
test_open_late (void)
{
  pthread_barrier_init (&barrier, NULL, 4);
  test_gang (4, use_late, NULL);
}

/* Closed while threads have magazines: it stays, and so do they well. */
static void
close_meanwhile (unsigned index, void *data)
{
  Library *library = data;

  library_use (library);
  pthread_barrier_wait (&barrier);
  if (index == 0)
    g_assert_cmpint (dlclose (library->handle), ==, 0);
  pthread_barrier_wait (&barrier);
  library_use (library);
}

static void
test_close (void)
{
  Library library = library_open (library_path);

  pthread_barrier_init (&barrier, NULL, 4);
  test_gang (4, close_meanwhile, &library);
  library_use (&library);
  g_assert_nonnull (dlopen (library_path, RTLD_NOW | RTLD_NOLOAD));
}

/* Handlers that were there before the library: theirs run while the library
 * holds all its locks, and use it. */
static Library forked_library;
static int n_handled;

static void
use_in_handler (void)
{
  if (forked_library.handle != NULL)
    library_use (&forked_library);
  n_handled++;
}

static gint goes_on, was_used;

static void *
use_meanwhile (void *unused)
{
  while (g_atomic_int_get (&goes_on))
    {
      library_use (&forked_library);
      g_atomic_int_set (&was_used, 1);
    }
  return unused;
}

static void
test_fork_handlers_before (void)
{
  pthread_t thread;

  pthread_atfork (use_in_handler, use_in_handler, use_in_handler);
  forked_library = library_open (library_path);
  g_atomic_int_set (&goes_on, 1);
  pthread_create (&thread, NULL, use_meanwhile, NULL);
  /* The thread maps its first extent with no lock held.  A child that is forked
   * at that moment loses the mapping, and memcheck calls that a leak. */
  while (test_is_slow () && !g_atomic_int_get (&was_used))
    g_usleep (1000);
  for (unsigned i = 0; i < test_times (100, 10); i++)
    {
      int status, n_before = n_handled;
      pid_t child;

      fflush (NULL);
      child = fork ();
      if (child == 0)
        {
          hang_after (test_is_slow () ? 600 : 60);
          library_use (&forked_library);
          forked_library.trim (0);
          _exit (n_handled == n_before + 2 ? 0 : 1);
        }
      g_assert_cmpint (waitpid (child, &status, 0), ==, child);
      g_assert_cmpint (status, ==, 0);
      g_assert_cmpint (n_handled, ==, n_before + 2);
    }
  g_atomic_int_set (&goes_on, 0);
  pthread_join (thread, NULL);
}

/* A key that was made before the library's, and one after: the destructors of
 * the first run before the library hears of the thread's end, in each round,
 * those of the other after it. */
static pthread_key_t early_key, late_key;
static Library ended_library;
static gint n_destructed;

/* The thread sanitizer's own end of a thread is in the last round. */
#ifdef __SANITIZE_THREAD__
# define N_ROUNDS 3
#else
# define N_ROUNDS 4
#endif

static void
use_at_end (void *key)
{
  static __thread int n_rounds[2];

  library_use (&ended_library);
  g_atomic_int_inc (&n_destructed);
  if (++n_rounds[key == &late_key] < N_ROUNDS)
    pthread_setspecific (*(pthread_key_t *) key, key); /* and once more */
}

static void
end_with_keys (unsigned index G_GNUC_UNUSED, void *data)
{
  pthread_setspecific (early_key, &early_key);
  pthread_setspecific (late_key, &late_key);
  library_use (data);
}

static void
test_keys_before_and_after (void)
{
  pthread_key_create (&early_key, use_at_end);
  ended_library = library_open (library_path);
  pthread_key_create (&late_key, use_at_end);
  for (int i = 0; i < 5; i++)
    test_gang (4, end_with_keys, &ended_library);
  g_assert_cmpint (n_destructed, ==, 5 * 4 * 2 * N_ROUNDS);
  ended_library.trim (0);
  library_use (&ended_library);
}

static void
test_no_key_left (void)
{
  pthread_key_t key;
  Library library;

  while (pthread_key_create (&key, NULL) == 0)
    continue;
  library = library_open (library_path);
  library_use (&library);
  test_gang (3, use_in_thread, &library);
}

/* A debug build keeps more for each thread. */
#ifdef SLICE_DEBUG
# define N_COPIES 50
#else
# define N_COPIES 100
#endif

/* Many copies, as plugins might bring them: each its own. */
static void
test_copies (void)
{
  enum { N = N_COPIES };
  static Library libraries[N];
  char *directory = g_dir_make_tmp ("slice-test-XXXXXX", NULL);
  unsigned n = test_times (N, 5);
  char *content;
  gsize length;

  g_assert_nonnull (directory);
  g_assert_true (g_file_get_contents (library_path, &content, &length, NULL));
  for (unsigned i = 0; i < n; i++)
    {
      char *path = g_strdup_printf ("%s/copy-%u.so", directory, i);

      g_assert_true (
          g_file_set_contents (path, content, (gssize) length, NULL));
      libraries[i] = library_open (path);
      g_unlink (path);
      g_free (path);
    }
  g_rmdir (directory);
  for (unsigned i = 0; i < n; i++)
    {
      void *block = libraries[i].alloc (40);

      library_use (&libraries[i]);
      g_assert_true (libraries[i].is_ours (block));
      g_assert_false (libraries[(i + 1) % n].is_ours (block));
      libraries[i].free1 (40, block);
    }
  test_gang (3, use_in_thread, &libraries[n - 1]);
  g_free (content);
  g_free (directory);
}

int
main (int argc, char **argv)
{
  const char *builddir = g_getenv ("top_builddir");

  test_init (&argc, &argv);
  library_path = g_build_filename (builddir != NULL ? builddir : ".", "slice",
                                   ".libs", "libslice.so", NULL);
  g_assert_null (dlsym (RTLD_DEFAULT, "slice_alloc"));
  if (!g_file_test (library_path, G_FILE_TEST_EXISTS))
    {
      printf ("1..0 # SKIP no shared library was built\n");
      return 0;
    }
  test_add_fresh ("/slice/dlopen/open", test_open);
  test_add_fresh ("/slice/dlopen/open-late", test_open_late);
  test_add_fresh ("/slice/dlopen/close", test_close);
  test_add_fresh ("/slice/dlopen/fork-handlers-before",
                  test_fork_handlers_before);
  test_add_fresh ("/slice/dlopen/keys-before-and-after",
                  test_keys_before_and_after);
  test_add_fresh ("/slice/dlopen/no-key-left", test_no_key_left);
  test_add_fresh ("/slice/dlopen/copies", test_copies);
  return g_test_run ();
}
