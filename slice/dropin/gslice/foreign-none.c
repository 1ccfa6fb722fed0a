/* foreign-none.c - the drop-in as GLib's own slices, without foreign blocks
 *
 * Layer: dropin.  Replaces foreign.c if gslice.c is built into libglib itself,
 * as tests/clients/glib-rebuild.sh does.  Then all blocks are ours, and free()
 * is not replaced.  No locks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "foreign.h"

#include <slice/slice.h>

void
sli_foreign_load (void)
{
}

void
sli_foreign_begin (void)
{
}

/* The block is large, or slice_free1() reports misuse. */
void
sli_foreign_free (size_t size, void *block)
{
  slice_free1 (size, block);
}

void
sli_foreign_count (uint64_t *n_to_glib, uint64_t *n_from_free)
{
  *n_to_glib = 0;
  *n_from_free = 0;
}
