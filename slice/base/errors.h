/* errors.h - the numbers of all messages; they never change
 *
 * Layer: base.  Slices have 100 to 199, contexts 200 to 299, arenas 300 to
 * 399.  slice-errors(7) explains them.  A number is never used again for
 * something else.
 *
 * These files report them; check-docs.sh compares this list with the code.  In
 * the checking modes checking-report.c reports what the other files of
 * checking/ find.  Those without a line are reported by base/ itself.
 *
 *   alloc/aligned.c: 103 107
 *   alloc/alloc.c: 121
 *   alloc/batch.c: 102
 *   alloc/chain.c: 111
 *   alloc/dispatch.c: 103 110 116
 *   alloc/process/oom.c: 120
 *   arena/arena-options.c: 340
 *   arena/bump/bump.c: 300 306
 *   arena/in-context.c: 301 342
 *   arena/linear/linear-grow.c: 305
 *   arena/linear/linear-mark.c: 303 304
 *   arena/linear/linear.c: 302
 *   arena/locked.c: 341
 *   arena/pool/pool-report.c: 320 321 322
 *   arena/pool/pool-track.c: 323
 *   arena/source/source-owned.c: 307 308
 *   arena/source/span.c: 309
 *   arena/stack/stack-check.c: 310 311 312 313
 *   arena/tlsf/tlsf-index.c: 332
 *   arena/tlsf/tlsf-tail.c: 332
 *   arena/tlsf/tlsf-walk.c: 330 331
 *   checking/checking-mallocs.c: 103 110
 *   checking/checking-report.c: 102 103 105 106 108 113 114 115
 *   checking/checking.c: 105
 *   checking/registry/block-registry.c: 108 109
 *   context/about.c: 200 202 212
 *   context/gc/gc-slab.c: 207
 *   context/linear/linear.c: 206
 *   context/node.c: 200 201 202 203 210
 *   context/ralloc/debug/ralloc-threads.c: 209
 *   context/ralloc/ralloc-extension.c: 208 210
 *   context/ralloc/ralloc-limit.c: 210
 *   context/ralloc/ralloc-reference.c: 210 211
 *   context/ralloc/ralloc-resize.c: 205 211 213
 *   context/ralloc/ralloc-steal.c: 204 211
 *   context/ralloc/ralloc-string.c: 210
 *   context/slack.c: 212
 *   heap/guard.c: 113
 *   heap/heap.c: 102 103 108 112
 *   heap/medium.c: 104 105
 *   heap/runs.c: 104 105
 *   magazine/magazine.c: 101
 *   magazine/record/record.c: 116
 *   observe/leaks.c: 150
 *   slab/chunk.h: 102 103 104 106 112
 *   slab/slab-free.c: 105
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

  /* Resources. */
  ERROR_NO_MEMORY = 120,
  ERROR_OVERFLOW = 121,          /* n * size does not fit */

  /* Options: warnings, the program goes on. */
  ERROR_UNKNOWN_OPTION = 130,
  ERROR_BAD_OPTION_VALUE = 131,
  ERROR_BAD_SOURCE = 132,        /* a page source that breaks its promise */

  /* The allocator itself. */
  ERROR_BROKEN = 140,

  /* At exit, in debug: a warning. */
  ERROR_NEVER_FREED = 150,       /* blocks that live, by where they were
                                    allocated */

  /* Contexts: the program is ended, except by 211, a warning. */
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
  ERROR_NODE_DYING = 211,      /* a node being destroyed is kept or resized */
  ERROR_NODE_OVERRUN = 212,    /* hardened: bytes behind it were written */
  ERROR_NODE_OWNED = 213,      /* resizing a node that the library uses */

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
  ARENA_MISUSE_OPTIONS = 340,       /* C++: an option out of range */
  ARENA_MISUSE_REENTRY = 341,       /* a locked arena called in its own call */
  ARENA_MISUSE_HELD = 342           /* ended while a context holds it */
} ErrorNumber;

#endif
