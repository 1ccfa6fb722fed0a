/* node.c - the mode of this process, and checks of pointers
 *
 * Layer: context.  sli_context_check() alone checks all that must be true of a
 * node's address and header.  No locks.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "node-memory.h"
#include "node.h"
#include "context/gc/gc.h"
#include "context/linear/linear.h"
#include "slab/chunk.h"
#include "base/trace.h"
#include "port/annotate.h"
#include "port/os/os.h"

enum
{
  HEADER_PAGE_BYTES = 4096 /* the smallest page size of any system */
};

uint32_t sli_context_mode = MODE_UNDECIDED;
uint32_t sli_context_unusual = MODE_UNDECIDED;

CONTEXT_TEXT static bool
option_is_on (SliceOption option)
{
  int64_t value = 0;

  return slice_get_option (option, &value) && value != 0;
}

/* If a slice is in no slab, slices are mallocs, because of a tool or an
 * option.  Two threads may decide at once; they get the same result. */
CONTEXT_TEXT static COLD bool
mode_decide (void)
{
  uint32_t mode = 0, undecided = MODE_UNDECIDED;
  void *probe = slice_try_alloc (NODE_ALIGN);
  int64_t force_pool = 0;

  if (probe == NULL)
    return false;
  if (!slice_is_ours (probe))
    mode |= MODE_TRAILING_HEADER
            | (sli_untraced_remembers_nodes () ? MODE_REMEMBERED : 0);
  slice_free1 (NODE_ALIGN, probe);
  if (option_is_on (SLICE_OPTION_DEBUG))
    mode |= MODE_DEBUG | MODE_BULK;
  if ((mode & MODE_TRAILING_HEADER) == 0
      && (option_is_on (SLICE_OPTION_DEBUG)
          || option_is_on (SLICE_OPTION_HARDENED)))
    mode |= MODE_SLACK;
  if (option_is_on (SLICE_OPTION_CHECKED)
      || option_is_on (SLICE_OPTION_HARDENED))
    mode |= MODE_BULK;
  /* The tool's zones around a block of the pool take bytes of the chunk,
   * too. */
  if (slice_get_option (SLICE_OPTION_FORCE_POOL, &force_pool)
      && force_pool == 2 && sli_os_memory_tool () != NULL)
    mode |= MODE_BULK;
  if (trace_is_on ())
    mode |= MODE_TRACED;
  sli_annotate_published (&sli_context_mode, sizeof sli_context_mode);
  /* If another thread was first, roots may be tracked by now. */
  if (__atomic_compare_exchange_n (&sli_context_mode, &undecided, mode, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    __atomic_fetch_add (&sli_context_unusual, mode - MODE_UNDECIDED,
                        __ATOMIC_RELAXED);
  return true;
}

CONTEXT_TEXT bool
sli_context_init (void)
{
  return LIKELY ((LOAD_ACQUIRE (&sli_context_mode) & MODE_UNDECIDED) == 0)
         || mode_decide ();
}

void
sli_context_set_modes (uint32_t modes, bool on)
{
  if (on)
    {
      sli_context_mode |= modes;
      __atomic_fetch_or (&sli_context_unusual, modes, __ATOMIC_RELAXED);
    }
  else
    {
      sli_context_mode &= ~modes;
      __atomic_fetch_and (&sli_context_unusual, ~modes, __ATOMIC_RELAXED);
    }
}

/* --- checking a pointer -------------------------------------------------- */

static COLD _Noreturn void
report_node (const void *payload, const char *operation,
             const SliceBlockInfo *info)
{
  const char *start = info->start;

  if (info->kind == SLICE_BLOCK_FREE)
    sli_context_abort (ERROR_NODE_FREED, payload,
                       "a node that was freed before: %s (%p)", operation,
                       payload);
  if (info->kind == SLICE_BLOCK_INTERIOR
      || (info->kind == SLICE_BLOCK_OUT
          && start + sizeof (Node) != (const char *) payload))
    sli_context_abort (ERROR_NODE_INTERIOR, info->start,
                       "a pointer into a node, not to it: %s (%p), the block "
                       "begins at %p and has %zu bytes",
                       operation, payload, info->start, info->bytes);
  sli_context_abort (ERROR_NOT_A_NODE, payload,
                     "a pointer that is no node: %s (%p)", operation,
                     payload);
}

COLD _Noreturn void
sli_context_damaged (const void *payload, const char *operation)
{
  sli_context_abort (ERROR_NODE_DAMAGED, payload,
                     "the links of a node do not fit its neighbours, "
                     "something wrote over them: %s (%p)",
                     operation, payload);
}

/* Returns true if a word can be read.  With guard pages (hardened and debug)
 * not every word of a region can. */
static inline bool
is_readable (const void *word)
{
  return is_in_slabs (word)
         && (LIKELY ((sli_context_mode & MODE_SLACK) == 0)
             || sli_untraced_is_in_slab (word));
}

/* Returns true if a header can be read.  Half of it may be in the page
 * before. */
static inline bool
header_is_readable (const Node *node)
{
  return LIKELY (is_readable (node))
         && (LIKELY (((uintptr_t) node & (HEADER_PAGE_BYTES - 1))
                     <= HEADER_PAGE_BYTES - sizeof (Node))
             || is_readable (&node->pprev));
}

/* Returns true if the word at `place' can be read.  It is in the header of
 * another node, three words before a payload (child) or two (next), or in an
 * extension. */
static inline bool
link_is_readable (void **place, const void *payload)
{
  const char *at = (const char *) place;

  if (UNLIKELY (((uintptr_t) place & (sizeof (void *) - 1)) != 0
                || (uintptr_t) place <= (uintptr_t) NODE_DYING))
    return false;
  return (is_same_window (place, payload)
          && LIKELY ((sli_context_mode & MODE_SLACK) == 0))
         || is_readable (place)
         || sli_map_is_noted (at + 3 * sizeof (void *), NOTE_NODE)
         || sli_map_is_noted (at + 2 * sizeof (void *), NOTE_NODE);
}

static COLD void
abort_if_null (const void *payload, const char *operation)
{
  if (payload == NULL)
    sli_diag_abort (ERROR_NODE_NULL, "NULL where a node must be: %s",
                    operation);
}

/* Returns true if a payload is the start of a block, so that it never was a
 * node's: the words before it are another block's. */
static COLD bool
is_plain_block (const void *payload, const SliceBlockInfo *own)
{
  return own->kind == SLICE_BLOCK_OUT && own->start == payload;
}

/* In debug, where no slab has an address: finds out whether it is that of a
 * large node that was freed, or inside of a live one. */
static COLD void
examine_large (const void *payload, SliceBlockInfo *info)
{
  bool is_freed;

  if (sli_untraced_is_node (payload, &is_freed, &info->start, &info->bytes))
    return;
  info->kind = is_freed              ? SLICE_BLOCK_FREE
               : info->start != NULL ? SLICE_BLOCK_INTERIOR
                                     : SLICE_BLOCK_FOREIGN;
}

/* Finds out what a pointer that failed a test is, and reports that. */
static COLD _Noreturn void
report_examined (const void *payload, const char *operation)
{
  const Node *node = head_of (payload);
  bool aligned = ((uintptr_t) payload & (NODE_ALIGN - 1)) == 0;
  bool large = aligned && sli_map_is_noted (payload, NOTE_NODE);
  SliceBlockInfo info, own;

  abort_if_null (payload, operation);
  slice_block_info (node, &info);
  slice_block_info (payload, &own);
  /* The pointer is at the start of a block that has a smaller header or
   * none. */
  if (own.kind == SLICE_BLOCK_INTERIOR && own.start != info.start)
    info = own;
  else if (!large && is_plain_block (payload, &own))
    info.kind = SLICE_BLOCK_FOREIGN;
  else if (large || (info.kind == SLICE_BLOCK_OUT && aligned))
    {
      if (node_is_dead (node))
        info.kind = SLICE_BLOCK_FREE;
      else if (link_is_readable (node->pprev, payload))
        sli_context_damaged (payload, operation);
      else
        info.kind = SLICE_BLOCK_FOREIGN;
    }
  else if (info.kind == SLICE_BLOCK_INTERIOR && aligned
           && node_is_dead (node))
    info.kind = SLICE_BLOCK_FREE; /* a linear context */
  if (info.kind == SLICE_BLOCK_FOREIGN && (sli_context_mode & MODE_DEBUG) != 0)
    examine_large (payload, &info);
  report_node (payload, operation, &info);
}

/* Returns true if a block begins where the node's block would.  For nodes that
 * seem to be roots or dying.  Words in a payload can look like either: a
 * list's tail pointer that points to the first element behind it, or a single
 * word 2. */
static bool
is_at_block (const Node *node)
{
  const char *block = (const char *) node;

  if ((node->parent & NODE_HAS_PREFIX) == 0)
    return sli_untraced_begins_block (block);
  if (sli_map_is_noted (node + 1, NOTE_NODE))
    return true;
  if (!is_readable ((const size_t *) node - 1))
    return false;
  if (((const size_t *) node)[-1] == KIND_LINEAR)
    block -= sli_context_linear_prefix_bytes ();
  else if (((const size_t *) node)[-1] == KIND_ALIGNED
           && is_readable ((const AlignedPrefix *) node - 1))
    block = sli_aligned_block (node);
  else
    return false;
  return sli_untraced_begins_block (block);
}

/* In MODE_REMEMBERED: a pointer that is no node may not be read. */
static COLD void
check_remembered (const void *payload, const char *operation)
{
  SliceBlockInfo info = { SLICE_BLOCK_FOREIGN, 0, 0, NULL };
  bool is_freed;

  if (sli_untraced_is_node (payload, &is_freed, &info.start, &info.bytes))
    return;
  if (is_freed)
    info.kind = SLICE_BLOCK_FREE;
  else if (info.start != NULL)
    info.kind = SLICE_BLOCK_INTERIOR;
  report_node (payload, operation, &info);
}

/* The same checks in MODE_TRAILING_HEADER.  The tool itself reports a pointer
 * that is not a block of malloc's. */
static COLD Node *
check_trailing (const void *payload, const char *operation)
{
  SliceBlockInfo info = { SLICE_BLOCK_FOREIGN, 0, 0, NULL };
  Node *node;

  abort_if_null (payload, operation);
  if ((sli_context_mode & MODE_REMEMBERED) != 0)
    check_remembered (payload, operation);
  if (((uintptr_t) payload & (NODE_ALIGN - 1)) != 0)
    report_node (payload, operation, &info);
  node = sli_context_trailing_header (payload);
  if (node->pprev == NODE_DYING && !node_is_dead (node))
    return node;
  if (node_is_dead (node) || *node->pprev != payload)
    {
      info.kind = node_is_dead (node) ? SLICE_BLOCK_FREE : info.kind;
      report_node (payload, operation, &info);
    }
  return node;
}

/* What must be true of a live node's address and header:
 *   1 it is 16-aligned;
 *   2 the header lies in the slabs and in no guard page, or the map has a
 *     large node there: so it may be read;
 *   3 its pprev points to a word that may be read, too, and that word points
 *     back to the payload;
 *   4 if that word is its own next, as in a root, a block begins there.
 * A freed node is recognised by its parent word.  A block of another kind
 * fails the third test, and an interior pointer the third or the fourth,
 * unless a word before it happens to point to a word that points to it. */
static ALWAYS_INLINE Node *
check_leading (const void *payload, const char *operation)
{
  Node *node = head_of (payload);

  if (UNLIKELY (((uintptr_t) payload & (NODE_ALIGN - 1)) != 0
                || !(LIKELY (header_is_readable (node))
                     || sli_map_is_noted (payload, NOTE_NODE))))
    report_examined (payload, operation);
  if (UNLIKELY (node_is_dead (node)))
    report_examined (payload, operation);
  if (UNLIKELY (node->pprev == NODE_DYING || node->pprev == &node->next))
    {
      if (UNLIKELY (!is_at_block (node)
                    || (node->pprev != NODE_DYING && node->next != payload)))
        report_examined (payload, operation);
      return node;
    }
  if (UNLIKELY (!link_is_readable (node->pprev, payload)
                || *node->pprev != payload))
    report_examined (payload, operation);
  return node;
}

/* --- checking links ------------------------------------------------------ */

COLD bool
sli_context_may_be_node (const void *payload)
{
  return ((uintptr_t) payload & (NODE_ALIGN - 1)) == 0
         && (header_is_readable (head_of (payload))
             || sli_map_is_noted (payload, NOTE_NODE));
}

/* Returns true if a link is NULL or leads to a node whose pprev is `place'. */
static bool
is_linked_to (const void *payload, void **place)
{
  return payload == NULL
         || (sli_context_may_be_node (payload)
             && head_of (payload)->pprev == place);
}

COLD void
sli_context_check_links (Node *node, const void *payload,
                         const char *operation)
{
  const void *parent
      = (const void *) (node->parent & ~(uintptr_t) NODE_FLAGS);

  if ((sli_context_mode & MODE_TRAILING_HEADER) != 0)
    return;
  /* An extension is a slice. */
  if (((node->parent & NODE_INDIRECT) != 0 && !is_readable (parent))
      || ((node->parent & NODE_EXT) != 0 && !is_readable (node->child)))
    sli_context_damaged (payload, operation);
  parent = node_parent (node);
  if ((parent != NULL && !sli_context_may_be_node (parent))
      || !is_linked_to (node_next (node, payload), &node->next)
      || !is_linked_to (node_first_child (node), node_children (node)))
    sli_context_damaged (payload, operation);
}

/* The same in a checking mode, which looks each link up before a function
 * follows it. */
static COLD Node *
check_with_links (const void *payload, const char *operation)
{
  Node *node = check_leading (payload, operation);

  if (node->pprev != NODE_DYING)
    sli_context_check_links (node, payload, operation);
  return node;
}

CONTEXT_TEXT static NOINLINE Node *
check_any (const void *payload, const char *operation)
{
  if (LIKELY ((sli_context_mode
               & (MODE_TRAILING_HEADER | MODE_BULK | MODE_UNDECIDED))
              == 0))
    return check_leading (payload, operation);
  (void) sli_context_init ();
  return (sli_context_mode & MODE_TRAILING_HEADER) != 0
             ? check_trailing (payload, operation)
             : check_with_links (payload, operation);
}

/* Returns true if an apparent root, which is in the first extents, is at the
 * start of a chunk. */
static ALWAYS_INLINE bool
root_begins_chunk (const Node *node)
{
  size_t class_index = extent_cache_class (node, sli_region_granule_shift);

  return class_index != 0 && chunk_begins_at (node, (unsigned) class_index);
}

/* (In the default mode, most nodes are in the first extents.  These pass all
 * tests of check_leading() without a call, so no registers are saved.) */
CONTEXT_TEXT Node *
sli_context_check (const void *payload, const char *operation)
{
  Node *node = head_of (payload);

  if (LIKELY (sli_context_mode == 0
              && ((uintptr_t) payload & (NODE_ALIGN - 1)) == 0
              && extent_cache_has (node) && !node_is_dead (node)
              && node_is_linked_near (node, payload))
      && (node->pprev != &node->next || LIKELY (root_begins_chunk (node))))
    return node;
  return check_any (payload, operation);
}

/* --- sizes --------------------------------------------------------------- */

size_t
sli_context_block_bytes (const void *payload)
{
  const Node *node = node_of (payload);

  if ((node->parent & NODE_HAS_PREFIX) == 0)
    return slice_block_size (sli_context_mode & MODE_TRAILING_HEADER
                                 ? payload
                                 : (const void *) node);
  if (((const size_t *) node)[-1] == KIND_LINEAR)
    return sli_context_linear_bytes (node);
  return ((const LargePrefix *) node)[-1].bytes;
}

size_t
sli_context_held_bytes (const void *payload)
{
  return sli_context_block_bytes (payload)
         + (sli_gc_is_context (payload) ? sli_gc_bytes (payload) : 0);
}

CONTEXT_TEXT size_t
sli_context_payload_bytes (const void *payload, const char *operation)
{
  size_t usable = sli_context_usable_bytes (payload);

  return UNLIKELY ((sli_context_mode & MODE_SLACK) != 0)
             ? usable - sli_slack_check (payload, operation)
             : usable;
}

CONTEXT_TEXT size_t
sli_context_usable_bytes (const void *payload)
{
  const Node *node = node_of (payload);

  if (sli_context_mode & MODE_TRAILING_HEADER)
    return sli_trailing_payload_bytes (payload);
  if ((node->parent & NODE_HAS_PREFIX) == 0)
    return slice_block_size (node) - sizeof (Node);
  if (((const size_t *) node)[-1] == KIND_LINEAR)
    return sli_context_linear_bytes (node) - sizeof (Node)
           - sli_context_linear_prefix_bytes ();
  if (((const size_t *) node)[-1] == KIND_ALIGNED)
    return sli_aligned_usable_bytes (node);
  return ((const LargePrefix *) node)[-1].bytes - sizeof (LargePrefix)
         - sizeof (Node);
}

/* --- walking ------------------------------------------------------------- */

void *
sli_context_walk (const void *top, const void *payload)
{
  Node *node = node_of (payload);
  void *next;

  if (UNLIKELY ((sli_context_mode & MODE_BULK) != 0)
      && node->pprev != NODE_DYING)
    sli_context_check_links (node, payload, "a walk through a tree");
  next = node_first_child (node);
  if (next != NULL)
    return next;
  while (payload != top)
    {
      next = node_next (node, payload);
      if (next != NULL)
        return next;
      payload = node_parent (node);
      node = node_of (payload);
    }
  return NULL;
}

CONTEXT_TEXT bool
sli_context_is_ancestor (const void *ancestor, const void *ptr)
{
  while (ptr != NULL && ptr != ancestor)
    ptr = node_parent (node_of (ptr));
  return ptr != NULL;
}

bool
ralloc_is_ancestor (const void *ancestor, const void *ptr)
{
  if (ancestor == NULL || ptr == NULL)
    return false;
  sli_context_check (ancestor, "ralloc_is_ancestor");
  sli_context_check (ptr, "ralloc_is_ancestor");
  return sli_context_is_ancestor (ancestor, ptr);
}

size_t
ralloc_usable_size_v1 (const void *ptr)
{
  if (ptr == NULL)
    return 0;
  sli_context_check (ptr, "ralloc_usable_size");
  return sli_context_payload_bytes (ptr, "ralloc_usable_size");
}

size_t
ralloc_total_nodes (const void *ptr)
{
  size_t n = 0;
  const void *at;

  if (ptr != NULL)
    sli_context_check (ptr, "ralloc_total_nodes");
  for (at = ptr; at != NULL; at = sli_context_walk (ptr, at))
    n++;
  return n;
}

size_t
ralloc_total_size (const void *ptr)
{
  size_t bytes = 0;
  const void *at;

  if (ptr != NULL)
    sli_context_check (ptr, "ralloc_total_size");
  for (at = ptr; at != NULL; at = sli_context_walk (ptr, at))
    {
      bytes += sli_context_payload_bytes (at, "ralloc_total_size");
      if (sli_gc_is_context (at))
        bytes += sli_gc_bytes (at);
    }
  return bytes;
}
