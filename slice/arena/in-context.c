/* in-context.c - arenas that are nodes of a context's tree
 *
 * Layer: arena; only this file knows contexts.  The control block, with the
 * embedded block behind it, is a node that ends the arena when it is freed,
 * after the destructor that the program may have set (context/owned.h).  So
 * the arena is freed with its parent, and it moves to another parent by a
 * change of that one pointer, however much it holds.
 *
 * Design: section 8.7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/arena.h>
#include <slice/ralloc.h>

#include <errno.h>
#include <string.h>
#include "base/diag.h"
#include "arena-options.h"
#include "arena-private.h"
#include "linear/linear.h"
#include "context/owned.h"

static void *
node_new (const void *context, size_t bytes, const char *operation)
{
  return bytes != 0 ? context_alloc (context, bytes, operation)
                    : NULL;
}

/* Ends an arena for the program's call.  A program that ends an arena does not
 * expect it to live on elsewhere, so the checking modes report that. */
static void
node_end (void *node, const char *kind, const char *operation)
{
  const void *holder = sli_context_end (node, operation);

  if (UNLIKELY (holder != NULL) && sli_arena_all_checked ())
    sli_diag_abort (ARENA_MISUSE_HELD,
                    "%s: %s %p: context %p holds a reference to it",
                    operation, kind, node, holder);
}

static void
linear_end (void *node)
{
  node_end (node, "linear arena", "slice_linear_destroy");
}

static void
stack_end (void *node)
{
  node_end (node, "stack arena", "slice_stack_destroy");
}

static void
pool_end (void *node)
{
  node_end (node, "pool", "slice_pool_destroy");
}

static void
tlsf_end (void *node)
{
  node_end (node, "TLSF heap", "slice_tlsf_destroy");
}

/* Makes a node the library's own, with a name for reports.  Returns the node;
 * if there is no memory for its record, ends the arena and returns NULL. */
static void *
node_is_arena (void *node, const char *name, OwnedKind kind,
               void (*fini) (void *))
{
  if (sli_context_own (node, kind, fini))
    {
      ralloc_set_name_const (node, name); /* it has a record */
      return node;
    }
  fini (node);
  ralloc_free (node);
  errno = ENOMEM;
  return NULL;
}

SliceLinear *
slice_linear_new_in (const void *context, const SliceArenaOptions *given)
{
  SliceArenaOptions options;
  void *node = node_new (context, sli_arena_linear_bytes (given, &options),
                         "slice_linear_new_in");
  SliceLinear *linear;

  if (node == NULL)
    return NULL;
  linear = sli_arena_linear_setup (node, &options, linear_end);
  return node_is_arena (linear, "linear", OWNED_LINEAR, sli_arena_linear_fini);
}

SliceStack *
slice_stack_new_in (const void *context, const SliceArenaOptions *given)
{
  SliceArenaOptions options;
  void *node = node_new (context, sli_arena_stack_bytes (given, &options),
                         "slice_stack_new_in");
  SliceStack *stack;

  if (node == NULL)
    return NULL;
  stack = sli_arena_stack_setup (node, &options, stack_end);
  return node_is_arena (stack, "stack", OWNED_STACK, sli_arena_stack_fini);
}

SlicePool *
slice_pool_new_in (const void *context, const SlicePoolOptions *given)
{
  SlicePoolOptions options;
  void *node = node_new (context, sli_arena_pool_bytes (given, &options),
                         "slice_pool_new_in");
  SlicePool *pool;

  if (node == NULL)
    return NULL;
  pool = sli_arena_pool_setup (node, &options, pool_end);
  return node_is_arena (pool, "pool", OWNED_POOL, sli_arena_pool_fini);
}

SliceTlsf *
slice_tlsf_new_in (const void *context, const SliceArenaOptions *given)
{
  SliceArenaOptions options;
  void *node = node_new (context, sli_arena_tlsf_bytes (given, &options),
                         "slice_tlsf_new_in");
  SliceTlsf *tlsf;

  if (node == NULL)
    return NULL;
  tlsf = sli_arena_tlsf_setup (node, &options, tlsf_end);
  if (tlsf == NULL)
    {
      ralloc_free (node);
      errno = ENOMEM;
      return NULL;
    }
  return node_is_arena (tlsf, "tlsf", OWNED_TLSF, sli_arena_tlsf_fini);
}

void *
slice_linear_export (const SliceLinear *linear, const void *object,
                     size_t size, const void *context)
{
  const char *last = (const char *) object + (size > 0 ? size - 1 : 0);
  void *copy;

  linear_checked (linear, "slice_linear_export");
  if (!slice_linear_owns (linear, object) || !slice_linear_owns (linear, last))
    sli_diag_abort (
        ARENA_MISUSE_NOT_IN_ARENA,
        "slice_linear_export: linear arena %p: export of %p (%zu bytes), "
        "which is not in it",
        (const void *) linear, object, size);
  copy = context_alloc (context, size, "slice_linear_export");
  if (copy != NULL && size > 0)
    memcpy (copy, object, size);
  return copy;
}
