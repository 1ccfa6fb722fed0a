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
  CHECKING_HARDENED, /* also contents: canary, zeroes, quarantine, random
                        picks, guard pages */
  CHECKING_DEBUG,    /* also red zones, patterns, who allocated and freed */
  CHECKING_ANNOTATED /* every block is made known to a tool */
} CheckingMode;

/* The functions of the layer above that serve other cases: sizes that these
 * modes leave to malloc, size 0, NULL, and no memory.  site: where the call
 * came from. */
typedef struct
{
  void *(*alloc) (size_t size, bool may_fail, const void *site);
  void (*free) (size_t size, void *block, const void *site);
} CheckingFallback;

/* Initialises the modes; once, with the options frozen. */
CheckingMode sli_checking_begin (const CheckingFallback *fallback);

/* The number of freed chunks of a class that wait in each thread; 0: none. */
unsigned sli_checking_quarantine_chunks (CheckingMode mode);

/* The largest size of blocks that are chunks; larger ones are malloc's. */
size_t sli_checking_size_max (void);

/* The functions of a mode. */
typedef struct
{
  /* The public calls, for any size and block. */
  void *(*alloc_any) (size_t size, const void *site);
  void *(*try_alloc_any) (size_t size, const void *site);
  void (*free_any) (size_t size, void *block, const void *site);

  /* For sizes up to sli_checking_size_max(); NULL: no memory.  site: where the
   * call came from. */
  void *(*alloc) (size_t size, const void *site);
  /* size may be DIAG_SIZE_UNKNOWN. */
  void (*free) (size_t size, void *block, const char *operation,
                const void *site);
} CheckingCalls;

/* The functions of the mode in force. */
const CheckingCalls *sli_checking_calls (void);

/* --- blocks of malloc's (checking-mallocs.c) ----------------------------- */

/* Once, if the mode has chunks: from now on bytes that are checked lie behind
 * each block of malloc's.  Returns their number, which is to be allocated
 * beside the block's size; 0: the mode has none. */
size_t sli_checking_begin_zones (void);

/* Register a block of the system's malloc with its size, and remove it; the
 * second ends the program if the block is not live, has another size or was
 * written past its end.  size may be BLOCK_ANY_SIZE there. */
bool sli_checking_add_malloc (void *block, size_t size, const void *site);
void sli_checking_remove_malloc (const void *block, size_t size,
                                 const char *operation, const void *site);
/* The same for a block that is malloc's because of its alignment; the second
 * also ends the program if the block was allocated with another one. */
bool sli_checking_add_aligned (void *block, size_t alignment, size_t size,
                               const void *site);
void sli_checking_remove_aligned (const void *block, size_t alignment,
                                  size_t size, const char *operation,
                                  const void *site);
/* The same for a block that is malloc's because of its size, which a tool
 * knows. */
bool sli_checking_add_large (void *block, size_t size, const void *site);
void sli_checking_remove_large (const void *block, size_t size,
                                const char *operation, const void *site);

/* Returns true if it is a live block of the system's malloc. */
bool sli_checking_is_large (const void *block);
/* The requested size of such a block, if known; 0 if it is no block. */
size_t sli_checking_large_bytes (const void *block);

/* --- blocks in chunks ---------------------------------------------------- */

/* hardened and debug: checks the contents of all chunks, and what lies behind
 * all blocks of malloc's, and ends the program if one is damaged.  No other
 * thread may use slices meanwhile. */
void sli_checking_check_all (void);

/* Note and unnote, in its tag, a live block of slice_alloc_aligned() whose
 * class is not that of its size.  To unnote one that was not noted, or has
 * another size, ends the program; an address without a live block is left
 * alone. */
void sli_checking_note_aligned (void *block);
void sli_checking_unnote_aligned (size_t size, void *block,
                                  const char *operation);
/* The same for a live block of the heap; to unnote a live block that was not
 * noted ends the program. */
void sli_checking_note_heap (void *block);
void sli_checking_unnote_heap (void *block, const char *operation);
/* Notes a live block of the heap, and that it has only `size' of its bytes: the
 * others are there for its alignment. */
void sli_checking_note_aligned_heap (void *block, size_t size);
/* Ends the program: an address in a slab is freed as a block of malloc. */
_Noreturn void sli_checking_report_free (size_t size, const void *block,
                                         const char *operation);

/* The size of the live block that a tag describes; 0: none. */
size_t sli_checking_tag_bytes (uint16_t tag);
/* The exact requested size of a live block; 0 if it is none. */
size_t sli_checking_block_size (const void *block);
/* hardened and debug: false if bytes behind a live block of a chunk were
 * written to; size is its requested one.  Other modes: true. */
bool sli_checking_end_is_whole (const void *block, size_t size);
/* The bytes between a chunk's start and its block's, and the most bytes that a
 * block in such a chunk has. */
size_t sli_checking_front_bytes (void);
size_t sli_checking_usable_bytes (size_t chunk_bytes);

#endif
