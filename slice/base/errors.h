/* errors.h - the numbers of all messages; they never change
 *
 * Layer: base.  The texts are in diag.c, the explanations in
 * slice-errors(7).  A number is never used again for something else.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_BASE_ERRORS_H
#define SLI_BASE_ERRORS_H

typedef enum
{
  /* Blocks: the program is ended. */
  ERROR_FREED_TWICE = 101,       /* the block freed last, freed again */
  ERROR_FOREIGN = 102,           /* in none of our slabs */
  ERROR_WRONG_SIZE = 103,        /* the slab is of another class */
  ERROR_INTERIOR = 104,          /* not the start of a chunk */
  ERROR_ALREADY_FREE = 105,      /* the chunk lies free in its slab */
  ERROR_NEVER_ALLOCATED = 106,   /* the chunk was never handed out */
  ERROR_BAD_ALIGNMENT = 107,     /* no power of two, or too large */
  ERROR_NOT_A_BLOCK = 108,       /* registry: no such live block */
  ERROR_NOT_THAT_SIZE = 109,     /* registry: live with another size */
  ERROR_MALLOC_SIZE = 110,       /* a malloc'd block of another size */
  ERROR_CYCLIC_CHAIN = 111,      /* a chain that comes back to itself */
  ERROR_NO_SLAB = 112,           /* in pages of ours that hold no slab now */
  ERROR_OVERRUN = 113,           /* hardened: bytes behind it were written */
  ERROR_UNDERRUN = 114,          /* debug: bytes before it were written */
  ERROR_WRITTEN_FREE = 115,      /* hardened: written to while free */
  ERROR_REENTERED = 116,         /* hardened: called in a signal handler that
                                    interrupted a call */

  /* At exit, in debug: a warning. */
  ERROR_NEVER_FREED = 150,       /* blocks that live, by where they were
                                    allocated */

  /* Resources. */
  ERROR_NO_MEMORY = 120,
  ERROR_OVERFLOW = 121,          /* n * size does not fit */

  /* Options: warnings, the program goes on. */
  ERROR_UNKNOWN_OPTION = 130,
  ERROR_BAD_OPTION_VALUE = 131,
  ERROR_BAD_SOURCE = 132,        /* a page source that breaks its promise */

  /* The allocator itself. */
  ERROR_BROKEN = 140
} ErrorNumber;

#endif
