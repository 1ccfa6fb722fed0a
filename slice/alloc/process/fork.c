/* fork.c - forked children that can allocate, and free their parent's blocks
 *
 * Layer: alloc.  Takes all locks from the top down, classes in order and the
 * shards of each, and releases them upwards; the child initialises them.
 * Before the first call there are no classes, and the first lock keeps that
 * call out.  Between the handlers the forking thread passes through every lock
 * (lock.h), so that other libraries' handlers may use slices in whatever order
 * they run, and may fork.  A fork within a fork takes no locks.  Its child is
 * one thread that holds all locks and continues the outer fork; its locks are
 * initialised when that ends, in the parent or in the child.
 * Design: chapter 9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "alloc/alloc.h"
#include "checking/registry/block-registry.h"
#include "depot/depot.h"
#include "magazine/magazine.h"
#include "page/meta.h"
#include "page/page.h"
#include "alloc/dispatch.h"
#include "slab/slab.h"
#include "base/check.h"
#include "base/option.h"
#include "port/thread/lock.h"
#include "port/thread/shard.h"

#include <pthread.h>

/* State of the thread that holds all locks. */
static struct
{
  unsigned depth; /* forks within its fork */
  bool is_child;  /* it is the child of one of these */
} nested;

/* The operation of a handler on a lock. */
typedef void (*LockAct) (Lock *lock);

/* The locks of a layer above, which are taken first. */
static ForkLocks upper_locks; /* NULL: there is none */
static ForkLocks upper_held;  /* by the thread that forks */

HEAP_TEXT void
sli_fork_add_locks (ForkLocks each)
{
  STORE_RELEASE (&upper_locks, each);
}

COMMON_TEXT static void
fork_low_locks (LockAct act)
{
  act (sli_page_lock ());
  act (sli_meta_lock ());
  act (sli_option_lock ());
  act (sli_block_registry_lock ());
  act (sli_oom_lock ());
}

static void
fork_depot_locks (unsigned class_index, LockAct act)
{
  assert_here (class_index > 0 && class_index < N_CLASSES);
  for (unsigned shard = 0; shard < SHARDS; shard++)
    {
      Lock *lock = sli_depot_lock (class_index, shard);

      if (lock != NULL)
        act (lock);
    }
}

/* The locks under which stacks and classes are made are taken first and
 * released last, so that those that were taken are those that are released. */
static void
fork_class_locks (LockAct act)
{
  bool is_first = act == sli_lock_for_fork;

  if (is_first)
    act (sli_depot_make_lock ());
  for (unsigned i = 1; i < N_CLASSES; i++)
    fork_depot_locks (i, act);
  if (is_first)
    act (sli_slab_make_lock ());
  for (unsigned i = 1; i < N_CLASSES; i++)
    if (sli_slab_lock (i) != NULL)
      act (sli_slab_lock (i));
  if (!is_first)
    {
      act (sli_slab_make_lock ());
      act (sli_depot_make_lock ());
    }
}

/* If every block is a malloc, these locks protect nothing, so the child just
 * initialises them.  (Race detectors allow 64 locks a thread.) */
static bool
classes_matter (void)
{
  return sli_alloc_path () != PATH_MALLOC;
}

/* Takes the locks of the layers that the first call has initialised. */
COMMON_TEXT static void
fork_hold_made (void)
{
  sli_magazine_fork_prepare ();
  if (classes_matter ())
    fork_class_locks (sli_lock_for_fork);
}

/* The program's first call waits for the fork, or the fork for it.  Options
 * and handlers, which need no first call, are under the low locks. */
COMMON_TEXT static void
fork_prepare (void)
{
  ForkLocks upper = LOAD_ACQUIRE (&upper_locks);

  if (sli_lock_forking_here ())
    {
      nested.depth++;
      return;
    }
  assert_here (sli_lock_none_held ());
  if (upper != NULL)
    upper (sli_lock_for_fork);
  sli_lock_for_fork (sli_dispatch_lock ());
  upper_held = upper;
  if (sli_alloc_is_ready ())
    fork_hold_made ();
  fork_low_locks (sli_lock_for_fork);
  sli_lock_fork_begin ();
}

/* Another library's handler, between ours, makes the first call: takes the
 * locks before other threads may see that the layers are ready. */
COMMON_TEXT void
sli_fork_hold_new_locks (void)
{
  if (sli_lock_forking_here ())
    fork_hold_made ();
}

/* Returns true if a handler ends a fork within a fork.  is_child: in its
 * child. */
static bool
ends_nested (bool is_child)
{
  if (nested.depth == 0)
    return false;
  nested.depth--;
  nested.is_child |= is_child;
  return true;
}

static void
lock_make_anew (Lock *lock)
{
  sli_lock_init (lock, lock->rank);
}

/* Ends the fork in a process that has one thread now. */
static void
fork_end_alone (void)
{
  bool is_ready = sli_alloc_is_ready ();

  assert_here (sli_lock_forking_here () && nested.depth == 0);
  nested.is_child = false;
  if (is_ready)
    {
      sli_magazine_fork_child ();
      fork_class_locks (classes_matter () ? sli_lock_renew : lock_make_anew);
    }
  fork_low_locks (sli_lock_renew);
  if (is_ready)
    sli_page_fork_child ();
  sli_block_registry_fork_child ();
  sli_lock_renew (sli_dispatch_lock ());
  if (upper_held != NULL)
    upper_held (sli_lock_renew);
  sli_lock_fork_end ();
  if (is_ready && sli_option_is_on (SLICE_OPTION_TRIM_THREAD))
    sli_trim_thread_start ();
}

COMMON_TEXT static void
fork_parent (void)
{
  ForkLocks upper = upper_held;

  if (!sli_lock_forking_here () || ends_nested (false))
    return;
  if (nested.is_child)
    {
      fork_end_alone ();
      return;
    }
  assert_here (nested.depth == 0);
  sli_lock_fork_end ();
  fork_low_locks (sli_unlock_after_fork);
  if (sli_alloc_is_ready ())
    {
      if (classes_matter ())
        fork_class_locks (sli_unlock_after_fork);
      sli_magazine_fork_parent ();
    }
  sli_unlock_after_fork (sli_dispatch_lock ());
  if (upper != NULL)
    upper (sli_unlock_after_fork);
}

static void
fork_child (void)
{
  if (sli_lock_forking_here () && !ends_nested (true))
    fork_end_alone ();
}

COMMON_TEXT void
sli_fork_load (void)
{
  static bool registered;

  if (!registered)
    registered = pthread_atfork (fork_prepare, fork_parent, fork_child) == 0;
}
