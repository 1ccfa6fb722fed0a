/* gslice.c - GLib's slice calls, for programs that are not compiled again
 *
 * Layer: dropin.  Below: the public interface of slices; beside it
 * gslice-config.c (variables and settings) and foreign.c (blocks that are not
 * ours).  Linked to libslice but not to GLib, so it works with any GLib,
 * before GLib is loaded, and without it.  No locks.
 *
 * The code repeats the inline functions of slice.h, because the first call
 * must load the settings.  A thread without magazines has the empty sentinel,
 * so its first call takes the slow path, which does that.
 *
 * Unlike slice_free1(), g_slice_free1() also frees blocks that GLib has
 * allocated itself (foreign.c).
 *
 * Design: chapters 2 and 6.  Source of the calls: GLib's reference manual,
 * "Memory Slices".
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "gslice-calls.h"
#include "foreign.h"
#include "gslice-config.h"

#include <slice/heap.h>
#include <slice/slice.h>
#include <slice/options.h>

#include "port/compiler.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static pthread_once_t dropin_once = PTHREAD_ONCE_INIT;

static struct
{
  bool ready;          /* set last */
  bool counts;         /* option `count': every call takes the slow path */
  uint64_t n_allocs;   /* with the option `count' */
  uint64_t n_frees;    /* likewise */
} dropin;

/* --- the first call ------------------------------------------------------ */

static void
dropin_begin (void)
{
  int64_t counts;

  sli_gslice_config_load ();
  sli_foreign_begin ();
  slice_name_calls_v1 ("g_slice_alloc", "g_slice_free1",
                       "g_slice_free_chain_with_offset");
  slice_get_option (SLICE_OPTION_COUNT, &counts);
  dropin.counts = counts != 0;
  STORE_RELEASE (&dropin.ready, true);
}

static inline void
dropin_make_ready (void)
{
  if (UNLIKELY (!LOAD_ACQUIRE (&dropin.ready)))
    pthread_once (&dropin_once, dropin_begin);
}

/* The program may still set options after this constructor. */
__attribute__ ((constructor)) static void
dropin_load (void)
{
  sli_gslice_config_load ();
  sli_foreign_load ();
}

/* --- blocks -------------------------------------------------------------- */

NOINLINE static void *
alloc_slow (size_t size)
{
  dropin_make_ready ();
  if (dropin.counts && size != 0)
    COUNT_UP_SHARED (&dropin.n_allocs, 1);
  return slice_alloc_slow_v1 (size);
}

NOINLINE static void *
alloc0_slow (size_t size)
{
  dropin_make_ready ();
  if (dropin.counts && size != 0)
    COUNT_UP_SHARED (&dropin.n_allocs, 1);
  return slice_alloc0_slow_v1 (size);
}

static inline void *
block_alloc (size_t size)
{
  void *block = SLICE_POP_V1 (size);

  return LIKELY (block != NULL) ? block : alloc_slow (size);
}

NOINLINE static void
free_slow (size_t size, void *block)
{
  dropin_make_ready ();
  if (dropin.counts && block != NULL)
    COUNT_UP_SHARED (&dropin.n_frees, 1);
  if (block != NULL && (size > SLICE_SIZE_MAX || !slice_is_ours (block)))
    sli_foreign_free (size, block);
  else
    slice_free_slow_v1 (size, block);
}

/* Frees a block that is not near the top round: it may be GLib's. */
NOINLINE static void
free_far (size_t size, void *block)
{
  if (LIKELY (size <= SLICE_SIZE_MAX && slice_is_ours (block)))
    {
      SliceThreadV1 *thread = SLICE_LOAD (&slice_tls_v1);
      size_t twice_class = SLICE_TWICE_CLASS_V1 (thread, size);
      SliceEntryV1 *entry = SLICE_ENTRY_V1 (thread, twice_class);
      void **top = SLICE_LOAD (&entry->top);

      if (LIKELY (top != entry->end && *top != block))
        {
          SLICE_STORE (top + 1, block);
          SLICE_STORE (&entry->top, top + 1);
          return;
        }
    }
  free_slow (size, block);
}

/* A block in the same window of SLICE_OURS_BYTES as the top round is ours, so
 * most calls need no lookup.  (In an empty magazine the top is NULL, and only
 * NULL is near it.) */
static inline void
block_free (size_t size, void *block)
{
  if (LIKELY (size <= SLICE_SIZE_MAX))
    {
      SliceThreadV1 *thread = SLICE_LOAD (&slice_tls_v1);
      size_t twice_class = SLICE_TWICE_CLASS_V1 (thread, size);
      void **top = SLICE_LOAD (&SLICE_ENTRY_V1 (thread, twice_class)->top);
      uintptr_t distance = (uintptr_t) *top ^ (uintptr_t) block;

      SLICE_FORGET_V1 (size, twice_class);
      /* A distance of 0 is a double free: it wraps around and fails this
       * test. */
      if (LIKELY (distance - 1 < SLICE_OURS_BYTES - 1
                  && top != SLICE_ENTRY_V1 (thread, twice_class)->end))
        {
          SLICE_STORE (top + 1, block);
          SLICE_MOVE_TOP_V1 (thread, size, twice_class, top, 1);
          return;
        }
    }
  free_far (size, block);
}

void *
g_slice_alloc (size_t block_size)
{
  return block_alloc (block_size);
}

void *
g_slice_alloc0 (size_t block_size)
{
  void *block = SLICE_POP_V1 (block_size);

  return LIKELY (block != NULL) ? memset (block, 0, block_size)
                                : alloc0_slow (block_size);
}

void *
g_slice_copy (size_t block_size, const void *mem_block)
{
  void *block = mem_block != NULL ? block_alloc (block_size) : NULL;

  return block == NULL ? NULL : memcpy (block, mem_block, block_size);
}

void
g_slice_free1 (size_t block_size, void *mem_block)
{
  block_free (block_size, mem_block);
}

/* The chain may have blocks of GLib's, so each is freed by itself.  An address
 * whose link can't be read is no block: slice_free_chain() reports it. */
void
g_slice_free_chain_with_offset (size_t block_size, void *mem_chain,
                                size_t next_offset)
{
  bool is_checked;

  dropin_make_ready ();
  is_checked = sli_foreign_is_registered ();
  while (mem_chain != NULL)
    {
      void *block = mem_chain;

      if (UNLIKELY (is_checked) && !sli_foreign_has_link (block))
        {
          slice_free_chain_with_offset (block_size, block, next_offset);
          return;
        }
      mem_chain = *(void **) (void *) ((char *) block + next_offset);
      block_free (block_size, block);
    }
}

/* For libslice-malloc, which may allocate the first block before us. */
void
slice_gslice_load_v1 (void)
{
  sli_gslice_config_load ();
}

/* --- settings ------------------------------------------------------------ */

void
g_slice_set_config (int ckey, int64_t value)
{
  sli_gslice_config_set (ckey, value);
}

int64_t
g_slice_get_config (int ckey)
{
  return sli_gslice_config_get (ckey);
}

int64_t *
g_slice_get_config_state (int ckey, int64_t address, unsigned *n_values)
{
  dropin_make_ready ();
  return sli_gslice_config_state (ckey, address, n_values);
}

/* --- at exit ------------------------------------------------------------- */

__attribute__ ((format (printf, 1, 2))) static void
say (const char *format, ...)
{
  char line[160];
  va_list arguments;
  int length;

  va_start (arguments, format);
  length = vsnprintf (line, sizeof line, format, arguments);
  va_end (arguments);
  if (length > 0 && write (STDERR_FILENO, line, (size_t) length) < 0)
    return; /* the error can't be reported */
}

/* Runs before libslice prints its table, since libslice is unloaded later. */
__attribute__ ((destructor)) static void
dropin_report (void)
{
  uint64_t n_to_glib, n_from_free;
  int64_t wanted;

  slice_get_option (SLICE_OPTION_STATS, &wanted);
  if (wanted == 0 || !LOAD_ACQUIRE (&dropin.ready))
    return;
  if (dropin.counts)
    say ("slice-gslice: %llu blocks allocated, %llu freed\n",
         (unsigned long long) LOAD (&dropin.n_allocs),
         (unsigned long long) LOAD (&dropin.n_frees));
  sli_foreign_count (&n_to_glib, &n_from_free);
  say ("slice-gslice: %llu blocks of GLib's passed on, %llu of ours came "
       "through free\n",
       (unsigned long long) n_to_glib, (unsigned long long) n_from_free);
}
