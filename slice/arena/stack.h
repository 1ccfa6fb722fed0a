/* stack.h - inside a stack arena
 *
 * Layer: arena: shared by stack.c, stack-check.c and stack-resize.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_STACK_H
#define SLI_ARENA_STACK_H

#include "bump.h"

/* At the start of each block, own ones too; it makes a step back O(1) and
 * tells what the top was:
 *
 *   block   +-------+-------+---------+---------+---
 *           | below | first | object  | object  |
 *           +-------+-------+---------+---------+---
 */
typedef struct
{
  _Alignas (16) char *below; /* where the next object would have gone in the
                               regular block below, when this came into use */
  char *first;              /* the lowest object, with its head if checked;
                               the next one's place while there is none.  In
                               an own block the object itself */
} BlockHead;

/* The inline code knows no other padding than that between objects: were the
 * first one padded, its release would leave the block looking used. */
SLICE_STATIC_ASSERT (sizeof (BlockHead) % 16 == 0, "first objects need no padding");

/* Before each object of a checked stack. */
typedef struct
{
  char *below; /* the object below, NULL at the bottom */
  size_t size;
  uint64_t serial; /* counts allocations */
  uint64_t guard;  /* tells live, released and damaged */
} ObjectHead;

struct SliceStack
{
  Bump bump;      /* first */
  char *low;      /* of the current block: BlockHead.first */
  size_t pad_max; /* a release leaves less than this padding behind,
                     in front of what was released */
  bool is_checked;
  /* checked only */
  char *top;       /* the top object */
  uint64_t serial; /* of the last allocation */
};

/* The head in a block, readable also when a tool watches. */
BlockHead *sli_stack_block_head (const SliceStack *stack, int32_t index);

/* Bytes kept before each object. */
static inline size_t
sli_stack_head_bytes (const SliceStack *stack)
{
  return stack->is_checked ? sizeof (ObjectHead) : 0;
}

/* --- stack.c ------------------------------------------------------------- */

static inline void
sli_stack_require (const SliceStack *stack)
{
  sli_arena_require (stack, stack->bump.kind, ARENA_STACK);
}

/* Does the address lie in the block? */
static inline bool
sli_block_has (Block block, const char *address)
{
  return (uintptr_t) address - (uintptr_t) block.start
         < sli_block_bytes (&block);
}

/* Steps back from blocks that are empty: the top object lies in the current
 * block, or in an own one, afterwards. */
void sli_stack_leave_empty (SliceStack *stack);

/* Puts an object on top, in the current block, a new one or its own; NULL: no
 * memory. */
char *sli_stack_add (SliceStack *stack, size_t alignment, size_t size);

/* Is the place of the next object `place`, but for padding that was left? */
bool sli_stack_is_at (const SliceStack *stack, const char *place);

/* Releases it if it lies in the current block, not below an own block that
 * came later. */
bool sli_stack_release_here (SliceStack *stack, char *object,
                             const char *floor);

/* --- stack-check.c ------------------------------------------------------- */

/* Notes a new top; `object` lies behind room for an ObjectHead. */
void sli_stack_check_note (SliceStack *stack, char *object, size_t size);

/* Ends the program unless the object is the top; else notes its release. */
void sli_stack_check_release (SliceStack *stack, char *object);

/* Says what is wrong with the release of an address that is not the top, and
 * ends the program. */
_Noreturn void sli_stack_report (const SliceStack *stack, const char *object);

#endif
