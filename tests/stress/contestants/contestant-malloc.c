/* contestant-malloc.c - the system's malloc, or one that is preloaded
 *
 * SPDX-License-Identifier: MIT
 */
#define ADAPTOR <tests/adaptors/allocators/malloc.h>
#include <tests/stress/contestants/contestant.h>

const Contestant contestant_malloc = {
  .name = "malloc",
  .what = "malloc and free, the system's or a preloaded one",
  .prepare = adaptor_prepare,
  CONTESTANT_OF_ADAPTOR,
};
