/* contestant-limit.c - the least that an allocator could do
 *
 * SPDX-License-Identifier: MIT
 */
#define ADAPTOR <tests/adaptors/allocators/limit.h>
#include <tests/stress/contestants/contestant.h>

const Contestant contestant_limit = {
  .name = "limit",
  .what = "bare free lists, inline, that never give back",
  .prepare = adaptor_prepare,
  CONTESTANT_OF_ADAPTOR,
};
