/* heap.c - blocks of any size that are freed by their address alone
 *
 * Layer: heap.  Below: alloc, by way of dispatch.h, for slices; page, for the
 * lookup of addresses.  Lock: heap.lock (rank 75), only to initialise.
 * Design: chapter 14.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "heap.h"
#include "alloc/dispatch.h"
#include "alloc/untraced.h"
#include "magazine/magazine.h"
#include "slab/slab.h"
#include "checking/registry/block-registry.h"
#include "base/align.h"
#include "base/diag.h"
#include "base/option.h"
#include "port/annotate.h"
#include "port/os/os.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* --- the system's malloc, as the next allocator -------------------------- */

static void *
system_alloc (size_t size)
{
  return sli_os_malloc (size, false);
}

static void *
system_alloc0 (size_t size)
{
  return sli_os_malloc (size, true);
}

static void *
system_alloc_aligned (size_t alignment, size_t size)
{
  return sli_os_aligned_alloc (size, alignment);
}

static size_t
system_bytes (const void *block)
{
  return sli_os_malloc_bytes (block);
}

static void *
system_realloc (void *block, size_t size)
{
  return sli_os_realloc (block, sli_os_malloc_bytes (block), size);
}

static const SliceHeapNext system_next
    = { .alloc = system_alloc,
        .alloc0 = system_alloc0,
        .alloc_aligned = system_alloc_aligned,
        .realloc = system_realloc,
        .free = free,
        .bytes = system_bytes,
        .alloc_name = "slice_heap_alloc",
        .free_name = "slice_heap_free",
        .realloc_name = "slice_heap_realloc",
        .bytes_name = "slice_heap_bytes" };

/* Constant once `ready'. */
static struct
{
  bool ready;
  bool beginning;     /* it is being initialised */
  Lock lock;          /* held while it is initialised */
  size_t round;       /* small sizes are rounded up to a multiple of this */
  size_t run_usual;   /* the largest block that is a run */
  size_t run_max;     /* the same, if there is no memory to map */
  const SliceHeapNext *next;
} heap = { .lock = LOCK_INIT (LOCK_RANK_HEAP_BEGIN), .next = &system_next };

static void
heap_each_lock (void (*act) (Lock *lock))
{
  act (&heap.lock);
  /* Where each block is a malloc the others are not used.  A race detector,
   * under which that is so, allows 64 locks a thread. */
  if (sli_dispatch.path == PATH_MALLOC)
    return;
  sli_medium_each_lock (act);
  act (sli_mapped_lock ());
}

HEAP_TEXT static COLD void
heap_begin (void)
{
  sli_lock (&heap.lock);
  if (!heap.ready)
    {
      STORE (&heap.beginning, true);
      dispatch_make_ready ();
      /* With a spacing of 16 each class is aligned to 16 anyway, and a block
       * may be freed with its size, as g_slice_free1() does. */
      heap.round = sli_option_is_on (SLICE_OPTION_ALIGN_16)
                           || sli_dispatch.path == PATH_CHECKING
                       ? 1
                       : HEAP_ALIGN_BYTES;
      heap.run_usual = sli_run_bytes_usual ();
      heap.run_max = sli_run_bytes_max ();
      sli_annotate_published (&heap, sizeof heap);
      sli_medium_init ();
      sli_guard_init ();
      sli_fork_add_locks (heap_each_lock);
      /* The first stack walk loads a library, which allocates.  So do it now,
       * not in the middle of a call. */
      if (sli_dispatch.mode == CHECKING_DEBUG)
        (void) sli_os_caller_outside (CALL_SITE, &(OsModule){ NULL, 0 });
      STORE_RELEASE (&heap.ready, true);
    }
  sli_unlock (&heap.lock);
}

static ALWAYS_INLINE void
heap_make_ready (void)
{
  if (UNLIKELY (!LOAD_ACQUIRE (&heap.ready)))
    heap_begin ();
}

HEAP_TEXT const SliceHeapNext *
sli_heap_next (void)
{
  heap_make_ready ();
  return heap.next;
}

HEAP_TEXT void
slice_heap_set_next (const SliceHeapNext *next)
{
  heap.next = next;
  sli_option_be_malloc ();
  sli_diag_rename (next->alloc_name, next->free_name, NULL);
  heap_begin ();
}

void
slice_name_calls_v1 (const char *alloc_name, const char *free_name,
                     const char *chain_name)
{
  sli_diag_rename (alloc_name, free_name, chain_name);
  if (alloc_name != NULL)
    sli_oom_rename (alloc_name);
}

/* --- misuse -------------------------------------------------------------- */

void
sli_heap_report (ErrorNumber number, const void *block, const char *operation)
{
  sli_diag_misuse (number, operation,
                   &(BlockFacts){ .address = block,
                                  .given_bytes = DIAG_SIZE_UNKNOWN });
}

void
sli_heap_check_foreign (const void *block, const char *operation)
{
  if (sli_map_has (block))
    sli_heap_report (ERROR_NO_SLAB, block, operation);
  if (sli_dispatch.path == PATH_CHECKING
      && (heap.next->owns == NULL || !heap.next->owns (block)))
    sli_heap_report (sli_mapped_was (block) ? ERROR_NOT_A_BLOCK
                                            : ERROR_FOREIGN,
                     block, operation);
}

/* Returns true if a block of slice_alloc() that is passed to the heap is an
 * error.  It is none if the heap is the program's malloc: GLib may use malloc
 * for g_slice_alloc(), and then free() frees such blocks. */
static inline bool
keeps_apart (void)
{
  return sli_dispatch.path == PATH_CHECKING && heap.next == &system_next;
}

size_t
sli_heap_slice_bytes (const void *block, const char *operation)
{
  size_t bytes = sli_block_registry_size (block);

  if (UNLIKELY (bytes != SIZE_MAX) && heap.next == &system_next)
    sli_diag_misuse (ERROR_WRONG_SIZE, operation,
                     &(BlockFacts){ .address = block,
                                    .given_bytes = DIAG_SIZE_UNKNOWN,
                                    .real_bytes = bytes,
                                    .words = "from slice_alloc" });
  return bytes;
}

/* --- allocating ---------------------------------------------------------- */

HEAP_TEXT static void *
small_alloc (size_t size, size_t alignment, const void *site)
{
  void *block = NULL;

  size = align_up (max_size (size, 1), heap.round);
  if (dispatch_is_fast (size))
    {
      block = magazine_pop (SLICE_CLASS_V1 (size));
      if (block == NULL)
        block = sli_lend_alloc (SLICE_CLASS_V1 (size),
                                alignment <= HEAP_ALIGN_BYTES
                                    && heap.round == HEAP_ALIGN_BYTES);
    }
  if (LIKELY (block != NULL))
    return block;
  block = sli_dispatch.untraced.try_alloc_any (size, site);
  if (UNLIKELY (keeps_apart ()) && block != NULL)
    sli_checking_note_heap (block);
  return block;
}

/* Allocates a block of the heap's own, larger than a slice. */
HEAP_TEXT static void *
large_attempt (size_t size, size_t alignment, bool *is_zero)
{
  bool run_can_align = alignment <= sli_page_granule_bytes ();
  size_t medium = size + sli_guard_bytes_aligned (alignment, size);
  void *block = NULL;

  size += sli_guard_bytes ();
  if (medium <= MEDIUM_BYTES_MAX && run_can_align)
    block = sli_medium_alloc (medium, alignment, is_zero);
  if (block == NULL && size <= heap.run_usual && run_can_align)
    block = sli_run_alloc (size, is_zero);
  if (block == NULL)
    block = sli_mapped_alloc (size, alignment, is_zero);
  if (block == NULL && size > heap.run_usual && size <= heap.run_max
      && run_can_align)
    block = sli_run_alloc (size, is_zero);
  return block;
}

/* The same, but without memory trims and tries once more. */
static void *
large_alloc (size_t size, size_t alignment, bool *is_zero)
{
  void *block;

  if (size > PTRDIFF_MAX - sli_guard_bytes ())
    return NULL;
  block = large_attempt (size, alignment, is_zero);
  if (UNLIKELY (block == NULL))
    {
      slice_heap_trim ();
      block = large_attempt (size, alignment, is_zero);
    }
  return block;
}

HEAP_TEXT void *
sli_heap_alloc_any (size_t alignment, size_t size, bool zero, const void *site)
{
  int error = errno;
  bool is_zero = false;
  void *block;

  heap_make_ready ();
  if (heap_is_small (size) && alignment <= HEAP_ALIGN_BYTES)
    {
      block = small_alloc (size, 1, site);
      if (UNLIKELY (block == NULL))
        {
          slice_heap_trim ();
          block = small_alloc (size, 1, site);
        }
    }
  else
    {
      size = max_size (size, 1);
      block = large_alloc (size, alignment, &is_zero);
      if (block != NULL && sli_guard_bytes () != 0)
        sli_guard_write (block, size, sli_heap_large_usable (block));
    }
  if (UNLIKELY (block == NULL))
    {
      errno = ENOMEM;
      return NULL;
    }
  /* An earlier attempt may have failed. */
  errno = error;
  return zero && !is_zero ? memset (block, 0, size) : block;
}

HEAP_TEXT void *
slice_heap_alloc (size_t size)
{
  heap_make_ready ();
  if (UNLIKELY (sli_dispatch.path == PATH_MALLOC))
    return heap.next->alloc (size);
  return sli_heap_alloc_any (1, size, false, CALL_SITE);
}

HEAP_TEXT void *
slice_heap_alloc0 (size_t size)
{
  heap_make_ready ();
  if (UNLIKELY (sli_dispatch.path == PATH_MALLOC))
    return heap.next->alloc0 (size);
  return sli_heap_alloc_any (1, size, true, CALL_SITE);
}

/* Allocates a small block whose class has the alignment; NULL: no class has,
 * or blocks do not begin where their chunks do. */
HEAP_TEXT static void *
small_alloc_aligned (size_t alignment, size_t size, const void *site)
{
  size_t behind = SLICE_SIZE_MAX - sli_dispatch.size_max; /* a canary */
  size_t bytes = align_up (max_size (size, 1) + behind, alignment);
  void *block;

  if (sli_checking_front_bytes () != 0 || bytes < size
      || bytes > SLICE_SIZE_MAX
      || sli_sizeclass_alignment (SLICE_CLASS_V1 (bytes)) < alignment)
    return NULL;
  block = small_alloc (bytes - behind, alignment, site);
  if (UNLIKELY (sli_dispatch.path == PATH_CHECKING) && block != NULL)
    sli_checking_note_aligned_heap (block, max_size (size, 1));
  return block;
}

HEAP_TEXT void *
slice_heap_alloc_aligned (size_t alignment, size_t size)
{
  void *block = NULL;

  if (UNLIKELY (!is_power_of_two (alignment)))
    {
      errno = EINVAL;
      return NULL;
    }
  heap_make_ready ();
  if (UNLIKELY (sli_dispatch.path == PATH_MALLOC))
    /* valgrind's posix_memalign() refuses less than a pointer's. */
    return heap.next->alloc_aligned (max_size (alignment, HEAP_ALIGN_BYTES),
                                     size);
  if (alignment > HEAP_ALIGN_BYTES)
    block = small_alloc_aligned (alignment, size, CALL_SITE);
  if (block == NULL)
    block = sli_heap_alloc_any (alignment, size, false, CALL_SITE);
  return block;
}

/* --- freeing ------------------------------------------------------------- */

/* The usable bytes of a larger block, after a check that it is live; 0: it is
 * no block of ours. */
HEAP_TEXT static size_t
larger_usable (const void *block, const char *operation)
{
  HeapRun *run = NULL;
  const char *start = heap_run_of (block, &run);

  if (start == NULL)
    return sli_mapped_bytes (block);
  KNOWN (run != NULL);
  if (run->state == SLAB_HEAP_MEDIUM)
    {
      sli_medium_check (start, run, block, operation);
      return sli_medium_bytes (run);
    }
  sli_run_check (start, run, block, operation);
  return heap_run_bytes (start);
}

size_t
sli_heap_large_usable (const void *block)
{
  return larger_usable (block, heap.next->free_name);
}

/* The slices' largest blocks are mallocs, and so may be this heap's.  Where
 * GLib uses malloc, it frees a g_slice block by free(): then it is no slice any
 * more. */
static COLD void
slice_forget (const void *block, const char *operation, const void *site)
{
  if (sli_heap_slice_bytes (block, operation) == SIZE_MAX)
    return;
  sli_checking_remove_large (block, BLOCK_ANY_SIZE, operation, site);
  sli_dispatch_count_malloc_free ();
}

/* Frees a block that is in no slab. */
HEAP_TEXT static NOINLINE void
free_other (void *block, const char *operation, const void *site)
{
  HeapRun *run = NULL;
  char *start;

  if (block == NULL)
    return;
  /* A call within the first call, before the heap has blocks: the block may
   * stay where it is. */
  if (!LOAD_ACQUIRE (&heap.ready) && LOAD (&heap.beginning))
    return;
  heap_make_ready ();
  if (UNLIKELY (sli_dispatch.registers))
    slice_forget (block, operation, site);
  if (UNLIKELY (sli_dispatch.path == PATH_MALLOC))
    {
      heap.next->free (block);
      return;
    }
  if (sli_guard_bytes () != 0)
    {
      size_t usable = larger_usable (block, operation);

      if (usable != 0)
        sli_guard_check (block, usable, operation);
    }
  start = heap_run_of (block, &run);
  if (start != NULL && run->state == SLAB_HEAP_MEDIUM)
    sli_medium_free (start, run, block, operation);
  else if (start != NULL)
    sli_run_free (start, run, block, operation);
  else if (!sli_mapped_free (block))
    {
      sli_heap_check_foreign (block, operation);
      heap.next->free (block);
    }
}

/* Frees a slab's block, and preserves errno. */
HEAP_TEXT static NOINLINE void
free_small (unsigned class_index, void *block, const char *operation,
            const void *site)
{
  heap_make_ready ();
  if (sli_dispatch.path == PATH_MAGAZINES)
    sli_magazine_free_as (class_index, block, operation);
  else if (sli_dispatch.path == PATH_CHECKING)
    {
      if (keeps_apart ())
        sli_checking_unnote_heap (block, operation);
      sli_dispatch.untraced.free (DIAG_SIZE_UNKNOWN, block, operation, site);
    }
  else
    sli_slab_free (0, 1, &block, operation);
}

HEAP_TEXT static COLD void
free_slow (void *block, const char *operation, const void *site)
{
  unsigned class_index = chunk_class_of (block);
  int error = errno;

  if (class_index != 0)
    free_small (class_index, block, operation, site);
  else
    free_other (block, operation, site);
  errno = error;
}

HEAP_TEXT void
slice_heap_free (void *block)
{
  size_t class_index = chunk_class_near (block);

  if (UNLIKELY (class_index == 0 || !magazine_push (class_index, block)))
    free_slow (block, heap.next->free_name, CALL_SITE);
}

HEAP_TEXT static void
free_as (void *block, const char *operation, const void *site)
{
  size_t class_index = chunk_class_near (block);

  if (UNLIKELY (class_index == 0 || !magazine_push (class_index, block)))
    free_slow (block, operation, site);
}

HEAP_TEXT void
slice_heap_free_as_v1 (void *block, const char *call)
{
  free_as (block, call, CALL_SITE);
}

HEAP_TEXT void
sli_heap_free_moved (void *block, const void *site)
{
  free_as (block, heap.next->realloc_name, site);
}

/* --- sizes --------------------------------------------------------------- */

HEAP_TEXT size_t
sli_heap_block_bytes (const void *block, const char *operation,
                      const void *site)
{
  unsigned class_index = chunk_class_of (block);
  size_t bytes;

  if (class_index != 0)
    {
      if (sli_dispatch.path != PATH_CHECKING)
        return sli_sizeclasses[class_index].chunk_bytes;
      bytes = sli_checking_block_size (block);
      if (bytes == 0)
        /* Reports what the address is. */
        sli_dispatch.untraced.free (DIAG_SIZE_UNKNOWN, (void *) block,
                                    operation, site);
      return bytes;
    }
  if (UNLIKELY (sli_dispatch.registers)
      && (bytes = sli_heap_slice_bytes (block, operation)) != SIZE_MAX)
    return bytes;
  bytes = larger_usable (block, operation);
  if (bytes != 0 && sli_guard_bytes () != 0)
    return sli_guard_check (block, bytes, operation);
  return bytes;
}

HEAP_TEXT size_t
slice_heap_bytes (const void *block)
{
  size_t bytes;

  if (block == NULL)
    return 0;
  heap_make_ready ();
  if (sli_dispatch.path == PATH_MALLOC)
    return heap.next->bytes (block);
  bytes = sli_heap_block_bytes (block, heap.next->bytes_name, CALL_SITE);
  if (bytes != 0)
    return bytes;
  sli_heap_check_foreign (block, heap.next->bytes_name);
  return heap.next->bytes (block);
}

/* Checks the size given to free_sized() in the modes that know it. */
static COLD void
check_size (const void *block, size_t size, const char *operation,
            const void *site)
{
  size_t bytes = sli_heap_block_bytes (block, operation, site);

  if (bytes != 0 && bytes != max_size (size, 1))
    sli_diag_misuse (ERROR_WRONG_SIZE, operation,
                     &(BlockFacts){ .address = block,
                                    .given_bytes = size,
                                    .real_bytes = bytes });
}

static inline void
free_sized_as (void *block, size_t size, const char *operation,
               const void *site)
{
  if (UNLIKELY (sli_dispatch.path == PATH_CHECKING) && block != NULL
      && LOAD_ACQUIRE (&heap.ready))
    check_size (block, size, operation, site);
  free_as (block, operation, site);
}

void
slice_heap_free_sized (void *block, size_t size)
{
  free_sized_as (block, size, "slice_heap_free_sized", CALL_SITE);
}

HEAP_TEXT void
slice_heap_free_sized_as_v1 (void *block, size_t size, const char *call)
{
  free_sized_as (block, size, call, CALL_SITE);
}

/* --- giving memory back -------------------------------------------------- */

size_t
slice_heap_trim (void)
{
  size_t bytes, before;

  if (!LOAD_ACQUIRE (&heap.ready) || sli_dispatch.path == PATH_MALLOC)
    return 0;
  bytes = sli_mapped_trim ();
  before = sli_slab_returned_bytes ();
  sli_medium_trim (); /* may return memory as well */
  slice_trim (0);
  return bytes + sli_slab_returned_bytes () - before;
}
