/* malloc.c - malloc and its family by slices, for unchanged programs
 *
 * Layer: dropin.  Below: the public interface of the heap; beside it
 * malloc-next.c (the malloc behind ours).  Linked to libslice; it has no
 * allocator of its own.  No locks.
 *
 * malloc() is called before any constructor runs.  The first call initialises
 * the heap; the C library's own calls meanwhile get start-up memory.
 *
 * Design: chapter 14.  Source of the calls: the manual of the GNU C Library,
 * "Unconstrained Allocation"; C23, 7.24.3; POSIX.1-2024.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "malloc-calls.h"
#include "malloc-next.h"

#include <slice/heap.h>
#include <slice/options.h>
#include <slice/slice.h>

#include "base/align.h"
#include "port/compiler.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* A function of libslice-gslice, if that is loaded, too. */
extern void slice_gslice_load_v1 (void) __attribute__ ((weak));

typedef enum
{
  STATE_NEW,
  STATE_BEGINNING,
  STATE_READY
} State;

static struct
{
  size_t round_mask; /* small sizes are rounded up by it */
  State state;
} dropin = { .round_mask = 7 };

/* --- the first call ------------------------------------------------------ */

/* Initialises the heap.  False: this call comes from the initialisation, or
 * before the environment, which has the options, is set up.  There is only one
 * thread. */
COLD static bool
dropin_begin (void)
{
  State before = STATE_NEW;
  int64_t align_16;

  if (environ == NULL
      || !__atomic_compare_exchange_n (&dropin.state, &before,
                                       STATE_BEGINNING, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return before == STATE_READY;
  if (slice_gslice_load_v1 != NULL)
    slice_gslice_load_v1 ();
  slice_heap_set_next (&sli_malloc_next);
  slice_get_option (SLICE_OPTION_ALIGN_16, &align_16);
  dropin.round_mask = align_16 != 0 ? 7 : 15;
  STORE_RELEASE (&dropin.state, STATE_READY);
  return true;
}

static inline bool
dropin_is_ready (void)
{
  return LIKELY (LOAD_ACQUIRE (&dropin.state) == STATE_READY)
         || dropin_begin ();
}

/* Initialises the heap if no earlier constructor has called us. */
__attribute__ ((constructor)) static void
dropin_load (void)
{
  dropin_begin ();
}

/* --- allocating ---------------------------------------------------------- */

NOINLINE static void *
alloc_slow (size_t size)
{
  return dropin_is_ready () ? slice_heap_alloc (size)
                            : sli_start_alloc (1, size);
}

NOINLINE static void *
alloc0_slow (size_t size)
{
  return dropin_is_ready () ? slice_heap_alloc0 (size)
                            : sli_start_alloc (1, size);
}

/* Allocates a block from the thread's magazines; NULL: take the slow path.
 * Size 0 has the entry of class 0, which is always empty. */
static ALWAYS_INLINE void *
alloc_quick (size_t size)
{
  SliceThreadV1 *thread = SLICE_LOAD (&slice_tls_v1);
  size_t mask = dropin.round_mask;
  size_t twice_class;
  void **top, *block;

  if (UNLIKELY (size > SLICE_SIZE_MAX))
    return NULL;
  size = (size + mask) & ~mask;
  twice_class = thread->class_table[size];
  top = SLICE_LOAD (&SLICE_ENTRY_V1 (thread, twice_class)->top);
  block = *top;
  if (LIKELY (block != NULL))
    SLICE_MOVE_TOP_V1 (thread, size, twice_class, top, -1);
  return block;
}

void *
malloc (size_t size)
{
  void *block = alloc_quick (size);

  return LIKELY (block != NULL) ? block : alloc_slow (size);
}

void *
calloc (size_t n, size_t size)
{
  size_t bytes;
  void *block;

  if (UNLIKELY (!product_fits (n, size, &bytes)))
    return NULL;
  block = alloc_quick (bytes);
  return LIKELY (block != NULL) ? memset (block, 0, bytes)
                                : alloc0_slow (bytes);
}

NOINLINE static void *
alloc_aligned (size_t alignment, size_t size)
{
  return dropin_is_ready () ? slice_heap_alloc_aligned (alignment, size)
                            : sli_start_alloc (alignment, size);
}

/* As in glibc, rounds an alignment that is no power of two up to one. */
void *
memalign (size_t alignment, size_t size)
{
  size_t power = 16;

  while (power < alignment && power <= SIZE_MAX / 2)
    power *= 2;
  if (power < alignment)
    {
      errno = EINVAL;
      return NULL;
    }
  return alloc_aligned (power, size);
}

void *
aligned_alloc (size_t alignment, size_t size)
{
  if (!is_power_of_two (alignment))
    {
      errno = EINVAL;
      return NULL;
    }
  return alloc_aligned (alignment, size);
}

int
posix_memalign (void **to, size_t alignment, size_t size)
{
  int error = errno;
  void *block;

  if (!is_power_of_two (alignment) || alignment % sizeof (void *) != 0)
    return EINVAL;
  block = alloc_aligned (alignment, size);
  errno = error;
  if (block == NULL)
    return ENOMEM;
  *to = block;
  return 0;
}

static size_t
page_bytes (void)
{
  return (size_t) sysconf (_SC_PAGESIZE);
}

void *
valloc (size_t size)
{
  return alloc_aligned (page_bytes (), size);
}

void *
pvalloc (size_t size)
{
  size_t bytes = page_bytes ();

  if (size > SIZE_MAX - bytes)
    {
      errno = ENOMEM;
      return NULL;
    }
  return alloc_aligned (bytes, align_up (size, bytes));
}

/* --- freeing ------------------------------------------------------------- */

/* Until a call can initialise the heap, all blocks are start-up memory and may
 * stay there. */
static inline void
free_any (void *block)
{
  if (LIKELY (LOAD (&dropin.state) == STATE_READY) || dropin_is_ready ())
    slice_heap_free (block);
}

void
free (void *block)
{
  free_any (block);
}

void
free_sized (void *block, size_t size)
{
  if (LIKELY (dropin_is_ready ()))
    slice_heap_free_sized_as_v1 (block, size, "free_sized");
}

void
free_aligned_sized (void *block, size_t alignment UNUSED, size_t size)
{
  if (LIKELY (dropin_is_ready ()))
    slice_heap_free_sized_as_v1 (block, size, "free_aligned_sized");
}

/* Old programs are linked to it. */
void
cfree (void *block)
{
  free_any (block);
}

/* --- other sizes --------------------------------------------------------- */

/* Resizes a block of start-up memory. */
NOINLINE static void *
start_realloc (void *block, size_t size)
{
  void *moved = sli_start_alloc (1, size);

  return moved == NULL
             ? NULL
             : memcpy (moved, block, min_size (size, sli_start_bytes (block)));
}

/* As in glibc, size 0 frees the block. */
void *
realloc (void *block, size_t size)
{
  if (UNLIKELY (block == NULL))
    return malloc (size);
  if (UNLIKELY (size == 0))
    {
      free_any (block);
      return NULL;
    }
  return dropin_is_ready () ? slice_heap_realloc (block, size)
                            : start_realloc (block, size);
}

void *
reallocarray (void *block, size_t n, size_t size)
{
  size_t bytes;

  return product_fits (n, size, &bytes) ? realloc (block, bytes) : NULL;
}

size_t
malloc_usable_size (void *block)
{
  return dropin_is_ready () ? slice_heap_bytes (block)
                            : sli_start_bytes (block);
}
