/* locked.h - arenas for several threads
 *
 * Layer: arena.  The program's handle is a shell: a lock, with the real arena
 * behind it.  Each public function takes the lock and calls the arena, which
 * is of the ordinary kind with the ordinary fast paths.  The inline code sees
 * an empty shell and calls the library.
 *
 *   +-------+--------------------- ... --+
 *   | shell | control block | first block|
 *   +-------+--------------------- ... --+
 *
 * No rank: functions of the program run under the lock (constructors, page
 * sources, a walk's visit), and may use any other arena.
 *
 * Design: section 8.10.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_LOCKED_H
#define SLI_ARENA_LOCKED_H

#include <pthread.h>

typedef struct
{
  pthread_mutex_t mutex; /* it notices a second lock by its owner */
} ArenaLock;

void sli_arena_lock_init (ArenaLock *lock);
void sli_arena_lock_fini (ArenaLock *lock);
/* Reports misuse by `operation' if this thread has the lock. */
void sli_arena_lock (ArenaLock *lock, const void *arena,
                     const char *operation);
void sli_arena_unlock (ArenaLock *lock);

#endif
