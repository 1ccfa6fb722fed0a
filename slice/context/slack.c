/* slack.c - the bytes between a payload's end and its block's
 *
 * Layer: context.  No locks.
 *
 * Where contents are checked (hardened, debug), at least one byte is left
 * behind each payload, and 16 behind a large one.  These bytes are filled.  So
 * the exact size of a node is known, and a write past its end is found when
 * the node is freed or resized, or its size is read.  A write that passes over
 * them hits the canary or the red zone behind the block, which is looked at as
 * well, so that the message is about the node.
 *
 *   +-------------+--------+-----+--------+-------------+
 *   | payload     | 0xd5   | ... | 0xd5   | 0x80 + n-1  |
 *   +-------------+--------+-----+--------+-------------+
 *                 <------------ n bytes ----------------> end of the block
 *
 * The last byte is no ASCII character and no NUL, so a string that is too
 * long is found.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "node-memory.h"
#include "node.h"

enum
{
  SLACK_FILL = 0xd5,
  SLACK_COUNT = 0x80 /* and above: counts from 1 to SLACK_BYTES_MAX */
};

static inline bool
has_slack (const Node *node)
{
  return (node->parent & NODE_HAS_PREFIX) == 0
         || ((const size_t *) node)[-1] != KIND_LINEAR;
}

/* The address by which the registry of live blocks knows a node. */
static inline const void *
registered (const void *payload)
{
  const Node *node = head_of (payload);

  if ((node->parent & NODE_HAS_PREFIX) == 0)
    return node;
  return ((const size_t *) node)[-1] == KIND_ALIGNED
             ? sli_aligned_registered (payload)
             : payload;
}

void
sli_slack_write (void *payload, size_t size)
{
  size_t n = sli_context_usable_bytes (payload) - size;
  unsigned char *slack = (unsigned char *) payload + size;

  memset (slack, SLACK_FILL, n - 1);
  slack[n - 1] = (unsigned char) (SLACK_COUNT + n - 1);
  if ((sli_context_mode & MODE_DEBUG) != 0)
    sli_untraced_note_slack (registered (payload), (uint8_t) n);
}

static inline bool
slack_is_whole (const unsigned char *slack, size_t n)
{
  while (n > 1 && *slack == SLACK_FILL)
    {
      slack++;
      n--;
    }
  return n == 1;
}

/* Returns true if nothing was written behind the node's block either, where a
 * chunk has a canary or a red zone.  Large nodes have none. */
static bool
block_end_is_whole (const void *payload, size_t usable)
{
  const Node *node = head_of (payload);
  const void *block = registered (payload);

  if (block == payload)
    return true;
  return sli_untraced_end_is_whole (
      block, (node->parent & NODE_HAS_PREFIX) == 0 ? usable + sizeof (Node)
                                                   : slice_block_size (block));
}

size_t
sli_slack_check (const void *payload, const char *operation)
{
  size_t usable = sli_context_usable_bytes (payload);
  const unsigned char *end = (const unsigned char *) payload + usable;
  bool is_counted;
  size_t n;

  if (!has_slack (head_of (payload)))
    return 0;
  n = (size_t) end[-1] - SLACK_COUNT + 1;
  is_counted = end[-1] >= SLACK_COUNT && n <= usable;
  if (UNLIKELY (!is_counted
                || !slack_is_whole (end - n, n)
                || !block_end_is_whole (payload, usable)))
    sli_context_abort (
        ERROR_NODE_OVERRUN, payload,
        "bytes behind a node's payload were written: %s (%p), space "
        "for %s%zu bytes",
        operation, payload, is_counted ? "" : "at most ",
        is_counted ? usable - n : usable - 1);
  return n;
}
