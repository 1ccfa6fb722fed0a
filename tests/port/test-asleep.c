/* test-asleep.c - slice/port/thread/asleep.c
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "config.h"

#include "tests/testlib.h"
#include "port/thread/asleep.h"
#include "port/os/os.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 200 };

/* A thread that follows orders, and its data. */
typedef enum { SLEEP, SLEEP_MARKED, LEND, RUN, END } Order;

static struct
{
  pthread_t thread;
  Asleep asleep;
  Order order;
  bool obeys;
  bool in_handler;
  int pipes[2]; /* what the handler waits for */
} other;

static void
handler (int signal_number G_GNUC_UNUSED)
{
  char byte;

  __atomic_store_n (&other.in_handler, true, __ATOMIC_RELEASE);
  while (read (other.pipes[0], &byte, 1) != 1)
    ;
  __atomic_store_n (&other.in_handler, false, __ATOMIC_RELEASE);
}

static Order
order_now (void)
{
  return __atomic_load_n (&other.order, __ATOMIC_ACQUIRE);
}

/* Waits in vfork() while a child sleeps on this thread's stack. */
static void
lend_the_stack (void)
{
  const struct timespec pause = { 0, 20 * 1000 * 1000 };
  pid_t child;

  asleep_mark (&other.asleep);
  child = vfork ();
  if (child == 0)
    {
      nanosleep (&pause, NULL);
      _exit (0);
    }
  waitpid (child, NULL, 0);
}

static void *
obey (void *data G_GNUC_UNUSED)
{
  const struct timespec pause = { 0, 20 * 1000 * 1000 };

  sli_asleep_init (&other.asleep);
  while (order_now () != END)
    {
      __atomic_store_n (&other.obeys, true, __ATOMIC_RELEASE);
      if (order_now () == SLEEP_MARKED)
        asleep_mark (&other.asleep);
      if (order_now () == LEND)
        lend_the_stack ();
      else if (order_now () != RUN)
        nanosleep (&pause, NULL);
    }
  return NULL;
}

static void
tell (Order order)
{
  __atomic_store_n (&other.order, order, __ATOMIC_RELEASE);
  __atomic_store_n (&other.obeys, false, __ATOMIC_RELEASE);
  while (order != END && !__atomic_load_n (&other.obeys, __ATOMIC_ACQUIRE))
    g_usleep (1000);
}

/* How often of TRIES it is found asleep. */
static unsigned
count_asleep (void)
{
  unsigned n = 0;

  for (int i = 0; i < TRIES; i++)
    {
      n += sli_asleep_is (&other.asleep);
      g_usleep (1000);
    }
  return n;
}

/* False: the system can't tell. */
static bool
begin (void)
{
  struct sigaction action = { .sa_handler = handler };

  g_assert_cmpint (pipe (other.pipes), ==, 0);
  sigaction (SIGUSR1, &action, NULL);
  pthread_create (&other.thread, NULL, obey, NULL);
  tell (SLEEP_MARKED);
  return other.asleep.word != &other.asleep.own_word;
}

static void
end (void)
{
  tell (END);
  pthread_join (other.thread, NULL);
}

/* It sleeps nearly all the time; now and then it is preempted first. */
static void
test_sleeps (void)
{
  bool can_tell = begin ();
  unsigned n = count_asleep ();

  g_test_message ("%u of %d", n, TRIES);
  if (!can_tell)
    g_assert_cmpuint (n, ==, 0);
  else
    g_assert_cmpuint (n, >, 0);
  end ();
}

static void
test_runs (void)
{
  (void) begin ();
  tell (RUN);
  g_assert_cmpuint (count_asleep (), ==, 0);
  end ();
}

/* Once it has woken, the mark is gone. */
static void
test_unmarked (void)
{
  (void) begin ();
  tell (SLEEP);
  g_usleep (100 * 1000);
  g_assert_cmpuint (count_asleep (), ==, 0);
  end ();
}

/* A handler sleeps in a system call, but what it has interrupted does not.
 * Nor is that known afterwards, until the next mark. */
static void
test_handler (void)
{
  (void) begin ();
  for (int i = 0; i < 10; i++)
    {
      tell (SLEEP_MARKED);
      pthread_kill (other.thread, SIGUSR1);
      while (!__atomic_load_n (&other.in_handler, __ATOMIC_ACQUIRE))
        g_usleep (100);
      for (int k = 0; k < 20; k++)
        {
          g_assert_false (sli_asleep_is (&other.asleep));
          g_usleep (1000);
        }
      g_assert_cmpint ((int) write (other.pipes[1], "x", 1), ==, 1);
      while (__atomic_load_n (&other.in_handler, __ATOMIC_ACQUIRE))
        g_usleep (100);
    }
  end ();
}

/* The child of vfork() may be in any code of the parent's. */
static void
test_vfork (void)
{
  (void) begin ();
  tell (LEND);
  g_assert_cmpuint (count_asleep (), ==, 0);
  end ();
}

/* A forked child's threads are not those of its parent. */
static void
test_other_process (void)
{
  (void) begin ();
  other.asleep.process_id++;
  g_assert_cmpuint (count_asleep (), ==, 0);
  end ();
}

static void
test_pretended (void)
{
  Asleep own;

  sli_asleep_init (&own);
  sli_asleep_pretend (1);
  g_assert_true (sli_asleep_is (&own));
  sli_asleep_pretend (0);
  g_assert_false (sli_asleep_is (&own));
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/asleep/sleeps", test_sleeps);
  test_add_fresh ("/slice/asleep/runs", test_runs);
  test_add_fresh ("/slice/asleep/unmarked", test_unmarked);
  test_add_fresh ("/slice/asleep/handler", test_handler);
  test_add_fresh ("/slice/asleep/vfork", test_vfork);
  test_add_fresh ("/slice/asleep/other-process", test_other_process);
  test_add_fresh ("/slice/asleep/pretended", test_pretended);
  return g_test_run ();
}
