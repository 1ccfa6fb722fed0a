/* contestant-loop.c - no allocator: what the loops themselves cost
 *
 * SPDX-License-Identifier: MIT
 */
#define ADAPTOR <tests/adaptors/allocators/loop.h>
#include <tests/stress/contestants/contestant.h>

static const char *
loop_prepare (const Options *options)
{
  if (options->check || options->touch || options->share)
    return "there are no blocks that could be touched";
  return NULL;
}

const Contestant contestant_loop = {
  .name = "loop",
  .what = "nothing: the loop around the calls alone",
  .prepare = loop_prepare,
  .is_empty = true,
  CONTESTANT_OF_ADAPTOR,
};
