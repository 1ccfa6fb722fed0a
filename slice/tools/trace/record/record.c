/* record.c - the recorded entry points of malloc
 *
 * Tools: the preloaded object (record.h).  Every entry calls the next
 * definition of its name, from whatever library, and writes one event, or two
 * for realloc.  The order within an event makes the merged order of several
 * threads correct: the time of a free is read before the block is freed, the
 * time of an allocation after the block is allocated.
 *
 * Before dlsym() has found the next malloc, blocks come from a small static
 * arena and are never passed to a real free().
 *
 * A sampled recording leaves most calls out (record-sample.h): those for which
 * a condition holds, which is false before the start and in any other
 * recording.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-sample.h"
#include "port/malloc-family.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EARLY_BYTES 65536

#define POINTER_TO_CALL(result, name, parameters) result (*name) parameters;
static struct
{
  MALLOC_FAMILY (POINTER_TO_CALL)
  int (*dlclose) (void *);
} next;

static enum { UNKNOWN, LOOKING, FOUND } next_state;

/* Blocks that are allocated before the next malloc is known: each has its size
 * in front, and none is used again. */
static struct
{
  uint8_t bytes[EARLY_BYTES] __attribute__ ((aligned (16)));
  size_t used;
} early;

static bool
early_has (const void *block)
{
  return (const uint8_t *) block >= early.bytes
         && (const uint8_t *) block < early.bytes + EARLY_BYTES;
}

static void *
early_alloc (size_t alignment, size_t size)
{
  size_t at = early.used + 16;

  at = (at + alignment - 1) & ~(alignment - 1);
  if (size > EARLY_BYTES || at + size > EARLY_BYTES)
    sli_record_abort ("slice-trace: the start needs more memory than is set "
                      "aside\n");
  early.used = (at + size + 15) & ~(size_t) 15;
  memcpy (&early.bytes[at - sizeof size], &size, sizeof size);
  return &early.bytes[at];
}

/* Starts the sampling.  Early blocks always take the path on which free()
 * recognises them. */
void
sli_record_sample (uint32_t mean_bytes, uint32_t seed)
{
  sli_sample_start (mean_bytes, seed, early.bytes, early.used);
}

static size_t
early_size (const void *block)
{
  size_t size;

  memcpy (&size, (const uint8_t *) block - sizeof size, sizeof size);
  return size;
}

void
sli_record_abort (const char *text)
{
  if (write (STDERR_FILENO, text, strlen (text)) < 0)
    _exit (127);
  abort ();
}

/* The next definition of a symbol.  Also searches a C++ runtime that was
 * loaded privately, which is not in the search order. */
void *
sli_record_next (const char *symbol)
{
  void *found = dlsym (RTLD_NEXT, symbol);
  void *runtime;

  if (found != NULL)
    return found;
  runtime = dlopen ("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return runtime == NULL ? NULL : dlsym (runtime, symbol);
}

#define FIND_CALL(result, name, parameters)                                   \
 next.name = (result (*) parameters) dlsym (RTLD_NEXT, #name);

static void
next_find (void)
{
  next_state = LOOKING;
  MALLOC_FAMILY (FIND_CALL)
  next.dlclose = dlsym (RTLD_NEXT, "dlclose");
  if (next.malloc == NULL || next.free == NULL || next.realloc == NULL)
    sli_record_abort ("slice-trace: no malloc to be found\n");
  next_state = FOUND;
}

/* Returns true if the next malloc may be called; if not, the caller is within
 * dlsym() and uses the early arena. */
bool
sli_record_next_ready (void)
{
  if (UNLIKELY (next_state == UNKNOWN))
    next_find ();
  return next_state == FOUND;
}

/* --- the cost of the real call ------------------------------------------- */

#define COST_MAX ((1u << 27) - 1)

static inline uint64_t
cost_begin (void)
{
  return UNLIKELY (sli_record.timed) ? ticks_after () : 0;
}

/* At least 1, which distinguishes a measured call from others. */
static inline uint32_t
cost_end (uint64_t begin)
{
  uint64_t cost;

  if (LIKELY (!sli_record.timed))
    return 0;
  cost = ticks_after () - begin;
  return (uint32_t) (cost == 0 ? 1 : cost > COST_MAX ? COST_MAX : cost) << 5;
}

/* --- entry points --------------------------------------------------------
 *
 * The calls that most programs make often are jumps to RECORDED functions.  So
 * a call that a sampled recording leaves out, or while the recorder sleeps,
 * saves no registers, and adds no frame to the stack. */
#define RECORDED static __attribute__ ((noinline))

/* Returns true if the recorder sleeps, and the block is not its own. */
static inline bool
next_has (const void *block)
{
  return record_asleep () && !early_has (block);
}

static uint32_t
alignment_extra (size_t alignment)
{
  return alignment == 0 ? 0 : (uint32_t) __builtin_ctzl (alignment) & 31;
}

RECORDED void *
malloc_recorded (size_t size)
{
  uint64_t begin;
  void *block;
  uint32_t extra;

  if (UNLIKELY (!sli_record_next_ready ()))
    return early_alloc (16, size);
  begin = cost_begin ();
  block = next.malloc (size);
  extra = cost_end (begin);
  sli_record_alloc (&sli_record_self, TRACE_OP_MALLOC, block, size, extra);
  return block;
}

RECORD_API void *
malloc (size_t size)
{
  return sample_passes (&sli_record_self, size) || record_asleep ()
             ? next.malloc (size)
             : malloc_recorded (size);
}

RECORDED void *
calloc_recorded (size_t n, size_t size)
{
  uint64_t begin;
  void *block;
  uint32_t extra;

  if (UNLIKELY (!sli_record_next_ready ()))
    return early_alloc (16, n * size); /* zero, since it is used only once */
  begin = cost_begin ();
  block = next.calloc (n, size);
  extra = cost_end (begin);
  sli_record_alloc (&sli_record_self, TRACE_OP_CALLOC, block, n * size, extra);
  return block;
}

RECORD_API void *
calloc (size_t n, size_t size)
{
  return sample_passes (&sli_record_self, n * size) || record_asleep ()
             ? next.calloc (n, size)
             : calloc_recorded (n, size);
}

/* In timed runs the event follows the call, whose cost it carries, with the
 * time read before it. */
static void
timed_free (RecordThread *self, void *block)
{
  uint64_t begin = cost_begin ();
  uint32_t extra;

  next.free (block);
  extra = cost_end (begin);
  sli_record_free (self, TRACE_OP_FREE, block, extra, begin);
}

RECORDED void
free_recorded (void *block)
{
  if (block == NULL || UNLIKELY (early_has (block)))
    return;
  if (UNLIKELY (!sli_record_next_ready ()))
    return;
  if (UNLIKELY (sli_record.timed))
    {
      timed_free (&sli_record_self, block);
      return;
    }
  sli_record_free (&sli_record_self, TRACE_OP_FREE, block, 0, 0);
  next.free (block);
}

RECORD_API void
free (void *block)
{
  if (sample_is_no_block (block) || next_has (block))
    next.free (block);
  else
    free_recorded (block);
}

/* The sizes are not passed on: the next malloc may lack these calls. */
RECORD_API void
free_sized (void *block, size_t size)
{
  (void) size;
  free (block);
}

RECORD_API void
free_aligned_sized (void *block, size_t alignment, size_t size)
{
  (void) alignment;
  free_sized (block, size);
}

static void *
early_realloc (void *block, size_t size)
{
  void *fresh = malloc (size);
  size_t old = early_size (block);

  if (fresh != NULL)
    memcpy (fresh, block, old < size ? old : size);
  return fresh;
}

RECORDED void *
realloc_recorded (unsigned op, void *block, size_t size)
{
  RecordThread *self = &sli_record_self;
  bool was_freed = false;
  uint64_t begin;
  void *fresh;
  uint32_t extra;

  if (UNLIKELY (!sli_record_next_ready ()))
    return early_alloc (16, size);
  if (UNLIKELY (early_has (block)))
    return early_realloc (block, size);
  if (block != NULL)
    was_freed = sli_record_free (
        self, size == 0 ? TRACE_OP_FREE : TRACE_OP_REALLOC_FREE, block, 0, 0);
  begin = cost_begin ();
  fresh = next.realloc (block, size);
  extra = cost_end (begin);
  if (fresh != NULL || block == NULL)
    sli_record_alloc (self, op, fresh, size, extra);
  else if (size != 0)
    sli_record_kept (self, block, was_freed);
  return fresh;
}

static inline void *
realloc_as (unsigned op, void *block, size_t size)
{
  return (sample_is_no_block (block) && sample_passes (&sli_record_self, size))
                 || next_has (block)
             ? next.realloc (block, size)
             : realloc_recorded (op, block, size);
}

RECORD_API void *
realloc (void *block, size_t size)
{
  return realloc_as (TRACE_OP_REALLOC, block, size);
}

RECORD_API void *
reallocarray (void *block, size_t n, size_t size)
{
  size_t bytes;

  if (__builtin_mul_overflow (n, size, &bytes))
    {
      errno = ENOMEM;
      return NULL;
    }
  return realloc_as (TRACE_OP_REALLOCARRAY, block, bytes);
}

RECORD_API void *
memalign (size_t alignment, size_t size)
{
  uint64_t begin;
  void *block;
  uint32_t extra;

  if (sample_passes (&sli_record_self, size))
    return next.memalign (alignment, size);
  if (UNLIKELY (!sli_record_next_ready ()))
    return early_alloc (alignment, size);
  begin = cost_begin ();
  block = next.memalign (alignment, size);
  extra = cost_end (begin) | alignment_extra (alignment);
  sli_record_alloc (&sli_record_self, TRACE_OP_MEMALIGN, block, size, extra);
  return block;
}

RECORD_API int
posix_memalign (void **to, size_t alignment, size_t size)
{
  void *block = NULL;
  uint64_t begin;
  int error;
  uint32_t extra;

  if (sample_passes (&sli_record_self, size))
    return next.posix_memalign (to, alignment, size);
  if (UNLIKELY (!sli_record_next_ready ()))
    {
      *to = early_alloc (alignment, size);
      return 0;
    }
  begin = cost_begin ();
  error = next.posix_memalign (&block, alignment, size);
  extra = cost_end (begin) | alignment_extra (alignment);
  if (error == 0)
    *to = block;
  sli_record_alloc (&sli_record_self, TRACE_OP_POSIX_MEMALIGN,
                    error == 0 ? block : NULL, size, extra);
  return error;
}

RECORD_API void *
aligned_alloc (size_t alignment, size_t size)
{
  uint64_t begin;
  void *block;
  uint32_t extra;

  if (sample_passes (&sli_record_self, size))
    return next.aligned_alloc (alignment, size);
  if (UNLIKELY (!sli_record_next_ready ()))
    return early_alloc (alignment, size);
  begin = cost_begin ();
  block = next.aligned_alloc (alignment, size);
  extra = cost_end (begin) | alignment_extra (alignment);
  sli_record_alloc (&sli_record_self, TRACE_OP_ALIGNED_ALLOC, block, size,
                    extra);
  return block;
}

RECORD_API void *
valloc (size_t size)
{
  void *block;

  if (UNLIKELY (!sli_record_next_ready ()))
    return early_alloc (4096, size);
  block = next.valloc (size);
  sli_record_alloc (&sli_record_self, TRACE_OP_VALLOC, block, size, 12);
  return block;
}

RECORD_API void *
pvalloc (size_t size)
{
  void *block;

  if (UNLIKELY (!sli_record_next_ready ()))
    return early_alloc (4096, size);
  block = next.pvalloc (size);
  sli_record_alloc (&sli_record_self, TRACE_OP_PVALLOC, block, size, 12);
  return block;
}

RECORD_API size_t
malloc_usable_size (void *block)
{
  if (UNLIKELY (early_has (block)))
    return early_size (block);
  return sli_record_next_ready () && block != NULL
             ? next.malloc_usable_size (block)
             : 0;
}

RECORD_API int
dlclose (void *handle)
{
  RecordThread *self = &sli_record_self;
  int result;

  if (!sli_record_next_ready ())
    return 0;
  result = next.dlclose (handle);
  if (sli_record_enter (self))
    {
      sli_modules_scan ();
      record_leave (self);
    }
  return result;
}
