/* trim.c - giving spare memory back, when asked and by a helper thread
 *
 * Layer: alloc.  Below: magazine.  No locks.  Design: chapters 5 and 9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "alloc.h"
#include "magazine/magazine.h"
#include "base/option.h"
#include "port/compiler.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

enum
{
  /* The helper wakes so often within a working set, but not more often than
   * every 100 ms. */
  WAKES_PER_WORKING_SET = 4,
  WAKE_MSEC_MIN = 100
};

size_t
slice_trim (unsigned max_age_msec)
{
  return sli_alloc_is_ready () ? sli_magazine_trim (max_age_msec) : 0;
}

void
slice_thread_flush (void)
{
  if (sli_alloc_is_ready ())
    sli_magazine_flush (false);
}

static void *
trim_thread (void *data UNUSED)
{
  uint64_t age_msec = (uint64_t) sli_option (SLICE_OPTION_WORKING_SET_MSEC);
  uint64_t wake_msec = age_msec / WAKES_PER_WORKING_SET;
  struct timespec pause;

  if (wake_msec < WAKE_MSEC_MIN)
    wake_msec = WAKE_MSEC_MIN;
  pause.tv_sec = (time_t) (wake_msec / 1000);
  pause.tv_nsec = (long) (wake_msec % 1000) * 1000000;
  for (;;)
    {
      nanosleep (&pause, NULL);
      sli_magazine_trim (age_msec);
    }
  return NULL;
}

/* The helper takes no signals: these are the program's. */
void
sli_trim_thread_start (void)
{
  pthread_attr_t attributes;
  sigset_t all, before;
  pthread_t thread;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  pthread_attr_init (&attributes);
  pthread_attr_setdetachstate (&attributes, PTHREAD_CREATE_DETACHED);
  /* Without the helper the traffic still trims: failure is no error. */
  (void) pthread_create (&thread, &attributes, trim_thread, NULL);
  pthread_attr_destroy (&attributes);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
}
