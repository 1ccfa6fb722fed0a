/* lock.h - mutexes that know their rank
 *
 * Layer: port.  The order of locks is the order of layers: a thread takes
 * locks of falling rank only (L1).  A debug build asserts it.
 *
 *   rank 75  initialisation of the heap    rank 70  initialisation
 *                                          rank 20  pages
 *   rank 60  the registry of threads       rank 15  metadata
 *   rank 40  a stack of the depot          rank 10  block registry, options
 *   rank 30  the slabs of a class
 *   rank 25  the heap
 *
 * A thread that forks holds all locks from the prepare handler to that of the
 * parent or the child.  Meanwhile sli_lock() and sli_unlock() do nothing in
 * this thread.
 *
 * Design: chapter 9.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_THREAD_LOCK_H
#define SLI_PORT_THREAD_LOCK_H

#include <pthread.h>
#include <stdbool.h>

enum
{
  LOCK_RANK_HEAP_BEGIN = 75,
  LOCK_RANK_BEGIN = 70,
  LOCK_RANK_REGISTRY = 60,
  LOCK_RANK_DEPOT = 40,
  LOCK_RANK_SLAB = 30,
  LOCK_RANK_HEAP = 25,
  LOCK_RANK_PAGE = 20,
  LOCK_RANK_META = 15,
  LOCK_RANK_BASE = 10
};

typedef struct
{
  pthread_mutex_t mutex;
  int rank;
} Lock;

#define LOCK_INIT(rank) { PTHREAD_MUTEX_INITIALIZER, (rank) }

/* For locks that are not static. */
void sli_lock_init (Lock *lock, int rank);
void sli_lock (Lock *lock);
/* As sli_lock(); returns true if another thread had the lock. */
bool sli_lock_contended (Lock *lock);
bool sli_trylock (Lock *lock);
void sli_unlock (Lock *lock);

/* In debug builds, returns true if this thread holds a lock of that rank; in
 * others, always. */
bool sli_lock_rank_held (int rank);

/* In debug builds, returns true if this thread holds no lock, or forks; in
 * others, always. */
bool sli_lock_none_held (void);

/* For the schedule explorer alone, which runs several threads of its own in
 * one of the system: sets the ranks that the resumed thread holds, and returns
 * those of the suspended one. */
unsigned sli_lock_switch_held (unsigned ranks);

/* For fork.c: lock and unlock without a look at the rank. */
void sli_lock_for_fork (Lock *lock);
void sli_unlock_after_fork (Lock *lock);
/* In the child: unlocks and initialises a lock. */
void sli_lock_renew (Lock *lock);
/* Between these calls the calling thread holds all locks. */
void sli_lock_fork_begin (void);
void sli_lock_fork_end (void);
/* Returns true if the calling thread is between these calls. */
bool sli_lock_forking_here (void);

#endif
