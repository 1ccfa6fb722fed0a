/* contestant-gslice.c - GLib's own slices, where GLib still has them
 *
 * GLib is opened at run time, its headers are not needed.  From 2.75.3 on
 * (the stable series: from 2.76) its slice calls are malloc under another
 * name, so there is nothing to compare.  Where slice calls are there already,
 * from a preloaded library, these are taken.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/walk.h>

#include <dlfcn.h>
#include <string.h>

#define GLIB_LIBRARY "libglib-2.0.so.0"
/* First 2.x without slices of its own. */
#define GLIB_MINOR_WITHOUT 75

static AllocCall glib_alloc;
static AllocCall glib_alloc0;
static FreeCall glib_free;

static void *
gslice_alloc (size_t size)
{
  return glib_alloc (size);
}

static void *
gslice_alloc0 (size_t size)
{
  return glib_alloc0 (size);
}

static void
gslice_free (size_t size, void *block)
{
  glib_free (size, block);
}

static void *
gslice_resize (size_t old_size, size_t size, void *block)
{
  void *resized = glib_alloc (size);
  if (block != NULL && resized != NULL)
    memcpy (resized, block, old_size < size ? old_size : size);
  glib_free (old_size, block);
  return resized;
}

WALK_DEFINE (gslice_walk, gslice_alloc, gslice_free)

static void
gslice_replay (Replay *replay)
{
  replay_lap (gslice_alloc, gslice_alloc0, gslice_resize, gslice_free, replay);
}

static const char *
gslice_prepare (const Options *options)
{
  (void)options;
  void *glib = RTLD_DEFAULT;
  if (dlsym (glib, "g_slice_alloc") == NULL)
    {
      glib = dlopen (GLIB_LIBRARY, RTLD_NOW);
      if (glib == NULL)
        return GLIB_LIBRARY " is not installed";
      const unsigned *minor = dlsym (glib, "glib_minor_version");
      if (minor == NULL || *minor >= GLIB_MINOR_WITHOUT)
        return "this GLib has no slices of its own any more (from 2.76 on)";
    }
  /* POSIX lets a data pointer become a function this way. */
  *(void **)&glib_alloc = dlsym (glib, "g_slice_alloc");
  *(void **)&glib_alloc0 = dlsym (glib, "g_slice_alloc0");
  *(void **)&glib_free = dlsym (glib, "g_slice_free1");
  if (glib_alloc == NULL || glib_alloc0 == NULL || glib_free == NULL)
    return GLIB_LIBRARY " lacks the slice functions";
  return NULL;
}

static const BlockCalls gslice_calls
    = { gslice_alloc, gslice_alloc0, gslice_resize, gslice_free };

const Contestant contestant_gslice = {
  .name = "gslice",
  .what = "GLib's g_slice, of a GLib before 2.76",
  .prepare = gslice_prepare,
  .calls = &gslice_calls,
  .walk = gslice_walk,
  .replay = gslice_replay,
  .is_by_words = true,
};
