/* trim.c - gives spare memory back: slice_trim() and a helper thread
 *
 * Layer: alloc.  Below: magazine.  No locks.  Design: chapters 5 and 9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "alloc/alloc.h"
#include "checking/registry/block-registry.h"
#include "magazine/magazine.h"
#include "base/check.h"
#include "base/option.h"
#include "port/compiler.h"
#include "port/os/os.h"

#include <pthread.h>
#include <signal.h>

enum
{
  /* The helper wakes this often within a working set, but at most every 100
   * ms. */
  WAKES_PER_WORKING_SET = 4,
  WAKE_MSEC_MIN = 100,
  END_MSEC_MAX = 64 /* of one sleep while a thread ends */
};

size_t
slice_trim (unsigned max_age_msec)
{
  if (!sli_alloc_is_ready ())
    return 0;
  if (max_age_msec == 0)
    sli_block_registry_trim (); /* first: it may free runs */
  return sli_magazine_trim (max_age_msec);
}

void
slice_thread_flush (void)
{
  if (sli_alloc_is_ready ())
    sli_magazine_flush (false);
}

/* The signal mask of the thread that started the helper. */
static sigset_t programs_signals;

/* The last thread with a record is about to end.  Returns true if it was the
 * last of all threads, once it is gone. */
static bool
was_last_thread (void)
{
  for (unsigned msec = 1; msec <= END_MSEC_MAX; msec *= 4)
    {
      if (sli_os_other_threads () == OS_ALL_ENDED)
        return true;
      sli_os_sleep_msec (msec);
    }
  return sli_os_other_threads () == OS_ALL_ENDED;
}

/* Waits; false: all other threads have ended.  *is_due: the time is over. */
static bool
helper_wait (unsigned wake_msec, bool *is_due)
{
  static uint32_t n_ends;
  uint32_t n_ends_before = n_ends;
  OsThreads others = sli_os_other_threads ();

  assert_here (sli_lock_none_held ());
  if (others == OS_ALL_ENDED)
    return false;
  /* The end of threads without a record is not noticed. */
  if (others == OS_MAIN_ENDED)
    wake_msec = WAKE_MSEC_MIN;
  n_ends = sli_magazine_await_end (n_ends, wake_msec);
  *is_due = n_ends == n_ends_before;
  return *is_due || !was_last_thread ();
}

/* The helper and a call that looks at all structures keep out of each other's
 * way: each announces itself first, and then looks for the other. */
static unsigned n_suspended;
static bool helper_works;

void
sli_trim_thread_suspend (void)
{
  __atomic_fetch_add (&n_suspended, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n (&helper_works, __ATOMIC_SEQ_CST))
    sli_os_sleep_msec (1);
}

void
sli_trim_thread_resume (void)
{
  __atomic_fetch_sub (&n_suspended, 1, __ATOMIC_RELEASE);
}

static void
helper_trim (uint64_t age_msec)
{
  __atomic_store_n (&helper_works, true, __ATOMIC_SEQ_CST);
  if (__atomic_load_n (&n_suspended, __ATOMIC_SEQ_CST) == 0)
    sli_magazine_trim (age_msec);
  STORE_RELEASE (&helper_works, false);
}

/* The helper ends with the program.  A process whose threads all call
 * pthread_exit() ends with the last thread, which would be this one. */
static void *
trim_thread (void *data UNUSED)
{
  uint64_t age_msec = sli_option_working_set_msec ();
  uint64_t wake_msec = age_msec / WAKES_PER_WORKING_SET;
  uint64_t due_msec = sli_os_clock_msec () + wake_msec;
  bool is_due;

  if (wake_msec < WAKE_MSEC_MIN)
    wake_msec = WAKE_MSEC_MIN;
  while (helper_wait ((unsigned) wake_msec, &is_due))
    if (is_due || sli_os_clock_msec () >= due_msec)
      {
        helper_trim (age_msec);
        due_msec = sli_os_clock_msec () + wake_msec;
      }
  /* The program's exit functions run in this thread. */
  pthread_sigmask (SIG_SETMASK, &programs_signals, NULL);
  return NULL;
}

/* The helper blocks all signals, which are the program's.  In a forked child
 * the parent's helper may have been at work. */
void
sli_trim_thread_start (void)
{
  pthread_attr_t attributes;
  pthread_t thread;
  sigset_t all;

  STORE (&helper_works, false);
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &programs_signals);
  pthread_attr_init (&attributes);
  pthread_attr_setdetachstate (&attributes, PTHREAD_CREATE_DETACHED);
  /* Failure is no error: without the helper, the program's own calls trim. */
  (void) pthread_create (&thread, &attributes, trim_thread, NULL);
  pthread_attr_destroy (&attributes);
  pthread_sigmask (SIG_SETMASK, &programs_signals, NULL);
}
