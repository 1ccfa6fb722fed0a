/* foreign-none.c - no border: the drop-in as GLib's own slices
 *
 * Layer: dropin.  In the place of foreign.c where gslice.c is built into
 * libglib itself, as tests/clients/glib-rebuild.sh does.  All blocks are then
 * ours, there is no GLib behind us and free() is left alone.  No locks.
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

/* A large one, or misuse, which slice_free1() reports. */
void
sli_foreign_free (size_t size, void *block)
{
  slice_free1 (size, block);
}

void
sli_foreign_count (uint64_t *n_passed_on, uint64_t *n_sent_home)
{
  *n_passed_on = 0;
  *n_sent_home = 0;
}
