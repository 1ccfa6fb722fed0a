/* gslice-calls.h - the functions that the drop-in exports
 *
 * Layer: dropin.  GLib's names and types, written without GLib's headers:
 * gsize is size_t, gpointer void *, gint64 int64_t, guint unsigned.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_GSLICE_CALLS_H
#define SLI_DROPIN_GSLICE_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "port/compiler.h"

EXPORT void *g_slice_alloc (size_t block_size);
EXPORT void *g_slice_alloc0 (size_t block_size);
EXPORT void *g_slice_copy (size_t block_size, const void *mem_block);
EXPORT void g_slice_free1 (size_t block_size, void *mem_block);
EXPORT void g_slice_free_chain_with_offset (size_t block_size,
                                            void *mem_chain,
                                            size_t next_offset);
EXPORT void g_slice_set_config (int ckey, int64_t value);
EXPORT int64_t g_slice_get_config (int ckey);
EXPORT int64_t *g_slice_get_config_state (int ckey, int64_t address,
                                          unsigned *n_values);

/* Reads the settings, so that they hold for libslice-malloc's first block. */
EXPORT void slice_gslice_load_v1 (void);

/* foreign.c: replace the C library's, so that GLib can free our blocks as
 * malloc's. */
EXPORT void free (void *block);
EXPORT void free_sized (void *block, size_t size);
EXPORT void free_aligned_sized (void *block, size_t alignment, size_t size);

#endif
