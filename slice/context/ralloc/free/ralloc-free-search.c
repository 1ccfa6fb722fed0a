/* ralloc-free-search.c - finds the holders of a dying node that survive
 *
 * Layer: context.  No locks, no recursion; it works without memory.
 *
 * The nodes that a walk frees, except those that move out, are its dying set.
 * A search starts at a node of the set and follows references back, breadth
 * first.  It examines the contexts that hold a node, the oldest reference
 * first, and the way from each up to the top of the dying part of the tree:
 *
 *   - no dying node is above it, nor a child of a node whose children are all
 *     being freed: this holder survives, and the node moves to it;
 *   - a node on the way may refuse: it is asked, the topmost first;
 *   - a node on the way has references: the search goes on from it.
 *
 * The node that moves is the topmost on the way up that has a holder outside.
 * The nodes below it stay there, and are not asked.
 *
 *   dying ( user ( ... holder ) , node )      holder --reference--> node
 *           ^ kept from outside
 *
 * The records of nodes keep the results, as numbers that each walk and each
 * search takes from one counter, in steps of four:
 *
 *   known        the node goes: a search is over and has found no holder
 *   known + 1    the node has moved out
 *   serial       the search under way has met the node, and its way up
 *   serial + 1   the node goes by itself or below one that does; the search
 *                has not met it
 *   serial + 2   the same of a node that is to be asked
 *
 * So a search meets each node of the set once, and a way up ends at the first
 * number.  On a long way up past nodes without a record some nodes get one
 * (every 16th, or every 64th outside of the set).  Otherwise each reference
 * would follow the same way again; without memory it does.  A destructor may
 * change the results: see sli_context_walks_touched().  A search waits while a
 * node is asked.  Then it goes on, unless a record that it has met was freed or
 * met by another search.
 * Design: section 7.7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "ralloc-free.h"

enum
{
  NUMBERS = 4,  /* of a walk or a search */
  BELOW_DOOMED = 1,
  TO_ASK = 2,
  FAR_STEPS = 16, /* a way up of this length is worth a note */
  FAR_STEPS_OUT = 64
};

static uintptr_t n_numbers; /* given to any thread */

static inline uintptr_t
number_take (void)
{
  return __atomic_add_fetch (&n_numbers, NUMBERS, __ATOMIC_RELAXED);
}

/* --- which nodes survive ------------------------------------------------- */

/* ralloc_free_children() frees all children of a node as one set, but children
 * that the walk has not visited are not dying.  Returns true if a node is one
 * of these children.  Not while it is asked, since it may stay. */
static inline bool
is_child_of_keep (const Walk *walk, const Node *node)
{
  const Extension *extension;

  if (LIKELY (!sli_free_keeps (walk, node_parent (node))))
    return false;
  extension = node_extension (node);
  return extension == NULL || (!extension->stays && !extension->asked);
}

/* Returns true if a node goes by itself: as the target, which is about to be
 * freed, as the top of a dying part of the tree, or with its siblings. */
static inline bool
goes (const Search *search, const void *at)
{
  const Node *node = node_of (at);

  return at == search->start->owner || node->pprev == NODE_DYING
         || is_child_of_keep (search->walk, node);
}

typedef enum
{
  LIVENESS_UNKNOWN,
  LIVENESS_DOOMED,
  LIVENESS_BELOW_ASKED, /* survives, and is not outside for all targets */
  LIVENESS_OUTSIDE      /* of the dying set, for all targets */
} Liveness;

/* The liveness of a node by its record. */
static inline Liveness
liveness_known (const Search *search, const Extension *extension)
{
  uintptr_t number = extension != NULL ? extension->search_serial : 0;

  if (number == 0)
    return LIVENESS_UNKNOWN;
  if (search_has (search, extension) || number == search->known)
    return LIVENESS_DOOMED;
  return number == search->known + 1 ? LIVENESS_OUTSIDE : LIVENESS_UNKNOWN;
}

/* A node that is being asked moves out if its parent goes.  So nodes below it
 * survive as holders of a target that is not above it. */
static bool
asked_saves (const Search *search, const void *asked, const Extension *target)
{
  return !sli_context_is_ancestor (search->start->owner, asked)
         && !sli_context_is_ancestor (target->owner, asked);
}

/* Marks a node that a search meets.  A waiting search may have met it, too. */
static inline void
search_meet (const Search *search, Extension *extension, uintptr_t number)
{
  if (context_has_suspended () && extension->search_serial != 0)
    sli_context_searches_leave (extension);
  extension->search_serial = search->serial + number;
}

/* Notes on a long way up that it leads to a node that goes, n_steps above
 * `at'.  The nodes between are on lists, so they can get records. */
static COLD void
way_doomed_note (const Search *search, const void *at, size_t n_steps)
{
  Extension *extension;

  for (size_t i = 1; i < n_steps; i++)
    {
      at = node_parent (node_of (at));
      if (i % FAR_STEPS != 0)
        continue;
      extension = sli_context_extend ((void *) (uintptr_t) at);
      if (extension == NULL)
        return;
      search_meet (search, extension, BELOW_DOOMED);
    }
}

/* Notes on a long way up that it leads out of the set.  These nodes live on,
 * and a record slows the allocations below its node down, so few get one.  The
 * node whose children the walk frees gets none: the walk holds its list. */
static void
way_out_note (const Search *search, const void *at, size_t n_steps)
{
  const void *keep = search->walk != NULL ? search->walk->keep : NULL;
  Extension *extension;

  for (size_t i = 1; i <= n_steps; i++, at = node_parent (node_of (at)))
    {
      extension = node_extension (node_of (at));
      if (extension == NULL && i % FAR_STEPS_OUT == 0 && at != keep)
        extension = sli_context_extend ((void *) (uintptr_t) at);
      if (extension != NULL)
        extension->search_serial = search->known + 1;
    }
}

/* Finds the liveness of a node, and how far above it the node is that decides
 * it.  All descendants of a node that goes also go.  `target' is the node that
 * would move below `from'. */
static Liveness
liveness_above (const Search *search, const void *from,
                const Extension *target, size_t *n_steps)
{
  const void *at;

  *n_steps = 0;
  for (at = from; at != NULL; at = node_parent (node_of (at)), ++*n_steps)
    {
      const Extension *extension = node_extension (node_of (at));
      Liveness liveness;

      if (goes (search, at))
        return LIVENESS_DOOMED;
      if (extension == NULL)
        continue;
      if (extension->asked)
        {
          *n_steps = 0; /* this is not so for every target */
          return asked_saves (search, at, target) ? LIVENESS_BELOW_ASKED
                                                  : LIVENESS_DOOMED;
        }
      liveness = liveness_known (search, extension);
      if (liveness != LIVENESS_UNKNOWN)
        return liveness;
    }
  return LIVENESS_OUTSIDE;
}

/* The same, with notes on a long way up. */
static Liveness
liveness_find (const Search *search, const void *from, const Extension *target)
{
  size_t n_steps;
  Liveness liveness = liveness_above (search, from, target, &n_steps);

  if (LIKELY (n_steps <= FAR_STEPS))
    return liveness;
  if (liveness == LIVENESS_OUTSIDE)
    way_out_note (search, from, n_steps);
  else if (search->serial != 0)
    way_doomed_note (search, from, n_steps);
  return liveness;
}

CONTEXT_TEXT bool
sli_search_is_doomed (const Search *search, const void *at)
{
  for (; at != NULL; at = node_parent (node_of (at)))
    if (goes (search, at))
      return true;
  return false;
}

CONTEXT_TEXT void *
sli_search_fallback (const Search *search, const void *at)
{
  bool above = false;

  for (; at != NULL; at = node_parent (node_of (at)))
    {
      bool at_goes = goes (search, at);

      if (above && !at_goes)
        break;
      above |= at_goes;
    }
  return (void *) (uintptr_t) at;
}

/* The oldest reference to a node that survives with its holder, or NULL.  (A
 * node that frees its children also gives up the references that it holds.) */
static void *
saving_reference (const Search *search, const Extension *extension)
{
  void *reference = sli_reference_first (extension);

  while (reference != NULL
         && liveness_find (search, reference, extension) == LIVENESS_DOOMED)
    reference = sli_reference_next (reference);
  return reference;
}

CONTEXT_TEXT void
sli_search_note_moved (Search *search, Extension *extension)
{
  void *parent = node_parent (node_of (extension->owner));

  if (search->known != 0
      && liveness_find (search, parent, extension) == LIVENESS_OUTSIDE)
    extension->search_serial = search->known + 1;
}

/* --- the way up ---------------------------------------------------------- */

static void
queue_add (Search *search, Extension *extension)
{
  search_meet (search, extension, 0);
  extension->search.next = NULL;
  extension->search.reference = search->reference;
  if (search->last != NULL)
    search->last->search.next = extension;
  else
    search->first = extension;
  search->last = extension;
}

/* Returns true if the search under way, or one that is over, has met a node
 * and its way up. */
static inline bool
is_met (const Search *search, const Extension *extension)
{
  uintptr_t number = extension->search_serial;

  return liveness_known (search, extension) == LIVENESS_DOOMED
         && number != search->serial + BELOW_DOOMED
         && number != search->serial + TO_ASK;
}

/* The next record on the way up from *at; sets *at above it.  The way ends at
 * the target, at the first node that goes by itself, and at a node that was
 * met before.  So it meets no root, whose record has no fields for a queue. */
static Extension *
way_up_next (const Search *search, void **at)
{
  while (*at != NULL && *at != search->start->owner)
    {
      Node *node = node_of (*at);
      Extension *extension = node_extension (node);

      if (node->pprev == NODE_DYING)
        return NULL;
      *at = is_child_of_keep (search->walk, node) ? NULL : node_parent (node);
      if (extension == NULL || extension->kind == EXT_REFERENCE)
        continue;
      return is_met (search, extension) ? NULL : extension;
    }
  return NULL;
}

/* Drops the refusers below a node that is being asked, or is held by one that
 * survives: these nodes survive by themselves. */
static void
refusers_drop (Search *search)
{
  for (; search->refuser != NULL;
       search->refuser = search->refuser->search.next)
    search->refuser->search_serial = 0;
}

/* Finds the nodes above the next reference that may refuse, topmost first.
 * Returns the topmost node there that has a holder that survives, or NULL. */
static Extension *
refusers_find (Search *search)
{
  void *at = search->reference;
  Extension *held = NULL;
  Extension *extension;
  void *saving;

  search->way = at;
  while ((extension = way_up_next (search, &at)) != NULL)
    if (extension->asked)
      {
        refusers_drop (search);
        search->way = at;
        held = NULL;
      }
    else if ((saving = saving_reference (search, extension)) != NULL)
      {
        refusers_drop (search);
        search->way = extension->owner;
        search->saving = saving;
        held = extension;
      }
    else if (extension->refuses != NULL)
      {
        search_meet (search, extension, TO_ASK);
        extension->search.next = search->refuser;
        search->refuser = extension;
      }
  if (search->refuser != NULL)
    search_meet (search, node_extension (node_of (search->reference)), TO_ASK);
  return held;
}

/* The reference counts as met, too: if it is freed, the search is over. */
static void
way_up_add (Search *search)
{
  void *at = search->way;
  Extension *extension;

  while ((extension = way_up_next (search, &at)) != NULL)
    queue_add (search, extension);
  search_meet (search, node_extension (node_of (search->reference)), 0);
}

/* --- the search ---------------------------------------------------------- */

CONTEXT_TEXT bool
sli_search_begin (Search *search, Extension *start)
{
  if (search->known == 0)
    {
      search->known = number_take ();
      search->serial = 0;
    }
  if (search->serial != 0 && search->start == start)
    return true;
  search->start = start;
  if (start->search_serial == search->known)
    return false;
  search->serial = number_take ();
  search->first = search->last = NULL;
  search->at = start;
  search->reference = NULL;
  search->refuser = NULL;
  search_meet (search, start, 0);
  return true;
}

/* Examines the references of search->at. */
static SearchEnd
node_examine (Search *search)
{
  if (search->reference == NULL)
    search->reference = sli_reference_first (search->at);
  while (search->reference != NULL)
    {
      Extension *held = refusers_find (search);

      if (search->refuser != NULL)
        return SEARCH_REFUSER;
      way_up_add (search);
      if (held != NULL)
        {
          search->at = held;
          return SEARCH_HOLDER;
        }
      search->reference = sli_reference_next (search->reference);
    }
  return SEARCH_OVER;
}

CONTEXT_TEXT SearchEnd
sli_search_run (Search *search)
{
  if (search->refuser != NULL)
    return SEARCH_REFUSER;
  if (search->at == search->start && search->reference == NULL
      && (search->saving = saving_reference (search, search->at)) != NULL)
    return SEARCH_HOLDER;
  while (search->at != NULL)
    {
      SearchEnd end = node_examine (search);

      if (end != SEARCH_OVER)
        return end;
      search->at = search->at == search->start ? search->first
                                               : search->at->search.next;
    }
  return SEARCH_OVER;
}

CONTEXT_TEXT void
sli_search_settle (Search *search)
{
  Extension *extension;

  if (search->known == 0 || search->serial == 0)
    return;
  search->start->search_serial = search->known;
  for (extension = search->first; extension != NULL;
       extension = extension->search.next)
    extension->search_serial = search->known;
  search_drop (search);
}
