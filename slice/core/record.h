/* record.h - what each thread keeps: its magazines, and the registry of all
 *
 * Floor 5 (magazine).  Used by magazine.c and record.c alone.
 * Locks: the registry (rank 60); each record (rank 50), which the owner takes
 * in slow paths only and a trimmer to detach it.
 * Theory: sections 6 and 9.
 *
 *   slice_tls_v1 --> entries[0 ... 73]        what the inline code sees
 *   self ---------> ThreadRecord
 *                     entries   top, end of each loaded magazine
 *                     caches    loaded, previous, size, zero window
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CORE_RECORD_H
#define SLI_CORE_RECORD_H

#include <slice/slice.h>

#include "depot.h"
#include "base/list.h"
#include "base/sizeclass.h"
#include "port/lock.h"

/* One class in one thread; the owner's, under the record's lock (the zero
 * window without). */
typedef struct
{
  Magazine *loaded;    /* NULL: the entry stands on the shared NULL */
  Magazine *previous;  /* NULL: none yet */
  char *zero_next;     /* chunks that read as zero, for allocations that ask */
  char *zero_end;
  uint16_t n_taken;    /* rounds that a trimmer took from loaded */
  uint8_t size;        /* of magazines, as wanted now */
  uint8_t size_peak;   /* the largest that was ever wanted */
  uint8_t n_trips;     /* to the depot since the last tick; contended: 4 */
  uint32_t n_grown;
  uint32_t n_shrunk;
  uint64_t n_hits;     /* counted with the option `count` only */
} ClassCache;

typedef struct
{
  SliceEntryV1 entries[N_CLASSES];
  ClassCache caches[N_CLASSES];
  Lock lock;
  Link link;             /* in the registry */
  SliceEntryV1 **tls;    /* the owner's slice_tls_v1 */
  uint64_t tick_msec;    /* when trips were last looked over */
  size_t room_bytes;     /* by which its magazines may still grow */
  bool is_detached;      /* tls stands on the zero block, rounds were taken */
} ThreadRecord;

/* Readies the registry; is_inline: the inline code may use the magazines. */
void sli_record_init (bool is_inline);

/* Enters the calling thread's record: makes it if there is none, locks it,
 * sorts out what a trimmer did.  NULL: the thread must do without (it is
 * ending, or there is no memory or key): go to the slabs. */
ThreadRecord *sli_record_enter (void);
void sli_record_leave (ThreadRecord *record);
/* As it is, not locked; NULL if there is none. */
ThreadRecord *sli_record_peek (void);

/* Where the entry of a class without a loaded magazine stands. */
extern void *sli_record_nil[2];

/* The entry's view of the loaded magazine, and back. */
void sli_record_show (ThreadRecord *record, unsigned class_index);
void sli_record_hide (ThreadRecord *record, unsigned class_index);

/* Puts the zero window's chunks and both magazines of a class away, keeping
 * nothing: full enough ones to the depot unless to_slabs. */
void sli_record_flush_class (ThreadRecord *record, unsigned class_index,
                             bool to_slabs);

#endif
