/* trailing-header.c - nodes whose header follows the payload
 *
 * Layer: context.  If every slice is a malloc (valgrind, the sanitizers, the
 * option always-malloc), the layout of a node shows the tool the same as a
 * plain malloc:
 *
 *   malloc's block
 *   |
 *   +----------------+-----------------------+--------+----------+
 *   | payload        | no access, 16 or more | bytes  | Node     |
 *   +----------------+-----------------------+--------+----------+
 *                                                     ^ usable - sizeof
 *
 * bytes  the payload's size as the caller requested it.
 *
 * malloc_usable_size() leads to the header.  Under memcheck, helgrind and the
 * sanitizers it is exact, and the C library always returns the same for a
 * block.
 *
 * This file decides the layout; port/annotate.c talks to the tools.  For the
 * pool's blocks and the objects of arenas see port/annotate.h.
 * Design: chapter 7.  Source: valgrind manual 3.1 and 4.7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <stdlib.h>

#include "node-memory.h"
#include "node.h"
#include "base/trace.h"
#include "port/annotate.h"
#include "port/os/os.h"

enum
{
  TRAILING_GAP_MIN = 16, /* a red zone as wide as memcheck's own */
  /* The header and the size, rounded up to 16. */
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

/* The bytes between a payload and its size. */
static size_t
gap_bytes (const char *payload)
{
  const size_t *end = trailing_size (payload);

  return (size_t) ((const char *) end - payload) - *end;
}

void *
sli_trailing_new (size_t size, size_t align, bool zero)
{
  size_t total = align_up (align_up (size, NODE_ALIGN) + TRAILING_GAP_MIN
                               + TRAILING_HEADER,
                           align);
  char *payload;

  assert_here (align == NODE_ALIGN || !zero);
  TRACE_INTERNAL (payload = align == NODE_ALIGN
                                ? sli_os_malloc (total, zero)
                                : sli_os_aligned_alloc (total, align));
  if (payload == NULL)
    return NULL;
  if ((sli_context_mode & MODE_REMEMBERED) != 0
      && !sli_untraced_remember_node (payload, size))
    {
      TRACE_INTERNAL (free (payload));
      return NULL;
    }
  sli_context_trailing_header (payload)->parent = 0;
  sli_context_trailing_header (payload)->child = NULL;
  *trailing_size (payload) = size;
  assert_here (gap_bytes (payload) >= TRAILING_GAP_MIN);
  sli_annotate_no_access (payload + size, gap_bytes (payload));
  return payload;
}

void
sli_trailing_free (void *payload)
{
  char *gap = (char *) payload + *trailing_size (payload);

  if ((sli_context_mode & MODE_REMEMBERED) != 0)
    sli_untraced_forget_node (payload);
  sli_annotate_access (gap, gap_bytes (payload));
  TRACE_INTERNAL (free (payload));
}
