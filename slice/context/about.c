/* about.c - messages about a node: its size, and who allocated and freed it
 *
 * Layer: context.  Below: alloc, which knows the sites in debug.  No locks.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <stdarg.h>

#include "node.h"

/* The bytes that a payload at an address in a block has, or had before it was
 * freed. */
static size_t
space_behind (const void *payload, const BlockFacts *block)
{
  size_t front = (size_t) ((const char *) payload
                           - (const char *) block->address);
  size_t other = front + block->slack_bytes;

  return block->real_bytes > other ? block->real_bytes - other : 0;
}

/* Two messages have the size in their text.  What is no node has no space: the
 * block that it is in has, unless it is its start. */
static BlockFacts
facts_for (ErrorNumber number, const void *payload)
{
  bool has_size
      = number == ERROR_NODE_OVERRUN || number == ERROR_NODE_INTERIOR;
  BlockFacts facts;

  if (!sli_untraced_facts (payload, &facts))
    return facts;
  facts.is_inside
      = number == ERROR_NOT_A_NODE && payload != facts.address;
  if (has_size)
    facts.real_bytes = 0;
  else if (!facts.is_inside)
    facts.real_bytes = space_behind (payload, &facts);
  return facts;
}

COLD void
sli_context_abort (ErrorNumber number, const void *payload,
                   const char *format, ...)
{
  BlockFacts facts = facts_for (number, payload);
  va_list arguments;

  va_start (arguments, format);
  sli_diag_abort_about (number, &facts, format, arguments);
}

COLD void
sli_context_warn (ErrorNumber number, const void *payload,
                  const char *format, ...)
{
  BlockFacts facts = facts_for (number, payload);
  va_list arguments;

  va_start (arguments, format);
  sli_diag_warn_about (number, &facts, format, arguments);
  va_end (arguments);
}
