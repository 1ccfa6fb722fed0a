/* gslice-config.h - options from GLib's variables and calls
 *
 * Layer: dropin.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_GSLICE_CONFIG_H
#define SLI_DROPIN_GSLICE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

/* GLib's numbers (GSliceConfig). */
typedef enum
{
  GSLICE_ALWAYS_MALLOC = 1,
  GSLICE_BYPASS_MAGAZINES,
  GSLICE_WORKING_SET_MSECS,
  GSLICE_COLOUR_INCREMENT,
  GSLICE_CHUNK_SIZES,        /* read only: the number of classes */
  GSLICE_CONTENTION_COUNTER  /* only with get_config_state() */
} GsliceConfig;

/* Reads G_SLICE and G_DEBUG and sets our options by them; once, and before
 * the first block.  Later calls do nothing. */
void sli_gslice_config_load (void);
/* Returns true if G_SLICE makes GLib itself use malloc.  Only after
 * sli_gslice_config_load(). */
bool sli_gslice_config_glib_mallocs (void);

/* Implement g_slice_set_config() and the like. */
void sli_gslice_config_set (int key, int64_t value);
int64_t sli_gslice_config_get (int key);
int64_t *sli_gslice_config_state (int key, int64_t index, unsigned *n_values);

#endif
