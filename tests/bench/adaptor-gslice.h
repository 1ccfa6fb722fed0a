/* adaptor-gslice.h - GLib's slice allocator, where GLib still has one
 *
 * Since 2.76 g_slice_alloc() is g_malloc(); the build is then refused at run
 * time.
 *
 * SPDX-License-Identifier: MIT
 */
#include <glib.h>
#include <stdio.h>

#define ADAPTOR_NAME "gslice"
/* Two words, where they are as large. */
#define ADAPTOR_ALIGNMENT(size)                                               \
 ((size) >= 2 * sizeof (void *) ? 2 * sizeof (void *) : 8)

BENCH_INLINE void *
adaptor_alloc (size_t size)
{
  return g_slice_alloc (size);
}

BENCH_INLINE void
adaptor_free (size_t size, void *block)
{
  g_slice_free1 (size, block);
}

BENCH_INLINE void
adaptor_thread_exit (void)
{
}

BENCH_INLINE const char *
adaptor_start (void)
{
  if (glib_major_version > 2 || glib_minor_version >= 76)
    return "this GLib has no slice allocator any more (2.76 removed it)";
  return NULL;
}

BENCH_INLINE const char *
adaptor_version (void)
{
  static char version[32];
  snprintf (version, sizeof version, "GLib %u.%u.%u", glib_major_version,
            glib_minor_version, glib_micro_version);
  return version;
}

BENCH_INLINE bool
adaptor_trim (void)
{
  return false;
}

BENCH_INLINE bool
adaptor_count (Counts *counts)
{
  (void) counts;
  return false;
}
