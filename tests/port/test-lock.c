/* test-lock.c - slice/port/thread/lock.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "port/thread/lock.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static Lock low = LOCK_INIT (LOCK_RANK_PAGE);
static Lock high = LOCK_INIT (LOCK_RANK_DEPOT);

static void
test_excludes_run (unsigned index G_GNUC_UNUSED, void *data)
{
  unsigned *n = data;

  for (unsigned i = 0; i < 20000; i++)
    {
      sli_lock (&low);
      ++*n;
      sli_unlock (&low);
    }
}

static void
test_excludes (void)
{
  unsigned n = 0;

  test_gang (3, test_excludes_run, &n);
  g_assert_cmpuint (n, ==, 3 * 20000);
}

static void
test_trylock_run (unsigned index G_GNUC_UNUSED, void *data)
{
  bool *was_free = data;

  *was_free = sli_trylock (&low);
  if (*was_free)
    sli_unlock (&low);
}

static void
test_trylock (void)
{
  bool was_free = true;

  sli_lock (&low);
  test_gang (1, test_trylock_run, &was_free);
  g_assert_false (was_free);
  sli_unlock (&low);
  test_gang (1, test_trylock_run, &was_free);
  g_assert_true (was_free);
}

typedef struct
{
  unsigned thread_id;
  bool was_contended;
} Waiter;

static void *
waiter_run (void *data)
{
  Waiter *waiter = data;

  __atomic_store_n (&waiter->thread_id, test_thread_id (), __ATOMIC_RELEASE);
  waiter->was_contended = sli_lock_contended (&low);
  sli_unlock (&low);
  return NULL;
}

static void
test_contended (void)
{
  Waiter waiter = { 0, false };
  pthread_t thread;

  g_assert_false (sli_lock_contended (&low));
  pthread_create (&thread, NULL, waiter_run, &waiter);
  while (__atomic_load_n (&waiter.thread_id, __ATOMIC_ACQUIRE) == 0)
    g_thread_yield ();
  test_wait_asleep (waiter.thread_id);
  sli_unlock (&low);
  pthread_join (thread, NULL);
  if (!test_is_slow ())
    g_assert_true (waiter.was_contended);
}

/* The thread that forks holds all locks and passes through them; others
 * don't. */
static void
test_forking (void)
{
  bool was_free = true;

  sli_lock_for_fork (&high);
  sli_lock_for_fork (&low);
  g_assert_false (sli_lock_forking_here ());
  sli_lock_fork_begin ();
  g_assert_true (sli_lock_forking_here ());
  sli_lock (&low);
  g_assert_true (sli_trylock (&high));
  g_assert_false (sli_lock_contended (&low));
  sli_unlock (&low);
  sli_unlock (&high);
  test_gang (1, test_trylock_run, &was_free);
  g_assert_false (was_free);
  sli_lock_fork_end ();
  sli_unlock_after_fork (&low);
  sli_unlock_after_fork (&high);
  test_gang (1, test_trylock_run, &was_free);
  g_assert_true (was_free);
}

static void
test_order_is_free_downwards (void)
{
  sli_lock (&high);
  g_assert_true (sli_lock_rank_held (LOCK_RANK_DEPOT));
  sli_lock (&low);
  g_assert_true (sli_lock_rank_held (LOCK_RANK_PAGE));
  sli_unlock (&low);
  sli_unlock (&high);
}

#ifdef SLICE_DEBUG
static void
lock_upwards (void)
{
  sli_lock (&low);
  sli_lock (&high);
}

static void
unlock_what_is_free (void)
{
  static Lock lock = LOCK_INIT (LOCK_RANK_PAGE);

  sli_unlock (&lock);
}

static void
lock_same_rank (void)
{
  static Lock other = LOCK_INIT (LOCK_RANK_PAGE);

  sli_lock (&low);
  sli_lock (&other);
}

static void
check_aborts (TestBody body)
{
  int status;

  g_free (test_capture (body, &status));
  g_assert_true (WIFSIGNALED (status));
  g_assert_cmpint (WTERMSIG (status), ==, SIGABRT);
}

static void
test_wrong_order_ends (void)
{
  check_aborts (lock_upwards);
  check_aborts (lock_same_rank);
  check_aborts (unlock_what_is_free);
  g_assert_false (sli_lock_rank_held (LOCK_RANK_PAGE));
}

static void
test_none_held (void)
{
  g_assert_true (sli_lock_none_held ());
  sli_lock (&low);
  g_assert_false (sli_lock_none_held ());
  sli_unlock (&low);
  g_assert_true (sli_lock_none_held ());
}
#else
static void
test_wrong_order_ends (void)
{
  g_test_skip ("lock order is checked in debug builds");
}

static void
test_none_held (void)
{
  g_assert_true (sli_lock_none_held ());
}
#endif

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/lock/excludes", test_excludes);
  test_add ("/slice/lock/trylock", test_trylock);
  test_add ("/slice/lock/contended", test_contended);
  test_add ("/slice/lock/forking-passes-through", test_forking);
  test_add ("/slice/lock/order-is-free-downwards",
            test_order_is_free_downwards);
  test_add ("/slice/lock/wrong-order-ends", test_wrong_order_ends);
  test_add ("/slice/lock/none-held", test_none_held);
  return g_test_run ();
}
