/* depot.pml - magazines come and go through the depot, and threads end
 *
 * Models magazine.c and depot.c: each thread has a loaded and a previous
 * magazine, here of one round; full ones are pushed and popped under the lock;
 * at its end a thread leaves all it has.  Another library's destructor frees
 * after that, straight to the slab.
 *
 * Holds: no chunk in two places; at the end all are back in the slab.  Must
 * fail: -DNO_LOCK, -DNO_FLUSH.
 *
 * SPDX-License-Identifier: MIT
 */
#define N_THREADS 2
#define N_CHUNKS 4
#define N_STEPS 6
#define NONE N_CHUNKS

bool in_slab[N_CHUNKS], is_live[N_CHUNKS];
byte stack[N_CHUNKS];    /* the depot: a chunk stands for its magazine */
byte n_stack = 0;
bool is_locked = false;
byte n_ended = 0;

inline lock ()
{
#ifndef NO_LOCK
  atomic { !is_locked -> is_locked = true }
#else
  skip
#endif
}

inline unlock () { is_locked = false }

inline give_to_slab (chunk)
{
  atomic { assert (!in_slab[chunk]); in_slab[chunk] = true }
}

inline push_depot (chunk)
{
  lock ();
  at = n_stack;
  if
  :: at < N_CHUNKS -> stack[at] = chunk; n_stack = at + 1
  :: else -> assert (false) /* more magazines than there are chunks */
  fi;
  unlock ()
}

inline pop_depot (chunk)
{
  lock ();
  at = n_stack;
  if
  :: at > 0 -> chunk = stack[at - 1]; n_stack = at - 1
  :: else -> chunk = NONE
  fi;
  unlock ()
}

inline take_from_slab (chunk)
{
  atomic {
    chunk = 0;
    do
    :: chunk < N_CHUNKS && !in_slab[chunk] -> chunk++
    :: else -> break
    od;
    if
    :: chunk < N_CHUNKS -> in_slab[chunk] = false
    :: else -> skip
    fi
  }
}

/* Any one of the thread's own blocks. */
inline choose_own (chunk)
{
  chunk = 0;
  do
  :: chunk < N_CHUNKS && own[chunk] -> break
  :: chunk < N_CHUNKS -> chunk++
  :: chunk == N_CHUNKS -> break
  od
}

proctype thread ()
{
  byte loaded = NONE, previous = NONE, steps = 0, chunk, at;
  bool own[N_CHUNKS];

  do
  :: steps == N_STEPS -> break
  :: steps < N_STEPS ->
       /* a block */
       steps++;
       if
       :: loaded == NONE && previous != NONE ->
            loaded = previous;
            previous = NONE
       :: loaded == NONE && previous == NONE -> pop_depot (loaded)
       :: else -> skip
       fi;
       chunk = loaded;
       loaded = NONE;
       if
       :: chunk == NONE -> take_from_slab (chunk)
       :: else -> skip
       fi;
       if
       :: chunk < N_CHUNKS ->
            atomic {
              assert (!is_live[chunk] && !in_slab[chunk]);
              is_live[chunk] = true;
              own[chunk] = true
            }
       :: else -> skip
       fi
  :: steps < N_STEPS ->
       /* one back */
       steps++;
       choose_own (chunk);
       if
       :: chunk < N_CHUNKS ->
            atomic { is_live[chunk] = false; own[chunk] = false };
            if
            :: loaded != NONE && previous != NONE -> push_depot (previous)
            :: else -> skip
            fi;
            if
            :: loaded != NONE -> previous = loaded
            :: else -> skip
            fi;
            loaded = chunk
       :: else -> skip
       fi
  od;
  /* the thread's end */
#ifndef NO_FLUSH
  if
  :: loaded != NONE -> push_depot (loaded)
  :: else -> skip
  fi;
  if
  :: previous != NONE -> give_to_slab (previous)
  :: else -> skip
  fi;
#endif
  loaded = NONE;
  previous = NONE;
  /* a destructor that runs later */
  chunk = 0;
  do
  :: chunk == N_CHUNKS -> break
  :: chunk < N_CHUNKS && own[chunk] ->
       atomic { is_live[chunk] = false; own[chunk] = false };
       give_to_slab (chunk);
       chunk++
  :: chunk < N_CHUNKS && !own[chunk] -> chunk++
  od;
  atomic { n_ended++; chunk = 0; at = 0 }
}

init
{
  byte i, at, chunk;

  atomic {
    i = 0;
    do
    :: i < N_CHUNKS -> in_slab[i] = true; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < N_THREADS -> run thread (); i++
    :: else -> break
    od
  };
  n_ended == N_THREADS;
  /* the trimmer's last pass */
  do
  :: n_stack > 0 -> pop_depot (chunk); give_to_slab (chunk)
  :: else -> break
  od;
  i = 0;
  do
  :: i < N_CHUNKS -> assert (in_slab[i]); i++
  :: else -> break
  od
}
