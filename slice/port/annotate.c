/* annotate.c - makes blocks known to valgrind and the sanitizers
 *
 * Layer: port.  No locks.  The sanitizers' functions are weak symbols, so
 * that one library serves with all of them and with none.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "annotate.h"
#include "compiler.h"

#ifdef HAVE_VALGRIND_MEMCHECK_H
# include <valgrind/helgrind.h>
# include <valgrind/memcheck.h>
/* After helgrind.h, whose ANNOTATE_BENIGN_RACE_SIZED only helgrind knows.  The
 * other annotations are the same for both. */
# undef ANNOTATE_BENIGN_RACE_SIZED
# include <valgrind/drd.h>
#else
# define RUNNING_ON_VALGRIND 0
# define VALGRIND_HG_DISABLE_CHECKING(start, bytes) ((void) 0)
# define ANNOTATE_BENIGN_RACE_SIZED(start, bytes, why) ((void) 0)
# define ANNOTATE_HAPPENS_BEFORE(variable) ((void) 0)
# define ANNOTATE_HAPPENS_AFTER(variable) ((void) 0)
# define VALGRIND_RESIZEINPLACE_BLOCK(start, before, now, zone) ((void) 0)
# define VALGRIND_MALLOCLIKE_BLOCK(start, bytes, zone, zeroed) ((void) 0)
# define VALGRIND_FREELIKE_BLOCK(start, zone) ((void) 0)
# define VALGRIND_MAKE_MEM_DEFINED(start, bytes) ((void) 0)
# define VALGRIND_MAKE_MEM_NOACCESS(start, bytes) ((void) 0)
#endif

#define WEAK __attribute__ ((weak))

extern void __asan_poison_memory_region (const volatile void *start,
                                         size_t bytes) WEAK;
extern void __asan_unpoison_memory_region (const volatile void *start,
                                           size_t bytes) WEAK;
extern int __asan_address_is_poisoned (const volatile void *address) WEAK;
extern void __asan_report_error (void *pc, void *bp, void *sp, void *address,
                                 int is_write, size_t bytes) WEAK;
extern void __msan_allocated_memory (const volatile void *start,
                                     size_t bytes) WEAK;
extern void __tsan_write_range (void *start, unsigned long bytes) WEAK;
extern void __tsan_acquire (void *variable) WEAK;
extern void __tsan_release (void *variable) WEAK;

enum
{
  /* memcheck knows an extent as a block of malloc, which is cut to so many
   * bytes: a stub. */
  STUB_BYTES = 16,
  /* Stubs that have a pointer to them, so that they are no leaks. */
  EXTENTS_MAX = 1024
};

static struct
{
  bool is_on;                 /* there is a tool */
  bool has_valgrind;
} annotate;

/* The start of each known extent, or NULL. */
SPARSE_DATA static void *extents[EXTENTS_MAX];

bool
sli_annotate_begin (void)
{
  annotate.has_valgrind = RUNNING_ON_VALGRIND != 0;
  annotate.is_on = annotate.has_valgrind
                   || &__asan_poison_memory_region != NULL
                   || &__msan_allocated_memory != NULL
                   || &__tsan_write_range != NULL;
  return annotate.is_on;
}

COMMON_TEXT bool
sli_annotate_is_on (void)
{
  return annotate.is_on;
}

/* The entry of an extent, or with NULL a free one; NULL: none. */
static void **
extent_slot (const void *wanted)
{
  for (int i = 0; i < EXTENTS_MAX; i++)
    if (extents[i] == wanted)
      return &extents[i];
  return NULL;
}

void
sli_annotate_extent (void *start, size_t bytes UNUSED)
{
  void **slot = extent_slot (NULL);

  if (annotate.has_valgrind && slot != NULL)
    {
      *slot = start;
      VALGRIND_RESIZEINPLACE_BLOCK (start, bytes, STUB_BYTES, 0);
      (void) VALGRIND_MAKE_MEM_DEFINED (start, bytes);
    }
}

void
sli_annotate_extent_end (void *start, size_t bytes UNUSED)
{
  void **slot = extent_slot (start);

  if (annotate.has_valgrind && slot != NULL)
    {
      *slot = NULL;
      VALGRIND_RESIZEINPLACE_BLOCK (start, STUB_BYTES, bytes, 0);
    }
}

void
sli_annotate_no_access (void *start, size_t bytes)
{
  (void) VALGRIND_MAKE_MEM_NOACCESS (start, bytes);
  if (&__asan_poison_memory_region != NULL)
    __asan_poison_memory_region (start, bytes);
}

void
sli_annotate_access (void *start, size_t bytes)
{
  (void) VALGRIND_MAKE_MEM_DEFINED (start, bytes);
  if (&__asan_unpoison_memory_region != NULL)
    __asan_unpoison_memory_region (start, bytes);
}

/* Each tool takes its own request and ignores the other's. */
COMMON_TEXT void
sli_annotate_published (const void *variable UNUSED, size_t bytes UNUSED)
{
  VALGRIND_HG_DISABLE_CHECKING (variable, bytes);
  ANNOTATE_BENIGN_RACE_SIZED (variable, bytes, "published by an atomic store");
}

COMMON_TEXT void
sli_annotate_happens_before (const void *variable UNUSED)
{
  ANNOTATE_HAPPENS_BEFORE (variable);
}

COMMON_TEXT void
sli_annotate_happens_after (const void *variable UNUSED)
{
  ANNOTATE_HAPPENS_AFTER (variable);
}

void
sli_annotate_give (void *variable)
{
  ANNOTATE_HAPPENS_BEFORE (variable);
  if (&__tsan_release != NULL)
    __tsan_release (variable);
}

void
sli_annotate_take (void *variable)
{
  ANNOTATE_HAPPENS_AFTER (variable);
  if (&__tsan_acquire != NULL)
    __tsan_acquire (variable);
}

void
sli_annotate_alloc (void *block, size_t size)
{
  VALGRIND_MALLOCLIKE_BLOCK (block, size, ANNOTATE_ZONE_BYTES, 0);
  if (&__asan_unpoison_memory_region != NULL)
    __asan_unpoison_memory_region (block, size);
  if (&__msan_allocated_memory != NULL)
    __msan_allocated_memory (block, size);
}

bool
sli_annotate_free (void *block, size_t size, bool is_live)
{
  VALGRIND_FREELIKE_BLOCK (block, ANNOTATE_ZONE_BYTES);
  if (!is_live && &__asan_address_is_poisoned != NULL
      && __asan_address_is_poisoned (block))
    __asan_report_error (__builtin_return_address (0),
                         __builtin_frame_address (0),
                         __builtin_frame_address (0), block, 1, 1);
  if (!is_live)
    return annotate.has_valgrind;
  if (&__tsan_write_range != NULL)
    __tsan_write_range (block, size);
  if (&__asan_poison_memory_region != NULL)
    __asan_poison_memory_region (block, size);
  return true;
}
