/* test-between.c - what another thread does between two steps of a call
 *
 * The library calls pthread_mutex_lock() and mmap() between the steps.  This
 * program has functions of these names, and there it does what another thread
 * might do at that moment.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE 1
#endif
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slice/arena.h>
#include <slice/libslice.h>
#include <slice/options.h>

#include "tests/testlib.h"

static void (*volatile at_lock) (void);
static void (*volatile at_map) (void);
static int volatile n_locks; /* before at_lock is called */
static int n_calls;          /* of at_lock or at_map */

/* Calls a function once. */
static void
call_once (void (*volatile *place) (void))
{
  void (*function) (void) = *place;

  *place = NULL;
  if (function == NULL)
    return;
  n_calls++;
  function ();
}

int
pthread_mutex_lock (pthread_mutex_t *mutex)
{
  static int (*real) (pthread_mutex_t *mutex);

  if (real == NULL)
    *(void **) &real = dlsym (RTLD_NEXT, "pthread_mutex_lock");
  if (at_lock != NULL && n_locks-- == 0)
    call_once (&at_lock);
  return real (mutex);
}

void *
mmap (void *address, size_t length, int protection, int flags, int fd,
      off_t offset)
{
  static void *(*real) (void *, size_t, int, int, int, off_t);

  if (real == NULL)
    /* With 32 bits the headers give the functions of 64-bit offsets. */
    *(void **) &real = dlsym (RTLD_NEXT, sizeof (off_t) > sizeof (long)
                                             ? "mmap64"
                                             : "mmap");
  call_once (&at_map);
  return real (address, length, protection, flags, fd, offset);
}

/* How a child ends that runs a body; it may end by any signal. */
static int
status_of (void (*body) (void))
{
  int status = 0;
  pid_t child = fork ();

  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      alarm (30);
      body ();
      _exit (0);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  return status;
}

/* --- an option is set while an arena is made ------------------------------ */

/* With the control block the first block is a slice, but not if a mode adds
 * its own bytes. */
enum
{
  FIRST_BYTES_MIN = 1100,
  FIRST_BYTES_MAX = 2032
};

static int64_t value_before, value_after;
static size_t first_bytes;
static int kind;

enum
{
  STATUS_SET = 10 /* the child could set the option */
};

static bool is_set;

/* It may be too late. */
static void
set_checked (void)
{
  is_set = slice_set_option (SLICE_OPTION_CHECKED, value_after)
           == SLICE_SET_OK;
}

/* The arena holds no more than its control block has, and can be ended. */
static void
make_linear (void)
{
  SliceArenaOptions options = { .first_bytes = first_bytes };
  SliceLinear *linear = slice_linear_new (&options);
  SliceArenaStats stats;

  slice_linear_get_stats (linear, &stats);
  g_assert_cmpuint (stats.held_bytes, <=, slice_block_size (linear));
  slice_linear_destroy (linear);
}

static void
make_stack (void)
{
  SliceArenaOptions options
      = { .first_bytes = first_bytes == FIRST_BYTES_MIN ? 0 : first_bytes };
  SliceStack *stack = slice_stack_new (&options);
  SliceArenaStats stats;

  slice_stack_get_stats (stack, &stats);
  if (stats.n_requests == 1 && stats.n_blocks == 1)
    g_assert_cmpuint (stats.free_bytes, <=, slice_block_size (stack));
  slice_stack_destroy (stack);
}

static void
make_pool (void)
{
  SlicePoolOptions options
      = { .object_bytes = 24, .arena = { .first_bytes = first_bytes } };
  SlicePool *pool = slice_pool_new (&options);
  SliceArenaStats stats;

  slice_pool_get_stats (pool, &stats);
  g_assert_cmpuint (stats.held_bytes, <=, slice_block_size (pool) + 300);
  slice_pool_destroy (pool);
}

static void
make_between (void)
{
  static void (*const make[]) (void) = { make_linear, make_stack, make_pool };

  g_assert_cmpint (slice_set_option (SLICE_OPTION_CHECKED, value_before), ==,
                   SLICE_SET_OK);
  at_lock = set_checked;
  make[kind]();
  at_lock = NULL;
  slice_thread_flush ();
  _exit (is_set ? STATUS_SET : 0);
}

/* At each of the first locks that the call takes. */
static void
make_at_each_lock (void)
{
  unsigned n_set = 0;

  for (kind = 0; kind < 3; kind++)
    for (first_bytes = FIRST_BYTES_MIN; first_bytes <= FIRST_BYTES_MAX;
         first_bytes += 16)
      for (int n = 0; n < 3; n++)
        {
          int status;

          n_locks = n;
          status = status_of (make_between);
          if (!WIFEXITED (status)
              || (WEXITSTATUS (status) != 0
                  && WEXITSTATUS (status) != STATUS_SET))
            g_error ("kind %d, %zu bytes, lock %d: status %d", kind,
                     first_bytes, n, status);
          n_set += WEXITSTATUS (status) == STATUS_SET;
        }
  g_assert_cmpuint (n_set, >=, 3 * (FIRST_BYTES_MAX - FIRST_BYTES_MIN) / 16);
}

static void
test_mode_off (void)
{
  value_before = 1;
  value_after = 0;
  make_at_each_lock ();
}

static void
test_mode_on (void)
{
  value_before = 0;
  value_after = 1;
  make_at_each_lock ();
}

/* --- a fork while the registry of live blocks grows ----------------------- */

/* Such blocks are malloc's, which takes no memory through our mmap().  So where
 * the first blocks are there, only the registry does, with its lock
 * released. */
enum
{
  BLOCK_BYTES = 5000,
  N_BLOCKS = 8000,
  N_OTHERS = 1000, /* of the thread that forks, and of its child */
  N_FORKS_MIN = 10,
  N_FORKS_MAX = 20
};

static int fork_status;

static void
use_others (void)
{
  void *blocks[N_OTHERS];

  for (unsigned i = 0; i < N_OTHERS; i++)
    memset (blocks[i] = slice_alloc (BLOCK_BYTES), 1, BLOCK_BYTES);
  for (unsigned i = 0; i < N_OTHERS; i++)
    slice_free1 (BLOCK_BYTES, blocks[i]);
}

static void *
fork_here (void *data)
{
  fork_status |= status_of (use_others);
  use_others ();
  fork_status |= status_of (use_others);
  return data;
}

static void
fork_elsewhere (void)
{
  pthread_t thread;

  g_assert_cmpint (pthread_create (&thread, NULL, fork_here, NULL), ==, 0);
  g_assert_cmpint (pthread_join (thread, NULL), ==, 0);
}

static void
fork_between (const char *mode)
{
  static void *blocks[N_BLOCKS];

  test_options (mode);
  use_others ();
  n_calls = 0;
  for (unsigned i = 0; i < N_BLOCKS; i++)
    {
      at_map = n_calls < N_FORKS_MAX ? fork_elsewhere : NULL;
      blocks[i] = slice_alloc (BLOCK_BYTES);
    }
  at_map = NULL;
  g_assert_cmpint (fork_status, ==, 0);
  g_assert_cmpint (n_calls, >=, N_FORKS_MIN);
  for (unsigned i = 0; i < N_BLOCKS; i++)
    slice_free1 (BLOCK_BYTES, blocks[i]);
}

static void
test_fork_checked (void)
{
  fork_between ("checked");
}

static void
test_fork_hardened (void)
{
  fork_between ("hardened");
}

static void
test_fork_debug (void)
{
  fork_between ("debug");
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  if (TEST_IS_SANITIZED || test_is_slow ())
    {
      g_print ("1..0 # SKIP a tool has these functions itself\n");
      return 0;
    }
  test_add ("/slice/between/mode-off", test_mode_off);
  test_add ("/slice/between/mode-on", test_mode_on);
  test_add_fresh ("/slice/between/fork/checked", test_fork_checked);
  test_add_fresh ("/slice/between/fork/hardened", test_fork_hardened);
  test_add_fresh ("/slice/between/fork/debug", test_fork_debug);
  return g_test_run ();
}
