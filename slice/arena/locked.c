/* locked.c - the lock of an arena for several threads
 *
 * Layer: arena.  See locked.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "locked.h"

#include "base/diag.h"
#include "port/compiler.h"

void
sli_arena_lock_init (ArenaLock *lock)
{
  pthread_mutexattr_t attributes;

  pthread_mutexattr_init (&attributes);
  pthread_mutexattr_settype (&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init (&lock->mutex, &attributes);
  pthread_mutexattr_destroy (&attributes);
}

void
sli_arena_lock_fini (ArenaLock *lock)
{
  pthread_mutex_destroy (&lock->mutex);
}

void
sli_arena_lock (ArenaLock *lock, const void *arena, const char *operation)
{
  if (UNLIKELY (pthread_mutex_lock (&lock->mutex) != 0))
    sli_diag_abort (ARENA_MISUSE_REENTRY,
                    "%s: arena %p: a function that one of its calls runs has"
                    " called it",
                    operation, arena);
}

void
sli_arena_unlock (ArenaLock *lock)
{
  pthread_mutex_unlock (&lock->mutex);
}
