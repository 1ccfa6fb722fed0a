/* checking-state.h - shared by the files of the checking modes
 *
 * Layer: checking; private to it.  No locks: constant once the options are
 * frozen.
 * Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CHECKING_CHECKING_STATE_H
#define SLI_CHECKING_CHECKING_STATE_H

#include <slice/slice.h>

#include "checking.h"
#include "slab/chunk.h"
#include "magazine/quarantine.h"
#include "magazine/record/record.h"
#include "base/check.h"
#include "base/errors.h"

#include <stdint.h>

enum
{
  TAG_NEW = 0, /* never allocated since the slab was made */
  TAG_FREE = 1,
  TAG_FREE_REST = 2, /* of the other 16 bytes of a free chunk whose slab is
                        no more (checking-retired.c) */
  TAG_LIVE = 16, /* plus the requested size */
  TAG_HEAP = 1 << 14,   /* added to it: slice_heap_free() frees the block */
  TAG_ALIGNED = 1 << 15 /* slice_free_aligned() frees the block, and
                           slice_free1() must not */
};

enum
{
  CANARY_BYTES = 8,
  ZONE_BYTES = 16,             /* a red zone; keeps the block's alignment */
  QUARANTINE_HARDENED = 32,    /* chunks of a class in a thread */
  QUARANTINE_DEBUG = 4096,
  BYTE_ZONE = 0xfb,            /* debug: red zones */
  BYTE_NEW = 0xd0,             /* debug: bytes never written */
  BYTE_FREED = 0xd7            /* debug: freed bytes */
};

/* An arena's control block may be freed, too.  Filled with this byte it shows
 * the inline code no free bytes: `next' is a multiple of 8 already, so the
 * next object would begin at `end'. */
SLICE_STATIC_ASSERT ((BYTE_FREED & 8) == 0, "a freed arena has no free bytes");

SLICE_STATIC_ASSERT (TAG_LIVE + SLICE_SIZE_MAX < TAG_HEAP,
                     "a tag holds every size");

/* The requested size of a live block. */
static inline size_t
tag_size (uint16_t tag)
{
  assert_here (tag >= TAG_LIVE);
  return (tag & (TAG_HEAP - 1u)) - (size_t) TAG_LIVE;
}

/* Constant after sli_checking_begin(). */
typedef struct
{
  CheckingMode mode;
  size_t front_bytes; /* of that mode */
  uint64_t key;       /* of the canaries */
  uint8_t free_byte;  /* what a free chunk is filled with */
  uint8_t zone_bytes; /* behind a block of malloc's; 0 or ZONE_BYTES */
  CheckingFallback fallback;
} Checking;

extern Checking sli_checking __attribute__ ((visibility ("hidden")));

/* The bytes before a block in its chunk, and the least bytes behind it.
 * Constant if the mode is a constant. */
static inline size_t
front_of (CheckingMode mode)
{
  return mode >= CHECKING_DEBUG ? ZONE_BYTES : 0;
}

static inline size_t
back_of (CheckingMode mode)
{
  return mode >= CHECKING_DEBUG      ? ZONE_BYTES
         : mode == CHECKING_HARDENED ? CANARY_BYTES
                                     : 0;
}

/* The largest block of a chunk. */
#define SIZE_MAX_OF(mode) (SLICE_SIZE_MAX - front_of (mode) - back_of (mode))

/* The bytes of a chunk that a block needs. */
static inline size_t
chunk_size_for (CheckingMode mode, size_t size)
{
  return front_of (mode) + size + back_of (mode);
}

/* Returns true if this mode has chunks for a size. */
static inline bool
fits_mode (CheckingMode mode, size_t size)
{
  return size - 1 < SIZE_MAX_OF (mode);
}

/* The class of a chunk for a block, by the thread's table. */
static inline unsigned
class_for (CheckingMode mode, const ThreadRecord *record, size_t size)
{
  return record->fast.class_table[chunk_size_for (mode, size)] / 2;
}

/* The number of freed chunks of a class that wait in each thread; 0: none. */
static inline unsigned
quarantine_of (CheckingMode mode)
{
  return mode >= CHECKING_DEBUG      ? QUARANTINE_DEBUG
         : mode == CHECKING_HARDENED ? QUARANTINE_HARDENED
                                     : 0;
}

/* In hardened and debug each record notes whether its thread is in a call.  A
 * call within another comes from a signal handler.  A thread without a record
 * is not checked. */
static inline bool
call_begin (ThreadRecord *record)
{
  if (UNLIKELY (LOAD (&record->call) != CALL_NONE))
    return false;
  STORE (&record->call, CALL_IN);
  __atomic_signal_fence (__ATOMIC_SEQ_CST);
  return true;
}

static inline void
call_end (ThreadRecord *record)
{
  assert_here (LOAD (&record->call) == CALL_IN);
  __atomic_signal_fence (__ATOMIC_SEQ_CST);
  STORE (&record->call, CALL_NONE);
}

/* --- checking-report.c --- */

/* Ends the program: a live block is freed with another size or by the wrong
 * function.  The message has what is known of the block. */
_Noreturn void sli_checking_report_size (uint16_t tag, size_t size,
                                         const void *block,
                                         const char *operation);
/* The same for an address that is no live block; the message says what it
 * is. */
_Noreturn void sli_checking_report_chunk (const ChunkRef *ref, size_t size,
                                          const void *block,
                                          const char *operation);

/* --- checking-mallocs.c --- */

/* Ends the program if a write went past the end of a live block of
 * malloc's. */
void sli_checking_check_mallocs (const char *operation);

/* --- checking-retired.c --- */

/* hardened and debug: from now on the free chunks of slabs are checked when
 * their run is freed, and when that memory is used again. */
void sli_checking_watch_retired (void);
/* The first such chunk in free memory that was written to, and its bytes; NULL:
 * there is none. */
char *sli_checking_find_retired (char *start, size_t bytes,
                                 size_t *chunk_bytes);

/* --- checking.c --- */

/* The public calls of hardened in the usual case, for tests, which try both
 * variants on any processor. */
void *sli_hardened_alloc_quick (size_t size, const void *site);
void sli_hardened_free_quick (size_t size, void *block, const void *site);
#ifdef WIDE
void *sli_hardened_alloc_wide (size_t size, const void *site);
void sli_hardened_free_wide (size_t size, void *block, const void *site);
#endif

/* --- checking-tool.c --- */

extern const CheckingCalls sli_checking_tool_calls;

#endif
