/* stack-check.c - checked stacks, and reports of bad releases
 *
 * Layer: arena.  A checked stack keeps an ObjectHead before each object.  Only
 * the top may be released, and its head must be intact.
 *
 * Design: section 8.3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "stack.h"

#include "base/diag.h"

/* Two odd constants, so that a live head's guard and a released one's differ
 * in half their bits and from address to address. */
#define GUARD_LIVE UINT64_C (0x9e3779b97f4a7c15)
#define GUARD_RELEASED UINT64_C (0xc2b2ae3d27d4eb4f)

static ObjectHead *
object_head (const char *object)
{
  return (ObjectHead *) (uintptr_t) (object - sizeof (ObjectHead));
}

/* Reads a head, which is hidden from a tool and shown only while it is
 * read. */
static ObjectHead
head_read (const SliceStack *stack, const char *object)
{
  ObjectHead *head = object_head (object);
  ObjectHead copy;

  if (!stack->bump.chain.is_annotated)
    return *head;
  sli_annotate_show_defined (head, sizeof *head);
  copy = *head;
  sli_annotate_hide (head, sizeof *head);
  return copy;
}

static void
head_write (const SliceStack *stack, const char *object, ObjectHead value)
{
  ObjectHead *head = object_head (object);

  if (stack->bump.chain.is_annotated)
    sli_annotate_show (head, sizeof *head);
  *head = value;
  if (stack->bump.chain.is_annotated)
    sli_annotate_hide (head, sizeof *head);
}

static uint64_t
head_guard (const char *object, const ObjectHead *head, uint64_t kind)
{
  return kind ^ (uintptr_t) object ^ (head->serial << 20) ^ head->size
         ^ (uintptr_t) head->below;
}

void
sli_stack_check_note (SliceStack *stack, char *object, size_t size)
{
  ObjectHead head
      = { .below = stack->top, .size = size, .serial = ++stack->serial };

  head.guard = head_guard (object, &head, GUARD_LIVE);
  head_write (stack, object, head);
  stack->top = object;
}

/* Returns true if an object with a head could begin at that address, in any
 * block. */
static bool
stack_could_hold (const SliceStack *stack, const char *object)
{
  const BlockChain *chain = &stack->bump.chain;

  if (((uintptr_t) object & 7) != 0)
    return false;
  for (int32_t i = BLOCK_EMBEDDED; i < (int32_t) chain->n_blocks; i++)
    {
      Block block = sli_chain_block (chain, i);
      size_t offset = (size_t) ((uintptr_t) object - (uintptr_t) block.start);

      if (block.start != NULL && offset < sli_block_bytes (&block))
        return offset >= sizeof (BlockHead) + sli_stack_head_bytes (stack);
    }
  return false;
}

/* Returns true if the address is above the top, where the next objects will
 * be. */
static bool
stack_is_above (const SliceStack *stack, const char *object)
{
  const Bump *bump = &stack->bump;
  int32_t index = sli_chain_find (&bump->chain, object);

  return index == BLOCK_NONE
         || (index == bump->current && object >= sli_bump_at (bump));
}

static _Noreturn void
report_checked (const SliceStack *stack, const char *object,
                const char *operation)
{
  ObjectHead head = head_read (stack, object);
  ObjectHead top = { .below = NULL };

  if (stack->top != NULL)
    top = head_read (stack, stack->top);
  if (head.guard == head_guard (object, &head, GUARD_RELEASED))
    sli_diag_abort (
        ARENA_MISUSE_TWICE,
        "%s: stack arena %p: %p (%zu bytes, serial %llu) was released"
        " before",
        operation, (const void *) stack, (const void *) object, head.size,
        (unsigned long long) head.serial);
  if (head.guard != head_guard (object, &head, GUARD_LIVE))
    sli_diag_abort (ARENA_MISUSE_FOREIGN,
                    "%s: stack arena %p: no object begins at %p, or the data"
                    " before it are damaged; the top is %p (%zu bytes,"
                    " serial %llu)",
                    operation, (const void *) stack, (const void *) object,
                    (const void *) stack->top, top.size,
                    (unsigned long long) top.serial);
  sli_diag_abort (ARENA_MISUSE_ORDER,
                  "%s: stack arena %p: release of %p (%zu bytes, serial %llu)"
                  " out of order; the top is %p (%zu bytes, serial %llu)",
                  operation, (const void *) stack, (const void *) object,
                  head.size, (unsigned long long) head.serial,
                  (const void *) stack->top, top.size,
                  (unsigned long long) top.serial);
}

void
sli_stack_report (const SliceStack *stack, const char *object,
                  const char *operation)
{
  const Bump *bump = &stack->bump;
  char *at = bump->current != BLOCK_NONE ? sli_bump_at (bump) : NULL;

  if (!stack_could_hold (stack, object))
    sli_diag_abort (
        ARENA_MISUSE_FOREIGN,
        "%s: stack arena %p: %p is not of this stack, or it was released"
        " before and its block returned; the place of the next object is"
        " %p",
        operation, (const void *) stack, (const void *) object, (void *) at);
  if (stack->is_checked)
    report_checked (stack, object, operation);
  if (stack_is_above (stack, object))
    sli_diag_abort (ARENA_MISUSE_TWICE,
                    "%s: stack arena %p: %p was released before; the place of"
                    " the next object is %p",
                    operation, (const void *) stack, (const void *) object,
                    (void *) at);
  sli_diag_abort (
      ARENA_MISUSE_ORDER,
      "%s: stack arena %p: release of %p out of order; the place of"
      " the next object is %p",
      operation, (const void *) stack, (const void *) object, (void *) at);
}

void
slice_stack_check_v1 (const SliceStack *stack, const void *object, int fault)
{
  sli_stack_require (stack, "slice_stack_release");
  if (!stack_could_hold (stack, object))
    sli_diag_abort (ARENA_MISUSE_FOREIGN,
                    "slice_stack_release: stack arena %p: no object begins at "
                    "%p: it is not of this stack, or"
                    " it was released before and its block returned",
                    (const void *) stack, object);
  if (stack_is_above (stack, object))
    fault = ARENA_MISUSE_TWICE;
  if (fault == ARENA_MISUSE_TWICE)
    sli_diag_abort (
        ARENA_MISUSE_TWICE,
        "slice_stack_release: stack arena %p: %p was released before",
        (const void *) stack, object);
  if (fault == ARENA_MISUSE_OVERRUN)
    sli_diag_abort (ARENA_MISUSE_OVERRUN,
                    "slice_stack_release: stack arena %p: the data before the "
                    "top %p are damaged:"
                    " an overrun of the object below",
                    (const void *) stack, object);
  if (fault != 0)
    sli_diag_abort (ARENA_MISUSE_FOREIGN,
                    "slice_stack_release: stack arena %p: no object begins at "
                    "%p, or the data"
                    " before it are damaged",
                    (const void *) stack, object);
}

void
sli_stack_check_release (SliceStack *stack, char *object,
                         const char *operation)
{
  ObjectHead head;

  if (object != stack->top)
    sli_stack_report (stack, object, operation);
  head = head_read (stack, object);
  if (head.guard != head_guard (object, &head, GUARD_LIVE))
    sli_diag_abort (
        ARENA_MISUSE_OVERRUN,
        "%s: stack arena %p: the data before the top %p are damaged:"
        " an overrun of the object below",
        operation, (const void *) stack, (const void *) object);
  stack->top = head.below;
  head.guard = head_guard (object, &head, GUARD_RELEASED);
  head_write (stack, object, head);
}
