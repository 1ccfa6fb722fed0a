/* ralloc-free-survive.c - nodes that survive the free of their tree
 *
 * Layer: context.  No locks, no memory, no recursion.
 *
 * A node of a tree that is freed survives if its refusing destructor refuses,
 * or if a context that survives holds a reference to it.  Whether a holder
 * survives is not known at that time: it may itself be in the dying tree and
 * move out later, because it is held or refuses.
 *
 * So before such a node goes, a search follows the references back from it
 * (ralloc-free-search.c).  Holders that survive move first, from the far end
 * of the path to the node; nodes on the way that may refuse are asked.
 * Design: section 7.7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "ralloc-free.h"
#include "context/owned.h"
#include "context/ralloc/steal.h"

typedef enum
{
  FATE_GOES,
  FATE_MOVED,
  FATE_ASKED /* user code has run, or nodes have moved: check again */
} Fate;

/* Moves a doomed node out of its tree.  In ralloc_free_children() it may get
 * among the nodes that the walk frees, but is not one of them. */
static void
node_move_out (Search *search, void *to, Extension *extension,
               const char *operation)
{
  Walk *walk = search->walk;

  if (walk != NULL && walk->stayed == extension->owner)
    {
      walk->stayed = NULL;
      walk->is_changed = true;
    }
  /* If user code of this walk or another has run, the node may be above the
   * walk's top, so that the dying tree moves with it. */
  if (walk != NULL && (walk->has_waited || context_has_suspended ()))
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
  sli_search_note_moved (search, extension);
}

/* Moves the nodes of a path to holders that survive.  The far end moves first,
 * which saves the holder of the node before it, and so on.  Uses up the
 * references.  Another walk may take a node meanwhile.  False: search again for
 * a holder of the node at the near end. */
static bool
path_move (Search *search, const char *operation)
{
  Extension *at = search->at;
  void *reference = search->saving;

  /* Nodes that the search met on ways up to these nodes do not go. */
  search_drop (search);
  for (;;)
    {
      void *from = at != search->start ? at->search.reference : NULL;
      void *owner = node_parent (node_of (reference));

      if (node_of (search->start->owner)->pprev == NODE_DYING)
        return true;
      if (node_of (at->owner)->pprev == NODE_DYING)
        return false;
      ralloc_free (reference);
      if (node_of (at->owner)->pprev == NODE_DYING)
        return at == search->start;
      node_move_out (search, owner, at, operation);
      if (from == NULL)
        return true;
      reference = from;
      at = node_extension (node_of (sli_reference_target (reference)));
    }
}

/* --- asking -------------------------------------------------------------- */

/* Calls a refusing destructor, with `walk' suspended at its node `at' unless
 * it is NULL.  The record stays valid, since a free of the node while it is
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
  /* While it was asked, the node counted as one that stays. */
  if (walk != NULL && context_has_suspended ())
    sli_free_look_outside (walk);
  return refused;
}

/* Handles a node on a way up that has refused.  A node that would be freed
 * with its siblings stays in its place. */
static void
refuser_move (Search *search, Extension *refuser, const char *operation)
{
  void *fallback = sli_search_fallback (search, refuser->owner);

  search_drop (search);
  if (fallback == NULL || node_parent (node_of (refuser->owner)) != fallback)
    node_move_out (search, fallback, refuser, operation);
  refuser->stays = sli_free_keeps (search->walk, fallback);
}

/* Asks the topmost node on a way up. */
static COLD void
refuser_ask (Search *search, Walk *asker, void *at, const char *operation)
{
  Extension *refuser = search->refuser;
  bool refused;

  search->refuser = refuser->search.next;
  if (refuser->refuses == NULL)
    return; /* user code has cleared it */
  refused = node_refuses (asker, at, refuser);
  if ((search->known == 0 || search->serial == 0)
      && !sli_search_is_doomed (search, refuser->owner))
    return; /* its destructor has moved it out */
  if (refused)
    refuser_move (search, refuser, operation);
  else
    refuser->refuses = NULL; /* called once */
}

/* Finds out whether holders save a node.  `asker' is suspended at its node
 * `at' while a node is asked. */
static Fate
holders_decide (Search *search, Walk *asker, void *at, Extension *start,
                const char *operation)
{
  SearchEnd end = SEARCH_OVER;

  if (sli_search_begin (search, start))
    end = sli_search_run (search);
  if (end == SEARCH_OVER)
    return FATE_GOES;
  if (end == SEARCH_HOLDER)
    return path_move (search, operation) ? FATE_MOVED : FATE_ASKED;
  start->asked = true; /* a free of it does nothing meanwhile */
  refuser_ask (search, asker, at, operation);
  start->asked = false;
  if (search->walk != NULL && context_has_suspended ())
    sli_free_look_outside (search->walk);
  return FATE_ASKED;
}

/* --- a child of a walk's node, and the top of a tree --------------------- */

/* True: the caller reads the list again, since the child, or others, may have
 * moved away or stay. */
CONTEXT_TEXT COLD bool
sli_free_child_survives (Walk *walk, void *at, void *child)
{
  Node *node = node_of (child);
  Extension *extension = node->child;
  bool refused = true;

  walk->search.walk = walk;
  /* If a refusing destructor frees the parent of its node, it is not called
   * again, and the node moves as if it had refused. */
  if (!extension->asked)
    {
      if (extension->references != NULL
          && holders_decide (&walk->search, walk, at, extension,
                             walk->operation)
                 != FATE_GOES)
        return true;
      if (extension->refuses == NULL)
        {
          sli_search_settle (&walk->search);
          return false;
        }
      refused = node_refuses (walk, at, extension);
      child = extension->owner; /* it may have been resized */
      node = node_of (child);
      if (node->pprev == &node->next || node_parent (node) != walk->at)
        return true; /* its destructor has moved the node away */
      if (!refused)
        extension->refuses = NULL; /* called once */
    }
  if (!refused)
    return true;
  /* Nodes below it do not go.  (None of them is known to go, since those
   * searches have asked it.) */
  search_drop (&walk->search);
  walk->search.start = extension;
  if (walk->keep != NULL && node_parent (node) == walk->keep)
    extension->stays = true;
  else
    node_move_out (&walk->search, walk->fallback_parent, extension,
                   walk->operation);
  return true;
}

/* *ptr may move meanwhile. */
static COLD NOINLINE bool
top_survives (void **ptr, Extension *extension, const char *operation)
{
  Walk asker; /* it frees nothing; user code reports changes to it */
  void *parent;
  bool refused;
  Fate fate;

  walk_begin (&asker, NULL, NULL, NULL, operation);
  asker.search.walk = NULL;
  for (;;)
    {
      do
        fate = extension->references != NULL
                   ? holders_decide (&asker.search, &asker, NULL, extension,
                                     operation)
                   : FATE_GOES;
      while (fate == FATE_ASKED);
      if (fate == FATE_MOVED)
        return true;
      *ptr = extension->owner;
      if (extension->refuses == NULL)
        return false;
      parent = node_parent (node_of (*ptr));
      search_forget (&asker.search);
      refused = node_refuses (NULL, NULL, extension);
      *ptr = extension->owner;
      /* If the destructor has moved its node away, the node survives as
       * well. */
      if (refused || node_parent (node_of (*ptr)) != parent)
        return true;
      extension->refuses = NULL;
    }
}

CONTEXT_TEXT COLD bool
sli_free_top_survives (void **ptr, const char *operation)
{
  Extension *extension = node_of (*ptr)->child;

  if (extension->asked)
    return true;
  return (extension->references != NULL || extension->refuses != NULL)
         && top_survives (ptr, extension, operation);
}

/* --- nodes of the library ------------------------------------------------- */

static size_t
n_references (const void *payload)
{
  const Extension *extension = node_extension (node_of (payload));
  size_t n = 0;

  for (const void *at = sli_reference_first (extension); at != NULL;
       at = sli_reference_next (at))
    n++;
  return n;
}

void *
sli_context_end (void *payload, const char *operation)
{
  size_t n = n_references (payload);
  void *parent = node_parent (node_of (payload));

  /* A holder that keeps a node uses up its reference. */
  if (sli_free_any (payload, operation) || n_references (payload) >= n
      || node_parent (node_of (payload)) == parent)
    return NULL;
  return node_parent (node_of (payload));
}
