/* parked.pml - records of threads that have ended, for the next ones
 *
 * Models parked.c beside record.c and record-detach.c: three threads with two
 * records between them, and a trimmer that first takes rounds of those at work
 * and then ends those that are parked.  All lists change under the registry's
 * lock, so stores are seen at once here; detach.pml has them delayed.
 *
 * Holds: a chunk is handed out once or freed once; nothing uses a record that
 * has ended; at the end no chunk is lost.  Must fail: -DKEEP_GAPS,
 * -DPARK_FIRST, -DEND_IN_LIST, -DUNPARK_AND_LEAVE.
 *
 * SPDX-License-Identifier: MIT
 */
#define N_THREADS 3
#define N_RECORDS 2
#define N_ROUNDS 2   /* of a new record */
#define N_CALLS 1    /* of each thread */

#define NONE 255

typedef Record
{
  bool is_made, is_listed, is_parked, has_ended, attention;
  byte base, top, n_taken, user
};

Record records[N_RECORDS];
byte tls[N_THREADS] = NONE;   /* NONE: the empty sentinel */
bool is_gone[8];              /* chunks: handed out or freed */
bool is_locked = false;       /* the registry */
byte n_done = 0;

#define CHUNK(record, round) (record * 4 + round)

inline lock ()
{
  atomic { !is_locked -> is_locked = true }
}

inline unlock ()
{
  is_locked = false
}

inline chunk_goes (record, round)
{
  atomic
  {
      assert (!is_gone[CHUNK (record, round)]);
      is_gone[CHUNK (record, round)] = true
    }
  }

  inline close_gaps (record)
  {
    records[record].base = records[record].base + records[record].n_taken;
    records[record].n_taken = 0
  }

  /* The record is in no list. */
  inline end_record (record, i)
  {
    assert (!records[record].has_ended);
    atomic
  {
      i = records[record].base + 1;
      do
      :: i > records[record].top -> break
      :: i <= records[record].top -> chunk_goes (record, i); i++
      od;
      i = 0;
      records[record].has_ended = true
    }
  }

  inline call (me, mine, loaded)
  {
    if
    :: tls[me] == mine ->
         assert (!records[mine].has_ended);
         loaded = records[mine].top;
         if
         :: loaded > records[mine].base ->
              records[mine].top = loaded - 1;
              chunk_goes (mine, loaded)
         :: else -> skip
         fi;
         loaded = 0
    :: else ->
         /* the slow path finds that a trimmer was here */
         lock ();
         close_gaps (mine);
         tls[me] = mine;
         records[mine].attention = false;
         unlock ()
    fi
  }

  proctype thread (byte me)
  {
    byte mine = NONE, n = 0, i = 0;
    bool ends = false;

    /* One step, as with the lock, without which no list changes. */
    atomic
  {
    !is_locked;
    do
    :: i == N_RECORDS -> break
    :: (i < N_RECORDS && mine == NONE && records[i].is_parked) ->
         mine = i;
#ifndef UNPARK_AND_LEAVE
         records[i].is_parked = false;
#endif
         i++
    :: (i < N_RECORDS && !(mine == NONE && records[i].is_parked)) -> i++
    od;
    i = 0
  };
  if
  :: mine != NONE -> skip
  :: mine == NONE && !records[0].is_made ->
       atomic
       {
         if
         :: !records[0].is_made -> mine = 0; records[0].is_made = true;
              records[0].top = N_ROUNDS
         :: else -> goto done
         fi
       }
  :: mine == NONE && records[0].is_made && !records[1].is_made ->
       atomic
       {
         if
         :: !records[1].is_made -> mine = 1; records[1].is_made = true;
              records[1].top = N_ROUNDS
         :: else -> goto done
         fi
       }
  :: else -> goto done
  fi;

  lock ();
  records[mine].is_listed = true;
  records[mine].user = me;
  tls[me] = mine;
  unlock ();

  do
  :: n == N_CALLS -> break
  :: n < N_CALLS -> n++; call (me, mine, i)
  od;

#ifndef PARK_FIRST
  tls[me] = NONE;
#endif
  atomic
  {
    !is_locked;
    records[mine].is_listed = false;
#ifndef KEEP_GAPS
    if
    :: records[mine].attention -> close_gaps (mine)
    :: else -> skip
    fi;
#endif
    records[mine].n_taken = 0;
    records[mine].attention = false;
    if
    :: true -> records[mine].is_parked = true
    :: true -> ends = true
    fi
  };
#ifdef PARK_FIRST
  /* a destructor of another library still frees and allocates */
  if
  :: tls[me] == mine -> call (me, mine, i)
  :: else -> skip
  fi;
  tls[me] = NONE;
#endif
  if
  :: ends -> end_record (mine, i)
  :: else -> skip
  fi;
done:
  n_done++
}

inline take_rounds (record, i)
{
  if
  :: (records[record].is_listed && records[record].n_taken == 0
      && tls[records[record].user] == NONE) ->
       i = records[record].base + 1;
       do
       :: i >= records[record].top -> break
       :: i < records[record].top ->
            chunk_goes (record, i);
            records[record].n_taken++;
            i++
       od
  :: else -> skip
  fi
}

inline detach (record)
{
  if
  :: records[record].is_listed ->
       records[record].attention = true;
       tls[records[record].user] = NONE
  :: else -> skip
  fi
}

inline end_parked (record, i)
{
  lock ();
  if
  :: records[record].is_parked ->
#ifndef END_IN_LIST
       records[record].is_parked = false;
#endif
       unlock ();
       end_record (record, i);
       records[record].is_parked = false
  :: else -> unlock ()
  fi
}

active proctype trimmer ()
{
  byte i;

  lock ();
  detach (0);
  detach (1);
  take_rounds (0, i);
  take_rounds (1, i);
  unlock ();
  end_parked (0, i);
  end_parked (1, i);
  /* At the end of the program: what is parked still, and nothing else. */
  n_done == N_THREADS;
  end_parked (0, i);
  end_parked (1, i);
  i = 1;
  do
  :: i > N_ROUNDS -> break
  :: i <= N_ROUNDS ->
       assert (!records[0].is_made || is_gone[CHUNK (0, i)]);
       assert (!records[1].is_made || is_gone[CHUNK (1, i)]);
       i++
  od
}

init
{
  atomic { run thread (0); run thread (1); run thread (2) }
}
