/* leaks.c - checks at exit: damaged blocks, and blocks that were never freed
 *
 * Layer: observe.  Uses mappings only, no blocks.  Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "leaks.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/errors.h"
#include "base/option.h"
#include "alloc/alloc.h"
#include "checking/registry/block-registry.h"
#include "checking/checking.h"
#include "magazine/magazine.h"
#include "port/compiler.h"
#include "port/os/os.h"

enum
{
  SITES_SHOWN = 20 /* the largest; the others are only counted */
};

/* The live blocks that one call of the program has allocated. */
typedef struct
{
  CodePlace place; /* of the call; address NULL: a free slot */
  size_t n_blocks; /* 0 once it is shown */
  size_t bytes;
} Site;

typedef struct
{
  Site *sites;    /* a hash table by address */
  size_t n_slots; /* a power of two, above the number of blocks */
  size_t n_sites;
  Site all;       /* the sum */
} Leaks;

static void
add_block (const RegisteredBlock *block, void *data)
{
  Leaks *leaks = data;
  CodePlace key = block->site;
  Site *slot;
  size_t i;

  if (key.address == NULL)
    key.address = block->address;
  i = (size_t) (((uintptr_t) key.address >> 2) * (uintptr_t) 0x9e3779b1u);
  /* Other threads have allocated since the table was made. */
  if (leaks->n_sites + 1 >= leaks->n_slots)
    return;
  for (;; i++)
    {
      slot = &leaks->sites[i & (leaks->n_slots - 1)];
      if (slot->place.address == NULL
          || (slot->place.address == key.address
              && slot->place.file == key.file))
        break;
    }
  leaks->n_sites += slot->place.address == NULL;
  slot->place = key;
  slot->n_blocks++;
  slot->bytes += block->size;
  leaks->all.n_blocks++;
  leaks->all.bytes += block->size;
}

/* The largest site that was not shown; NULL: all were. */
static Site *
next_largest (const Leaks *leaks)
{
  Site *largest = NULL;

  for (size_t i = 0; i < leaks->n_slots; i++)
    {
      Site *site = &leaks->sites[i];

      if (site->n_blocks != 0
          && (largest == NULL || site->bytes > largest->bytes))
        largest = site;
    }
  return largest;
}

static const char *
plural (size_t n)
{
  return n == 1 ? "" : "s";
}

static void
report_leaks (const Leaks *leaks)
{
  Site *site;
  int n = 0;

  sli_diag_warn (ERROR_NEVER_FREED,
                 "exit: %zu block%s, %zu bytes never freed, of %zu place%s; "
                 "addr2line -ifp -e FILE 0xOFFSET names the line",
                 leaks->all.n_blocks, plural (leaks->all.n_blocks),
                 leaks->all.bytes, leaks->n_sites, plural (leaks->n_sites));
  while (n++ < SITES_SHOWN && (site = next_largest (leaks)) != NULL)
    {
      /* Within the call; see diag.c. */
      CodePlace place = { (const char *) site->place.address - 1,
                          site->place.file };

      sli_diag_warn (ERROR_NEVER_FREED,
                     "exit: %zu block%s, %zu bytes never freed, "
                     "allocated at %a",
                     site->n_blocks, plural (site->n_blocks), site->bytes,
                     &place);
      site->n_blocks = 0;
    }
  if (leaks->n_sites > SITES_SHOWN)
    sli_diag_warn (ERROR_NEVER_FREED, "exit: and %zu place%s more",
                   leaks->n_sites - SITES_SHOWN,
                   plural (leaks->n_sites - SITES_SHOWN));
}

static void
find_leaks (void)
{
  Leaks leaks = { .n_slots = 64 };

  while (leaks.n_slots / 2 <= sli_block_registry_count ())
    leaks.n_slots *= 2;
  leaks.sites
      = sli_os_map (leaks.n_slots * sizeof (Site), sli_os_page_bytes ());
  if (leaks.sites == NULL)
    return;
  sli_block_registry_each (add_block, &leaks);
  assert_here (leaks.n_sites < leaks.n_slots);
  if (leaks.all.n_blocks != 0)
    report_leaks (&leaks);
  sli_os_unmap (leaks.sites, leaks.n_slots * sizeof (Site));
}

/* Returns true if no other thread can be writing to a block now, or could when
 * this process was forked. */
static bool
is_alone (void)
{
  MagazineCounts counts[N_CLASSES];

  return sli_magazine_count_all (counts) <= 1 && !sli_magazine_lost_threads ()
         && !sli_option_is_on (SLICE_OPTION_TRIM_THREAD);
}

COMMON_TEXT void
sli_observe_exit (void)
{
  int64_t checks = sli_option (SLICE_OPTION_EXIT_CHECK);

  if (sli_alloc_path () == PATH_CHECKING
      && (checks == 2 || (checks == 1 && sli_option_is_on (SLICE_OPTION_DEBUG)))
      && is_alone ())
    sli_checking_check_all ();
  if (sli_option_is_on (SLICE_OPTION_LEAKS)
      && sli_option_is_on (SLICE_OPTION_DEBUG))
    find_leaks ();
}
