/* node-layout.h - the words of a node and of its extension
 *
 * Layer: context.  Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_NODE_LAYOUT_H
#define SLI_CONTEXT_NODE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slice/ralloc.h>

#include "base/check.h"

/* A node in the ordinary layout, four words before the payload:
 *
 *   block      +8         +16        +24        +32
 *   +----------+----------+----------+----------+---------------
 *   | parent|F | child    | next     | pprev    | payload ...
 *   +----------+----------+----------+----------+---------------
 *
 * Every link holds the address of a payload, not of a header.  So a parent is
 * one load away, and the links stay valid where the header lies elsewhere
 * (below).
 *
 * parent  the parent's payload, NULL in a root; or, with NODE_INDIRECT, the
 *         extension of the parent (see reralloc).  Low four bits: NODE_*.
 *         NODE_DEAD in a node that was freed.
 * child   the youngest child; or, with NODE_EXT, the extension, which then
 *         holds the youngest child.
 * next    the next older sibling, NULL at the end; in a root the node itself.
 * pprev   the address of the word that points to this node: the parent's
 *         (or its extension's) child, or the younger sibling's next, or in a
 *         root its own next.  So `*pprev == payload' holds for every live
 *         node, and unlinking has no special case.  NODE_DYING in a node that
 *         is being destroyed.
 *
 * In a program that runs under valgrind or a sanitizer, and whenever slices
 * are plain mallocs, the header lies behind the payload, at the end of the
 * malloc'd block, with a gap between them that nothing may access.  An overrun
 * then hits the gap, an underrun the tool's own red zone, and a leak check
 * finds a block by a pointer to its start.  The first root that is made
 * decides the mode (MODE_TRAILING_HEADER). */
typedef RallocHeaderV1 Node;

enum
{
  NODE_EXT = 1,        /* child is an extension record */
  NODE_HAS_PREFIX = 2, /* the block does not begin at the header: see Prefix */
  NODE_LIMITED = 4,    /* some ancestor, or the node, has a limit */
  NODE_INDIRECT = 8,   /* parent is the parent's extension */
  NODE_FLAGS = 15
};

/* The parent word of a freed node: all flags and no address, as in no live
 * node.  Allocation and free test the flags anyway, so the test for a freed
 * node costs nothing.  A freed chunk keeps the word until it is written to, so
 * a second free recognises it. */
#define NODE_DEAD ((uintptr_t) NODE_FLAGS)
/* The pprev of a node that is being destroyed. */
#define NODE_DYING ((void **) (uintptr_t) 2)

SLICE_STATIC_ASSERT (RALLOC_UNUSUAL_V1 == (NODE_EXT | NODE_LIMITED),
                     "what sends allocations out of their fast path");

static inline bool
node_is_dead (const Node *node)
{
  return node->parent == NODE_DEAD;
}

enum
{
  NODE_ALIGN = 16,
  /* Chunks of 16-byte multiples are 16-aligned.  The largest payload of a
   * slice is the largest slice without the header. */
  NODE_SMALL_MAX = SLICE_SIZE_MAX - (int) sizeof (Node),
  LAST_STEP_BYTES = 128 /* between the last two classes */
};

SLICE_STATIC_ASSERT (sizeof (Node) % NODE_ALIGN == 0,
                     "payloads are 16-aligned");
SLICE_STATIC_ASSERT (SLICE_SIZE_MAX % NODE_ALIGN == 0,
                     "nodes fill the last class");
SLICE_STATIC_ASSERT (SLICE_CLASS_V1 (SLICE_SIZE_MAX - LAST_STEP_BYTES)
                         == SLICE_CLASSES_V1 - 2
                     && SLICE_CLASS_V1 (SLICE_SIZE_MAX - LAST_STEP_BYTES + 1)
                            == SLICE_CLASSES_V1 - 1,
                     "the step between the last two classes");

/* A block that is no plain slice (NODE_HAS_PREFIX) has a prefix before the
 * header.  The prefix's last word, just before the header, is its kind. */
typedef enum
{
  KIND_LARGE = 0x6c617267,  /* "larg": a block of malloc */
  KIND_ALIGNED = 0x616c6967, /* "alig": the payload has a larger alignment */
  KIND_LINEAR = 0x6c696e65  /* "line": a linear context, see linear.c */
} PrefixKind;

typedef struct
{
  _Alignas (NODE_ALIGN) size_t bytes; /* of the whole block */
  uint64_t kind;                      /* its last word: KIND_LARGE */
} LargePrefix;

/* The block is a slice or a block of malloc, and begins before the prefix. */
typedef struct
{
  _Alignas (NODE_ALIGN) size_t front_bytes; /* of the block, before it */
  size_t payload_bytes;                     /* what follows is not used */
  LargePrefix large;                        /* KIND_ALIGNED */
} AlignedPrefix;

SLICE_STATIC_ASSERT (sizeof (LargePrefix) == 16, "headers stay aligned");
SLICE_STATIC_ASSERT (sizeof (AlignedPrefix) == 32, "headers stay aligned");

/* A record for what few nodes have: a destructor, a name, a limit, references,
 * many children that had to be moved, debugging data. */
typedef struct Extension Extension;
typedef struct Reference Reference;
typedef struct Limit Limit;

typedef enum
{
  EXT_PLAIN = 0,
  EXT_GC,        /* the payload is a RallocGc */
  EXT_REFERENCE, /* the payload is a Reference */
  EXT_ENDED,     /* the payload was an arena */
  EXT_OWNED      /* first of N_OWNED kinds of arenas: see owned.h */
} ExtensionKind;

/* In name_bytes: the name is kept by address. */
#define NAME_KEPT ((size_t) 1 << (8 * sizeof (size_t) - 1))

enum
{
  NAME_SUM_BITS = 31,
  PLACE_LINE_BITS = 22,
  PLACE_SUM_BITS = 10
};

struct Extension
{
  /* The youngest child; must be first.  Aligned, as the parent words of
   * children with NODE_INDIRECT keep flags in the low bits of the record's
   * address. */
  _Alignas (NODE_ALIGN) void *child;
  void *owner;                   /* the node's payload, updated if it moves */
  void (*destructor) (void *);
  bool (*refuses) (void *);
  const char *name;
  size_t name_bytes;             /* of a copied name; else NAME_KEPT and a sum
                                    of it: see kept-text.h */
  Reference *references;         /* oldest first */
  Limit *limit;
  const char *file;              /* where it was allocated, if marked */
  uint32_t line : PLACE_LINE_BITS;
  uint32_t file_sum : PLACE_SUM_BITS;
  uint8_t kind;                  /* ExtensionKind */
  bool asked;                    /* the refusing destructor is running */
  uint8_t tracked;               /* on the list of roots, by that process; 0:
                                    on none */
  bool stays;                    /* kept where ralloc_free_children() frees
                                    others */
  union
  {
    struct
    {
      void *next;                /* the list of roots, if tracked */
      void **pprev;
    } root;
    struct                       /* of a node with a parent, in a search for */
    {                            /* holders that survive */
      Extension *next;
      void *reference;           /* the search met it above this holder */
    } search;
  };
  uintptr_t search_serial;       /* the result of the last search: see
                                    ralloc-free-search.c */
};

#endif
