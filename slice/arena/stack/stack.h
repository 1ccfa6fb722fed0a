/* stack.h - inside a stack arena
 *
 * Layer: arena: shared by stack.c, stack-check.c and stack-resize.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_STACK_STACK_H
#define SLI_ARENA_STACK_STACK_H

#include "arena/bump/bump.h"

/* The head of each block, also of dedicated ones.  It makes the step back to
 * the block below O(1) and records the address of the top there:
 *
 *   block   +-------+-------+---------+---------+---
 *           | below | first | object  | object  |
 *           +-------+-------+---------+---------+---
 */
typedef struct
{
  _Alignas (16) char *below; /* address of the next object in the regular
                                block below, when this one came into use */
  char *first;               /* the lowest object, with its head if checked;
                                the next one's address while there is none.
                                In a dedicated block the object itself */
} BlockHead;

/* The inline code knows only the padding between objects.  If the first object
 * were padded, the block would seem to be in use after its release. */
SLICE_STATIC_ASSERT (sizeof (BlockHead) % 16 == 0,
                     "first objects need no padding");

/* Before each object of a checked stack.  It is aligned as the object is, which
 * may be to 8 bytes only, so the type asks for no more.  It has the same size
 * where pointers have 32 bits. */
typedef struct
{
  union
  {
    char *below;         /* the object below, NULL at the bottom */
    uint64_t below_bits;
  };
  union
  {
    size_t size;
    uint64_t size_bits;
  };
  uint64_t serial; /* counts allocations */
  uint64_t guard;  /* differs for live, released and damaged */
} ObjectHead;

/* A new block is asked for with the sum of its parts.  If a head left the
 * object behind it at half its alignment, the object would not fit. */
SLICE_STATIC_ASSERT (sizeof (ObjectHead) % 16 == 0,
                     "objects behind heads need no padding");

struct SliceStack
{
  Bump bump;      /* first */
  char *low;      /* of the current block: BlockHead.first */
  size_t pad_max; /* a release leaves less than this padding below the
                     released object */
  bool is_checked;
  /* checked only */
  char *top;       /* the top object */
  uint64_t serial; /* of the last allocation */
};

/* The head of a block, which stays accessible under a tool. */
BlockHead *sli_stack_block_head (const SliceStack *stack, int32_t index);

/* The bytes before each object. */
static inline size_t
sli_stack_head_bytes (const SliceStack *stack)
{
  return stack->is_checked ? sizeof (ObjectHead) : 0;
}

/* --- stack.c ------------------------------------------------------------- */

static inline void
sli_stack_require (const SliceStack *stack, const char *operation)
{
  sli_arena_require (stack, stack->bump.kind, ARENA_STACK, operation);
}

/* Returns true if the address is in the block. */
static inline bool
sli_block_has (Block block, const char *address)
{
  return (uintptr_t) address - (uintptr_t) block.start
         < sli_block_bytes (&block);
}

/* Steps back from empty blocks.  Afterwards the top object is in the current
 * block, or in a dedicated one. */
void sli_stack_leave_empty (SliceStack *stack);

/* Puts an object on top: in the current block, a new one or a dedicated one.
 * NULL: no memory. */
char *sli_stack_add (SliceStack *stack, size_t alignment, size_t size);

/* Returns true if `place' is the address of the next object, except for
 * padding that a release has left. */
bool sli_stack_is_at (const SliceStack *stack, const char *place);

/* Releases an object if it is in the current block, at or above `lowest': the
 * next address there when the last dedicated block was added. */
bool sli_stack_release_here (SliceStack *stack, char *object,
                             const char *lowest);

/* --- stack-check.c ------------------------------------------------------- */

/* Records a new top; the bytes before `object' are its ObjectHead. */
void sli_stack_check_note (SliceStack *stack, char *object, size_t size);

/* Reports misuse unless the object is the top; records its release. */
void sli_stack_check_release (SliceStack *stack, char *object,
                              const char *operation);

/* Reports what is wrong with the release of an address that is not the top. */
_Noreturn void sli_stack_report (const SliceStack *stack, const char *object,
                                 const char *operation);

#endif
