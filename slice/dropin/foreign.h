/* foreign.h - blocks that cross the border between GLib's memory and ours
 *
 * Layer: dropin.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_FOREIGN_H
#define SLI_DROPIN_FOREIGN_H

#include <stddef.h>
#include <stdint.h>

/* When the drop-in is loaded. */
void sli_foreign_load (void);
/* Before the first block: decides how our blocks are told from GLib's. */
void sli_foreign_begin (void);
/* Frees a block that is no chunk of ours: a large one of ours, or GLib's. */
void sli_foreign_free (size_t size, void *block);
/* How many of GLib's blocks were passed on, and how many of ours came home
 * through free(). */
void sli_foreign_count (uint64_t *n_passed_on, uint64_t *n_sent_home);

#endif
