/* contestant-slice.c - slices through the header's inline calls, with all
 * layers or with the magazines bypassed
 *
 * SPDX-License-Identifier: MIT
 */
#define ADAPTOR <tests/adaptors/allocators/slice.h>
#include <tests/stress/contestants/contestant.h>

static const char *
slab_prepare (const Options *options)
{
  if (slice_set_option (SLICE_OPTION_BYPASS_MAGAZINES, 1) != SLICE_SET_OK)
    return "the option bypass-magazines was refused";
  return slice_prepare (options);
}

const Contestant contestant_slice = {
  .name = "slice",
  .what = "slices, all layers, inline",
  .prepare = slice_prepare,
  CONTESTANT_OF_ADAPTOR,
};

const Contestant contestant_slab = {
  .name = "slab",
  .what = "slices, magazines bypassed",
  .prepare = slab_prepare,
  CONTESTANT_OF_ADAPTOR,
};
