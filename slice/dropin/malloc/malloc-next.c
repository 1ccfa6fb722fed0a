/* malloc-next.c - the malloc behind ours, and the start-up memory
 *
 * Layer: dropin.  No locks.
 *
 * Blocks of the next malloc come to us only if a program calls it by another
 * name (__libc_malloc), or if it serves all blocks: under a tool and with
 * always-malloc.  Its functions are looked up when they are first needed.
 * dlsym() may call us meanwhile and gets start-up memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "malloc-calls.h"
#include "malloc-next.h"

#include "base/align.h"
#include "port/compiler.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum
{
  START_BYTES = 32 * 1024,
  START_ALIGN_BYTES = 16 /* the size of a block is in the bytes before it */
};

static struct
{
  _Alignas (64) char bytes[START_BYTES];
  size_t used;
} start;

void *
sli_start_alloc (size_t alignment, size_t size)
{
  size_t slack = alignment > START_ALIGN_BYTES ? alignment : 0;
  size_t bytes, at;

  if (size > START_BYTES || alignment > START_BYTES)
    return NULL;
  bytes = align_up (size, START_ALIGN_BYTES) + START_ALIGN_BYTES + slack;
  at = __atomic_fetch_add (&start.used, bytes, __ATOMIC_RELAXED);
  if (at + bytes > START_BYTES)
    return NULL;
  at += START_ALIGN_BYTES;
  if (slack != 0)
    at = align_up ((uintptr_t) start.bytes + at, alignment)
         - (uintptr_t) start.bytes;
  memcpy (&start.bytes[at - sizeof size], &size, sizeof size);
  return &start.bytes[at];
}

size_t
sli_start_bytes (const void *block)
{
  uintptr_t offset = (uintptr_t) block - (uintptr_t) start.bytes;
  size_t size;

  if (offset >= START_BYTES || offset < START_ALIGN_BYTES)
    return 0;
  memcpy (&size, (const char *) block - sizeof size, sizeof size);
  return size != 0 ? size : 1;
}

/* --- the next malloc ----------------------------------------------------- */

static void *find_malloc (size_t size);
static void *find_calloc (size_t n, size_t size);
static void *find_memalign (size_t alignment, size_t size);
static void *checked_realloc (void *block, size_t size);
static void checked_free (void *block);
static size_t checked_usable (void *block);

/* Those that allocate find the functions first; the others recognise start-up
 * memory by its address. */
MallocNext sli_next = { find_malloc,     find_calloc,  find_memalign,
                        checked_realloc, checked_free, checked_usable };

/* What the checked forms call; each is NULL until it is found. */
static struct
{
  void *(*realloc) (void *block, size_t size);
  void (*free) (void *block);
  size_t (*usable) (void *block);
} found;

/* The threads that are in dlsym(): how many, and the last one.  Other threads
 * don't wait, but look up the functions as well. */
static pthread_t seeker;
static unsigned n_seeking;

void *
sli_malloc_next_function (const char *name)
{
  return dlsym (RTLD_NEXT, name);
}

static bool
is_seeking_here (void)
{
  return LOAD_ACQUIRE (&n_seeking) != 0
         && pthread_equal (LOAD (&seeker), pthread_self ());
}

/* POSIX allows to convert a data pointer to a function. */
static void
next_find (const char *name, void *place)
{
  void *function = sli_malloc_next_function (name);

  if (function != NULL)
    __atomic_store_n ((void **) place, function, __ATOMIC_RELAXED);
}

/* Looks up the functions; false: this thread is already doing so. */
static bool
next_is_found (void)
{
  if (LIKELY (LOAD (&found.free) != NULL))
    return true;
  if (is_seeking_here ())
    return false;
  STORE (&seeker, pthread_self ());
  __atomic_fetch_add (&n_seeking, 1, __ATOMIC_SEQ_CST);
  next_find ("malloc", &sli_next.malloc);
  next_find ("calloc", &sli_next.calloc);
  next_find ("memalign", &sli_next.memalign);
  next_find ("realloc", &found.realloc);
  next_find ("malloc_usable_size", &found.usable);
  next_find ("free", &found.free); /* the last one */
  __atomic_fetch_sub (&n_seeking, 1, __ATOMIC_SEQ_CST);
  return LOAD (&found.free) != NULL;
}

void
sli_malloc_next_settle (void)
{
  if (!next_is_found ()
      || __atomic_load_n (&n_seeking, __ATOMIC_SEQ_CST) != 0
      || LOAD (&start.used) != 0)
    return;
  STORE (&sli_next.realloc, LOAD (&found.realloc));
  STORE (&sli_next.free, LOAD (&found.free));
  if (LOAD (&found.usable) != NULL)
    STORE (&sli_next.usable, LOAD (&found.usable));
}

static void *
find_malloc (size_t size)
{
  return next_is_found () ? LOAD (&sli_next.malloc) (size)
                          : sli_start_alloc (1, size);
}

/* Callers know that the product is a size. */
static void *
find_calloc (size_t n, size_t size)
{
  return next_is_found () ? LOAD (&sli_next.calloc) (n, size)
                          : sli_start_alloc (1, n * size);
}

static void *
find_memalign (size_t alignment, size_t size)
{
  return next_is_found () ? LOAD (&sli_next.memalign) (alignment, size)
                          : sli_start_alloc (alignment, size);
}

static void
checked_free (void *block)
{
  if (sli_start_bytes (block) == 0 && next_is_found ())
    found.free (block);
}

static void *
checked_realloc (void *block, size_t size)
{
  size_t bytes = sli_start_bytes (block);
  void *moved;

  if (bytes == 0)
    return next_is_found () ? found.realloc (block, size) : NULL;
  moved = malloc (size); /* ours */
  return moved == NULL ? NULL
                       : memcpy (moved, block, size < bytes ? size : bytes);
}

static size_t
checked_usable (void *block)
{
  size_t bytes = sli_start_bytes (block);

  if (bytes != 0 || !next_is_found () || found.usable == NULL)
    return bytes;
  return found.usable (block);
}

/* --- as the heap calls it ------------------------------------------------ */

static void *
next_alloc (size_t size)
{
  return LOAD (&sli_next.malloc) (size);
}

static void *
next_alloc0 (size_t size)
{
  return LOAD (&sli_next.calloc) (1, size);
}

static void *
next_alloc_aligned (size_t alignment, size_t size)
{
  return LOAD (&sli_next.memalign) (alignment, size);
}

static void
next_free (void *block)
{
  LOAD (&sli_next.free) (block);
}

static void *
next_realloc (void *block, size_t size)
{
  return LOAD (&sli_next.realloc) (block, size);
}

static size_t
next_bytes (const void *block)
{
  return LOAD (&sli_next.usable) ((void *) (uintptr_t) block);
}

static bool
next_owns (const void *block)
{
  return sli_start_bytes (block) != 0;
}

const SliceHeapNext sli_malloc_next = { .alloc = next_alloc,
                                        .alloc0 = next_alloc0,
                                        .alloc_aligned = next_alloc_aligned,
                                        .realloc = next_realloc,
                                        .free = next_free,
                                        .bytes = next_bytes,
                                        .owns = next_owns,
                                        .alloc_name = "malloc",
                                        .free_name = "free",
                                        .realloc_name = "realloc",
                                        .bytes_name = "malloc_usable_size" };
