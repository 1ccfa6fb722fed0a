/* pool-locked.c - pools for several threads
 *
 * Layer: arena: above the pool proper.  See arena/locked.h.
 *
 * Design: section 8.10.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "pool.h"

static LockedPool *
shell_of (const SlicePool *shown)
{
  return (LockedPool *) (uintptr_t) shown;
}

SlicePool *
sli_pool_locked_setup (void *memory, SlicePool *pool, void (*end) (void *))
{
  LockedPool *shell = memory;

  *shell = (LockedPool){ .kind = ARENA_POOL_LOCKED, .pool = pool, .end = end };
  pool->handle = shell;
  sli_pool_no_stack (&shell->head);
  sli_arena_lock_init (&shell->lock);
  return memory;
}

SlicePool *
sli_pool_locked_fini (SlicePool *shown)
{
  LockedPool *shell = shell_of (shown);

  shell->kind = ARENA_DEAD;
  sli_arena_lock_fini (&shell->lock);
  return shell->pool;
}

SlicePool *
sli_pool_acquire (const SlicePool *shown, const char *operation)
{
  LockedPool *shell;

  if (!sli_pool_is_locked (shown))
    {
      sli_pool_require (shown, operation);
      return (SlicePool *) (uintptr_t) shown;
    }
  shell = shell_of (shown);
  sli_arena_lock (&shell->lock, shown, operation);
  return shell->pool;
}

void
sli_pool_release (const SlicePool *shown)
{
  if (sli_pool_is_locked (shown))
    sli_arena_unlock (&shell_of (shown)->lock);
}

void *
sli_pool_locked_alloc (SlicePool *shown)
{
  SlicePool *pool = sli_pool_acquire (shown, "slice_pool_alloc");
  void *object = slice_pool_alloc (pool);

  sli_pool_release (shown);
  return object;
}

void
sli_pool_locked_free (SlicePool *shown, void *object)
{
  slice_pool_free (sli_pool_acquire (shown, "slice_pool_free"), object);
  sli_pool_release (shown);
}
