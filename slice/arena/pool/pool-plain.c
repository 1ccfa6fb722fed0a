/* pool-plain.c - allocation and free in pools that are not checked
 *
 * Layer: arena.  The addresses of free objects are on a stack, from which the
 * inline code takes them.  When the stack is large, its older half moves to
 * the bits of the blocks' tracks: one bit for each chunk, set if it is free
 * and not on the stack.  The bits show which blocks are empty, and the pool
 * returns these.
 *
 * Design: section 8.4.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "pool.h"

#include <string.h>
#include "base/diag.h"
#include "port/compiler.h"

enum
{
  /* Addresses in the stack when it is first allocated; with the NULL below
   * them its size is a power of two, and doubles. */
  STACK_CAPACITY_MIN = 63,

  /* It doubles up to this many addresses, fewer if the objects are large, or
   * up to this part of all objects. */
  STACK_CAPACITY_SMALL = 1023,
  STACK_OBJECTS_BYTES = KIB (128),
  STACK_PART = 64,

  /* The part of a full stack that stays if its addresses are in a row. */
  STACK_KEEP_PART = 8,

  /* The part of a block that is cut into chunks at a time: large enough to
   * make the call rare, and so small that few chunks are on the stack when the
   * program frees others. */
  CUT_BYTES = KIB (16)
};

/* Below the bottom of a stack of addresses is NULL, which equals no object
 * that is freed again.  A stack without memory has only this NULL. */
static void *const no_stack[1];

static size_t
stack_bytes (size_t capacity)
{
  return capacity != 0 ? (capacity + 1) * sizeof (void *) : 0;
}

void
sli_pool_no_stack (SlicePoolV1 *head)
{
  head->bottom = (uintptr_t) (no_stack + 1);
  head->limit = head->bottom;
  head->top = head->bottom;
}

void
sli_pool_plain_init (SlicePool *pool)
{
  pool->stack_capacity = 0;
  sli_pool_no_stack (&pool->head);
}

size_t
sli_pool_plain_bytes (const SlicePool *pool)
{
  return stack_bytes (pool->stack_capacity);
}

/* Frees the stack, which is empty. */
void
sli_pool_plain_fini (SlicePool *pool)
{
  if (pool->stack_capacity != 0)
    sli_chain_table_free (&pool->chain, stack_bytes (pool->stack_capacity),
                          sli_pool_bottom (pool) - 1);
  sli_pool_plain_init (pool);
}

void
sli_pool_plain_start_over (SlicePool *pool)
{
  if (pool->has_tracks)
    sli_pool_track_fini (pool);
  pool->has_tracks = false;
  pool->head.top = pool->head.bottom;
  pool->head.limit = pool->head.bottom;
  pool->spilt = NULL;
  pool->n_spilt = 0;
  pool->n_cut = 0;
}

size_t
sli_pool_plain_n_live (const SlicePool *pool)
{
  size_t n_stacked = sli_pool_n_stacked (pool);

  assert_here (n_stacked + pool->n_spilt <= pool->n_cut);
  return pool->n_cut - pool->n_spilt - n_stacked;
}

/* Returns true if the pool starts over when its last object is freed.  With a
 * single block that gains nothing. */
static bool
plain_starts_over (const SlicePool *pool)
{
  return pool->chain.n_used + (pool->chain.embedded != NULL) > 1;
}

/* The most addresses that the stack may hold.  If much memory is free, no more
 * than there are live objects, since the blocks of addresses on the stack
 * can't become empty. */
static size_t
stack_most (const SlicePool *pool)
{
  size_t n = (pool->n_cut - pool->n_spilt) / 2;

  if (pool->n_spilt * pool->chunk_bytes <= POOL_SPARE_BYTES_MAX)
    return pool->stack_capacity;
  n = n > STACK_CAPACITY_MIN ? n : STACK_CAPACITY_MIN;
  return n < pool->stack_capacity ? n : pool->stack_capacity;
}

/* Sets when a free takes the slow path: when the stack has as many addresses
 * as it may hold, and if the pool starts over, at the last live object.  A
 * refill may leave more than stack_most() on the stack; the limit is above
 * these, or no free would meet it. */
static void
plain_set_limit (SlicePool *pool)
{
  size_t n = pool->n_cut - pool->n_spilt - plain_starts_over (pool);
  size_t n_most = stack_most (pool);

  if (n_most < sli_pool_n_stacked (pool))
    n_most = pool->stack_capacity;
  pool->head.limit
      = (uintptr_t) (sli_pool_bottom (pool) + (n < n_most ? n : n_most));
  assert_here (pool->head.top <= pool->head.limit);
}

/* Doubles the stack of addresses; false if there is no memory. */
static bool
stack_grow (SlicePool *pool)
{
  SlicePoolV1 *head = &pool->head;
  size_t capacity = pool->stack_capacity;
  size_t used = sli_pool_n_stacked (pool);
  size_t new_capacity = capacity == 0 ? STACK_CAPACITY_MIN : 2 * capacity + 1;
  void **stack = sli_chain_table_alloc (&pool->chain, stack_bytes (capacity),
                                        stack_bytes (new_capacity));

  if (stack == NULL)
    return false;
  memcpy (stack, sli_pool_bottom (pool) - 1, (used + 1) * sizeof (void *));
  if (capacity != 0)
    slice_free1 (stack_bytes (capacity), sli_pool_bottom (pool) - 1);
  head->bottom = (uintptr_t) (stack + 1);
  head->top = (uintptr_t) (stack + 1 + used);
  pool->stack_capacity = new_capacity;
  return true;
}

bool
sli_pool_plain_reserve (SlicePool *pool, size_t n)
{
  size_t n_left = (size_t) (pool->cut_end - pool->cut_at) / pool->chunk_bytes;
  bool stays_embedded = pool->chain.n_used == 0 && n <= n_left;

  if (pool->stack_capacity != 0 || n == 0 || stays_embedded)
    return true;
  if (!stack_grow (pool))
    return false;
  plain_set_limit (pool);
  return true;
}

/* Returns true if the stack may double.  From some size on, addresses go to
 * the bits instead, which take a 64th of the memory. */
static bool
stack_may_grow (const SlicePool *pool)
{
  size_t n = STACK_OBJECTS_BYTES / pool->chunk_bytes;

  n = n < STACK_CAPACITY_SMALL ? n : STACK_CAPACITY_SMALL;
  n = n > STACK_CAPACITY_MIN ? n : STACK_CAPACITY_MIN;
  return pool->stack_capacity < n
         || pool->stack_capacity < pool->n_cut / STACK_PART;
}

/* --- faults --------------------------------------------------------------- */

/* The first chunk of the block that has an address, in use or spare; NULL:
 * none. */
static const char *
pool_chunks_of (const SlicePool *pool, const void *address)
{
  const BlockChain *chain = &pool->chain;

  for (int32_t i = BLOCK_EMBEDDED; i < (int32_t) chain->n_blocks; i++)
    {
      Block block = sli_chain_block (chain, i);

      if ((uintptr_t) address - (uintptr_t) block.start
          < sli_block_bytes (&block))
        return sli_align (block.start, pool->options.alignment);
    }
  return NULL;
}

/* Reports the free of an address that no live object has. */
static _Noreturn void
report_free (const SlicePool *pool, const void *object)
{
  const char *first = pool_chunks_of (pool, object);
  size_t offset;

  if (first == NULL)
    sli_pool_report_foreign (pool, object);
  offset = (uintptr_t) object - (uintptr_t) first;
  if (offset % pool->chunk_bytes != 0)
    sli_pool_report_interior (pool, object, offset % pool->chunk_bytes);
  sli_pool_report_twice (pool, object);
}

void
sli_pool_plain_trim (SlicePool *pool)
{
  size_t n = sli_pool_n_stacked (pool);

  if (!sli_pool_bits_make (pool))
    return;
  for (uint32_t i = 0; i < pool->n_tracks; i++)
    pool->tracks[i].is_recent = false;
  sli_pool_bits_flush (pool, n);
  sli_pool_bits_cut_rest (pool);
  sli_pool_bits_retire (pool);
  plain_set_limit (pool);
}

/* What a trim has moved to new bits came from the stack, so it fits there. */
void
sli_pool_plain_untrim (SlicePool *pool)
{
  void **top = sli_pool_top (pool);
  bool has_bits = false;

  if (pool->is_tracked || !pool->has_tracks)
    return;
  for (uint32_t i = 0; i < pool->n_tracks; i++)
    {
      Track *track = &pool->tracks[i];
      size_t n = track->n_chunks - track->n_unset;

      if (track->live != NULL && track->is_recent)
        {
          sli_pool_bits_take (pool, track, n, top);
          sli_pool_track_drop_bits (pool, track);
          top += n;
          pool->n_spilt -= n;
        }
      has_bits |= track->live != NULL;
    }
  pool->head.top = (uintptr_t) top;
  assert_here (sli_pool_n_stacked (pool) <= pool->stack_capacity);
  sli_pool_map_fini (pool);
  if (!has_bits)
    sli_pool_track_fini (pool);
  pool->has_tracks = has_bits;
  plain_set_limit (pool);
  assert_here (pool->head.top <= pool->head.limit);
}

/* --- alloc and free ------------------------------------------------------ */

/* Pushes the addresses of the n chunks that lie below `end', the highest
 * first. */
static void
chunks_push (SlicePool *pool, char *end, size_t n)
{
  void **top = sli_pool_top (pool);

  sli_pool_write_down (top, end - pool->chunk_bytes, pool->chunk_bytes, n);
  pool->head.top = (uintptr_t) (top + n);
}

/* Cuts the next few chunks and returns the lowest.  The others go onto the
 * stack, the next higher one on top. */
static void *
pool_cut (SlicePool *pool)
{
  size_t chunk, n, n_most, n_wanted;
  char *first, *end;

  if (pool->cut_at == pool->cut_end && !sli_pool_push_block (pool))
    return NULL;
  chunk = pool->chunk_bytes;
  n = (size_t) (pool->cut_end - pool->cut_at) / chunk;
  n_most = CUT_BYTES / chunk;
  /* A pool that has only its embedded block needs no stack. */
  n_wanted = pool->n_cut / STACK_PART;
  n_wanted = n_wanted < STACK_CAPACITY_SMALL ? n_wanted : STACK_CAPACITY_SMALL;
  if (n > 1 && pool->chain.n_used > 0
      && (pool->stack_capacity == 0 || pool->stack_capacity < n_wanted))
    stack_grow (pool);
  if (n_most > pool->stack_capacity)
    n_most = pool->stack_capacity;
  if (n > n_most + 1)
    n = n_most + 1;
  first = pool->cut_at;
  end = first + n * chunk;
  chunks_push (pool, end, n - 1);
  pool->cut_at = end;
  pool->n_cut += n;
  assert_here (pool->cut_at <= pool->cut_end);
  return first;
}

/* Allocates an object from the bits, from the list or from a block that is not
 * cut to its end.  The stack is empty. */
void *
sli_pool_plain_alloc (SlicePool *pool)
{
  void *object;

  if (pool->has_tracks)
    sli_pool_bits_refill (pool);
  if (pool->head.top != pool->head.bottom)
    {
      void **top = sli_pool_top (pool) - 1;

      object = *top;
      pool->head.top = (uintptr_t) top;
    }
  else if (pool->spilt != NULL)
    {
      object = pool->spilt;
      pool->spilt = *pool->spilt;
      pool->n_spilt--;
    }
  else
    object = pool_cut (pool);
  plain_set_limit (pool);
  return object;
}

/* The number of addresses that a full stack of n moves to the bits: half of
 * them, so that the next frees and allocations find the stack neither full nor
 * empty.  Those in a row cost so little to move that fewer stay. */
static size_t
stack_n_older (const SlicePool *pool, size_t n)
{
  void **bottom = sli_pool_bottom (pool);
  size_t step;

  if (n < STACK_KEEP_PART)
    return n / 2 + 1;
  step = (uintptr_t) bottom[1] - (uintptr_t) bottom[0];
  return step == pool->chunk_bytes || step == -pool->chunk_bytes
             ? n - n / STACK_KEEP_PART
             : n / 2 + 1;
}

/* Reserves a place on the stack; false if there is no memory. */
static bool
stack_reserve (SlicePool *pool)
{
  size_t n = sli_pool_n_stacked (pool);
  size_t n_most = stack_most (pool);
  bool is_full;

  if (n < n_most)
    return true;
  if (!sli_pool_may_try (pool))
    return false;
  is_full = n_most == pool->stack_capacity;
  if (is_full && stack_may_grow (pool) && stack_grow (pool))
    return true;
  if (n == 0 || !sli_pool_bits_make (pool))
    return sli_pool_try_failed (pool);
  pool->n_to_spill_next = 0;
  sli_pool_bits_flush (pool, is_full ? stack_n_older (pool, n) : n);
  return true;
}

void
sli_pool_plain_free (SlicePool *pool, void *object)
{
  /* Below the bottom is NULL, and the object is not. */
  bool is_top = sli_pool_top (pool)[-1] == object;

  if (is_top || sli_pool_plain_n_live (pool) == 0)
    report_free (pool, object);
  if (stack_reserve (pool))
    {
      void **top = sli_pool_top (pool);

      *top = object;
      pool->head.top = (uintptr_t) (top + 1);
    }
  else
    {
      sli_pool_spill (pool, object);
      pool->n_spilt++;
    }
  if (sli_pool_plain_n_live (pool) == 0 && plain_starts_over (pool))
    sli_pool_start_over (pool);
  else
    plain_set_limit (pool);
}
