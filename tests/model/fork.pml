/* fork.pml - a child of a process whose other thread holds locks
 *
 * Models fork.c and lock.c: prepare takes all locks from the top down; between
 * it and the parent's or the child's handler the forking thread passes through
 * every lock; the child initialises its locks.  Another library's prepare
 * handler, run before or after ours, allocates as well.
 *
 * Holds: nobody waits for ever, and the child finds no structure half changed.
 * Must fail: -DNO_PASSING, -DNO_RENEWAL, -DNO_PREPARE.
 *
 * SPDX-License-Identifier: MIT
 */
#define DEPOT 0
#define SLAB 1
#define PAGE 2
#define N_LOCKS 3

/* Of the parent and of the child. */
bool is_locked[6];
byte changing[6];       /* > 0: the structure is half changed */
#define OF(process, lock) ((process) * N_LOCKS + (lock))

bool is_forking = false, has_forked = false, is_over = false;

inline acquire (process, lock)
{
  atomic { !is_locked[OF (process, lock)] ->
           is_locked[OF (process, lock)] = true }
}

inline release (process, lock) { is_locked[OF (process, lock)] = false }

/* A slow path: each layer's lock in turn, as every call does it. */
inline allocate (process, passes)
{
  n = 0;
  do
  :: n < N_LOCKS ->
       if
       :: passes -> skip
       :: else -> acquire (process, n)
       fi;
       assert (changing[OF (process, n)] == 0);
       changing[OF (process, n)]++;
       changing[OF (process, n)]--;
       if
       :: passes -> skip
       :: else -> release (process, n)
       fi;
       n++
  :: else -> break
  od
}

active proctype other_thread ()
{
  byte n, turns = 0;

  do
  :: turns < 2 -> turns++; allocate (0, false)
  :: else -> break
  od
}

proctype child ()
{
  byte n;

  allocate (1, false);
  is_over = true
}

active proctype forking_thread ()
{
  byte n, i;
  bool passes = false;

  /* a foreign handler that comes first */
  allocate (0, false);
#ifndef NO_PREPARE
  acquire (0, DEPOT);
  acquire (0, SLAB);
  acquire (0, PAGE);
#ifndef NO_PASSING
  passes = true;
#endif
  /* a foreign handler that comes after ours */
  allocate (0, passes);
#endif
  /* the kernel copies everything at one moment, as far as locks tell */
  atomic {
    i = 0;
    do
    :: i < N_LOCKS ->
         is_locked[OF (1, i)] = is_locked[OF (0, i)];
         changing[OF (1, i)] = changing[OF (0, i)];
         i++
    :: else -> break
    od
  };
#ifndef NO_RENEWAL
  i = 0;
  do
  :: i < N_LOCKS -> is_locked[OF (1, i)] = false; i++
  :: else -> break
  od;
#endif
  run child ();
#ifndef NO_PREPARE
  release (0, PAGE);
  release (0, SLAB);
  release (0, DEPOT);
#endif
  allocate (0, false)
}
