/* misuse.h - how arenas report misuse
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
  ARENA_MISUSE_ALIGNMENT = 300,     /* no power of two, or above a page */
  ARENA_MISUSE_NOT_IN_ARENA = 301,  /* export of an object of another arena */
  ARENA_MISUSE_GROWING = 302,       /* allocation while an object grows */
  ARENA_MISUSE_FOREIGN_MARK = 303,  /* a mark of another arena */
  ARENA_MISUSE_STALE_MARK = 304,    /* a mark that was undone */
  ARENA_MISUSE_SHRINK = 305,        /* by more than the size that has grown */
  ARENA_MISUSE_HANDLE = 306,        /* no arena of this kind */
  ARENA_MISUSE_SOURCE_BUSY = 307,   /* a source ended while in use */
  ARENA_MISUSE_SOURCE_KIND = 308,   /* a source that can't be ended */
  ARENA_MISUSE_UNMAP = 309,         /* pages returned that are not in use */
  ARENA_MISUSE_ORDER = 310,         /* stack: release out of order */
  ARENA_MISUSE_TWICE = 311,         /* stack: second release */
  ARENA_MISUSE_FOREIGN = 312,       /* stack: not of this stack */
  ARENA_MISUSE_OVERRUN = 313,       /* stack: data before an object damaged */
  ARENA_MISUSE_POOL_TWICE = 320,    /* pool: second free */
  ARENA_MISUSE_POOL_FOREIGN = 321,  /* pool: not of this pool */
  ARENA_MISUSE_POOL_INTERIOR = 322, /* pool: inside an object */
  ARENA_MISUSE_POOL_WRITTEN = 323,  /* pool: written to after free */
  ARENA_MISUSE_TLSF_TWICE = 330,    /* TLSF: second free */
  ARENA_MISUSE_TLSF_FOREIGN = 331,  /* TLSF: no object of this heap */
  ARENA_MISUSE_TLSF_DAMAGED = 332,  /* TLSF: a header or link was
                                      overwritten */
  ARENA_MISUSE_OPTIONS = 340        /* C++: an option out of range */
} ArenaMisuse;

/* Prints "slice: error NNN: ..." on standard error and aborts. */
_Noreturn void sli_arena_report_misuse (ArenaMisuse number, const char *format,
                                        ...) SLICE_ATTR_PRINTF (2, 3);

#endif
