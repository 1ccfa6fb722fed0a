/* pool-report.c - the reports of bad frees, of all kinds of pools
 *
 * Layer: arena.  Design: section 8.9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "pool.h"

#include "base/diag.h"

void
sli_pool_report_foreign (const SlicePool *pool, const void *object)
{
  sli_diag_abort (ARENA_MISUSE_POOL_FOREIGN,
                  "slice_pool_free: pool %p: %p is not of this pool",
                  pool->handle, object);
}

void
sli_pool_report_interior (const SlicePool *pool, const void *object,
                          size_t offset)
{
  sli_diag_abort (
      ARENA_MISUSE_POOL_INTERIOR,
      "slice_pool_free: pool %p: %p is %zu bytes inside an object of %zu",
      pool->handle, object, offset, pool->options.object_bytes);
}

void
sli_pool_report_twice (const SlicePool *pool, const void *object)
{
  sli_diag_abort (
      ARENA_MISUSE_POOL_TWICE,
      "slice_pool_free: pool %p: %p (objects of %zu bytes) is free already",
      pool->handle, object, pool->options.object_bytes);
}
