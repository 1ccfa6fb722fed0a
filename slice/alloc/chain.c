/* chain.c - frees blocks that are linked to each other
 *
 * Layer: alloc.  Below: magazine, by way of dispatch.c.  No locks.
 * Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "dispatch.h"
#include "untraced.h"
#include "base/diag.h"

/* The checking modes look up a block before its link is read.  If it is no
 * block, its free reports that. */
static bool
has_link (const void *block)
{
  return (sli_dispatch.path == PATH_CHECKING
          && sli_untraced_begins_block (block))
         || sli_checking_is_large (block);
}

/* Brent's cycle detection: compares each block with a remembered one, which is
 * replaced after 1, 2, 4, ... steps. */
#define CHAIN_FREE(chain, next_offset, free_one)                              \
 do                                                                           \
  {                                                                           \
   const void *mark = NULL;                                                   \
   size_t steps = 0, turn = 1;                                                \
   bool is_checked = sli_dispatch.registers;                                 \
   while ((chain) != NULL)                                                    \
    {                                                                         \
     void *next = NULL;                                                       \
                                                                              \
     if (!UNLIKELY (is_checked) || has_link (chain))                          \
      next = *(void **) (void *) ((char *) (chain) + (next_offset));          \
     if (UNLIKELY ((chain) == mark))                                          \
      sli_diag_misuse (ERROR_CYCLIC_CHAIN, "slice_free_chain",                \
                       &(BlockFacts){ .address = (chain),                     \
                                      .given_bytes = size });                 \
     if (++steps == turn)                                                     \
      {                                                                       \
       mark = (chain);                                                        \
       steps = 0;                                                             \
       turn *= 2;                                                             \
      }                                                                       \
     free_one;                                                                \
     (chain) = next;                                                          \
    }                                                                         \
  }                                                                           \
 while (0)

void
slice_free_chain_with_offset (size_t size, void *chain, size_t next_offset)
{
  dispatch_make_ready (); /* this may be the program's first call */
  if (dispatch_checks_frees ())
    CHAIN_FREE (chain, next_offset,
                sli_free_as (size, chain, "slice_free_chain", CALL_SITE));
  else
    CHAIN_FREE (chain, next_offset, slice_free1 (size, chain));
}

void
slice_free_chain_aligned (size_t alignment, size_t size, void *chain,
                          size_t next_offset)
{
  dispatch_make_ready ();
  CHAIN_FREE (chain, next_offset,
              sli_free_aligned_as (alignment, size, chain, "slice_free_chain",
                                   CALL_SITE));
}
