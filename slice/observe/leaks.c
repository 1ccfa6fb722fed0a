/* leaks.c - the last look, at exit: what is spoilt, and what was never freed
 *
 * Layer: observe.  Memory of the kernel's own.  Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "leaks.h"
#include "base/diag.h"
#include "base/errors.h"
#include "base/option.h"
#include "alloc/alloc.h"
#include "checking/block-registry.h"
#include "checking/checking.h"
#include "magazine/magazine.h"
#include "port/compiler.h"
#include "port/os.h"

enum
{
  SITES_SHOWN = 20 /* the largest; what is beyond is told as a number */
};

/* All blocks of one place in the program. */
typedef struct
{
  const void *site; /* NULL: a free slot */
  size_t n_blocks;
  size_t bytes;
} ChunkRef;

typedef struct
{
  ChunkRef *places; /* a hash table by site */
  size_t n_slots;  /* a power of two, above the number of blocks */
  size_t n_sites;
  ChunkRef all;
} Leaks;

static void
add_block (const void *block, size_t size, const void *site, void *data)
{
  Leaks *leaks = data;
  const void *key = site != NULL ? site : block;
  size_t i = (size_t) (((uintptr_t) key >> 2) * (uintptr_t) 0x9e3779b1u);
  ChunkRef *place;

  /* More than there were when the table was made: other threads. */
  if (leaks->n_sites + 1 >= leaks->n_slots)
    return;
  for (;; i++)
    {
      place = &leaks->places[i & (leaks->n_slots - 1)];
      if (place->site == key || place->site == NULL)
        break;
    }
  leaks->n_sites += place->site == NULL;
  place->site = key;
  place->n_blocks++;
  place->bytes += size;
  leaks->all.n_blocks++;
  leaks->all.bytes += size;
}

/* The largest that has not been told; NULL: all have. */
static ChunkRef *
next_largest (const Leaks *leaks)
{
  ChunkRef *largest = NULL;

  for (size_t i = 0; i < leaks->n_slots; i++)
    {
      ChunkRef *place = &leaks->places[i];

      if (place->n_blocks != 0
          && (largest == NULL || place->bytes > largest->bytes))
        largest = place;
    }
  return largest;
}

static const char *
plural (size_t n)
{
  return n == 1 ? "" : "s";
}

static void
tell_leaks (const Leaks *leaks)
{
  ChunkRef *place;
  int n = 0;

  sli_diag_warn (ERROR_NEVER_FREED,
                 "exit: %z block%s, %z bytes never freed, of %z place%s; "
                 "addr2line -ifp -e FILE 0xOFFSET names the line",
                 leaks->all.n_blocks, plural (leaks->all.n_blocks),
                 leaks->all.bytes, leaks->n_sites, plural (leaks->n_sites));
  while (n++ < SITES_SHOWN && (place = next_largest (leaks)) != NULL)
    {
      sli_diag_warn (ERROR_NEVER_FREED,
                     "exit: %z block%s, %z bytes never freed, allocated at %a",
                     place->n_blocks, plural (place->n_blocks), place->bytes,
                     (const char *) place->site - 1);
      place->n_blocks = 0;
    }
  if (leaks->n_sites > SITES_SHOWN)
    sli_diag_warn (ERROR_NEVER_FREED, "exit: and %z place%s more",
                   leaks->n_sites - SITES_SHOWN,
                   plural (leaks->n_sites - SITES_SHOWN));
}

static void
find_leaks (void)
{
  Leaks leaks = { .n_slots = 64 };

  while (leaks.n_slots / 2 <= sli_block_check_count ())
    leaks.n_slots *= 2;
  leaks.places
      = sli_os_map (leaks.n_slots * sizeof (ChunkRef), sli_os_page_bytes ());
  if (leaks.places == NULL)
    return;
  sli_block_check_each (add_block, &leaks);
  if (leaks.all.n_blocks != 0)
    tell_leaks (&leaks);
  sli_os_unmap (leaks.places, leaks.n_slots * sizeof (ChunkRef));
}

/* Threads that are left may be in the middle of anything: what they are about
 * to fill is not looked at.  In a forked child those count, too, that the fork
 * left behind. */
static bool
is_alone (void)
{
  MagazineCounts counts[N_CLASSES];

  return sli_magazine_count_all (counts) <= 1 && !sli_magazine_lost_threads ()
         && !sli_option_is_on (SLICE_OPTION_TRIM_THREAD);
}

void
sli_observe_exit (void)
{
  int64_t checks;

  if (sli_alloc_path () != PATH_CHECKING)
    return;
  checks = sli_option (SLICE_OPTION_EXIT_CHECK);
  if ((checks == 2 || (checks == 1 && sli_option_is_on (SLICE_OPTION_DEBUG)))
      && is_alone ())
    sli_checking_check_all ();
  if (sli_option_is_on (SLICE_OPTION_LEAKS)
      && sli_option_is_on (SLICE_OPTION_DEBUG))
    find_leaks ();
}
