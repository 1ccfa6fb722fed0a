/* ralloc-free-survive.c - nodes that outlive the tree that they are in
 *
 * Layer: context.  No locks, no memory, no recursion.
 *
 * A node of a tree that is freed survives if its refusing destructor refuses,
 * or if a context that survives holds a reference to it.  The second asks
 * about the future: the holder may itself lie in the dying tree and move out
 * of it later, because something holds it or because it refuses.
 *
 * So before such a node goes, a search starts from it, breadth first.  It
 * looks at the contexts that hold a node, the oldest reference first, and on
 * the way from each up to the dying part of the tree:
 *
 *   - no dying node above, nor a child of a node whose children are all being
 *     freed: this holder survives, and the node moves to it;
 *   - a node on the way may refuse: it is asked, the topmost first;
 *   - a node on the way has references: the search goes on from it.
 *
 *   dying ( user ( ... holder ) , node )      holder --reference--> node
 *           ^ kept from outside
 *
 * Holders move first, from the far end of the path to the node.  A search
 * that finds nothing leaves its serial number at each node that it met.  None
 * of these survives until user code has run or a tree has changed hands, so
 * later searches pass them over, and a tree with many references inside costs
 * one look at each.
 * Design: section 7.7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "ralloc-free.h"

/* The number of the last search; each takes its own.  Of any thread. */
static uintptr_t n_searches;

typedef struct
{
  void *target;       /* the node whose fate is asked */
  const Walk *walk;   /* the walk that asks, or NULL */
  uintptr_t serial;   /* what the nodes that were met have */
  Extension *first;   /* the queue: nodes whose references are next */
  Extension *last;
  Extension *refuser; /* a node that may refuse, found on a way up */
} Search;

typedef enum
{
  FATE_GOES,
  FATE_MOVED,
  FATE_ASKED /* user code has run: all may have changed */
} Fate;

/* --- where nodes lie ----------------------------------------------------- */

/* ralloc_free_children() frees all children of a node as one set, of which
 * those that were not reached yet are not dying.  Is a node one of these?  Not
 * while it is asked: it may stay. */
static inline bool
is_child_of_keep (const Walk *walk, const Node *node)
{
  const Extension *extension;

  if (LIKELY (!sli_free_keeps (walk, node_parent (node))))
    return false;
  extension = node_extension (node);
  return extension == NULL || (!extension->stays && !extension->asked);
}

/* Does a node go by itself: as the target, which is about to be freed, as the
 * top of a dying part of the tree, or with its siblings? */
static inline bool
goes (const Walk *walk, const void *at, const void *target)
{
  const Node *node = node_of (at);

  return at == target || node->pprev == NODE_DYING
         || is_child_of_keep (walk, node);
}

/* Every descendant of a node that goes does so, too. */
static bool
is_doomed (const Walk *walk, const void *at, const void *target)
{
  for (; at != NULL; at = node_parent (node_of (at)))
    if (goes (walk, at, target))
      return true;
  return false;
}

/* Where a doomed node moves if it refuses: the first node above the doomed
 * part of its tree.  NULL: it becomes a root. */
static void *
fallback_of (const Walk *walk, const void *at, const void *target)
{
  bool above = false;

  for (; at != NULL; at = node_parent (node_of (at)))
    {
      bool at_goes = goes (walk, at, target);
      if (above && !at_goes)
        break;
      above |= at_goes;
    }
  return (void *) (uintptr_t) at;
}

/* A doomed node moves out of its tree.  In ralloc_free_children() it may come
 * to lie among the nodes that the walk frees, and is not one of these. */
static void
node_move_out (Walk *walk, void *to, Extension *extension,
               const char *operation)
{
  if (walk != NULL && walk->stayed == extension->owner)
    {
      walk->stayed = NULL;
      walk->is_changed = true;
    }
  /* It may lie above the walk's own top, and so take the dying tree along. */
  if (walk != NULL && context_has_suspended ())
    sli_free_move_outside (walk, to, extension, operation);
  else
    {
      sli_context_steal (to, node_of (extension->owner), extension->owner,
                         operation);
      if (context_has_suspended ())
        sli_context_walks_stolen ();
    }
  if (walk != NULL && walk->keep != NULL && to == walk->keep)
    extension->stays = true;
}

/* --- the search ---------------------------------------------------------- */

/* The oldest reference to a node that survives with its holder.  (A node that
 * frees its children gives up the references that it holds itself.) */
static void *
saving_reference (const Search *search, const Extension *extension)
{
  void *reference = sli_reference_first (extension);

  while (reference != NULL
         && is_doomed (search->walk, reference, search->target))
    reference = sli_reference_next (reference);
  return reference;
}

static void
search_add (Search *search, Extension *extension, Extension *from)
{
  extension->search_serial = search->serial;
  extension->search.next = NULL;
  extension->search.from = from;
  if (search->last != NULL)
    search->last->search.next = extension;
  else
    search->first = extension;
  search->last = extension;
}

/* Looks at what may save a doomed reference, up to the target or to the first
 * node that goes by itself: so no root is met, whose record has no serial. */
static void
way_up_examine (Search *search, Extension *from, void *at)
{
  bool is_last = false;
  Node *node;

  for (; !is_last && at != search->target; at = node_parent (node))
    {
      Extension *extension;
      node = node_of (at);
      if (node->pprev == NODE_DYING)
        return;
      is_last = is_child_of_keep (search->walk, node);
      extension = node_extension (node);
      if (extension == NULL)
        continue;
      if (extension->search_serial == search->serial)
        return;
      if (extension->refuses != NULL && !extension->asked)
        search->refuser = extension;
      if (extension->references != NULL)
        search_add (search, extension, from);
    }
}

/* The nearest node, by references, that has a holder which survives.  NULL:
 * there is none, or search->refuser is to be asked first. */
static Extension *
search_run (Search *search, Extension *start)
{
  Extension *at = start;
  void *reference;

  while (at != NULL)
    {
      if (saving_reference (search, at) != NULL)
        return at;
      for (reference = sli_reference_first (at); reference != NULL;
           reference = sli_reference_next (reference))
        {
          way_up_examine (search, at, reference);
          if (search->refuser != NULL)
            return NULL;
        }
      at = at == start ? search->first : at->search.next;
    }
  return NULL;
}

/* Moves the nodes of a path to holders that survive: the far end first, which
 * saves the holder of the one before.  The references are used up. */
static void
path_move (const Search *search, Walk *walk, Extension *at, Extension *start,
           const char *operation)
{
  Extension *from;

  for (;; at = from)
    {
      void *reference = saving_reference (search, at);
      void *owner = node_parent (node_of (reference));
      from = at != start ? at->search.from : NULL;
      ralloc_free (reference);
      node_move_out (walk, owner, at, operation);
      if (at == start)
        return;
    }
}

/* --- asking -------------------------------------------------------------- */

/* Calls a refusing destructor.  `walk' is suspended at its node `at' for that,
 * unless it is NULL.  The record stays valid: a free of the node while it is
 * asked does nothing. */
static COLD bool
node_refuses (Walk *walk, void *at, Extension *extension)
{
  bool refused;

  if (walk != NULL)
    sli_free_suspend (walk, at);
  extension->asked = true;
  refused = extension->refuses (extension->owner);
  extension->asked = false;
  if (walk != NULL)
    sli_free_resume (walk);
  /* While it was asked, it counted as one that stays. */
  if (walk != NULL && context_has_suspended ())
    sli_free_look_outside (walk);
  return refused;
}

/* A node on a way up has refused.  What would be freed along with its siblings
 * stays in its place. */
static void
refuser_move (Walk *walk, Extension *refuser, const Extension *start,
              const char *operation)
{
  void *fallback = fallback_of (walk, refuser->owner, start->owner);

  if (fallback == NULL || node_parent (node_of (refuser->owner)) != fallback)
    node_move_out (walk, fallback, refuser, operation);
  refuser->stays = sli_free_keeps (walk, fallback);
}

/* Asks a node on a way up. */
static COLD void
refuser_ask (Walk *walk, void *at, Extension *refuser, const Extension *start,
             const char *operation)
{
  bool refused = node_refuses (walk, at, refuser);

  if (!is_doomed (walk, refuser->owner, start->owner))
    return; /* it stole itself away */
  if (refused)
    refuser_move (walk, refuser, start, operation);
  else
    refuser->refuses = NULL; /* called once */
}

static Fate
holders_decide (Walk *walk, void *at, Extension *start,
                const char *operation)
{
  Search search = { .target = start->owner, .walk = walk };
  Extension *end;

  if (walk != NULL && walk->search_serial != 0)
    {
      search.serial = walk->search_serial;
      if (start->search_serial == search.serial)
        return FATE_GOES;
    }
  else
    search.serial = __atomic_add_fetch (&n_searches, 1, __ATOMIC_RELAXED);
  end = search_run (&search, start);
  if (walk != NULL)
    walk->search_serial = end == NULL ? search.serial : 0;
  if (end != NULL)
    {
      path_move (&search, walk, end, start, operation);
      return FATE_MOVED;
    }
  if (search.refuser == NULL)
    return FATE_GOES;
  start->asked = true; /* a free of it does nothing meanwhile */
  refuser_ask (walk, at, search.refuser, start, operation);
  start->asked = false;
  if (walk != NULL && context_has_suspended ())
    sli_free_look_outside (walk);
  return FATE_ASKED;
}

/* --- a child of a walk's node, and the top of a tree --------------------- */

/* True: read the list again; the child has moved away or stays, or others may
 * have. */
CONTEXT_TEXT COLD bool
sli_free_child_survives (Walk *walk, void *at, void *child)
{
  Node *node = node_of (child);
  Extension *extension = node->child;
  bool refused = true;

  /* A refusing destructor that frees the parent of its node is not called
   * again: the node moves as if it had refused. */
  if (!extension->asked)
    {
      if (extension->references != NULL
          && holders_decide (walk, at, extension, "ralloc_free")
                 != FATE_GOES)
        return true;
      if (extension->refuses == NULL)
        return false;
      refused = node_refuses (walk, at, extension);
      child = extension->owner; /* it may have been resized */
      node = node_of (child);
      if (node->pprev == &node->next || node_parent (node) != walk->at)
        return true; /* it stole its node away */
      if (!refused)
        extension->refuses = NULL; /* called once */
    }
  if (refused && walk->keep != NULL && node_parent (node) == walk->keep)
    extension->stays = true;
  else if (refused)
    node_move_out (walk, walk->fallback_parent, extension, "ralloc_free");
  return true;
}

/* *ptr may move meanwhile. */
CONTEXT_TEXT COLD bool
sli_free_top_survives (void **ptr, const char *operation)
{
  Extension *extension = node_of (*ptr)->child;
  void *parent;
  bool refused;
  Fate fate;

  if (extension->asked)
    return true;
  for (;;)
    {
      do
        fate = extension->references != NULL
                   ? holders_decide (NULL, NULL, extension, operation)
                   : FATE_GOES;
      while (fate == FATE_ASKED);
      if (fate == FATE_MOVED)
        return true;
      *ptr = extension->owner;
      if (extension->refuses == NULL)
        return false;
      parent = node_parent (node_of (*ptr));
      refused = node_refuses (NULL, NULL, extension);
      *ptr = extension->owner;
      /* If the destructor stole its node away, the node survives as well. */
      if (refused || node_parent (node_of (*ptr)) != parent)
        return true;
      extension->refuses = NULL;
    }
}
