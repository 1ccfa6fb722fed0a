/* stack.h - inside a stack arena
 *
 * Floor 7: shared by stack.c and stack-check.c.
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
  _Alignas (16)
  char *below; /* where the next object would have gone in the
                  regular block below, when this came into use */
  char *first; /* the lowest object, with its head if checked;
                  the next one's place while there is none.  In
                  an own block the object itself */
} BlockHead;

/* The inline code knows no other padding than that between objects: were the
 * first one padded, its release would leave the block looking used. */
_Static_assert(sizeof (BlockHead) % 16 == 0, "first objects need no padding");

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

/* Notes a new top; `object` lies behind room for an ObjectHead. */
void sli_stack_check_note (SliceStack *stack, char *object, size_t size);

/* Ends the program unless the object is the top; else notes its release. */
void sli_stack_check_release (SliceStack *stack, char *object);

/* Says what is wrong with the release of an address that is not the top, and
 * ends the program. */
_Noreturn void sli_stack_fault (const SliceStack *stack, const char *object);

#endif
