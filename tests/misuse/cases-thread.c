/* cases-thread.c - threads, forks, signals: numbers 50 to 58
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* dladdr(), RTLD_DEFAULT */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slice/libslice.h>

#include "tests/hang.h"
#include "misuse.h"

enum
{
  SIZE = 64,
  N_THREADS = 300,
  N_BLOCKS = 40,
  N_CACHED = 10000,
  N_FORKS = 60,
  N_CANCELLED = 300,
  N_INTERRUPTED = 50 * 1000 * 1000,
  DESTRUCTOR_ROUNDS = 4,
  /* What ended threads leave to the next on each processor: a bounded number
   * of records, far fewer than there are threads. */
  PARKED_BYTES = 8 * 64 * 1024
};

/* The long form, for make soak. */
static int
times (int n, int long_n)
{
  return getenv ("MISUSE_LONG") != NULL ? long_n : n;
}

/* Blocks out of their slabs, cached or not, and how many are the program's. */
static uint64_t
live_blocks (void)
{
  static SliceStats stats;

  slice_get_stats (&stats);
  return stats.live_blocks;
}

/* --- thread's ends ------------------------------------------------------- */

static pthread_key_t foreign_key;

/* Somebody else's destructor: works with blocks, in every round. */
static void
foreign_end (void *data)
{
  void *blocks[N_BLOCKS];
  uintptr_t rounds_left = (uintptr_t) data;

  for (int i = 0; i < N_BLOCKS; i++)
    blocks[i] = take (SIZE);
  for (int i = 0; i < N_BLOCKS; i++)
    give (SIZE, blocks[i]);
  if (rounds_left > 1)
    pthread_setspecific (foreign_key, (void *) (rounds_left - 1));
}

static void *
foreign_thread (void *data)
{
  give (SIZE, take (SIZE));
  pthread_setspecific (foreign_key, data);
  return NULL;
}

static bool
run_threads (void *(*run) (void *), void *data, int n)
{
  for (int i = 0; i < n; i++)
    {
      pthread_t thread;

      if (pthread_create (&thread, NULL, run, data) != 0)
        return false;
      pthread_join (thread, NULL);
    }
  return true;
}

static Verdict
foreign_destructors (void)
{
  static SliceStats before, after;

  pthread_key_create (&foreign_key, foreign_end);
  for (uintptr_t rounds = 1; rounds <= DESTRUCTOR_ROUNDS; rounds++)
    {
      run_threads (foreign_thread, (void *) rounds, 20);
      slice_get_stats (&before);
      run_threads (foreign_thread, (void *) rounds,
                   times (N_THREADS, 20000));
      slice_get_stats (&after);
      if (after.live_blocks != before.live_blocks
          || after.held_bytes > before.held_bytes + PARKED_BYTES
          || after.meta_bytes > before.meta_bytes + PARKED_BYTES)
        return HARM;
    }
  return NO_HARM;
}

static void *
cache_many (void *data)
{
  static void *blocks[N_CACHED];

  (void) data;
  for (int i = 0; i < N_CACHED; i++)
    blocks[i] = take (SIZE);
  for (int i = 0; i < N_CACHED; i++)
    give (SIZE, blocks[i]);
  return NULL;
}

static Verdict
much_cached (void)
{
  static SliceStats stats;

  run_threads (cache_many, NULL, 1);
  slice_trim (0);
  slice_get_stats (&stats);
  return stats.live_blocks == 0
                 && stats.classes[SLICE_CLASS_V1 (SIZE)].n_used == 0
             ? NO_HARM
             : HARM;
}

/* What C++ calls for a thread_local object. */
extern int __cxa_thread_atexit_impl (void (*end) (void *), void *object,
                                     void *dso);
extern void *__dso_handle;

/* glibc calls it when the last thread leaves by pthread_exit(): after the
 * destructors of all keys, ours among them. */
static void
object_end (void *block)
{
  give (SIZE, block);
  give (SIZE, take (SIZE));
  slice_trim (0);
  _exit (live_blocks () == 0 ? NO_HARM : HARM);
}

static Verdict
main_thread_leaves (void)
{
  __cxa_thread_atexit_impl (object_end, take (SIZE), &__dso_handle);
  pthread_exit (NULL);
}

/* --- fork ---------------------------------------------------------------- */

static volatile bool stop;

static void *
cycle (void *data)
{
  static __thread void *blocks[4000];

  (void) data;
  while (!stop)
    {
      for (int i = 0; i < 4000; i++)
        blocks[i] = take (SIZE);
      for (int i = 0; i < 4000; i++)
        give (SIZE, blocks[i]);
    }
  return NULL;
}

static void
start_cyclers (pthread_t *threads)
{
  stop = false;
  for (int i = 0; i < 3; i++)
    pthread_create (&threads[i], NULL, cycle, NULL);
}

static void
stop_cyclers (pthread_t *threads)
{
  stop = true;
  for (int i = 0; i < 3; i++)
    pthread_join (threads[i], NULL);
}

/* Forks n children that work; true if all did. */
static bool
children_work (int n)
{
  for (int i = 0; i < n; i++)
    {
      pid_t pid = fork ();
      int status;

      if (pid == 0)
        {
          hang_after ((unsigned) times (20, 200));
          churn (SIZE);
          slice_trim (0);
          run_threads (cache_many, NULL, 1);
          _exit (0);
        }
      if (waitpid (pid, &status, 0) != pid || status != 0)
        {
          fprintf (stderr, "child %d of %d: status %#x\n", i, n,
                   (unsigned) status);
          return false;
        }
    }
  return true;
}

static Verdict
fork_while_busy (void)
{
  pthread_t threads[3];
  bool worked;

  start_cyclers (threads);
  worked = children_work (times (N_FORKS, 1000));
  stop_cyclers (threads);
  return worked && !hands_out_twice (SIZE, NULL) ? NO_HARM : HARM;
}

static void
foreign_prepare (void)
{
  for (int i = 0; i < 1000; i++)
    give (SIZE, take (SIZE));
  churn (SIZE);
}

/* The library is loaded before main(), so these handlers come after its own;
 * the test of fork.c has the other order. */
static Verdict
foreign_prepare_handler (void)
{
  pthread_t threads[3];
  bool worked;

  pthread_atfork (foreign_prepare, foreign_prepare, foreign_prepare);
  start_cyclers (threads);
  worked = children_work (10);
  stop_cyclers (threads);
  return worked ? NO_HARM : HARM;
}

/* No handler runs: the child may hang, and is documented to.  The parent must
 * not be harmed. */
static Verdict
bare_fork (void)
{
  pid_t (*bare) (void) = (pid_t (*) (void)) dlsym (RTLD_DEFAULT, "_Fork");
  pthread_t threads[3];
  int status;

  if (bare == NULL)
    return SKIP;
  start_cyclers (threads);
  for (int i = 0; i < 5; i++)
    {
      pid_t pid = bare ();

      if (pid == 0)
        _exit (0);
      waitpid (pid, &status, 0);
    }
  stop_cyclers (threads);
  return hands_out_twice (SIZE, NULL) ? HARM : NO_HARM;
}

/* --- signals and cancelling ---------------------------------------------- */

static void
take_in_handler (int number)
{
  (void) number;
  give (SIZE, take (SIZE));
}

static Verdict
signal_handler (void)
{
  struct itimerval often = { { 0, 200 }, { 0, 200 } };

  signal (SIGPROF, take_in_handler);
  fault_begin (NULL, SIZE);
  setitimer (ITIMER_PROF, &often, NULL);
  for (int i = 0; i < N_INTERRUPTED; i++)
    give (SIZE, take (SIZE));
  return NO_HARM;
}

static void *
cycle_until_cancelled (void *data)
{
  void *blocks[100];

  (void) data;
  for (;;)
    {
      for (int i = 0; i < 100; i++)
        blocks[i] = take (SIZE);
      for (int i = 0; i < 100; i++)
        give (SIZE, blocks[i]);
      pthread_testcancel ();
    }
  return NULL;
}

static Verdict
cancelled (void)
{
  uint64_t before = live_blocks ();

  for (int i = 0; i < times (N_CANCELLED, 1000); i++)
    {
      pthread_t thread;

      pthread_create (&thread, NULL, cycle_until_cancelled, NULL);
      usleep ((unsigned) i % 50);
      pthread_cancel (thread);
      pthread_join (thread, NULL);
    }
  slice_trim (0); /* takes every lock: none may be held */
  return live_blocks () == before ? NO_HARM : HARM;
}

/* --- the library comes and goes ------------------------------------------ */

typedef struct
{
  void *library;
  void *(*alloc) (size_t);
  void (*free) (size_t, void *);
} Loaded;

static void *
use_and_close (void *data)
{
  Loaded *loaded = data;

  loaded->free (SIZE, loaded->alloc (SIZE));
  dlclose (loaded->library);
  return NULL; /* now our hook is called */
}

static Verdict
opened_and_closed (void)
{
  Dl_info info;

  /* Linked statically there is no library to come and go. */
  if (dladdr ((void *) slice_trim, &info) == 0
      || strstr (info.dli_fname, "libslice") == NULL)
    return SKIP;
  for (int i = 0; i < 100; i++)
    {
      Loaded loaded = { .library = dlopen (info.dli_fname, RTLD_NOW) };
      pthread_t thread;

      if (loaded.library == NULL)
        return HARM;
      loaded.alloc = (void *(*) (size_t)) dlsym (loaded.library,
                                                 "slice_alloc");
      loaded.free = (void (*) (size_t, void *)) dlsym (loaded.library,
                                                       "slice_free1");
      pthread_create (&thread, NULL, use_and_close, &loaded);
      pthread_join (thread, NULL);
    }
  return NO_HARM;
}

#define ALL(what) { what, what, what, what }

const Case thread_cases[] = {
  { 50, "foreign destructors, 4 rounds", foreign_destructors, ALL ("N"),
    false, NULL },
  { 51, "10,000 cached at a thread's end", much_cached, ALL ("N"), false,
    NULL },
  { 52, "main thread ends first", main_thread_leaves, ALL ("N"), false,
    NULL },
  { 53, "fork while threads work", fork_while_busy, ALL ("N"), false, NULL },
  { 54, "foreign fork handler allocates", foreign_prepare_handler,
    ALL ("N"), false, NULL },
  { 55, "_Fork()", bare_fork, ALL ("N"), false, NULL },
  { 56, "allocation in a signal handler", signal_handler,
    { "U|G|101|105", "U|G|105", "116", "116" }, false, NULL },
  { 57, "threads cancelled", cancelled, ALL ("N"), false, NULL },
  { 58, "opened and closed 100 times", opened_and_closed, ALL ("N"), false,
    NULL },
  { .number = 0 }
};
