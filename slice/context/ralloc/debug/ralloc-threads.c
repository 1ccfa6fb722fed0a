/* ralloc-threads.c - finds two threads at one node, with the option debug
 *
 * Layer: context.  No locks: words that are compared and exchanged.
 * Design: chapter 7.
 *
 * While a call changes a node's list of children, a word names the node and
 * the thread:
 *
 *   | address of the node, shifted | thread's tag |
 *
 * It is in a small table, at a place that the address selects.  A thread that
 * finds the place taken by another node leaves it alone and is not checked.
 * So a tree that is handed to another thread, by whatever means, is never
 * reported; two threads that are at one node at the same moment are.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "debug.h"
#include "context/node.h"
#include "base/diag.h"
#include "port/thread/tls.h"

#include <limits.h>

enum
{
  WORDS = 1024,
  /* The address bits that are the same for all nodes, and those above the
   * widest addresses of any system (57 bits). */
  SPARE_BITS = sizeof (uintptr_t) * CHAR_BIT > 32 ? 7 : 0,
  TAGS = NODE_ALIGN << SPARE_BITS
};

SPARSE_DATA static uintptr_t words[WORDS]; /* 0: free */

/* No word is 0, since no tag is. */
static uintptr_t
word_of (const void *payload)
{
  return (uintptr_t) payload << SPARE_BITS
         | (uintptr_t) (sli_tls_tag () % (TAGS - 1u) + 1u);
}

static bool
is_of_one_node (uintptr_t word, uintptr_t other)
{
  return (word ^ other) < TAGS;
}

static uintptr_t *
place_of (const void *payload)
{
  uintptr_t step = (uintptr_t) payload / NODE_ALIGN;

  return &words[(step ^ step / WORDS) % WORDS];
}

uintptr_t
sli_context_enter (const void *payload, const char *operation)
{
  uintptr_t word = word_of (payload), found = 0;

  if (__atomic_compare_exchange_n (place_of (payload), &found, word, false,
                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return word;
  if (found != word && is_of_one_node (found, word))
    sli_context_abort (
        ERROR_NODE_THREAD, payload,
        "another thread is at work on node %p at this moment: %s", payload,
        operation);
  return 0; /* this thread's outer call has it, or another node's */
}

void
sli_context_leave (const void *payload, uintptr_t word)
{
  (void) __atomic_compare_exchange_n (place_of (payload), &word, 0, false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Clears the word, since another thread may get the address at once. */
void
sli_context_forget (const void *payload)
{
  uintptr_t *place = place_of (payload);
  uintptr_t found = LOAD (place);

  if (found != 0 && is_of_one_node (found, word_of (payload)))
    (void) __atomic_compare_exchange_n (place, &found, 0, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
