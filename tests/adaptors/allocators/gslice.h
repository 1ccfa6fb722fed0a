/* gslice.h - GLib's own slices, where GLib still has them
 *
 * GLib is opened at run time, so that neither its headers nor the library are
 * needed to build.  From 2.75.3 on (the stable series: from 2.76) its slice
 * calls are malloc under another name, so there is nothing to compare.  Where
 * slice calls are there already, from a preloaded library, these are taken.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <stdio.h>

#define ADAPTOR_NAME "gslice"
/* Two words, where they are as large. */
#define ADAPTOR_ALIGNMENT(size)                                               \
 ((size) >= 2 * sizeof (void *) ? 2 * sizeof (void *) : 8)
#define ADAPTOR_START() gslice_start ()
#define ADAPTOR_VERSION() gslice_version ()
#define ADAPTOR_ALLOC0(size) gslice.alloc0 (size)

#define GSLICE_LIBRARY "libglib-2.0.so.0"
#define GSLICE_MINOR_WITHOUT 75 /* the first 2.x without slices of its own */

typedef struct
{
  void *(*alloc) (size_t size);
  void *(*alloc0) (size_t size);
  void (*free) (size_t size, void *block);
} GSlice;

extern GSlice gslice;

ADAPTOR_INLINE void *
adaptor_alloc (size_t size)
{
  return gslice.alloc (size);
}

ADAPTOR_INLINE void
adaptor_free (size_t size, void *block)
{
  gslice.free (size, block);
}

static inline const char *
gslice_start (void)
{
  void *glib = RTLD_DEFAULT;

  if (dlsym (glib, "g_slice_alloc") == NULL)
    {
      const unsigned *minor;

      glib = dlopen (GSLICE_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
      if (glib == NULL)
        return GSLICE_LIBRARY " is not installed";
      minor = dlsym (glib, "glib_minor_version");
      if (minor == NULL || *minor >= GSLICE_MINOR_WITHOUT)
        return "this GLib has no slices of its own any more (from 2.76 on)";
    }
  /* POSIX lets a data pointer become a function this way. */
  *(void **) &gslice.alloc = dlsym (glib, "g_slice_alloc");
  *(void **) &gslice.alloc0 = dlsym (glib, "g_slice_alloc0");
  *(void **) &gslice.free = dlsym (glib, "g_slice_free1");
  if (gslice.alloc == NULL || gslice.alloc0 == NULL || gslice.free == NULL)
    return GSLICE_LIBRARY " lacks the slice functions";
  return NULL;
}

/* After the start, which made the library's names known to all. */
static inline const char *
gslice_version (void)
{
  static char version[32];
  const unsigned *minor = dlsym (RTLD_DEFAULT, "glib_minor_version");
  const unsigned *micro = dlsym (RTLD_DEFAULT, "glib_micro_version");

  if (minor == NULL || micro == NULL)
    return "preloaded";
  snprintf (version, sizeof version, "GLib 2.%u.%u", *minor, *micro);
  return version;
}

#ifdef ADAPTOR_DEFINE
GSlice gslice;
#endif
