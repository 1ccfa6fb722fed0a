/* errors.h - the numbers of all messages; they never change
 *
 * Layer: base.  Slices have 100 to 199, contexts 200 to 299, arenas 300 to
 * 399.  slice-errors(7) explains them.  A number is never used again for
 * something else.
 *
 * Where misuse is recognised: 101 in magazine.c; 102 to 106 and 112 in
 * chunk_error() (slab/chunk.h) and slab-free.c, for the modes in
 * checking-report.c; 107 in alloc/aligned.c; 108 and 109 in block-registry.c;
 * 110 in alloc/dispatch.c and checking-mallocs.c; 111 in alloc/chain.c; 113 in
 * checking-report.c, checking-contents.h, checking-mallocs.c, checking-exit.c
 * and heap/guard.c; 114 in checking-report.c; 115 in checking-contents.h,
 * checking-retired.c and checking-exit.c; 116 in record.c and
 * alloc/dispatch.c; 200 to 203 in context/node.c.  Further, 102 in
 * alloc/batch.c; 103 in alloc/dispatch.c, alloc/aligned.c and
 * checking-mallocs.c; 108 in checking-report.c; the heap's 102 to 105, 108 and
 * 112 in heap.c, medium.c and runs.c.
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
  ERROR_BROKEN = 140,

  /* Contexts: the program is ended. */
  ERROR_NOT_A_NODE = 200,      /* no node at that address */
  ERROR_NODE_FREED = 201,      /* a node that was freed */
  ERROR_NODE_INTERIOR = 202,   /* into a block, not to a payload's start */
  ERROR_NODE_DAMAGED = 203,    /* links and neighbours do not fit */
  ERROR_NODE_CYCLE = 204,      /* a steal or adoption that closes a cycle */
  ERROR_NODE_PARENT = 205,     /* debug: reralloc names a wrong parent */
  ERROR_NOT_LINEAR = 206,      /* not a linear context */
  ERROR_NOT_GC = 207,          /* not a gc context or object, bad alignment */
  ERROR_NODE_TYPE = 208,       /* ralloc_get_type_abort() */
  ERROR_NODE_THREAD = 209,     /* debug: another thread is at work on it */
  ERROR_NODE_NULL = 210,       /* NULL where a string or node must be */
  ERROR_NODE_OVERRUN = 212,    /* hardened: bytes behind it were written */
  ERROR_NODE_OWNED = 213,      /* resizing a node that the library uses */

  /* Contexts: a warning, the program goes on. */
  ERROR_NODE_DYING = 211,      /* a node being destroyed is kept or resized */

  /* Arenas: the program is ended. */
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
  ARENA_MISUSE_HELD = 342,          /* ended while a context holds it */
  ARENA_MISUSE_REENTRY = 341,       /* a locked arena called in its own call */
  ARENA_MISUSE_OPTIONS = 340        /* C++: an option out of range */
} ErrorNumber;

#endif
