/* trailing-header.c - nodes with the header behind the payload, for memory checkers
 *
 * Layer: context.  Where every slice is a malloc of its own (valgrind, the
 * sanitizers, the option always-malloc), a node is laid out so that the tool
 * sees what it would see of a plain malloc:
 *
 *   malloc's block
 *   |
 *   +----------------+-----------------------+--------+----------+
 *   | payload        | no access, 16 or more | bytes  | Node     |
 *   +----------------+-----------------------+--------+----------+
 *                                                     ^ usable - sizeof
 *
 * bytes  the payload's size as it was asked for.
 *
 * The header is found by malloc_usable_size(), which memcheck, helgrind and
 * the sanitizers answer exactly and the C library always alike.
 * Design: chapter 7.  Source: valgrind manual 3.1 and 4.7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <stdlib.h>

#include "node.h"
#include "base/trace.h"
#include "port/os.h"

#ifdef HAVE_VALGRIND_MEMCHECK_H
# include <valgrind/memcheck.h>
#else
# define VALGRIND_MAKE_MEM_NOACCESS(a, n) ((void) 0)
# define VALGRIND_MAKE_MEM_UNDEFINED(a, n) ((void) 0)
#endif

/* AddressSanitizer's own, in the program or not there. */
extern void __asan_poison_memory_region (void const volatile *, size_t)
    __attribute__ ((weak));
extern void __asan_unpoison_memory_region (void const volatile *, size_t)
    __attribute__ ((weak));

enum
{
  TRAILING_GAP_MIN = 16, /* a red zone as wide as memcheck's own */
  /* Words of the header's end, size included, kept 16-aligned. */
  TRAILING_HEADER
  = (sizeof (Node) + sizeof (size_t) + NODE_ALIGN - 1) & ~(NODE_ALIGN - 1)
};

Node *
sli_context_trailing_header (const void *payload)
{
  size_t usable = sli_os_malloc_bytes (payload);

  return (Node *) (uintptr_t) ((const char *) payload + usable
                               - sizeof (Node));
}

static size_t *
trailing_size (const void *payload)
{
  return (size_t *) sli_context_trailing_header (payload) - 1;
}

size_t
sli_trailing_payload_bytes (const void *payload)
{
  return *trailing_size (payload);
}

static void
gap_close (char *payload, size_t size)
{
  char *end = (char *) trailing_size (payload);

  VALGRIND_MAKE_MEM_NOACCESS (payload + size, end - (payload + size));
  if (&__asan_poison_memory_region != NULL)
    __asan_poison_memory_region (payload + size, end - (payload + size));
}

static void
gap_open (char *payload, size_t size)
{
  char *end = (char *) trailing_size (payload);

  VALGRIND_MAKE_MEM_UNDEFINED (payload + size, end - (payload + size));
  if (&__asan_unpoison_memory_region != NULL)
    __asan_unpoison_memory_region (payload + size, end - (payload + size));
}

void *
sli_trailing_new (size_t size, bool zero)
{
  size_t total = ((size + NODE_ALIGN - 1) & ~(size_t) (NODE_ALIGN - 1))
                 + TRAILING_GAP_MIN + TRAILING_HEADER;
  char *payload;

  TRACE_INTERNAL (payload = sli_os_malloc (total, zero));
  if (payload == NULL)
    return NULL;
  *trailing_size (payload) = size;
  gap_close (payload, size);
  return payload;
}

void
sli_trailing_free (void *payload)
{
  gap_open (payload, *trailing_size (payload));
  TRACE_INTERNAL (free (payload));
}
