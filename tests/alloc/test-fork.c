/* test-fork.c - slice/alloc/process/fork.c: a child that can allocate and free
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/walk.h>

#include "tests/hang.h"
#include "tests/testlib.h"
#include "tests/teststats.h"
#include "depot/depot.h"
#include "port/thread/shard.h"
#include "slab/slab.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum
{
  N_CHURNERS = 3,
  CHILD_SECONDS = 20,
  NESTED_FORKS = 5,
  SMALL_CLASS = 3, /* any */
  FRESH_SIZE_MIN = 1200
};

/* --- other libraries' handlers, registered before and after ours --- */

static void *handlers_block;
static bool handlers_work; /* not where the program's first call matters */
static int n_handled_first, n_handled_last;
static size_t fresh_size = 2048;

static void
use_in_handler (void)
{
  void *blocks[40];

  if (!handlers_work)
    return;
  /* Enough for trips to the depot and the slabs, in whatever state. */
  for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
    {
      blocks[i] = slice_alloc (72);
      memset (blocks[i], 3, 72);
    }
  for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
    slice_free1 (72, blocks[i]);
  slice_free1 (72, handlers_block);
  handlers_block = slice_alloc (72);
  /* Classes are made when they are first used: one that nobody has used, for
   * each of the calls that the tests make. */
  fresh_size -= fresh_size > FRESH_SIZE_MIN ? 16 : 0;
  slice_free1 (fresh_size, slice_alloc (fresh_size));
}

static void
first_handler (void)
{
  use_in_handler ();
  n_handled_first++;
}

static void
last_handler (void)
{
  use_in_handler ();
  n_handled_last++;
}

/* A handler that forks.  It runs while the library holds all locks. */
typedef enum
{
  STAGE_NONE,
  STAGE_PREPARE,
  STAGE_PARENT,
  STAGE_CHILD
} Stage;

static Stage nest_at;     /* where it forks, once */
static bool nest_goes_on; /* its child returns from all forks */
static int nest_status;

static void
fork_in_handler (Stage stage)
{
  pid_t child;

  if (stage != nest_at)
    return;
  nest_at = STAGE_NONE;
  child = fork ();
  if (child != 0)
    {
      waitpid (child, &nest_status, 0);
      return;
    }
  /* (It may wait for a child of its own.) */
  hang_after (NESTED_FORKS * CHILD_SECONDS * (test_is_slow () ? 10 : 1));
  use_in_handler ();
  if (!nest_goes_on)
    _exit (0);
}

static void
first_prepare (void)
{
  first_handler ();
  fork_in_handler (STAGE_PREPARE);
}

static void
first_parent (void)
{
  first_handler ();
  fork_in_handler (STAGE_PARENT);
}

static void
first_child (void)
{
  first_handler ();
  fork_in_handler (STAGE_CHILD);
}

/* Runs before the library's constructor has registered its own.  (musl runs no
 * .preinit_array; there the library is part of the program, and the order of
 * constructors counts.) */
__attribute__ ((constructor (101))) static void
register_first (void)
{
  static bool is_registered;

  if (!is_registered)
    pthread_atfork (first_prepare, first_parent, first_child);
  is_registered = true;
}

__attribute__ ((section (".preinit_array"), used)) static void (
    *const first_of_all) (void)
    = register_first;

/* --- threads at work meanwhile --- */

static int go_on;

static void *
churn (void *data)
{
  TestRandom random;
  void *blocks[200] = { NULL };

  test_random_init (&random, GPOINTER_TO_UINT (data));
  while (g_atomic_int_get (&go_on))
    {
      unsigned at = test_random_below (&random, G_N_ELEMENTS (blocks));

      if (blocks[at] == NULL)
        blocks[at] = slice_alloc (64 + at % 5 * 100);
      else
        {
          slice_free1 (64 + at % 5 * 100, blocks[at]);
          blocks[at] = NULL;
        }
      if (test_random_below (&random, 3000) == 0)
        slice_trim (0);
    }
  for (size_t i = 0; i < G_N_ELEMENTS (blocks); i++)
    slice_free1 (64 + i % 5 * 100, blocks[i]);
  return NULL;
}

/* --- what a child does --- */

enum { N_PARENTS = 1000 };
static void *parents_blocks[N_PARENTS];

static size_t
size_of (unsigned i)
{
  return 8 + i % 300;
}

static void
use_in_thread (unsigned index, void *data G_GNUC_UNUSED)
{
  for (unsigned i = 1; i < 500; i++)
    {
      void *block = slice_alloc (i);

      memset (block, (int) index, i);
      slice_free1 (i, block);
    }
}

static void
child_works (bool starts_threads)
{
  void *own[500];

  hang_after (CHILD_SECONDS * (test_is_slow () ? 10 : 1));
  for (unsigned i = 0; i < G_N_ELEMENTS (own); i++)
    {
      own[i] = slice_alloc (64);
      memset (own[i], 5, 64);
    }
  for (unsigned i = 0; i < N_PARENTS; i++)
    {
      if (!test_is_filled (parents_blocks[i], size_of (i), i))
        _exit (2);
      slice_free1 (size_of (i), parents_blocks[i]);
    }
  for (unsigned i = 0; i < G_N_ELEMENTS (own); i++)
    slice_free1 (64, own[i]);
  slice_trim (0);
  if (starts_threads && !TEST_IS_SANITIZED)
    test_gang (2, use_in_thread, NULL);
  _exit (0);
}

/* Before the fork and after it, in parent and child, and in either order:
 * registered before the library's handlers, and after them. */
static bool
handlers_ran (int n_first, int n_last)
{
  return n_handled_first == n_first + 2 && n_handled_last == n_last + 2;
}

/* The parent's blocks, and threads that allocate meanwhile. */
static void
churn_begin (pthread_t threads[N_CHURNERS])
{
  for (unsigned i = 0; i < N_PARENTS; i++)
    {
      parents_blocks[i] = slice_alloc (size_of (i));
      test_fill (parents_blocks[i], size_of (i), i);
    }
  go_on = 1;
  for (unsigned i = 0; i < N_CHURNERS; i++)
    pthread_create (&threads[i], NULL, churn, GUINT_TO_POINTER (i));
}

static void
fork_often (unsigned n_forks)
{
  pthread_t threads[N_CHURNERS];
  unsigned n_hung = 0, n_wrong = 0;

  handlers_work = true;
  churn_begin (threads);
  for (unsigned i = 0; i < n_forks && n_wrong == 0; i++)
    {
      int status, n_first = n_handled_first, n_last = n_handled_last;
      pid_t child;

      fflush (NULL);
      child = fork ();
      if (!handlers_ran (n_first, n_last))
        {
          if (child == 0)
            _exit (3);
          n_wrong++;
        }
      if (child == 0)
        child_works (i % 16 == 0);
      g_assert_cmpint (waitpid (child, &status, 0), ==, child);
      n_hung += WIFSIGNALED (status) && WTERMSIG (status) == SIGALRM;
      n_wrong += status != 0;
    }
  g_atomic_int_set (&go_on, 0);
  for (unsigned i = 0; i < N_CHURNERS; i++)
    pthread_join (threads[i], NULL);
  /* After the first that is wrong: each that hangs takes its time. */
  g_test_message ("%u forks, %u hung, %u wrong", n_forks, n_hung, n_wrong);
  g_assert_cmpuint (n_hung, ==, 0);
  g_assert_cmpuint (n_wrong, ==, 0);
  for (unsigned i = 0; i < N_PARENTS; i++)
    slice_free1 (size_of (i), parents_blocks[i]);
  slice_free1 (72, handlers_block);
  handlers_block = NULL;
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
fork_in_mode (const char *options, unsigned n_forks)
{
  test_options (options);
  pthread_atfork (last_handler, last_handler, last_handler);
  fork_often (test_times (n_forks, 10));
}

static void
test_forks (void)
{
  fork_in_mode ("", 500);
}

static void
test_forks_checked (void)
{
  fork_in_mode ("checked", 60);
}

static void
test_forks_hardened (void)
{
  fork_in_mode ("hardened", 60);
}

static void
test_forks_debug (void)
{
  fork_in_mode ("debug", 60);
}

static void
test_forks_debug_blocks (void)
{
  fork_in_mode ("debug-blocks", 60);
}

static void
test_forks_bypass (void)
{
  fork_in_mode ("bypass-magazines", 60);
}

static void
test_forks_trim_thread (void)
{
  fork_in_mode ("trim-thread working-set-msec=1", 60);
}

/* One fork, in whose handler at a stage another is made.  Of the processes,
 * those that did not begin use slices and threads, and exit. */
static void
fork_nested (Stage stage, bool goes_on)
{
  pid_t self = getpid (), child;
  int status = 0;

  nest_at = stage;
  nest_goes_on = goes_on;
  nest_status = 0;
  fflush (NULL);
  child = fork ();
  if (child == 0 || getpid () != self)
    {
      if (child > 0)
        waitpid (child, &status, 0);
      if (status != 0 || nest_status != 0)
        _exit (4);
      child_works (true);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (status, ==, 0);
  g_assert_cmpint (nest_status, ==, 0);
}

static void
fork_nested_in_mode (const char *options)
{
  pthread_t threads[N_CHURNERS];

  test_options (options);
  handlers_work = true;
  hang_after (NESTED_FORKS * CHILD_SECONDS * (test_is_slow () ? 10 : 1));
  churn_begin (threads);
  for (unsigned i = 0; i < test_times (NESTED_FORKS, 1); i++)
    for (Stage stage = STAGE_PREPARE; stage <= STAGE_CHILD; stage++)
      {
        fork_nested (stage, false);
        fork_nested (stage, true);
      }
  g_atomic_int_set (&go_on, 0);
  for (unsigned i = 0; i < N_CHURNERS; i++)
    pthread_join (threads[i], NULL);
  for (unsigned i = 0; i < N_PARENTS; i++)
    slice_free1 (size_of (i), parents_blocks[i]);
}

static void
test_nested (void)
{
  fork_nested_in_mode ("");
}

static void
test_nested_debug (void)
{
  fork_nested_in_mode ("debug");
}

static void
test_nested_trim_thread (void)
{
  fork_nested_in_mode ("trim-thread working-set-msec=1");
}

/* What threads left behind held is counted, and nothing else is lost. */
static size_t held_bytes = 4 * 512;

static void *
hold_blocks (void *data)
{
  pthread_barrier_t *barrier = data;

  for (int i = 0; i < 9; i++)
    parents_blocks[i] = slice_alloc (held_bytes);
  for (int i = 0; i < 3; i++)
    slice_free1 (held_bytes, parents_blocks[i]);
  pthread_barrier_wait (barrier);
  pthread_barrier_wait (barrier);
  return NULL;
}

static void
test_loss_is_counted (void)
{
  pthread_barrier_t barrier;
  pthread_t thread;
  uint64_t cached;
  pid_t child;
  int status;

  handlers_work = true;
  pthread_barrier_init (&barrier, NULL, 2);
  pthread_create (&thread, NULL, hold_blocks, &barrier);
  pthread_barrier_wait (&barrier);
  cached = test_class_stats (2048)->n_cached_threads;
  g_assert_cmpuint (cached, >=, 3);
  fflush (NULL);
  child = fork ();
  if (child == 0)
    {
      const SliceStats *stats = test_stats ();

      _exit (stats->n_fork_lost >= cached && stats->n_fork_lost < 100
                     && stats->n_threads <= 1
                 ? 0
                 : 1);
    }
  waitpid (child, &status, 0);
  g_assert_cmpint (status, ==, 0);
  g_assert_cmpuint (test_stats ()->n_fork_lost, ==, 0);
  pthread_barrier_wait (&barrier);
  pthread_join (thread, NULL);
}

/* What the child lost with sleeping threads is not live: its statistics and
 * its walk say what its parent's did. */
static int64_t n_walked[SLICE_N_CLASSES];

static bool
walk_live (const SlicePart *part, void *data G_GNUC_UNUSED)
{
  if (part->kind == SLICE_PART_OUT)
    n_walked[part->class_index]++;
  if (part->kind == SLICE_PART_CACHED)
    n_walked[part->class_index]--;
  return true;
}

static void
expect_live (const SliceStats *parents)
{
  const SliceStats *own = test_stats ();

  g_assert_cmpuint (own->live_blocks, ==, parents->live_blocks);
  g_assert_cmpuint (own->live_bytes, ==, parents->live_bytes);
  memset (n_walked, 0, sizeof n_walked);
  g_assert_true (slice_walk (walk_live, NULL));
  for (unsigned i = 1; i < SLICE_N_CLASSES; i++)
    {
      g_assert_cmpuint (own->classes[i].n_live, ==,
                        parents->classes[i].n_live);
      g_assert_cmpint (n_walked[i], ==, (gint64) own->classes[i].n_live);
    }
  g_assert_null (slice_validate (NULL));
}

static void
live_after_forks (void)
{
  static SliceStats stats; /* large */
  pthread_barrier_t barrier;
  pthread_t thread;
  int status;

  pthread_barrier_init (&barrier, NULL, 2);
  pthread_create (&thread, NULL, hold_blocks, &barrier);
  pthread_barrier_wait (&barrier);
  g_assert_true (slice_get_stats (&stats));
  g_assert_cmpuint (stats.live_blocks, >=, 6);
  for (int depth = 0; depth < 2; depth++)
    {
      pid_t child = fork ();

      if (child != 0)
        {
          waitpid (child, &status, 0);
          if (depth > 0)
            _exit (status);
          g_assert_cmpint (status, ==, 0);
          break;
        }
      expect_live (&stats);
      g_assert_cmpuint (test_stats ()->n_fork_lost, >=, 3);
      if (depth > 0)
        _exit (0);
    }
  pthread_barrier_wait (&barrier);
  pthread_join (thread, NULL);
}

static void
test_lost_is_not_live (void)
{
  live_after_forks ();
}

static void
test_lost_is_not_live_debug (void)
{
  test_options ("debug"); /* the largest are malloc's there */
  held_bytes = 512;
  live_after_forks ();
}

/* Children of children, each with blocks of all that went before. */
static void
test_generations (void)
{
  int status = 0;

  handlers_work = true;
  for (unsigned i = 0; i < N_PARENTS; i++)
    {
      parents_blocks[i] = slice_alloc (size_of (i));
      test_fill (parents_blocks[i], size_of (i), i);
    }
  for (int depth = 0; depth < 8; depth++)
    {
      pid_t child;

      fflush (NULL);
      child = fork ();
      if (child != 0)
        {
          waitpid (child, &status, 0);
          break;
        }
      if (!TEST_IS_SANITIZED)
        test_gang (2, use_in_thread, NULL);
      if (depth == 7)
        child_works (true);
    }
  if (status != 0)
    abort ();
  /* Parents of the last one end here, too. */
}

/* --- a child with a million objects --- */

typedef struct
{
  unsigned n;
  void **blocks;
} Crowd;

static void
crowd_join (unsigned index, void *data)
{
  Crowd *crowd = data;

  for (unsigned i = index; i < crowd->n; i += 2)
    {
      crowd->blocks[i] = slice_alloc (8 + i % 64);
      test_fill (crowd->blocks[i], 8 + i % 64, i);
    }
}

static void
crowd_leave (const Crowd *crowd)
{
  slice_free1 (72, handlers_block);
  handlers_block = NULL;
  for (unsigned i = 0; i < crowd->n; i++)
    {
      g_assert_true (test_is_filled (crowd->blocks[i], 8 + i % 64, i));
      slice_free1 (8 + i % 64, crowd->blocks[i]);
    }
}

/* Made by two threads that are no more when the process forks: the child
 * frees all of them, and their slabs go back. */
static void
child_ends_crowd (const Crowd *crowd)
{
  uint64_t before_bytes = test_stats ()->held_bytes;

  hang_after (CHILD_SECONDS * (test_is_slow () ? 10 : 1));
  g_assert_cmpuint (test_live (), >=, crowd->n);
  crowd_leave (crowd);
  g_assert_cmpuint (test_live (), ==, 0);
  g_assert_null (slice_validate (NULL));
  slice_trim (0);
  g_assert_cmpuint (test_stats ()->held_bytes, <, before_bytes / 4);
  g_assert_null (slice_validate (NULL));
  _exit (0);
}

static void
fork_crowd (const char *options)
{
  Crowd crowd = { .n = test_times (1000000, 20000) };
  int status;
  pid_t child;

  test_options (options);
  handlers_work = true;
  crowd.blocks = g_new (void *, crowd.n);
  test_gang (2, crowd_join, &crowd);
  fflush (NULL);
  child = fork ();
  if (child == 0)
    child_ends_crowd (&crowd);
  waitpid (child, &status, 0);
  g_assert_cmpint (status, ==, 0);
  crowd_leave (&crowd); /* the parent's are as they were */
  g_assert_cmpuint (test_live (), ==, 0);
  g_free (crowd.blocks);
}

static void
test_million (void)
{
  fork_crowd ("");
}

static void
test_million_checked (void)
{
  fork_crowd ("checked");
}

static void
test_million_hardened (void)
{
  fork_crowd ("hardened");
}

static void
test_million_debug (void)
{
  fork_crowd ("debug");
}

/* A fork before the first block needs nothing, and changes nothing. */
static void
test_before_the_first_block (void)
{
  int status;
  pid_t child;

  fflush (NULL);
  child = fork ();
  if (child == 0)
    {
      use_in_thread (0, NULL);
      test_gang (2, use_in_thread, NULL);
      _exit (0);
    }
  waitpid (child, &status, 0);
  g_assert_cmpint (status, ==, 0);
  use_in_thread (0, NULL);
}

/* The first one is another library's, between our handlers. */
static void
test_first_block_in_a_handler (void)
{
  handlers_work = true;
  test_before_the_first_block ();
  handlers_work = false;
}

/* --- a fork beside the first call --- */

#if !TEST_IS_SANITIZED /* which have a pthread_mutex_lock() of their own */

enum
{
  N_LOCKS_LOOKED = 12,
  HELD_USEC = 30000
};

static sem_t is_inside;
static __thread int locks_to_go; /* 0: of no interest */

/* In place of the C library's: the lock in question is held for a while. */
int
pthread_mutex_lock (pthread_mutex_t *mutex)
{
  static int (*real_lock) (pthread_mutex_t *);
  int result;

  if (__atomic_load_n (&real_lock, __ATOMIC_RELAXED) == NULL)
    {
      void *symbol = dlsym (RTLD_NEXT, "pthread_mutex_lock");

      __atomic_store (&real_lock, (int (**) (pthread_mutex_t *)) &symbol,
                      __ATOMIC_RELAXED);
    }
  result = real_lock (mutex);
  if (locks_to_go > 0 && --locks_to_go == 0)
    {
      sem_post (&is_inside);
      usleep (HELD_USEC);
    }
  return result;
}

static int lock_looked_at;

static void *
first_call (void *data)
{
  locks_to_go = lock_looked_at;
  if (data != NULL)
    slice_set_option (SLICE_OPTION_HUGE_PAGES, 0);
  else
    slice_free1 (64, slice_alloc (64));
  if (locks_to_go > 0)
    sem_post (&is_inside);
  locks_to_go = 0;
  return NULL;
}

static void
use_after_fork (void)
{
  hang_after (CHILD_SECONDS);
  slice_free1 (64, slice_alloc (64));
  use_in_thread (0, NULL);
  slice_trim (0);
  test_gang (2, use_in_thread, NULL);
  _exit (0);
}

/* In a process of its own: the other thread makes the first call (or sets an
 * option), and holds a lock while this one forks. */
static void
fork_beside_first_call (void *data)
{
  pthread_t thread;
  pid_t child;
  int status;

  sem_init (&is_inside, 0, 0);
  pthread_create (&thread, NULL, first_call, data);
  sem_wait (&is_inside);
  child = fork ();
  if (child == 0)
    use_after_fork ();
  pthread_join (thread, NULL);
  waitpid (child, &status, 0);
  if (status != 0)
    _exit (1);
  use_after_fork ();
}

static void
fork_at_each_lock (void *data)
{
  for (lock_looked_at = 1; lock_looked_at < N_LOCKS_LOOKED; lock_looked_at++)
    {
      int status;
      pid_t child;

      handlers_work = false;
      fflush (NULL);
      child = fork ();
      handlers_work = lock_looked_at % 2 == 0;
      if (child == 0)
        fork_beside_first_call (data);
      waitpid (child, &status, 0);
      g_assert_cmpint (status, ==, 0);
    }
}

static void
test_first_call (void)
{
  fork_at_each_lock (NULL);
}

static void
test_first_option (void)
{
  fork_at_each_lock (&is_inside);
}

static void
add_first_calls (void)
{
  test_add_fresh ("/slice/fork/first-call", test_first_call);
  test_add_fresh ("/slice/fork/first-option", test_first_option);
}

#else

static void
add_first_calls (void)
{
}

#endif

/* --- where every block is a malloc --- */

static pthread_barrier_t holder_barrier;

static void *
hold_slab_lock (void *data G_GNUC_UNUSED)
{
  sli_lock (sli_slab_make_lock ());
  pthread_barrier_wait (&holder_barrier);
  pthread_barrier_wait (&holder_barrier);
  sli_unlock (sli_slab_make_lock ());
  return NULL;
}

/* The fork does not take the classes' locks then.  Another thread may hold one
 * as it looks for what could be given back, and the child must not wait for
 * it. */
static void
test_malloc_locks (void)
{
  pthread_t holder;
  pid_t child;
  int status;

  test_options ("always-malloc");
  slice_free1 (64, slice_alloc (64));
  pthread_barrier_init (&holder_barrier, NULL, 2);
  pthread_create (&holder, NULL, hold_slab_lock, NULL);
  pthread_barrier_wait (&holder_barrier);
  child = fork ();
  if (child == 0)
    {
      hang_after (CHILD_SECONDS);
      slice_trim (0);
      _exit (slice_validate (NULL) == NULL ? 0 : 1);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  pthread_barrier_wait (&holder_barrier);
  pthread_join (holder, NULL);
  g_assert_cmpint (status, ==, 0);
}

/* Each call seems to come from the next processor: threads take magazines from
 * each other's shards all the time, and handlers come to shards that nobody
 * has used before. */
static int
next_processor (void)
{
  static unsigned n_calls;

  return (int) (__atomic_fetch_add (&n_calls, 1, __ATOMIC_RELAXED) % 5);
}

static void
test_forks_stealing (void)
{
  sli_shard_pretend (next_processor);
  /* Small magazines make many trips. */
  sli_depot_limits.rounds_max = 4;
  fork_in_mode ("", 300);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/fork/forks", test_forks);
  test_add_fresh ("/slice/fork/forks-checked", test_forks_checked);
  test_add_fresh ("/slice/fork/forks-hardened", test_forks_hardened);
  test_add_fresh ("/slice/fork/forks-debug", test_forks_debug);
  test_add_fresh ("/slice/fork/forks-debug-blocks", test_forks_debug_blocks);
  test_add_fresh ("/slice/fork/forks-bypass-magazines", test_forks_bypass);
  test_add_fresh ("/slice/fork/forks-trim-thread", test_forks_trim_thread);
#ifdef __GLIBC__
  /* musl waits for itself if a handler forks. */
  test_add_fresh ("/slice/fork/nested", test_nested);
  test_add_fresh ("/slice/fork/nested-debug", test_nested_debug);
  test_add_fresh ("/slice/fork/nested-trim-thread", test_nested_trim_thread);
#endif
  test_add_fresh ("/slice/fork/loss-is-counted", test_loss_is_counted);
  test_add_fresh ("/slice/fork/lost-is-not-live", test_lost_is_not_live);
  test_add_fresh ("/slice/fork/lost-is-not-live-debug",
                  test_lost_is_not_live_debug);
  test_add_fresh ("/slice/fork/generations", test_generations);
  test_add_fresh ("/slice/fork/million", test_million);
  test_add_fresh ("/slice/fork/million-checked", test_million_checked);
  test_add_fresh ("/slice/fork/million-hardened", test_million_hardened);
  test_add_fresh ("/slice/fork/million-debug", test_million_debug);
  test_add_fresh ("/slice/fork/before-the-first-block",
                  test_before_the_first_block);
  test_add_fresh ("/slice/fork/first-block-in-a-handler",
                  test_first_block_in_a_handler);
  add_first_calls ();
  test_add_fresh ("/slice/fork/malloc-locks", test_malloc_locks);
  test_add_fresh ("/slice/fork/forks-stealing", test_forks_stealing);
  return g_test_run ();
}
