/* annotate.c - makes arenas known to valgrind and AddressSanitizer
 *
 * Layer: arena.  See annotate.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "annotate.h"

#include <stdlib.h>

#include "base/trace.h"
#include "port/annotate.h"
#include "port/compiler.h"
#include "port/memory-pool.h"
#include "port/os/os.h"

void __asan_poison_memory_region (const volatile void *, size_t)
    __attribute__ ((weak));
void __asan_unpoison_memory_region (const volatile void *, size_t)
    __attribute__ ((weak));

/* Only memcheck checks addresses.  Under callgrind arenas take the same paths
 * as without a tool, so that its counts are those of the program. */
static bool
memcheck_is_active (void)
{
  unsigned char byte UNUSED = 0;
  unsigned char bits UNUSED;

  return RUNNING_ON_VALGRIND && VALGRIND_GET_VBITS (&byte, &bits, 1) != 0;
}

bool
sli_annotate_active (void)
{
  static int known; /* 0: unknown, 1: no, 2: yes */
  int state;

  state = LOAD (&known);
  if (UNLIKELY (state == 0))
    {
      bool is_active
          = __asan_poison_memory_region != NULL || memcheck_is_active ();

      state = 1 + is_active;
      sli_annotate_published (&known, sizeof known);
      STORE (&known, state);
    }
  return state == 2;
}

void
sli_annotate_hide (const void *start, size_t bytes)
{
  if (__asan_poison_memory_region != NULL)
    __asan_poison_memory_region (start, bytes);
  VALGRIND_MAKE_MEM_NOACCESS (start, bytes);
}

void
sli_annotate_show (const void *start, size_t bytes)
{
  if (__asan_unpoison_memory_region != NULL)
    __asan_unpoison_memory_region (start, bytes);
  VALGRIND_MAKE_MEM_UNDEFINED (start, bytes);
}

void
sli_annotate_show_defined (const void *start, size_t bytes)
{
  if (__asan_unpoison_memory_region != NULL)
    __asan_unpoison_memory_region (start, bytes);
  VALGRIND_MAKE_MEM_DEFINED (start, bytes);
}

void *
sli_annotate_apart (const void *embedded, size_t bytes)
{
  void *block = NULL;

  if (RUNNING_ON_VALGRIND && !slice_is_ours (embedded))
    TRACE_INTERNAL (block = sli_os_malloc (bytes, false));
  return block;
}

void
sli_annotate_apart_gone (void *block)
{
  TRACE_INTERNAL (free (block));
}

void
sli_annotate_block (const void *block UNUSED)
{
  VALGRIND_CREATE_MEMPOOL (block, 0, 0);
}

void
sli_annotate_object (const void *block UNUSED, const void *object,
                     size_t size)
{
  if (__asan_unpoison_memory_region != NULL)
    __asan_unpoison_memory_region (object, size);
  VALGRIND_MEMPOOL_ALLOC (block, object, size);
}

void
sli_annotate_object_gone (const void *block UNUSED, const void *object,
                          size_t size)
{
  VALGRIND_MEMPOOL_FREE (block, object);
  if (__asan_poison_memory_region != NULL)
    __asan_poison_memory_region (object, size);
}

void
sli_annotate_cut (const void *block UNUSED, const void *from, const void *end)
{
  size_t kept UNUSED = (size_t) ((const char *) from - (const char *) block);

  VALGRIND_MEMPOOL_TRIM (block, block, kept);
  sli_annotate_hide (from,
                     (size_t) ((const char *) end - (const char *) from));
}

void
sli_annotate_block_gone (const void *block, size_t bytes)
{
  VALGRIND_DESTROY_MEMPOOL (block);
  sli_annotate_show (block, bytes);
}

void
sli_annotate_block_kept (const void *block, size_t bytes)
{
  VALGRIND_DESTROY_MEMPOOL (block);
  sli_annotate_hide (block, bytes);
}
