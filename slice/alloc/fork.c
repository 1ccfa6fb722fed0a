/* fork.c - a child that can allocate and free all that its parent held
 *
 * Layer: alloc.  Takes all locks from the top down, classes in order, and
 * gives them back upwards; the child makes them anew.  Between the handlers
 * the forking thread passes through every lock (lock.h), so that other
 * libraries' handlers may use slices in whatever order they run.
 * Theory: section 9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "alloc.h"
#include "checking/block-registry.h"
#include "depot/depot.h"
#include "magazine/magazine.h"
#include "page/meta.h"
#include "page/page.h"
#include "dispatch.h"
#include "slab/slab.h"
#include "base/option.h"
#include "port/lock.h"

#include <pthread.h>

/* What is done to a lock on the way. */
typedef void (*LockAct) (Lock *lock);

COMMON_TEXT static void
fork_low_locks (LockAct act)
{
  act (sli_page_lock ());
  act (sli_meta_lock ());
  act (sli_option_lock ());
  act (sli_block_check_lock ());
  act (sli_oom_lock ());
}

static void
fork_class_locks (LockAct act)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    act (sli_depot_lock (i));
  for (unsigned i = 1; i < N_CLASSES; i++)
    act (sli_slab_lock (i));
}

COMMON_TEXT static void
fork_prepare (void)
{
  if (!sli_alloc_is_ready ())
    return;
  sli_magazine_fork_prepare ();
  fork_class_locks (sli_lock_for_fork);
  fork_low_locks (sli_lock_for_fork);
  sli_lock_fork_begin ();
}

COMMON_TEXT static void
fork_parent (void)
{
  if (!sli_lock_forking_here ())
    return;
  sli_lock_fork_end ();
  fork_low_locks (sli_unlock_after_fork);
  fork_class_locks (sli_unlock_after_fork);
  sli_magazine_fork_parent ();
}

static void
fork_child (void)
{
  if (!sli_lock_forking_here ())
    return;
  sli_magazine_fork_child ();
  fork_class_locks (sli_lock_renew);
  fork_low_locks (sli_lock_renew);
  sli_page_fork_child ();
  sli_block_check_fork_child ();
  sli_lock_fork_end ();
  if (sli_option_is_on (SLICE_OPTION_TRIM_THREAD))
    sli_trim_thread_start ();
}

COMMON_TEXT void
sli_fork_load (void)
{
  static bool registered;

  if (!registered)
    registered = pthread_atfork (fork_prepare, fork_parent, fork_child) == 0;
}
