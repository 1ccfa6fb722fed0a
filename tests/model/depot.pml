/* depot.pml - magazines come and go through the depot, and threads end
 *
 * Models magazine.c, depot.c and stack.c: each thread has a loaded and a
 * previous magazine, here of one round; full ones are pushed to the stack of
 * some shard and popped from it, under its lock.  Which shard that is may
 * change from call to call, as if the thread migrated or the number of the
 * processor were wrong.  Where it has nothing, the oldest magazine of the other
 * is taken, under the lock of that.  A push may take out one magazine under
 * the same lock, and flushes it to the slab after the unlock: the one that it
 * pushed, because it is shuffled or the limit is reached, or the oldest,
 * because that is old.  At its end a thread leaves all it has.  Another
 * library's destructor frees after that, straight to the slab.
 *
 * Holds: no chunk in two places; at the end all are back in the slab.  Must
 * fail: -DNO_LOCK, -DNO_FLUSH, -DTHIEF_HAS_OWN_LOCK, -DTRIMS_ONE_SHARD,
 * -DSPARE_AFTER_UNLOCK, -DSPARE_STAYS_IN_STACK, -DSPARE_IS_LOST.
 *
 * SPDX-License-Identifier: MIT
 */
#define N_THREADS 2
#define N_CHUNKS 3
#define N_STEPS 6
#define NONE N_CHUNKS
#define SHARDS 2

bool in_slab[N_CHUNKS], is_live[N_CHUNKS];
/* The depot: a chunk stands for its magazine. */
typedef Stack
{
  byte chunks[N_CHUNKS]; /* the oldest first */
  byte n;
  bool is_locked
}
Stack stacks[SHARDS];
byte n_ended = 0;

inline lock (shard)
{
#ifndef NO_LOCK
  atomic { !stacks[shard].is_locked -> stacks[shard].is_locked = true }
#else
  skip
#endif
}

/* What is not needed any more is made alike: fewer states. */
inline unlock (shard)
{
  atomic { stacks[shard].is_locked = false; at = 0 }
}

/* The processor on which the thread believes it runs. */
inline choose_shard ()
{
  if
  :: own_shard = 0
  :: own_shard = 1
  fi
}

inline give_to_slab (chunk)
{
  atomic { assert (!in_slab[chunk]); in_slab[chunk] = true }
}

/* Takes a magazine out of a stack; others move down. */
inline remove (shard, from)
{
#ifndef SPARE_STAYS_IN_STACK
  d_step {
    i = from + 1;
    do
    :: i < stacks[shard].n ->
         stacks[shard].chunks[i - 1] = stacks[shard].chunks[i];
         i++
    :: else -> break
    od;
    i = 0;
    stacks[shard].n--
  }
#else
  skip
#endif
}

/* What a push takes out again: nothing, what was pushed, or the oldest.  Which
 * of these depends on the order of addresses, the limit and the clock: here on
 * chance. */
inline pop_spare (shard)
{
  if
  :: true -> skip
  :: stacks[shard].n > 0 ->
       spare = stacks[shard].chunks[stacks[shard].n - 1];
       remove (shard, stacks[shard].n - 1)
  :: stacks[shard].n > 0 ->
       spare = stacks[shard].chunks[0];
       remove (shard, 0)
  fi
}

inline push_depot (chunk)
{
  choose_shard ();
  lock (own_shard);
  at = stacks[own_shard].n;
  if
  :: at < N_CHUNKS ->
       stacks[own_shard].chunks[at] = chunk;
       stacks[own_shard].n = at + 1
  :: else -> assert (false) /* more magazines than there are chunks */
  fi;
#ifndef SPARE_AFTER_UNLOCK
  pop_spare (own_shard);
  unlock (own_shard);
#else
  unlock (own_shard);
  pop_spare (own_shard);
#endif
#ifndef SPARE_IS_LOST
  if
  :: spare != NONE -> give_to_slab (spare)
  :: else -> skip
  fi;
#endif
  atomic { spare = NONE; own_shard = 0 }
}

inline pop_latest (chunk)
{
  lock (own_shard);
  at = stacks[own_shard].n;
  if
  :: at > 0 ->
       chunk = stacks[own_shard].chunks[at - 1];
       stacks[own_shard].n = at - 1
  :: else -> chunk = NONE
  fi;
  unlock (own_shard)
}

#ifdef THIEF_HAS_OWN_LOCK
#define THIEF_LOCKS own_shard
#else
#define THIEF_LOCKS victim
#endif

/* From the bottom of the other shard's stack. */
inline pop_oldest (chunk)
{
  victim = 1 - own_shard;
  lock (THIEF_LOCKS);
  at = stacks[victim].n;
  if
  :: at > 0 ->
       chunk = stacks[victim].chunks[0];
       d_step {
         i = 1;
         do
         :: i < at ->
              stacks[victim].chunks[i - 1] = stacks[victim].chunks[i];
              i++
         :: else -> break
         od;
         i = 0
       };
       stacks[victim].n = at - 1
  :: else -> chunk = NONE
  fi;
  unlock (THIEF_LOCKS)
}

inline pop_depot (chunk)
{
  choose_shard ();
  chunk = NONE;
  /* A stack that seems to be empty is passed by without its lock. */
  if
  :: stacks[own_shard].n > 0 -> pop_latest (chunk)
  :: else -> skip
  fi;
  if
  :: chunk == NONE && stacks[1 - own_shard].n > 0 -> pop_oldest (chunk)
  :: else -> skip
  fi;
  atomic { own_shard = 0; victim = 0 }
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
  byte loaded = NONE, previous = NONE, spare = NONE, steps = 0;
  byte chunk, at, i, own_shard, victim;
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
  atomic { n_ended++; chunk = 0; at = 0; own_shard = 0 }
}

init
{
  byte i, at, chunk, own_shard;

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
  :: stacks[0].n > 0 ->
       own_shard = 0;
       pop_latest (chunk);
       give_to_slab (chunk)
#ifndef TRIMS_ONE_SHARD
  :: stacks[1].n > 0 ->
       own_shard = 1;
       pop_latest (chunk);
       give_to_slab (chunk)
#endif
  :: else -> break
  od;
  i = 0;
  do
  :: i < N_CHUNKS -> assert (in_slab[i]); i++
  :: else -> break
  od
}
