/* foreign.c - blocks that cross the border between GLib's memory and ours
 *
 * Layer: dropin.  Below: the public interface of slices.  No locks.
 *
 * libglib is linked so that its own calls never reach us: its list nodes,
 * hash tables and the rest are its own blocks.  Two crossings follow.
 *
 *   GLib's block, freed by the program     g_slice_free1 -> here -> GLib's
 *   our block, freed inside GLib           (GLib on malloc) -> free -> here
 *
 * The first is told by the address: a chunk of ours lies in a region of ours.
 * The second needs a GLib that hands out malloc's blocks: from 2.76 on, or by
 * G_SLICE=always-malloc, which slice-run sets; then what it frees comes
 * through free(), which is ours.  A GLib with slices of its own keeps a list
 * node of ours for its own and there is nothing that could be done here.
 *
 * Blocks of ours that are malloc's (large ones; all, with always-malloc or
 * under a tool) have no address to tell them by.  They need not be told from
 * GLib's when GLib's are malloc's as well: free() is right for both.  Where
 * they are not, or a mode is on that looks at every free, the registry of
 * debug-blocks tells (slice_debug_size()).
 * (GLib never cuts blocks of more than SLICE_SIZE_MAX from slabs on pages of
 * up to 16 KiB.)
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "foreign.h"
#include "gslice-calls.h"
#include "gslice-config.h"

#include <slice/slice.h>
#include <slice/options.h>

#include "port/compiler.h"
#include "port/os.h"

#include <dlfcn.h>
#include <stdbool.h>

#define GLIB_LIBRARY "libglib-2.0.so.0"

enum
{
  /* From 2.75.3 on GLib's slices are malloc. */
  GLIB_MINOR_WITHOUT_SLICES = 76
};

typedef void (*FreeSlice) (size_t size, void *block);
typedef void (*FreeBlock) (void *block);

static void free_first (void *block);

static struct
{
  bool registered;         /* slice_debug_size() knows all our live blocks that
                              are malloc's; constant after the first block */
  bool mallocs;            /* every block of ours is malloc's; constant too */
  FreeSlice glib_free;     /* GLib's g_slice_free1; NULL: not found yet */
  FreeBlock libc_free;     /* the free() behind ours; NULL: not found yet */
  FreeBlock free_other;    /* for what is no chunk of ours: that free(), or
                              what is due before it */
  uint64_t n_passed_on;    /* GLib's blocks that went on to it */
  uint64_t n_sent_home;    /* ours that came through free() */
} foreign = { .free_other = free_first };

/* --- who is behind us ---------------------------------------------------- */

/* The next definition of a function after ours; NULL if there is none.  POSIX
 * lets a data pointer become a function this way. */
static void *
next_function (const char *name)
{
  return dlsym (RTLD_NEXT, name);
}

/* A GLib that is loaded, but not for all to see (a plug-in's). */
static void *
glib_symbol (const char *name)
{
  void *symbol = next_function (name);

  if (symbol == NULL)
    {
      void *glib = dlopen (GLIB_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);

      if (glib != NULL)
        {
          symbol = dlsym (glib, name);
          dlclose (glib);
        }
    }
  return symbol;
}

static FreeSlice
find_glib_free (void)
{
  FreeSlice found = LOAD (&foreign.glib_free);

  if (found == NULL)
    {
      *(void **) &found = glib_symbol ("g_slice_free1");
      if (found != g_slice_free1)
        STORE (&foreign.glib_free, found);
      else
        found = NULL;
    }
  return found;
}

/* Looking it up may free something itself; such a thing is then lost, once. */
COLD static void
find_libc_free (void)
{
  static __thread bool looking;
  FreeBlock found;

  if (looking)
    return;
  looking = true;
  *(void **) &found = next_function ("free");
  STORE (&foreign.libc_free, found);
  looking = false;
}

static void
pass_to_libc (void *block)
{
  FreeBlock libc_free = LOAD (&foreign.libc_free);

  if (UNLIKELY (libc_free == NULL))
    {
      find_libc_free ();
      libc_free = LOAD (&foreign.libc_free);
      if (libc_free == NULL)
        return;
    }
  libc_free (block);
}

/* Once it has been found the way to it is short, unless a registry came before
 * (sli_foreign_begin()). */
static void
free_first (void *block)
{
  FreeBlock before = free_first;

  pass_to_libc (block);
  if (LOAD (&foreign.libc_free) != NULL)
    __atomic_compare_exchange_n (&foreign.free_other, &before,
                                 foreign.libc_free, false, __ATOMIC_RELAXED,
                                 __ATOMIC_RELAXED);
}

/* --- how our blocks are told from GLib's --------------------------------- */

/* Where there is a registry: large blocks of ours, too. */
COLD static void
free_registered (void *block)
{
  size_t size = slice_debug_size (block);

  if (size == 0)
    {
      pass_to_libc (block);
      return;
    }
  COUNT_UP_SHARED (&foreign.n_sent_home, 1);
  slice_free1 (size, block);
}

static bool
option_is_on (SliceOption option)
{
  int64_t value;

  return slice_get_option (option, &value) && value != 0;
}

static bool
glib_has_no_slices (void)
{
  const unsigned *minor = glib_symbol ("glib_minor_version");

  return minor != NULL && *minor >= GLIB_MINOR_WITHOUT_SLICES;
}

void
sli_foreign_load (void)
{
  find_libc_free ();
}

void
sli_foreign_begin (void)
{
  foreign.mallocs
      = option_is_on (SLICE_OPTION_ALWAYS_MALLOC)
        || (sli_os_memory_tool () != NULL
            && !option_is_on (SLICE_OPTION_FORCE_POOL));
  if (foreign.mallocs && !sli_gslice_config_glib_mallocs ()
      && !glib_has_no_slices ())
    slice_set_option (SLICE_OPTION_DEBUG_BLOCKS, 1);
  foreign.registered
      = option_is_on (SLICE_OPTION_DEBUG_BLOCKS)
        || (!foreign.mallocs
            && (option_is_on (SLICE_OPTION_CHECKED)
                || option_is_on (SLICE_OPTION_HARDENED)
                || option_is_on (SLICE_OPTION_DEBUG)));
  if (foreign.registered)
    STORE (&foreign.free_other, free_registered);
}

/* --- the program frees GLib's -------------------------------------------- */

/* Is it, or may it be, ours?  For what is no chunk of ours. */
static bool
may_be_ours (size_t size, const void *block)
{
  if (slice_is_ours (block))
    return true; /* with a size that no chunk has: slice_free1() says so */
  if (foreign.registered)
    return slice_debug_size (block) != 0;
  return foreign.mallocs || size > SLICE_SIZE_MAX;
}

void
sli_foreign_free (size_t size, void *block)
{
  FreeSlice glib_free;

  if (may_be_ours (size, block))
    {
      slice_free1 (size, block);
      return;
    }
  glib_free = find_glib_free ();
  if (glib_free == NULL)
    {
      /* Nobody else's either: straight to its slab, which reports it. */
      slice_free_bulk (1, &block);
      return;
    }
  COUNT_UP_SHARED (&foreign.n_passed_on, 1);
  glib_free (size, block);
}

void
sli_foreign_count (uint64_t *n_passed_on, uint64_t *n_sent_home)
{
  *n_passed_on = LOAD (&foreign.n_passed_on);
  *n_sent_home = LOAD (&foreign.n_sent_home);
}

/* --- GLib frees ours ----------------------------------------------------- */

/* A live block of ours that came to free(); its size is not known there. */
COLD static void
send_home (void *block)
{
  COUNT_UP_SHARED (&foreign.n_sent_home, 1);
  slice_free_bulk (1, &block);
}

void
free (void *block)
{
  if (UNLIKELY (slice_is_ours (block)))
    send_home (block);
  else
    LOAD (&foreign.free_other) (block);
}

void
free_sized (void *block, size_t size UNUSED)
{
  free (block);
}

void
free_aligned_sized (void *block, size_t alignment UNUSED, size_t size UNUSED)
{
  free (block);
}
