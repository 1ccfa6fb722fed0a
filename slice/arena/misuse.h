/* misuse.h - how arenas end a program that misuses them
 *
 * Layer: arena.  Error numbers 300 to 399; slice-errors(7) explains each.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_MISUSE_H
#define SLI_ARENA_MISUSE_H

#include <slice/version.h>

typedef enum
{
  ARENA_FAULT_ALIGNMENT = 300,     /* no power of two, or above a page */
  ARENA_FAULT_NOT_IN_ARENA = 301,  /* export of an object that is not there */
  ARENA_FAULT_GROWING = 302,       /* allocation while an object grows */
  ARENA_FAULT_FOREIGN_MARK = 303,  /* a mark of another arena */
  ARENA_FAULT_STALE_MARK = 304,    /* a mark that was undone */
  ARENA_FAULT_SHRINK = 305,        /* more taken off than has grown */
  ARENA_FAULT_HANDLE = 306,        /* no arena of this kind */
  ARENA_FAULT_SOURCE_BUSY = 307,   /* a source ended while in use */
  ARENA_FAULT_SOURCE_KIND = 308,   /* a source that can't be ended */
  ARENA_FAULT_UNMAP = 309,         /* pages given back that are not out */
  ARENA_FAULT_ORDER = 310,         /* stack: release out of order */
  ARENA_FAULT_TWICE = 311,         /* stack: second release */
  ARENA_FAULT_FOREIGN = 312,       /* stack: not of this stack */
  ARENA_FAULT_OVERRUN = 313,       /* stack: data before an object damaged */
  ARENA_FAULT_POOL_TWICE = 320,    /* pool: second free */
  ARENA_FAULT_POOL_FOREIGN = 321,  /* pool: not of this pool */
  ARENA_FAULT_POOL_INTERIOR = 322, /* pool: inside an object */
  ARENA_FAULT_POOL_WRITTEN = 323,  /* pool: written to after free */
  ARENA_FAULT_TLSF_TWICE = 330,    /* TLSF: second free */
  ARENA_FAULT_TLSF_FOREIGN = 331,  /* TLSF: no object of this heap */
  ARENA_FAULT_TLSF_DAMAGED = 332,  /* TLSF: what the heap keeps there was
                                      overwritten */
  ARENA_FAULT_OPTIONS = 340        /* C++: an option out of range */
} ArenaFault;

/* Prints "slice: error NNN: ..." on standard error and aborts. */
_Noreturn void sli_arena_fault (ArenaFault number, const char *format, ...)
    SLICE_ATTR_PRINTF (2, 3);

#endif
