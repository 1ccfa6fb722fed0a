/* checking.h - the checking modes: checked, hardened, debug
 *
 * Layer: checking.  Every call of these modes takes the slow path and comes
 * here.  Locks: none of its own.  Theory: section 6; Promises and limits.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CHECKING_CHECKING_H
#define SLI_CHECKING_CHECKING_H

#include <stdbool.h>
#include <stddef.h>

typedef enum
{
  GUARD_OFF,
  GUARD_CHECKED,   /* every free is checked at the call */
  GUARD_HARDENED,  /* and contents: canary, zeroes, quarantine, random picks,
                      guard pages */
  GUARD_DEBUG,     /* and red zones, patterns, who allocated and freed */
  GUARD_ANNOTATED  /* a tool watches, and is told of every block */
} GuardMode;

/* The layer above: for sizes that these modes leave to malloc, size 0, a NULL
 * block, and memory that is not there.  site: where the call came from. */
typedef struct
{
  void *(*alloc) (size_t size, bool may_fail, const void *site);
  void (*free) (size_t size, void *block, const void *site);
} CheckingFallback;

/* Once, with the options frozen. */
GuardMode sli_guard_begin (const CheckingFallback *fallback);
/* Freed chunks of a class that wait in each thread; 0: none. */
unsigned sli_guard_quarantine_chunks (GuardMode mode);

/* The largest size whose blocks are chunks and not the system malloc's. */
size_t sli_guard_size_max (void);
/* What a mode does with blocks of that size. */
typedef struct
{
  /* The public calls, for any size and block. */
  void *(*take) (size_t size, const void *site);
  void *(*try_take) (size_t size, const void *site);
  void (*give) (size_t size, void *block, const void *site);

  /* For sizes up to sli_guard_size_max().
   * A block; NULL: no memory.  site: where the call came from. */
  void *(*alloc) (size_t size, const void *site);
  /* size may be DIAG_SIZE_UNKNOWN. */
  void (*free) (size_t size, void *block, const char *operation,
                const void *site);
} GuardCalls;

/* Of the mode in force. */
const GuardCalls *sli_guard_calls (void);
/* Blocks of the system's malloc, whose sizes are remembered. */
bool sli_guard_add_large (void *block, size_t size, const void *site);
void sli_guard_remove_large (const void *block, size_t size,
                             const char *operation, const void *site);

/* hardened and debug: ends the program if a chunk is not as it was left.  No
 * other thread may use slices meanwhile. */
void sli_guard_check_all (void);

/* Is it a live one of these? */
bool sli_guard_is_large (const void *block);
/* Its size, as it was asked for where that is known; 0 if it is none. */
size_t sli_guard_large_bytes (const void *block);

/* The size of the live block that a mark (ChunkInfo) tells of; 0: of none. */
size_t sli_guard_mark_bytes (uint16_t mark);
/* The exact size that a live block was asked for with; 0 if it is none. */
size_t sli_guard_block_size (const void *block);
/* Bytes between a chunk's start and its block's. */
size_t sli_guard_front_bytes (void);

#endif
