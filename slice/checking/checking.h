/* checking.h - the checking modes: checked, hardened, debug
 *
 * Layer: checking.  Every call of these modes takes the slow path and comes
 * here.  Locks: none of its own.  Design: chapter 6;
 * docs/design/promises-and-limits.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CHECKING_CHECKING_H
#define SLI_CHECKING_CHECKING_H

#include <stdbool.h>
#include <stddef.h>

typedef enum
{
  CHECKING_OFF,
  CHECKING_CHECKED,  /* every free is checked at the call */
  CHECKING_HARDENED, /* and contents: canary, zeroes, quarantine, random picks,
                     guard pages */
  CHECKING_DEBUG,    /* and red zones, patterns, who allocated and freed */
  CHECKING_ANNOTATED /* every block is made known to a tool */
} CheckingMode;

/* The layer above serves sizes that these modes leave to malloc, size 0, NULL
 * blocks, and calls without memory.  site: where the call came from. */
typedef struct
{
  void *(*alloc) (size_t size, bool may_fail, const void *site);
  void (*free) (size_t size, void *block, const void *site);
} CheckingFallback;

/* Once, with the options frozen. */
CheckingMode sli_checking_begin (const CheckingFallback *fallback);
/* Freed chunks of a class that wait in each thread; 0: none. */
unsigned sli_checking_quarantine_chunks (CheckingMode mode);

/* The largest size whose blocks are chunks and not the system malloc's. */
size_t sli_checking_size_max (void);
/* What a mode does with blocks of that size. */
typedef struct
{
  /* The public calls, for any size and block. */
  void *(*alloc_any) (size_t size, const void *site);
  void *(*try_alloc_any) (size_t size, const void *site);
  void (*free_any) (size_t size, void *block, const void *site);

  /* For sizes up to sli_checking_size_max().
   * A block; NULL: no memory.  site: where the call came from. */
  void *(*alloc) (size_t size, const void *site);
  /* size may be DIAG_SIZE_UNKNOWN. */
  void (*free) (size_t size, void *block, const char *operation,
                const void *site);
} CheckingCalls;

/* Of the mode in force. */
const CheckingCalls *sli_checking_calls (void);
/* Blocks of the system's malloc, whose sizes are remembered. */
bool sli_checking_add_large (void *block, size_t size, const void *site);
void sli_checking_remove_large (const void *block, size_t size,
                                const char *operation, const void *site);

/* hardened and debug: ends the program if a chunk is not as it was left.  No
 * other thread may use slices meanwhile. */
void sli_checking_check_all (void);

/* Blocks of slice_alloc_aligned() whose class is not that of their size: the
 * tag of one says so while it lives.  Unnoting one that was not noted, or has
 * another size, ends the program; what is no live block is left alone. */
void sli_checking_note_aligned (void *block);
void sli_checking_unnote_aligned (size_t size, void *block,
                                  const char *operation);
/* Ends the program: an address in a slab is freed as a block of malloc. */
_Noreturn void sli_checking_report_free (size_t size, const void *block,
                                         const char *operation);

/* Is it a live one of these? */
bool sli_checking_is_large (const void *block);
/* Its requested size, if that is known; 0 if it is no block. */
size_t sli_checking_large_bytes (const void *block);

/* The size of the live block that a tag describes; 0: none. */
size_t sli_checking_tag_bytes (uint16_t tag);
/* The exact requested size of a live block; 0 if it is none. */
size_t sli_checking_block_size (const void *block);
/* Bytes between a chunk's start and its block's; and the most that a block of
 * such a chunk has. */
size_t sli_checking_front_bytes (void);
size_t sli_checking_room_bytes (size_t chunk_bytes);

#endif
