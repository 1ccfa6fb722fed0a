/* foreign.h - blocks of GLib's freed by the program, and ours freed by GLib
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
/* Does a checking mode look blocks up? */
bool sli_foreign_is_registered (void);
/* Then: is it a block of ours, or perhaps of GLib's, whose link can be
 * read? */
bool sli_foreign_has_link (const void *block);
/* Frees a block that is not in one of our slabs: a large one, or GLib's. */
void sli_foreign_free (size_t size, void *block);
/* How many of GLib's blocks were given to GLib, and how many of ours were
 * freed by free(). */
void sli_foreign_count (uint64_t *n_to_glib, uint64_t *n_from_free);

#endif
