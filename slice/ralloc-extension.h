/* ralloc-extension.h - nodes: names, references, limits, refusals, reports
 *
 * Public; a part of ralloc.h, which programs include.  These calls exist in
 * talloc but not in Mesa's ralloc.  A node gets a record of 112 bytes when it
 * first uses one of them.  The rules of ralloc.h on order, memory, threads and
 * misuse hold here, too.
 *
 * Design: section 7.7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_RALLOC_EXTENSION_H
#define SLICE_RALLOC_EXTENSION_H

#include <slice/ralloc.h>

SLICE_BEGIN_DECLS

/* --- trees --------------------------------------------------------------- */

/** Frees all children of a node, not the node itself; NULL does nothing.
 * A child that refuses stays where it is, and a node that refuses further below
 * becomes a child of ctx.  ctx gives up the references that it holds.
 * References between the subtrees of two children keep nothing alive, as in
 * ralloc_free().
 *
 * Objects of a linear or gc context are not its children and stay, but objects
 * that are nodes are freed.  These are large objects of a gc context, and all
 * objects of both kinds under a memory checker or a recorder, or with the
 * option always-malloc.  So a program must not use any object afterwards.
 * Threads: tree.
 * Source: talloc_free_children(), which gives what refuses to ctx's parent. */
SLICE_API void ralloc_free_children (void *ctx);

/** Is `ancestor` an ancestor of ptr (or ptr itself)?  NULL is ancestor of
 * nothing.  Errors: as ralloc_free(), of both.
 * Threads: tree.  Cost: O(depth).  Source: talloc_is_parent(). */
SLICE_API bool ralloc_is_ancestor (const void *ancestor, const void *ptr);

/* As ralloc_usable_size(), without regard to what the compiler knows. */
SLICE_API size_t ralloc_usable_size_v1 (const void *ptr);

/** Bytes of payload of one node that may be used; 0 of NULL.  Where the
 * compiler sees how it was allocated, no more than was requested: see
 * slice_block_size().
 * Threads: tree.  Cost: some loads. */
RALLOC_INLINE size_t ralloc_usable_size (const void *ptr) RALLOC_ALWAYS_V1;
RALLOC_INLINE size_t
ralloc_usable_size (const void *ptr)
{
  size_t bytes = ralloc_usable_size_v1 (ptr);
  size_t known = SLICE_KNOWN_BYTES_V1 (ptr);
  return bytes < known ? bytes : known;
}

/** The number of elements `*ptr` that fit into a node, by
 * ralloc_usable_size(): at least as many as were requested, and more if the
 * node's block is larger.  It says when an array must grow, and not how many
 * elements are in use. */
#define ralloc_array_length(ptr) (ralloc_usable_size (ptr) / sizeof (*(ptr)))

/** Nodes in a tree, the top included; 0 of NULL.
 * Threads: tree.  Cost: O(nodes).  Source: talloc_total_blocks(). */
SLICE_API size_t ralloc_total_nodes (const void *ptr);

/* --- destructors that may refuse ----------------------------------------- */

/** Sets a function that decides whether a node and its descendants are freed.
 *
 * @param ptr      the node, not NULL
 * @param refuses  called with the node *before* its descendants are freed (so
 *                 from the top of a tree downwards); true keeps the node and
 *                 its subtree.  NULL clears it.
 * @return         false if there is no memory for the record
 *
 * A node that is kept while its parent is freed moves to the parent of the
 * node that the program freed, or becomes a root if that had none.  In
 * ralloc_free_children (ctx) it becomes a child of ctx, or stays one.
 *
 * If the node, or one below it, holds a reference, the function is called
 * before the node referred to is freed.  If surviving contexts hold references
 * to the node itself, it moves to the oldest of these, and the function is not
 * called; it is called when the last of them has given up its reference.
 *
 * The function may free other nodes, add children, or steal its node, which
 * keeps the node.  Nodes to which its node, or one below it, holds a reference
 * survive such a free for as long as its node does.  If it frees the parent of
 * its node, and that parent is not being freed already, the node is kept
 * whatever the function returns, and moves as if it had refused.
 *
 * A node may have a destructor as well, which runs when the node is freed.
 *
 * Threads: tree.  Source: talloc_set_destructor().
 */
SLICE_API bool ralloc_set_refusing_destructor (const void *ptr,
                                               bool (*refuses) (void *));

/** As ralloc_free(), with a result.
 * @return  true if ptr was freed, or is NULL; false if it refused, was kept by
 *          a reference, or is being freed already */
SLICE_API bool ralloc_try_free (void *ptr);

/** As ralloc_set_destructor(), but returns false when there is no memory. */
SLICE_API bool ralloc_try_set_destructor (const void *ptr,
                                          void (*destructor) (void *));

/** As ralloc_steal(), but returns false and changes nothing if the steal would
 * close a cycle or the node is being destroyed (errno EINVAL; the latter with a
 * warning, 211), or if a limit above new_ctx does not allow the subtree (errno
 * ENOMEM).  True if ptr is NULL. */
SLICE_API bool ralloc_try_steal (const void *new_ctx, void *ptr);

/** ralloc_steal(), which returns the stolen pointer in its own type:
 * `self->name = ralloc_stolen (self, name);`.  A macro in C. */
#ifdef __cplusplus
}
template <typename T>
inline T *
ralloc_stolen (const void *new_ctx, T *ptr)
{
  ralloc_steal (new_ctx, ptr);
  return ptr;
}
extern "C" {
#else
# define ralloc_stolen(new_ctx, ptr)                                          \
   ((__typeof__ (ptr)) ralloc_steal_ptr_ ((new_ctx), (ptr)))
static __inline__ void *
ralloc_steal_ptr_ (const void *new_ctx, void *ptr)
{
  ralloc_steal (new_ctx, ptr);
  return ptr;
}
#endif

/* --- names and types ----------------------------------------------------- */

/** Names a node.
 * @param ptr   the node, not NULL
 * @param name  copied; NULL removes the name
 * @return      false with errno ENOMEM
 * Threads: tree.  Cost: a record at a node's first.
 * Source: talloc_set_name(). */
SLICE_API bool ralloc_set_name (const void *ptr, const char *name);
/** As ralloc_set_name(), but the name is not copied: for literals, which stay
 * as they are.  If it was in a plug-in that has been unloaded since, each call
 * that compares or returns the node's name may crash.  Reports print
 * `(unloaded)' for a name that can't be read, or whose first 64 bytes have
 * changed because something else lies there. */
SLICE_API bool ralloc_set_name_const (const void *ptr, const char *name);
/** The name of a node; NULL if it has none, and of NULL.  An arena that
 * belongs to a context (slice_linear_new_in() and the like) is a node that has
 * the name of its kind from the start, until the program gives it another:
 * "linear", "stack", "pool" or "tlsf". */
SLICE_API const char *ralloc_get_name (const void *ptr);
/** The nearest ancestor of that name (ptr itself does not count); NULL if there
 * is none, and of NULL.  Arenas have names, too: see ralloc_get_name().
 * Source: talloc_find_parent_byname(). */
SLICE_API void *ralloc_find_parent_by_name (const void *ptr,
                                            const char *name);
/** Allocates a zeroed node with a name, which is kept by address, as by
 * ralloc_set_name_const(). */
SLICE_API void *ralloc_named_const (const void *ctx, size_t size,
                                    const char *name);
/** Returns ptr if its name is `name`, else NULL; NULL of NULL. */
SLICE_API void *ralloc_check_name (const void *ptr, const char *name);
/** As ralloc_check_name(), but ends the program (208) if ptr is NULL or has
 * another name.
 * @param place  for the message, such as "file.c:12"; NULL: not known */
SLICE_API void *ralloc_check_name_abort (const void *ptr, const char *name,
                                         const char *place);

/** A zeroed node that knows its type.  The type's name is kept by address: it
 * is a constant of the code that makes this call.  If a plug-in has made the
 * node and was unloaded since, ralloc_get_type() may crash.  Free the node
 * before, or name it by ralloc_set_name(), which copies. */
#define ralloc_typed(ctx, type)                                               \
  SLICE_CAST_ (type *, ralloc_named_const (                                   \
      (ctx), RALLOC_SIZEOF_ (type, RALLOC_ALIGN_V1), #type))
/** ptr as `type` if that is its type, else NULL.
 * Source: talloc_get_type(). */
#define ralloc_get_type(ptr, type)                                            \
  SLICE_CAST_ (type *, ralloc_check_name ((ptr), #type))
/** ptr as `type`; ends the program if that is not its type.
 * Source: talloc_get_type_abort(). */
#define ralloc_get_type_abort(ptr, type)                                      \
  SLICE_CAST_ (type *, ralloc_check_name_abort ((ptr), #type,                 \
                                     __FILE__ ":" RALLOC_STR_ (__LINE__)))
#define RALLOC_STR_(x) RALLOC_STR2_ (x)
#define RALLOC_STR2_(x) #x

/* --- references ---------------------------------------------------------- */

/** Makes ctx a second owner of ptr.
 *
 * @param ctx  the context that keeps ptr alive; any node, not NULL
 * @param ptr  the node to be kept, not NULL
 * @return     ptr, or NULL with errno ENOMEM; in ptr's own destructor, or in
 *             that of a descendant that is freed with it, when it is too late,
 *             NULL with errno EINVAL and a warning (211)
 *
 * A node always has one parent.  ralloc_free() on the node, or on one of its
 * ancestors, does not free it if a context that survives holds a reference to
 * it.  The node then moves to that context, with its children, and the
 * reference is removed.  If several contexts hold it, the oldest reference
 * decides.
 *
 * If a node and one of its descendants are both held, the node moves.  The
 * descendant stays below it, and its reference remains.  (If the node is held
 * only by contexts of the tree that is being freed, the descendant may move
 * first.)
 *
 * A context in the tree that is being freed survives if a surviving context
 * holds a reference to it or to a node above it, or if a destructor refuses.
 * It moves out first, and the nodes to which it holds references move to it.
 * This is decided when the free begins.  If a destructor steals a context out
 * of the tree later, the context survives, but the nodes in the tree to which
 * it held references are freed.
 *
 * Threads: tree (both).  Cost: a node of 32 bytes of payload under ctx.
 * Source: talloc_reference().
 */
SLICE_API void *ralloc_reference (const void *ctx, const void *ptr);
/** Gives up a reference of ctx to ptr.  If ctx has none and is the parent of
 * ptr, the call frees ptr as ralloc_free() does.
 * @param ctx  NULL counts as the parent of a root
 * @param ptr  NULL does nothing
 * @return     false if ctx had neither a reference to ptr nor was its parent
 * Errors: as ralloc_free(), of both.
 * Threads: tree (both).  Cost: O(references to ptr) or O(children of ctx),
 *   whichever are fewer.  Source: talloc_unlink(). */
SLICE_API bool ralloc_unlink (const void *ctx, void *ptr);
/** The number of references to a node, its parent not counted; 0 of NULL.
 * Threads: tree.  Cost: O(references to ptr). */
SLICE_API size_t ralloc_reference_count (const void *ptr);

/* --- limits -------------------------------------------------------------- */

/** Limits the bytes that a subtree may hold.
 *
 * @param ctx    the top of the subtree, which counts; not NULL (210)
 * @param bytes  most bytes of the nodes' blocks, headers included; 0 lifts the
 *               limit.  Not counted are a copied name (ralloc_set_name()), and
 *               the record of a node that has a destructor, a name, a limit or
 *               references to it
 * @return       false with errno ENOMEM if there is no memory for the record;
 *               a limit below what is held now is set, and allocations fail
 *               until enough is freed
 *
 * An allocation under it that would exceed the limit gives NULL with errno
 * ENOMEM, and none that would not.  A resize counts the new block in place of
 * the old one.  Limits may be nested; a steal by ralloc_steal() is counted but
 * never refused, see ralloc_try_steal().  If an arena belongs to a context
 * (slice_linear_new_in() and the like), the limit and ralloc_total_size()
 * count only its node, and not the blocks that it adds.  Give the arena a
 * limit of its own (limit_bytes of its options).
 *
 * In the modes hardened, debug and always-malloc and under a tool nodes have
 * blocks of other sizes.  With always-malloc, under a tool and under a recorder
 * (slice-trace) the objects of linear and gc contexts are nodes, with a header
 * each.  So a program that comes close to a limit may meet it earlier or later
 * there.
 *
 * Threads: tree.  Cost: O(nodes) to set; afterwards each allocation, free
 *   and steal in the subtree walks up to its root.  The free of a tree walks up
 *   once, and once more for each destructor that allocates under a limit, or
 *   reads or sets one.
 * Source: talloc_set_memlimit().
 */
SLICE_API bool ralloc_set_limit (const void *ctx, size_t bytes);
/** Bytes held under the limit that is set on ctx itself; 0 if it has no limit
 * or is NULL. */
SLICE_API size_t ralloc_limit_used (const void *ctx);

/* --- reports ------------------------------------------------------------- */

/** Prints a tree: names, kinds, nodes and bytes, one line a node, indented.
 * @param f    the stream
 * @param ptr  the node; NULL prints the tracked roots
 * In a name, and in a file's, a backslash has another one before it, and
 * control characters are \\u000a and the like; what is no UTF-8 is \\ufffd.
 * Threads: tree.  Source: talloc_report_full(). */
SLICE_API void ralloc_report (FILE *f, const void *ptr);
/** As ralloc_report(), as one JSON object (an array for NULL). */
SLICE_API void ralloc_report_json (FILE *f, const void *ptr);

/** Keeps a list of roots from now on (roots made before are not on it).
 * Costs each root a record and a lock; off by default.
 * Options can't be set after it (slice_set_option()).
 * @param on  false forgets the list
 * Threads: any, while no other thread uses a context. */
SLICE_API void ralloc_track_roots (bool on);
/** As ralloc_track_roots (true), and when the program exits the roots that
 * are still alive are printed on standard error: after its exit functions and
 * destructors.  A forked child prints its own roots, and not those that its
 * parent made.  Options can't be set after it, either.
 * @param full  whole trees, not just a line a root
 * Source: talloc_enable_leak_report(). */
SLICE_API void ralloc_report_at_exit (bool full);

/* --- debugging ----------------------------------------------------------- */

/** Records where a node was allocated, for reports.
 * @param ptr   the node, or NULL
 * @param file  kept by address, as by ralloc_set_name_const()
 * @param line  up to 4194303
 * @return      ptr
 * Only with the option `debug`; without it nothing is kept. */
SLICE_API void *ralloc_mark_place (const void *ptr, const char *file,
                                   unsigned line);

SLICE_END_DECLS

#endif
