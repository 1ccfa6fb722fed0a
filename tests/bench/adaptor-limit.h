/* adaptor-limit.h - the floor: what no honest allocator can go below
 *
 * A free list per class, thread-local, unbounded, uncounted, inline; fresh
 * blocks are cut from mapped pieces; nothing is ever given back, and a
 * thread's lists are lost with it.  It cheats, and it is the measure.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <sys/mman.h>

#define ADAPTOR_NAME "limit"
#define ADAPTOR_ALIGNMENT(size) ((void) (size), 8)

enum
{
  LIMIT_SIZE_MAX = 2064,       /* as the slices */
  LIMIT_PIECE_BYTES = 1 << 20, /* mapped at a time; 1 MiB hides the cost */
  LIMIT_N_CLASSES = LIMIT_SIZE_MAX / 8 + 1
};

typedef struct
{
  void *classes[LIMIT_N_CLASSES];
  char *piece, *piece_end;
} LimitHeap;

extern __thread LimitHeap limit_heap;

__attribute__ ((noinline, unused)) static void *
limit_cut (size_t size)
{
  LimitHeap *heap = &limit_heap;
  size = (size + 7) & ~(size_t) 7;
  if (heap->piece == NULL || heap->piece + size > heap->piece_end)
    {
      heap->piece = mmap (NULL, LIMIT_PIECE_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (heap->piece == MAP_FAILED)
        abort ();
      heap->piece_end = heap->piece + LIMIT_PIECE_BYTES;
    }
  void *block = heap->piece;
  heap->piece += size;
  return block;
}

BENCH_INLINE void *
adaptor_alloc (size_t size)
{
  if (__builtin_expect (size > LIMIT_SIZE_MAX, 0))
    return malloc (size);
  void **list = &limit_heap.classes[(size + 7) >> 3];
  void *block = *list;
  if (__builtin_expect (block == NULL, 0))
    return limit_cut (size);
  *list = *(void **) block;
  return block;
}

BENCH_INLINE void
adaptor_free (size_t size, void *block)
{
  if (__builtin_expect (size > LIMIT_SIZE_MAX, 0))
    {
      free (block);
      return;
    }
  void **list = &limit_heap.classes[(size + 7) >> 3];
  *(void **) block = *list;
  *list = block;
}

BENCH_INLINE void
adaptor_thread_exit (void)
{
}

BENCH_INLINE const char *
adaptor_start (void)
{
  return NULL;
}

BENCH_INLINE const char *
adaptor_version (void)
{
  return "";
}

BENCH_INLINE bool
adaptor_trim (void)
{
  return false;
}

BENCH_INLINE bool
adaptor_count (Counts *counts)
{
  (void) counts;
  return false;
}

#ifdef BENCH_ADAPTOR_DEFINE
__thread LimitHeap limit_heap;
#endif
