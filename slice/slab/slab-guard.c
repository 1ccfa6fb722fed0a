/* slab-guard.c - guards: granules behind slabs that can't be accessed
 *
 * Layer: slab.  No locks.  Design: chapter 4.
 *
 * What can't be accessed does not count against a limit of data (RLIMIT_DATA),
 * nor in some kernels as committed memory.  To make a guard accessible again
 * takes as much as a new mapping, which a process at its limit does not get.
 * Then neither the slab nor its extent could be freed, although that would free
 * memory.  So each guard has a reserve: as many bytes, mapped elsewhere and
 * never touched, which are unmapped just before the guard needs them.
 *
 * Another thread may take them first.  Then the run waits in a list.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "slab-guard.h"
#include "page/page.h"
#include "page/region.h"
#include "base/check.h"
#include "base/option.h"
#include "port/compiler.h"
#include "port/os/os.h"

#include <errno.h>
#include <string.h>

/* Guards (hardened and debug): each eighth slab is followed by a granule that
 * can't be accessed.  The kernel allows 65,530 mappings, of which guards use a
 * small part. */
enum
{
  GUARD_EVERY_SLABS = 8,
  GUARDS_MAX = 4096
};

/* The record of the guard's granule, which no one else uses. */
typedef struct Guard Guard;
struct Guard
{
  Guard *next;         /* while the run is kept */
  void *reserve;       /* NULL: unmapped */
  uint64_t since_msec; /* when the run was last needed, while it is kept */
  uint32_t n_granules; /* of the run, without the guard */
};

SLICE_STATIC_ASSERT (sizeof (Guard) <= RUN_RECORD_BYTES,
                     "a guard fits in its granule's record");

static struct
{
  bool is_on;       /* constant after sli_slab_guard_init() */
  unsigned n;       /* now */
  unsigned n_slabs; /* made since the start */
  Guard *kept;      /* of runs that could not be freed yet */
} guards;

/* Returns true if a tool reads all memory and would access the guards.  The
 * leak sanitizer does, at exit. */
static bool
tool_scans_memory (void)
{
  const char *tool = sli_os_memory_tool ();

  return tool != NULL && strcmp (tool, "sanitizer") == 0;
}

COMMON_TEXT void
sli_slab_guard_init (void)
{
  guards.is_on = (sli_option_is_on (SLICE_OPTION_HARDENED)
                  || sli_option_is_on (SLICE_OPTION_DEBUG))
                 && !tool_scans_memory ();
}

static Guard *
guard_of (char *run, unsigned n_granules)
{
  Region *region = region_of (run);

  return (Guard *) (void *)
      region->records[region_granule_of (region, run) + n_granules];
}

/* --- making --------------------------------------------------------------- */

static bool
guard_is_due (void)
{
  return guards.is_on && LOAD (&guards.n) < GUARDS_MAX
         && __atomic_fetch_add (&guards.n_slabs, 1, __ATOMIC_RELAXED)
                    % GUARD_EVERY_SLABS
                == 0;
}

COMMON_TEXT void *
sli_slab_guard_reserve (void)
{
  int error = errno;
  void *reserve;

  if (!guard_is_due ())
    return NULL;
  reserve = sli_os_map (sli_page_granule_bytes (), sli_os_page_bytes ());
  errno = error; /* the slab goes without */
  if (reserve != NULL)
    __atomic_fetch_add (&guards.n, 1u, __ATOMIC_RELAXED);
  return reserve;
}

void
sli_slab_guard_end_reserve (void *reserve)
{
  sli_os_unmap (reserve, sli_page_granule_bytes ());
  __atomic_fetch_sub (&guards.n, 1u, __ATOMIC_RELAXED);
}

void
sli_slab_guard_set (char *run, const SizeClass *sizeclass, void *reserve)
{
  Guard *guard = guard_of (run, sizeclass->n_granules);

  guard->reserve = reserve;
  guard->n_granules = sizeclass->n_granules;
  /* Counted even if it fails, since the slab has is_guarded all the same. */
  (void) sli_os_protect (run + sizeclass->slab_bytes,
                         sli_page_granule_bytes (), true);
}

/* --- ending --------------------------------------------------------------- */

static bool
guard_remove (Guard *guard)
{
  char *granule = sli_page_run_of_record (guard);

  if (guard->reserve != NULL)
    sli_os_unmap (guard->reserve, sli_page_granule_bytes ());
  guard->reserve = NULL;
  if (!sli_os_protect (granule, sli_page_granule_bytes (), false))
    return false;
  __atomic_fetch_sub (&guards.n, 1u, __ATOMIC_RELAXED);
  return true;
}

/* Adds a list, up to `last', to the guards that are kept. */
COLD static void
guards_keep (Guard *first, Guard *last)
{
  last->next = LOAD (&guards.kept);
  while (!__atomic_compare_exchange_n (&guards.kept, &last->next, first, true,
                                       __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    continue;
}

/* The record may be the first of another run.  A run without slabs has zeros
 * where a slab's class would be. */
static void
guard_forget (Guard *guard)
{
  memset (guard, 0, sizeof *guard);
}

bool
sli_slab_guard_end (char *run, const SizeClass *sizeclass,
                    uint64_t since_msec)
{
  Guard *guard = guard_of (run, sizeclass->n_granules);

  assert_here (guard->n_granules == sizeclass->n_granules);
  if (guard_remove (guard))
    {
      guard_forget (guard);
      return true;
    }
  guard->since_msec = since_msec;
  guards_keep (guard, guard);
  return false;
}

/* Stops at the first that fails: the others would, too. */
COLD static void
guards_retry (void)
{
  Guard *guard = __atomic_exchange_n (&guards.kept, NULL, __ATOMIC_ACQUIRE);
  Guard *last;

  while (guard != NULL && guard_remove (guard))
    {
      char *granule = sli_page_run_of_record (guard);
      Guard ended = *guard;

      guard_forget (guard);
      sli_page_free_run (granule
                             - ended.n_granules * sli_page_granule_bytes (),
                         ended.n_granules + 1, ended.since_msec);
      guard = ended.next;
    }
  if (guard == NULL)
    return;
  for (last = guard; last->next != NULL;)
    last = last->next;
  guards_keep (guard, last);
}

COMMON_TEXT void
sli_slab_guard_retry (void)
{
  if (UNLIKELY (LOAD (&guards.kept) != NULL))
    guards_retry ();
}
