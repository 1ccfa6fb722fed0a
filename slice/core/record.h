/* record.h - what each thread keeps: its magazines, and the registry of all
 *
 * Floor 5 (magazine).  Used by magazine.c and record.c alone.
 * Locks: the registry (rank 60).  A record has none: its owner says that it is
 * in a slow path (is_busy), a trimmer says that it wants the record (is_held),
 * and a barrier on all threads makes each see the other's word; so the owner
 * pays two plain stores.
 * Theory: sections 6 and 9.
 *
 *   slice_tls_v1 ------+
 *   self --> ThreadRecord
 *              class_table   size -> class
 *              entries  <----+  top, end of each loaded magazine
 *              caches        loaded, previous, size, zero window
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

/* One class in one thread.  The owner's while is_busy, a trimmer's while it
 * holds the record; the zero window is always the owner's. */
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
  bool is_charged;     /* its magazines' size is taken from the room */
  uint32_t n_grown;
  uint32_t n_shrunk;
  uint64_t n_hits;     /* counted with the option `count` only */
} ClassCache;

typedef struct
{
  unsigned char class_table[SLICE_CLASS_TABLE_BYTES_V1];
  SliceEntryV1 entries[N_CLASSES]; /* right behind the table */
  ClassCache caches[N_CLASSES];
  Link link;             /* in the registry */
  SliceEntryV1 **tls;    /* the owner's slice_tls_v1 */
  bool is_busy;          /* the owner is in a slow path */
  bool is_held;          /* a trimmer wants it */
  bool is_detached;      /* rounds were taken; tls stands on the zero block */
  unsigned n_trips;      /* to the depot, ever */
  uint64_t tick_msec;    /* when trips were last looked over */
  size_t room_bytes;     /* that its magazines may still take */
} ThreadRecord;

/* Readies the registry; is_inline: the inline code may use the magazines. */
void sli_record_init (bool is_inline);

/* Enters the calling thread's record: makes it if there is none, keeps
 * trimmers out, sorts out what one did.  NULL: the thread must do without (it is
 * ending, or there is no memory or key): go to the slabs. */
ThreadRecord *sli_record_enter (void);
void sli_record_leave (ThreadRecord *record);
/* As it is, not entered; NULL if there is none. */
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
