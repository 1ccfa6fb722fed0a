/* contestant-functions.c - slices through the library's exported functions
 *
 * SPDX-License-Identifier: MIT
 */
#define ADAPTOR <tests/adaptors/allocators/functions.h>
#include <tests/stress/contestants/contestant.h>

const Contestant contestant_calls = {
  .name = "calls",
  .what = "slices through the library's functions, not inline",
  .prepare = slice_prepare,
  CONTESTANT_OF_ADAPTOR,
};
