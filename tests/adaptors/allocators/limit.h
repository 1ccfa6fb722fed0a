/* limit.h - the least that an allocator could do
 *
 * A free list for each size and thread, inline, without a limit or a count;
 * new blocks are cut from mapped chunks.  What is freed stays there for ever,
 * nothing is checked, nothing is given back, another thread's blocks are kept
 * as one's own, and a thread's lists are lost with it.  No allocator can be
 * used like that; it shows how far down there is to go.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <sys/mman.h>

#define ADAPTOR_NAME "limit"
#define ADAPTOR_ALIGNMENT(size) ((size) % 16 == 0 ? 16 : 8)

enum
{
  LIMIT_SIZE_MAX = 2064,       /* as the slices */
  LIMIT_CHUNK_BYTES = 1 << 20, /* mapped at a time; 1 MiB hides the cost */
  LIMIT_N_CLASSES = LIMIT_SIZE_MAX / 8 + 1
};

typedef struct
{
  void *classes[LIMIT_N_CLASSES];
  char *chunk, *chunk_end;
} LimitHeap;

extern __thread LimitHeap limit_heap;

/* A size of 0 gets a block of its own class, too. */
__attribute__ ((noinline, unused)) static void *
limit_cut (size_t size)
{
  LimitHeap *heap = &limit_heap;
  void *block;

  size = size == 0 ? 8 : (size + 7) & ~(size_t) 7;
  if (size % 16 == 0 && (uintptr_t) heap->chunk % 16 != 0)
    heap->chunk += 8;
  if (heap->chunk == NULL || size > (size_t) (heap->chunk_end - heap->chunk))
    {
      heap->chunk = mmap (NULL, LIMIT_CHUNK_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (heap->chunk == MAP_FAILED)
        abort ();
      heap->chunk_end = heap->chunk + LIMIT_CHUNK_BYTES;
    }
  block = heap->chunk;
  heap->chunk += size;
  return block;
}

ADAPTOR_INLINE void *
adaptor_alloc (size_t size)
{
  void **list;
  void *block;

  if (__builtin_expect (size > LIMIT_SIZE_MAX, 0))
    return malloc (size);
  list = &limit_heap.classes[(size + 7) >> 3];
  block = *list;
  if (__builtin_expect (block == NULL, 0))
    return limit_cut (size);
  *list = *(void **) block;
  return block;
}

ADAPTOR_INLINE void
adaptor_free (size_t size, void *block)
{
  void **list;

  if (__builtin_expect (size > LIMIT_SIZE_MAX, 0))
    {
      free (block);
      return;
    }
  list = &limit_heap.classes[(size + 7) >> 3];
  *(void **) block = *list;
  *list = block;
}

#ifdef ADAPTOR_DEFINE
__thread LimitHeap limit_heap;
#endif
