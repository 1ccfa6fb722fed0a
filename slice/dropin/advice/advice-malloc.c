/* advice-malloc.c - malloc and its family, for a program with advice
 *
 * Layer: dropin.  Calls from sites with advice get blocks of regions or
 * slices.  All others go to the malloc behind: the C library's, or another
 * preloaded one.  free() and its like find out from the address which of them
 * a block belongs to.
 *
 * Design: chapter 15.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "config.h"

#include "dropin/advice/advice-start.h"
#include "dropin/malloc/malloc-calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* --- allocating ---------------------------------------------------------- */

/* Without advice this is a jump, and the function has no stack frame. */
void *
malloc (size_t size)
{
  return ADVICE_MALLOC (size);
}

void *
calloc (size_t n, size_t size)
{
  size_t bytes;
  void *block;

  if (UNLIKELY (!product_fits (n, size, &bytes)))
    return NULL;
  if (LIKELY (!ADVICE_MAY_HAVE ()))
    return LOAD (&sli_next.calloc) (1, bytes);
  block = ADVICE_ALLOC (bytes);
  return block != NULL ? memset (block, 0, bytes)
                       : LOAD (&sli_next.calloc) (1, bytes);
}

/* --- freeing ------------------------------------------------------------- */

void
free (void *block)
{
  if (region_has (block))
    sli_region_free (block);
  else
    LOAD (&sli_advice_free_rest) (block);
}

/* The sizes are not passed on: the next malloc may lack these calls. */
void
free_sized (void *block, size_t size UNUSED)
{
  free (block);
}

void
free_aligned_sized (void *block, size_t alignment UNUSED, size_t size UNUSED)
{
  free (block);
}

void
cfree (void *block)
{
  free (block);
}

/* --- other sizes --------------------------------------------------------- */

static inline bool
is_slice (const void *block)
{
  return UNLIKELY (sli_advice_has_slices) && slice_is_ours (block);
}

size_t
malloc_usable_size (void *block)
{
  return block == NULL            ? 0
         : region_has (block)     ? sli_region_bytes (block)
         : is_slice (block)       ? slice_heap_bytes (block)
                                  : LOAD (&sli_next.usable) (block);
}

/* A block that has to leave its region moves to the next malloc. */
static void *
region_realloc (void *block, size_t size)
{
  size_t bytes;
  void *moved;

  if (sli_region_resize (block, size))
    return block;
  moved = LOAD (&sli_next.malloc) (size);
  if (moved == NULL)
    return NULL;
  bytes = sli_region_bytes (block);
  memcpy (moved, block, size < bytes ? size : bytes);
  sli_region_free (block);
  return moved;
}

/* As in glibc, size 0 frees the block. */
static inline void *
resize (void *block, size_t size)
{
  bool is_ours = region_has (block) || is_slice (block);

  if (UNLIKELY (is_ours && size == 0))
    {
      free (block);
      return NULL;
    }
  if (region_has (block))
    return region_realloc (block, size);
  if (is_slice (block))
    return slice_heap_realloc (block, size);
  return LOAD (&sli_next.realloc) (block, size);
}

/* Without a block these are malloc, for the site that they are called from. */
void *
realloc (void *block, size_t size)
{
  return block == NULL ? ADVICE_MALLOC (size) : resize (block, size);
}

void *
reallocarray (void *block, size_t n, size_t size)
{
  size_t bytes;

  if (UNLIKELY (!product_fits (n, size, &bytes)))
    return NULL;
  return block == NULL ? ADVICE_MALLOC (bytes) : resize (block, bytes);
}

/* --- dlclose ------------------------------------------------------------- */

/* Another module may be loaded where this one was.  (dlopen() is not replaced:
 * it searches from its caller's place.) */
EXPORT int
dlclose (void *handle)
{
  static int (*next) (void *);
  int result;

  if (LOAD (&next) == NULL)
    __atomic_store_n ((void **) &next, sli_malloc_next_function ("dlclose"),
                      __ATOMIC_RELAXED);
  result = next (handle);
  sli_sites_renew ();
  return result;
}
