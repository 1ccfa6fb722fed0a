/* record.h - threads' records: their magazines, and the registry of all
 *
 * Layer: magazine.  Used by the layer's own files, and by checking-state.h of
 * the layer above.
 * Locks: the registry (rank 60).  A record has no lock.  Its owner sets
 * is_busy while it is in a slow path, and a trimmer sets `attention' when it
 * wants the record.  The trimmer then sends all threads through a barrier,
 * after which each of the two sees what the other has set.  So a slow path
 * costs the owner three plain stores: two of is_busy, one of its sleep mark
 * (asleep).
 * Design: chapters 6 and 9.
 *
 *   slice_tls_v1 ------+
 *   self --> ThreadRecord
 *              fast  <----+  entries: top, end of each loaded magazine
 *                            class_table: size -> twice the class
 *              caches        loaded, previous, size
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_MAGAZINE_RECORD_RECORD_H
#define SLI_MAGAZINE_RECORD_RECORD_H

#include <slice/slice.h>

#include "depot/depot.h"
#include "base/list.h"
#include "base/sizeclass.h"
#include "port/thread/asleep.h"
#include "port/compiler.h"
#include "port/thread/lock.h"

/* One class in one thread.  The owner uses it while is_busy, a trimmer while
 * it holds the record. */
typedef struct
{
  Magazine *loaded;    /* NULL: the entry points to the shared NULL */
  Magazine *previous;  /* NULL: none */
  uint16_t n_taken;    /* rounds that a trimmer took from loaded */
  uint8_t size;        /* of magazines, as wanted now */
  uint8_t size_peak;   /* the largest that was ever wanted */
  uint8_t n_trips;     /* to the depot since the last tick; one that had to
                          wait counts as 4 */
  uint8_t n_quiet;     /* ticks since the last trip */
  uint8_t n_idle;      /* ticks since top was last seen to have moved */
  bool is_accounted;   /* its magazines' size counts in accounted_bytes */
  uint16_t n_swaps;    /* exchanges of the two magazines since the last
                          check */
  bool was_push;       /* the last trip to the depot pushed */
  uint8_t n_in_row;    /* trips in that direction; counts up to a limit */
  uint32_t swaps_msec; /* when that check was; the low bits */
  uint16_t quarantine_next; /* the index of the oldest chunk in quarantine */
  uint32_t n_one_way;  /* trips in that direction beyond the limit, since the
                          last tick or growth */
  void **top_seen;     /* at the last tick */
  void **top_relieved; /* when sli_relief_look() last looked */
  uint32_t n_grown;
  uint32_t n_shrunk;
  uint64_t n_hits;     /* counted with the option `count` only */
  void **quarantine;   /* a ring of freed chunks that wait; NULL: none.  It
                          stays until the thread trims or ends */
} ClassCache;

enum
{
  RECORD_HELD = 1,     /* a trimmer wants it: wait */
  RECORD_DETACHED = 2  /* tls points to the empty sentinel; a trimmer may have
                          taken rounds */
};

/* Whether a thread is in a call, in modes that look for calls within calls. */
typedef enum
{
  CALL_NONE,
  CALL_IN,
  CALL_UNKNOWN /* no thread's record; never written */
} RecordCall;

typedef struct
{
  SliceThreadV1 fast;    /* what the inline code sees */
  Link link;             /* in the registry */
  SliceThreadV1 **tls;   /* the owner's slice_tls_v1 */
  Asleep asleep;         /* from which a trimmer learns if the owner sleeps */
  bool is_busy;          /* the owner is in a slow path */
  uint8_t call;          /* a RecordCall; the owner's */
  uint8_t attention;     /* RECORD_HELD, RECORD_DETACHED: work for the owner
                            before it goes on */
  uint8_t consolidate_next; /* where sli_adapt_consolidate() goes on */
  uint16_t n_consolidate;   /* magazines that may be consolidated until the
                               next tick; 0: nothing to do */
  unsigned n_trips;      /* to the depot, ever */
  uint32_t n_fresh_seen; /* sli_slab_n_fresh(), for sli_relief_look() */
  uint8_t relief_next;   /* the class at which that stopped */
  uint32_t random;       /* for picking a round at random; never 0 */
  uint64_t tick_msec;    /* when the last tick was */
  size_t accounted_bytes; /* that its magazines hold when they are full */
  uint64_t parked_msec;  /* when its thread ended, while it is parked */
  uint8_t shard;         /* where that was */
  /* Last, since an empty record uses all but these: see record.c. */
  ClassCache caches[N_CLASSES];
} ThreadRecord;

typedef struct
{
  bool is_inline;       /* the inline code may use the magazines */
  bool checks_reentry;  /* a slow path within a slow path is misuse */
} RecordOptions;

/* Constant after sli_record_init(), but for sli_magazine_show_inline(). */
extern RecordOptions sli_record_options;

/* The thread's record; it has none if tls is NULL. */
extern __thread ThreadRecord *sli_record_self
    __attribute__ ((tls_model ("initial-exec")));

/* Initialises the registry. */
void sli_record_init (bool is_inline, bool checks_reentry);

/* The slow parts of sli_record_enter(): make the record; wait for a trimmer
 * and close the gaps it left. */
ThreadRecord *sli_record_begin (void);
void sli_record_await_trimmer (ThreadRecord *record);
/* operation: the function that was called; NULL: a slow path of any
 * function. */
_Noreturn void sli_record_report_reentry (const char *operation);

/* Enters the calling thread's record: makes it if there is none, keeps
 * trimmers out, and repairs what one did.  NULL: the thread has no record,
 * because it is ending or there is no memory or key, and uses the slabs. */
static inline ThreadRecord *
sli_record_enter (void)
{
  ThreadRecord *record = sli_record_self;

  if (UNLIKELY (record->tls == NULL) && (record = sli_record_begin ()) == NULL)
    return NULL;
  if (UNLIKELY (LOAD (&record->is_busy)) && sli_record_options.checks_reentry)
    sli_record_report_reentry (NULL);
  STORE (&record->is_busy, true);
  /* The trimmer's barrier on all threads orders the store above and the loads
   * below; the compiler must not exchange them. */
  __atomic_signal_fence (__ATOMIC_SEQ_CST);
  SCHEDULE_POINT ("record entered");
  if (UNLIKELY (LOAD_ACQUIRE (&record->attention) != 0))
    sli_record_await_trimmer (record);
  return record;
}

static inline void
sli_record_leave (ThreadRecord *record)
{
  asleep_mark (&record->asleep);
  SCHEDULE_POINT ("record to be left");
  STORE_RELEASE (&record->is_busy, false);
}

/* The same as the inline code, for modes that keep it out, with the record
 * entered.  NULL or false: the magazine is empty or full, or its top is a
 * hole. */
static inline void *
sli_record_pop (ThreadRecord *record, unsigned class_index)
{
  SliceEntryV1 *entry = &record->fast.entries[class_index];
  void **top = LOAD (&entry->top);
  void *chunk = *top;

  if (LIKELY (chunk != NULL))
    STORE (&entry->top, top - 1);
  return chunk;
}

/* A random place up to top. */
static inline void **
sli_record_pick (ThreadRecord *record, const ClassCache *cache, void **top)
{
  void **slots = cache->loaded->slots;
  uint32_t random = record->random * 1664525u + 1013904223u;

  record->random = random; /* only its high bits count */
  return slots + 1
         + (((uint64_t) random * (uint64_t) (top - slots)) >> 32);
}

/* Exchanges the top round with a random one, so that an attacker who frees a
 * block can't tell when it is allocated again. */
static inline void
sli_record_shuffle_top (ThreadRecord *record, unsigned class_index)
{
  void **top = LOAD (&record->fast.entries[class_index].top);
  void *round = *top;
  void **pick;

  if (round == NULL)
    return;
  pick = sli_record_pick (record, &record->caches[class_index], top);
  STORE (top, *pick);
  STORE (pick, round);
}

static inline bool
sli_record_push (ThreadRecord *record, unsigned class_index, void *chunk)
{
  SliceEntryV1 *entry = &record->fast.entries[class_index];
  void **top = LOAD (&entry->top);

  if (UNLIKELY (top == entry->end))
    return false;
  STORE (top + 1, chunk);
  STORE (&entry->top, top + 1);
  return true;
}

/* The calling thread's record, not entered; NULL if there is none. */
static inline ThreadRecord *
sli_record_peek (void)
{
  ThreadRecord *record = sli_record_self;

  return UNLIKELY (record->tls == NULL) ? NULL : record;
}

/* The shared NULL, for entries without a loaded magazine. */
extern void *sli_record_nil[2];

/* Returns true if M1, M2 and M4 hold for a class.  For the owner, or under the
 * registry's lock. */
bool sli_record_is_right (const ThreadRecord *record, unsigned class_index);

/* Writes the loaded magazine's state to the entry, and back. */
void sli_record_show (ThreadRecord *record, unsigned class_index);
void sli_record_hide (ThreadRecord *record, unsigned class_index);

/* The bytes that one thread's magazines may hold: the more threads, the
 * fewer. */
size_t sli_record_bytes_max (void);

/* Where a flush puts magazines. */
typedef enum
{
  FLUSH_TO_DEPOT,      /* if half full; else to their slabs */
  FLUSH_TO_SLABS,
  FLUSH_OLD_TO_SLABS   /* not needed for a working set */
} FlushKind;

/* Flushes both magazines of a class and its quarantine. */
void sli_record_flush_class (ThreadRecord *record, unsigned class_index,
                             FlushKind kind);

/* Ends the records that were parked for max_age_msec (parked.c). */
void sli_record_end_parked (uint64_t max_age_msec);
/* The same, now and then, for those that were parked for a working set. */
void sli_record_review_parked (uint64_t now_msec);

#endif
