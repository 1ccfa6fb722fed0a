/* foreign.c - GLib's blocks freed by the program, and ours freed by GLib
 *
 * Layer: dropin.  Below: the public interface of slices.  No locks.
 *
 * libglib is linked so that its own calls don't come to us: its list nodes,
 * hash tables and the like are its own blocks.  There are two cases:
 *
 *   GLib's block, freed by the program     g_slice_free1 -> here -> GLib's
 *   our block, freed inside GLib           GLib -> free -> here
 *
 * In the first case the address decides: our chunks are in our regions.  The
 * second case needs a GLib that uses malloc: from 2.76 on, or with
 * G_SLICE=always-malloc, which slice-run sets.  Then GLib calls free(), which
 * is ours.  A GLib with slices of its own would keep our block as its own, and
 * nothing here could prevent it.
 *
 * Some of our blocks are malloc's: large ones, and with always-malloc or under
 * a tool all.  Their addresses decide nothing.  If GLib's blocks are malloc's
 * too, free() is right for both.  Otherwise always-malloc and checked are set,
 * and the registry of blocks decides (slice_debug_size()).  (GLib never cuts
 * blocks of more than SLICE_SIZE_MAX from slabs on pages of up to 16 KiB.)
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "foreign.h"
#include "gslice-calls.h"
#include "gslice-config.h"

#include <slice/heap.h>
#include <slice/slice.h>
#include <slice/options.h>

#include "port/compiler.h"
#include "port/os/os.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <unistd.h>

#define GLIB_LIBRARY "libglib-2.0.so.0"

enum
{
  /* Blocks of GLib's slices and of malloc begin at multiples of it. */
  GLIB_ALIGN_BYTES = 2 * sizeof (void *),
  /* From 2.75.3 on GLib's slices are malloc. */
  GLIB_MINOR_WITHOUT_SLICES = 76
};

typedef void (*FreeSlice) (size_t size, void *block);
typedef void (*FreeBlock) (void *block);

static void free_first (void *block);

static struct
{
  bool registered;      /* slice_debug_size() knows all our live blocks of
                           malloc's; constant after the first block */
  bool mallocs;         /* all our blocks are malloc's; constant likewise */
  FreeSlice glib_free;  /* GLib's g_slice_free1; NULL: not found */
  FreeBlock libc_free;  /* the C library's free(); NULL: not found */
  FreeBlock free_other; /* called by free() for blocks outside our regions:
                           libc_free, free_first or free_registered */
  uint64_t n_to_glib;   /* GLib's blocks, freed by GLib's g_slice_free1 */
  uint64_t n_from_free; /* our blocks, freed by free() */
} foreign = { .free_other = free_first };

/* --- GLib's and the C library's functions -------------------------------- */

/* The next definition of a function after ours; NULL if there is none.  Its
 * callers convert a data pointer to a function, as POSIX allows. */
static void *
next_function (const char *name)
{
  return dlsym (RTLD_NEXT, name);
}

/* A function or variable of GLib, even if GLib was loaded with RTLD_LOCAL (for
 * a plug-in); NULL: there is none. */
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

/* dlsym() may call free() itself; that block is lost, once. */
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
free_by_libc (void *block)
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

/* Replaces itself by libc_free once that is found, unless sli_foreign_begin()
 * has set free_registered. */
static void
free_first (void *block)
{
  FreeBlock before = free_first;

  free_by_libc (block);
  if (LOAD (&foreign.libc_free) != NULL)
    __atomic_compare_exchange_n (&foreign.free_other, &before,
                                 foreign.libc_free, false, __ATOMIC_RELAXED,
                                 __ATOMIC_RELAXED);
}

/* --- our blocks and GLib's ----------------------------------------------- */

/* free() with a registry, which finds our large blocks, too. */
COLD static void
free_registered (void *block)
{
  size_t size = slice_debug_size (block);

  if (size == 0)
    {
      free_by_libc (block);
      return;
    }
  COUNT_UP_SHARED (&foreign.n_from_free, 1);
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
    {
      slice_set_option (SLICE_OPTION_ALWAYS_MALLOC, 1);
      slice_set_option (SLICE_OPTION_CHECKED, 1);
    }
  foreign.registered = (!foreign.mallocs
                        || option_is_on (SLICE_OPTION_ALWAYS_MALLOC))
                       && (option_is_on (SLICE_OPTION_CHECKED)
                           || option_is_on (SLICE_OPTION_HARDENED)
                           || option_is_on (SLICE_OPTION_DEBUG));
  if (foreign.registered)
    STORE (&foreign.free_other, free_registered);
}

/* --- the program frees one of GLib's blocks ------------------------------ */

/* Returns true if one of GLib's blocks can begin at an address that is not
 * ours. */
static bool
may_be_glibs (const void *block)
{
  uintptr_t page_bytes = (uintptr_t) sysconf (_SC_PAGESIZE);
  uintptr_t page = (uintptr_t) block & ~(page_bytes - 1);

  return (uintptr_t) block % GLIB_ALIGN_BYTES == 0
         && find_glib_free () != NULL
         && sli_os_is_mapped ((void *) page, page_bytes);
}

bool
sli_foreign_is_registered (void)
{
  return foreign.registered;
}

bool
sli_foreign_has_link (const void *block)
{
  if (slice_debug_size (block) != 0)
    return true;
  return !slice_is_ours (block) && may_be_glibs (block);
}

/* Returns true if a block may be ours although it is no chunk of its size. */
static bool
may_be_ours (size_t size, const void *block)
{
  if (size <= SLICE_SIZE_MAX && slice_is_ours (block))
    return true; /* of the wrong size: slice_free1() reports it */
  if (foreign.registered)
    return slice_debug_size (block) != 0;
  return foreign.mallocs || size > SLICE_SIZE_MAX;
}

void
sli_foreign_free (size_t size, void *block)
{
  FreeSlice glib_free;

  /* A checking mode reports an address that is no block, before GLib writes to
   * it. */
  if (may_be_ours (size, block)
      || (foreign.registered && !may_be_glibs (block)))
    {
      slice_free1 (size, block);
      return;
    }
  glib_free = find_glib_free ();
  if (glib_free == NULL)
    {
      /* There is no GLib, so the block is invalid: the slab layer reports
       * it. */
      slice_free_as_v1 (block, "g_slice_free1");
      return;
    }
  COUNT_UP_SHARED (&foreign.n_to_glib, 1);
  glib_free (size, block);
}

void
sli_foreign_count (uint64_t *n_to_glib, uint64_t *n_from_free)
{
  *n_to_glib = LOAD (&foreign.n_to_glib);
  *n_from_free = LOAD (&foreign.n_from_free);
}

/* --- GLib frees one of our blocks ---------------------------------------- */

/* free() does not know the size, and slice_free_as_v1() needs none.  With the
 * heap in use the block may be libslice-malloc's. */
COLD static void
free_ours (void *block, const char *call)
{
  SliceHeapCounts heap;

  COUNT_UP_SHARED (&foreign.n_from_free, 1);
  slice_heap_count (&heap);
  if (heap.n_runs == 0)
    slice_free_as_v1 (block, call);
  else
    slice_heap_free_as_v1 (block, call);
}

static inline void
free_any (void *block, const char *call)
{
  if (UNLIKELY (slice_is_ours (block)))
    free_ours (block, call);
  else
    LOAD (&foreign.free_other) (block);
}

void
free (void *block)
{
  free_any (block, "free");
}

void
free_sized (void *block, size_t size UNUSED)
{
  free_any (block, "free_sized");
}

void
free_aligned_sized (void *block, size_t alignment UNUSED, size_t size UNUSED)
{
  free_any (block, "free_aligned_sized");
}
