/* detach.pml - a trimmer takes the rounds of a thread that does not know
 *
 * Models record.c and record-detach.c: attention, is_busy, tls, and the
 * barrier on all threads, with the owner's stores delayed as the processor may
 * (a buffer that drains when it likes; locks and the barrier empty it).
 *
 * Of an owner that sleeps in a system call and is still marked (asleep.c) the
 * trimmer takes all rounds.  A signal handler may sleep, too, in the middle of
 * an inline call; but then the kernel has taken the mark away.
 *
 * Holds: a chunk is handed out by its owner or taken by the trimmer, never
 * both.  Must fail: -DNO_BARRIER, -DTAKE_TOP, -DIGNORE_BUSY, -DIGNORE_MARK,
 * -DMARK_FIRST.
 *
 * SPDX-License-Identifier: MIT
 */
#define N_ROUNDS 4   /* in the magazine at the start */
#define N_STEPS 4    /* of the owner */
#define N_TRIMS 2

#define REAL 1       /* tls: the thread's entries, or the zero block */
#define ZERO 0
#define HELD 1       /* attention */
#define DETACHED 2

#define TOP 0        /* what a buffered store writes to */
#define BUSY 1

byte tls = REAL, attention = 0, n_taken = 0, base = 0;
byte seen_top = N_ROUNDS, seen_busy = 0; /* as others see them */
bool is_locked = false;                  /* the registry */
bool handed[N_ROUNDS + 1], taken[N_ROUNDS + 1];
byte owner_top = N_ROUNDS;               /* as the owner sees it */
bool owner_done = false;
bool is_asleep = false, is_marked = false;
chan stores = [4] of { byte, byte };

/* Stores arrive some time, in order (x86-TSO). */
active proctype buffer ()
{
  byte what, value;
end:
  do
  :: atomic { stores ? what, value ->
       if
       :: what == TOP -> seen_top = value
       :: else -> seen_busy = value
       fi }
  od
}

#define DRAINED (len (stores) == 0)

inline hand_out ()
{
  chunk = owner_top;
  owner_top = owner_top - 1;
  stores ! TOP, owner_top;
  assert (!taken[chunk]);
  handed[chunk] = true
}

inline sleep ()
{
  atomic { DRAINED -> is_asleep = true };
  is_asleep = false
}

active proctype owner ()
{
  byte steps = 0, entries, top, chunk;

  do
  :: steps == N_STEPS -> break
  :: steps < N_STEPS ->
       steps++;
       entries = tls;
       if
       :: entries == REAL && owner_top > base ->
            /* inline: the top is loaded, and only later stored */
            top = owner_top;
            if
            :: true -> is_marked = false; sleep () /* a signal handler */
            :: true -> skip
            fi;
            hand_out ()
       :: true -> sleep ()
       :: true ->
            /* the slow path: for whatever reason */
            stores ! BUSY, 1;
again:      if
            :: attention == HELD ->
                 stores ! BUSY, 0;
                 atomic { DRAINED && !is_locked -> is_locked = true };
                 is_locked = false;
                 stores ! BUSY, 1;
                 goto again
            :: attention == DETACHED ->
                 stores ! BUSY, 0;
                 atomic { DRAINED && !is_locked -> is_locked = true };
                 if
                 :: attention == DETACHED ->
                      base = base + n_taken;
                      n_taken = 0;
                      tls = REAL;
                      attention = 0
                 :: else -> skip
                 fi;
                 stores ! BUSY, 1;
                 DRAINED;
                 is_locked = false
            :: else -> skip
            fi;
            /* a slow path may use any number of rounds */
            if
            :: owner_top > base -> hand_out ()
            :: else -> skip
            fi;
            if
            :: owner_top > base -> hand_out ()
            :: else -> skip
            fi;
            is_marked = true;
            stores ! BUSY, 0
       fi
  od;
  owner_done = true
}

active proctype trimmer ()
{
  byte trims = 0, i, last;
  bool takes_all;

  do
  :: trims == N_TRIMS -> break
  :: trims < N_TRIMS ->
       trims++;
       atomic { !is_locked -> is_locked = true };
       attention = HELD;
       tls = ZERO;
#ifndef NO_BARRIER
       DRAINED;
#endif
       if
#ifdef IGNORE_BUSY
       :: true ->
#else
       :: seen_busy == 0 ->
#endif
#ifdef MARK_FIRST
            takes_all = is_marked;
            takes_all = takes_all && is_asleep;
#else
            takes_all = is_asleep;
# ifndef IGNORE_MARK
            takes_all = takes_all && is_marked;
# endif
#endif
            last = seen_top;
#ifndef TAKE_TOP
            if
            :: last > base && !takes_all -> last = last - 1
            :: else -> skip
            fi;
#endif
            if
            :: n_taken == 0 || takes_all ->
                 i = base + n_taken + 1;
                 do
                 :: i > last -> break
                 :: i <= last ->
                      assert (!handed[i]);
                      taken[i] = true;
                      n_taken++;
                      i++
                 od
            :: else -> skip
            fi
       :: else -> skip
       fi;
       attention = DETACHED;
       is_locked = false
  od
}
