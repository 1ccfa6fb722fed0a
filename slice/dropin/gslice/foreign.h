/* foreign.h - GLib's blocks freed by the program, and ours freed by GLib
 *
 * Layer: dropin.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_FOREIGN_H
#define SLI_DROPIN_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called when the drop-in is loaded. */
void sli_foreign_load (void);
/* Called before the first block: decides how our blocks are distinguished from
 * GLib's. */
void sli_foreign_begin (void);
/* Returns true if a checking mode looks up blocks. */
bool sli_foreign_is_registered (void);
/* In these modes: returns true if the link of a block, ours or perhaps GLib's,
 * can be read. */
bool sli_foreign_has_link (const void *block);
/* Frees a block that is not in one of our slabs: a large one, or GLib's. */
void sli_foreign_free (size_t size, void *block);
/* Counts the blocks of GLib's that were passed to GLib, and those of ours that
 * free() has freed. */
void sli_foreign_count (uint64_t *n_to_glib, uint64_t *n_from_free);

#endif
