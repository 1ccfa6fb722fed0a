/* contestant-gslice.c - GLib's own slices, where GLib still has them
 *
 * SPDX-License-Identifier: MIT
 */
#define ADAPTOR <tests/adaptors/allocators/gslice.h>
#include <tests/stress/contestants/contestant.h>

const Contestant contestant_gslice = {
  .name = "gslice",
  .what = "GLib's g_slice, of a GLib before 2.76",
  .prepare = adaptor_prepare,
  CONTESTANT_OF_ADAPTOR,
};
