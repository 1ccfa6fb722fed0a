/* replay-backends.c - the allocators that a trace can be replayed on
 *
 * Tools.  The library's own allocators as a program would use them, inline
 * paths and all.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "replay.h"
#include "tools/trace/common/tool.h"
#include <slice/linear.h>
#include <slice/pool.h>
#include <slice/ralloc.h>
#include <slice/slice.h>
#include <slice/stack.h>
#include <slice/tlsf.h>
#include <stdlib.h>
#include <string.h>

static struct
{
  SliceArenaOptions options;
  SliceTlsf *tlsf; /* one for all sites */
} state;

void
sli_backends_block_bytes (size_t bytes)
{
  state.options.first_bytes = state.options.cap_bytes = bytes;
}

static void
no_memory (void)
{
  sli_tool_exit (TOOL_FAILED, "an arena has no memory");
}

/* --- none, malloc, slice ------------------------------------------------- */

static char nothing[1 << 16] __attribute__ ((aligned (4096)));

static void *
none_alloc (ReplayArena *arena, uint32_t size, unsigned align_log2,
            ReplaySlot *slot)
{
  (void) arena;
  (void) size;
  (void) align_log2;
  (void) slot;
  return nothing;
}

static void
none_free (ReplayArena *arena, ReplaySlot *slot)
{
  (void) arena;
  (void) slot;
}

static void *
malloc_alloc (ReplayArena *arena, uint32_t size, unsigned align_log2,
              ReplaySlot *slot)
{
  void *block;

  (void) arena;
  (void) slot;
  if (align_log2 <= 4)
    block = malloc (size);
  else if (posix_memalign (&block, (size_t) 1 << align_log2, size) != 0)
    block = NULL;
  if (block == NULL)
    no_memory ();
  return block;
}

static void
malloc_free (ReplayArena *arena, ReplaySlot *slot)
{
  (void) arena;
  free (slot->block);
}

/* Requests with an alignment beyond the slices' own go to malloc; `place'
 * keeps the alignment for the free. */
static void *
slices_alloc (ReplayArena *arena, uint32_t size, unsigned align_log2,
              ReplaySlot *slot)
{
  slot->place = align_log2;
  if (align_log2 > 4)
    return malloc_alloc (arena, size, align_log2, slot);
  return slice_alloc (size == 0 ? 1 : size);
}

static void
slices_free (ReplayArena *arena, ReplaySlot *slot)
{
  if (slot->place > 4)
    malloc_free (arena, slot);
  else
    slice_free1 (slot->size == 0 ? 1 : slot->size, slot->block);
}

/* --- linear -------------------------------------------------------------- */

static void *
linear_alloc (ReplayArena *arena, uint32_t size, unsigned align_log2,
              ReplaySlot *slot)
{
  void *block;

  (void) slot;
  if (__builtin_expect (arena->arena == NULL, 0))
    arena->arena = slice_linear_new (&state.options);
  block = align_log2 <= 3
              ? slice_linear_alloc (arena->arena, size == 0 ? 1 : size)
              : slice_linear_alloc_aligned (arena->arena,
                                            (size_t) 1 << align_log2,
                                            size == 0 ? 1 : size);
  if (block == NULL)
    no_memory ();
  return block;
}

static void
linear_empty (ReplayArena *arena)
{
  slice_linear_reset (arena->arena, SLICE_KEEP_ALL);
}

static void
linear_destroy (ReplayArena *arena)
{
  slice_linear_destroy (arena->arena);
}

/* --- stack --------------------------------------------------------------- */

/* The blocks on the stack, with those that are dead already, as a program
 * keeps them that frees out of order. */
typedef struct StackEntry
{
  void *block;
  bool dead;
} StackEntry;

static void *
stack_alloc (ReplayArena *arena, uint32_t size, unsigned align_log2,
             ReplaySlot *slot)
{
  void *block;

  if (__builtin_expect (arena->arena == NULL, 0))
    arena->arena = slice_stack_new (&state.options);
  block = align_log2 <= 3
              ? slice_stack_alloc (arena->arena, size == 0 ? 1 : size)
              : slice_stack_alloc_aligned (arena->arena,
                                           (size_t) 1 << align_log2,
                                           size == 0 ? 1 : size);
  if (block == NULL)
    no_memory ();
  if (arena->n_stack == arena->stack_capacity)
    {
      arena->stack_capacity = arena->stack_capacity * 2 + 64;
      arena->stack = sli_tool_grow (arena->stack, arena->stack_capacity
                                                      * sizeof (StackEntry));
    }
  slot->place = arena->n_stack;
  arena->stack[arena->n_stack++] = (StackEntry){ block, false };
  return block;
}

static void
stack_free (ReplayArena *arena, ReplaySlot *slot)
{
  StackEntry *entries = arena->stack;
  uint32_t n;

  if (slot->place + 1 != arena->n_stack)
    {
      entries[slot->place].dead = true;
      return;
    }
  n = arena->n_stack;
  do
    slice_stack_release (arena->arena, entries[--n].block);
  while (n > 0 && entries[n - 1].dead);
  arena->n_stack = n;
}

static void
stack_destroy (ReplayArena *arena)
{
  slice_stack_destroy (arena->arena);
  free (arena->stack);
  arena->stack = NULL;
  arena->n_stack = arena->stack_capacity = 0;
}

/* --- pool ---------------------------------------------------------------- */

static void *
pool_alloc (ReplayArena *arena, uint32_t size, unsigned align_log2,
            ReplaySlot *slot)
{
  void *block;

  slot->place = size > arena->pool_bytes || align_log2 > 4;
  if (slot->place)
    return malloc_alloc (arena, size, align_log2, slot);
  if (__builtin_expect (arena->arena == NULL, 0))
    arena->arena = slice_pool_new_plain (arena->pool_bytes);
  block = slice_pool_alloc (arena->arena);
  if (block == NULL)
    no_memory ();
  return block;
}

static void
pool_free (ReplayArena *arena, ReplaySlot *slot)
{
  if (slot->place)
    free (slot->block);
  else
    slice_pool_free (arena->arena, slot->block);
}

static void
pool_destroy (ReplayArena *arena)
{
  slice_pool_destroy (arena->arena);
}

/* --- TLSF: one for all --------------------------------------------------- */

static void *
tlsf_alloc (ReplayArena *arena, uint32_t size, unsigned align_log2,
            ReplaySlot *slot)
{
  void *block;

  (void) arena;
  (void) slot;
  if (__builtin_expect (state.tlsf == NULL, 0))
    state.tlsf = slice_tlsf_new (NULL);
  block = align_log2 <= 3
              ? slice_tlsf_alloc (state.tlsf, size == 0 ? 1 : size)
              : slice_tlsf_alloc_aligned (state.tlsf, (size_t) 1 << align_log2,
                                          size == 0 ? 1 : size);
  if (block == NULL)
    no_memory ();
  return block;
}

static void
tlsf_free (ReplayArena *arena, ReplaySlot *slot)
{
  (void) arena;
  slice_tlsf_free (state.tlsf, slot->block);
}

/* --- contexts ------------------------------------------------------------ */

/* An arena for an owner's group is freed with its context; the single blocks
 * of a group are not. n_stack marks a group. */
static void *
context_alloc (ReplayArena *arena, uint32_t size, unsigned align_log2,
               ReplaySlot *slot)
{
  void *block;

  slot->place = align_log2 > 4;
  if (slot->place)
    return malloc_alloc (arena, size, align_log2, slot);
  if (__builtin_expect (arena->arena == NULL, 0))
    arena->arena = ralloc_context (NULL);
  block = ralloc_size (arena->arena, size);
  if (block == NULL)
    no_memory ();
  return block;
}

static void
context_free (ReplayArena *arena, ReplaySlot *slot)
{
  if (slot->place)
    free (slot->block);
  else if (arena->n_stack == 0)
    ralloc_free (slot->block);
}

static void
context_empty (ReplayArena *arena)
{
  if (arena->n_stack == 0)
    return;
  ralloc_free (arena->arena);
  arena->arena = NULL;
}

static void
context_destroy (ReplayArena *arena)
{
  ralloc_free (arena->arena);
}

const Backend sli_backends[N_BACKENDS] = {
  [BACKEND_NONE] = { "none", none_alloc, none_free, NULL, NULL },
  [BACKEND_MALLOC] = { "malloc", malloc_alloc, malloc_free, NULL, NULL },
  [BACKEND_SLICE] = { "slice", slices_alloc, slices_free, NULL, NULL },
  [BACKEND_CONTEXT]
  = { "context", context_alloc, context_free, context_empty, context_destroy },
  [BACKEND_LINEAR]
  = { "linear", linear_alloc, none_free, linear_empty, linear_destroy },
  [BACKEND_STACK] = { "stack", stack_alloc, stack_free, NULL, stack_destroy },
  [BACKEND_POOL] = { "pool", pool_alloc, pool_free, NULL, pool_destroy },
  [BACKEND_TLSF] = { "tlsf", tlsf_alloc, tlsf_free, NULL, NULL },
};

const char *
sli_backend_name (BackendId id)
{
  return sli_backends[id].name;
}

BackendId
sli_backend_by_name (const char *name)
{
  int id = 0;

  while (id < N_BACKENDS && strcmp (sli_backends[id].name, name) != 0)
    id++;
  return (BackendId) id;
}

BackendId
sli_backend_of_class (SiteClass class)
{
  switch (class)
    {
    case CLASS_IMMORTAL:
    case CLASS_LINEAR:
    case CLASS_LINEAR_FAIR:
    case CLASS_SCOPE:
      return BACKEND_LINEAR;
    case CLASS_SCRATCH:
    case CLASS_STACK:
    case CLASS_STACK_LAZY:
      return BACKEND_STACK;
    case CLASS_OWNER:
      return BACKEND_CONTEXT;
    case CLASS_POOL:
      return BACKEND_POOL;
    case CLASS_SLICE:
      return BACKEND_SLICE;
    default:
      return BACKEND_MALLOC;
    }
}
