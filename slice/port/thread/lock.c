/* lock.c - mutexes that know their rank
 *
 * Layer: port.  Plain pthread mutexes, which race detectors understand and
 * which cost no more than anything cleverer where it was measured
 * (design chapter 12).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "lock.h"
#include "port/compiler.h"

#include <errno.h>
#include <stdlib.h>

static struct
{
  bool active;      /* a thread is between prepare and parent or child */
  pthread_t thread; /* the one that forks */
} forking;

/* The schedule explorer looks at ranks in any build. */
#if defined SLICE_DEBUG || defined SLICE_SCHEDULE

/* Bit rank / 5 is set while this thread holds a lock of that rank. */
static __thread unsigned held_ranks
    __attribute__ ((tls_model ("initial-exec")));

static void
rank_enter (int rank)
{
  unsigned bit = 1u << (rank / 5);

  /* A lock was initialised. */
  if (rank <= 0)
    abort ();
  /* L1: no lock of the same or a lower rank may be held already. */
  if (!sli_lock_forking_here () && (held_ranks & ((bit << 1) - 1)) != 0)
    abort ();
  held_ranks |= bit;
}

static void
rank_leave (int rank)
{
  unsigned bit = 1u << (rank / 5);

  /* Only what is held is unlocked. */
  if ((held_ranks & bit) == 0)
    abort ();
  held_ranks &= ~bit;
}

bool
sli_lock_rank_held (int rank)
{
  return sli_lock_forking_here () || (held_ranks & (1u << (rank / 5))) != 0;
}

bool
sli_lock_none_held (void)
{
  return sli_lock_forking_here () || held_ranks == 0;
}

# ifdef SLICE_SCHEDULE
unsigned
sli_lock_switch_held (unsigned ranks)
{
  unsigned before = held_ranks;

  held_ranks = ranks;
  return before;
}
# endif

#else

static inline void
rank_enter (int rank UNUSED)
{
}

static inline void
rank_leave (int rank UNUSED)
{
}

bool
sli_lock_rank_held (int rank UNUSED)
{
  return true;
}

bool
sli_lock_none_held (void)
{
  return true;
}

#endif

/* The schedule explorer runs all its threads in one: a thread that waits must
 * switch to another. */
static inline void
mutex_lock (pthread_mutex_t *mutex)
{
  SCHEDULE_POINT ("lock");
  while (SCHEDULE_IS_ON && pthread_mutex_trylock (mutex) != 0)
    SCHEDULE_POINT ("lock taken");
  if (!SCHEDULE_IS_ON)
    pthread_mutex_lock (mutex);
}

COMMON_TEXT void
sli_lock_init (Lock *lock, int rank)
{
  pthread_mutex_init (&lock->mutex, NULL);
  lock->rank = rank;
}

COMMON_TEXT bool
sli_lock_forking_here (void)
{
  return UNLIKELY (LOAD_ACQUIRE (&forking.active))
         && pthread_equal (LOAD (&forking.thread), pthread_self ());
}

COMMON_TEXT void
sli_lock (Lock *lock)
{
  if (sli_lock_forking_here ())
    return;
  mutex_lock (&lock->mutex);
  rank_enter (lock->rank);
}

bool
sli_trylock (Lock *lock)
{
  if (sli_lock_forking_here ())
    return true;
  if (pthread_mutex_trylock (&lock->mutex) != 0)
    return false;
  rank_enter (lock->rank);
  return true;
}

COMMON_TEXT bool
sli_lock_contended (Lock *lock)
{
  if (LIKELY (sli_trylock (lock)))
    return false;
  sli_lock (lock);
  return true;
}

COMMON_TEXT void
sli_unlock (Lock *lock)
{
  if (sli_lock_forking_here ())
    return;
  rank_leave (lock->rank);
  pthread_mutex_unlock (&lock->mutex);
  SCHEDULE_POINT ("unlock");
}

COMMON_TEXT void
sli_lock_for_fork (Lock *lock)
{
  pthread_mutex_lock (&lock->mutex);
}

COMMON_TEXT void
sli_unlock_after_fork (Lock *lock)
{
#ifdef SLICE_DEBUG
  if (pthread_mutex_trylock (&lock->mutex) != EBUSY)
    abort (); /* sli_lock_for_fork() has not locked it */
#endif
  pthread_mutex_unlock (&lock->mutex);
}

/* The threads that waited do not exist in the child, but the mutex may still
 * count them, so it is initialised again.  The thread that locked it unlocks
 * it first: for race detectors, a mutex that is initialised while it is locked
 * stays locked. */
void
sli_lock_renew (Lock *lock)
{
  pthread_mutex_unlock (&lock->mutex);
  pthread_mutex_destroy (&lock->mutex);
  sli_lock_init (lock, lock->rank);
}

COMMON_TEXT void
sli_lock_fork_begin (void)
{
  STORE (&forking.thread, pthread_self ());
  STORE_RELEASE (&forking.active, true);
}

COMMON_TEXT void
sli_lock_fork_end (void)
{
  STORE_RELEASE (&forking.active, false);
}
