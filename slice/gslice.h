/* gslice.h - GLib's slice calls as ours, at source level
 *
 * Public; for a program that is rebuilt.  Included after, or instead of,
 * <glib.h>, it turns g_slice_new() and its family into the inline functions
 * of slice.h; nothing else in the program changes.  With -include it needs no
 * change at all:
 *
 *     cc -include slice/gslice.h ... $(pkg-config --cflags --libs slice)
 *
 * These functions must not free a block that GLib itself allocated (a list
 * node, a string's header), and GLib must not free a block that these have
 * allocated.  A program that needs either uses libslice-gslice.so
 * (slice-run(1)), which needs no rebuilding.
 *
 * Alignment is that of slice.h; a program that relies on GLib's 16 bytes for
 * every size sets the option align-16.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_GSLICE_H
#define SLICE_GSLICE_H

#include <glib.h>
#include <slice/slice.h>
#include <slice/options.h>

/* GLib has some of these as macros, and more of them in later versions. */
#undef g_slice_alloc
#undef g_slice_alloc0
#undef g_slice_copy
#undef g_slice_free1
#undef g_slice_free_chain_with_offset
#undef g_slice_new
#undef g_slice_new0
#undef g_slice_dup
#undef g_slice_free
#undef g_slice_free_chain

/** g_slice_alloc() and the rest: see the function of the same name in
 * slice.h.  They work without an argument list as well, to take the
 * address. */
#define g_slice_alloc slice_alloc
#define g_slice_alloc0 slice_alloc0
#define g_slice_copy slice_copy
#define g_slice_free1 slice_free1
#define g_slice_free_chain_with_offset slice_free_chain_with_offset

/** The typed macros.  They check types, and serve over-aligned ones. */
#define g_slice_new(type) slice_new (type)
#define g_slice_new0(type) slice_new0 (type)
#define g_slice_dup(type, block) slice_dup (type, block)
#define g_slice_free(type, block) slice_free (type, block)
#define g_slice_free_chain(type, chain, next)                                 \
  slice_free_chain (type, chain, next)

#endif
