/* lock.h - mutexes that know their rank
 *
 * Layer: port.  Lock order is floor order: a thread takes locks of falling
 * rank only.  A debug build asserts it.
 *
 *   rank 70  the first call                rank 20  the pages
 *   rank 60  the registry of threads       rank 15  metadata
 *   rank 40  a class's depot               rank 10  the block registry, options
 *   rank 30  a class's slabs
 *
 * While a thread forks (between the prepare handler and the parent's or the
 * child's) it holds every lock that there is to be taken; what it calls then passes through sli_lock()
 * as if it had taken it.
 *
 * Design: chapter 9.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_LOCK_H
#define SLI_PORT_LOCK_H

#include <pthread.h>
#include <stdbool.h>

enum
{
  LOCK_RANK_BEGIN = 70,
  LOCK_RANK_REGISTRY = 60,
  LOCK_RANK_DEPOT = 40,
  LOCK_RANK_SLAB = 30,
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
/* As sli_lock(), and tells whether it had to wait. */
bool sli_lock_contended (Lock *lock);
bool sli_trylock (Lock *lock);
void sli_unlock (Lock *lock);

/* Debug builds only (true otherwise): does this thread hold such a rank? */
bool sli_lock_rank_held (int rank);

/* What fork.c takes and gives back all locks with: no rank is asked. */
void sli_lock_for_fork (Lock *lock);
void sli_unlock_after_fork (Lock *lock);
/* What the child does to each of them instead. */
void sli_lock_renew (Lock *lock);
/* The forking thread holds everything from here on; until it does not. */
void sli_lock_fork_begin (void);
void sli_lock_fork_end (void);
/* Does the calling thread fork just now? */
bool sli_lock_forking_here (void);

#endif
