/* ralloc.h - contexts: memory that is freed as a tree
 *
 * Public.  The calls, the macros and their meaning are those of Mesa's
 * util/ralloc.h.  Code that uses only names with ralloc, rzalloc, reralloc or
 * rerzalloc at their start needs just another #include.  Mesa's linear_ and
 * gc_ names begin with ralloc_ here;
 * docs/guide/porting-from-ralloc-and-talloc.md has the list, and headers that
 * keep all of Mesa's names.  A program includes this header only, which
 * includes the others:
 *
 *   ralloc-string.h       strings that are nodes
 *   ralloc-linear.h       linear and garbage-collected contexts
 *   ralloc-extension.h    what talloc has and ralloc has not
 *   ralloc-operators.hpp operator new and delete of a C++ class
 *
 * Every allocation is a node: it has a parent or is a root, may have children,
 * and is freed with its parent.  Any node may serve as a context.  A node takes
 * 32 bytes beside its payload (16 on 32-bit machines).  A node of no bytes
 * takes 48, so that no other block has its address.  A destructor, name, limit
 * or reference takes memory only in nodes that have one.
 *
 * Order: a tree is destroyed from its leaves to its root, among siblings the
 * youngest first.  A node's destructor runs when all its descendants are
 * freed, the payload of its parent is still valid and ralloc_parent() still
 * works.  There is one exception: a destructor that frees an ancestor of the
 * tree (ralloc_set_destructor()).
 *
 * Alignment: a payload is aligned to 16 bytes.
 *
 * No memory:  NULL or false, errno ENOMEM, and the tree is as it was.  A size
 * that is too large, or a product that overflows, counts as no memory.  Size 0
 * gives a real node.
 *
 * Threads: a tree belongs to one thread at a time.  The program must lock a
 * tree that two threads use, or hand it over.  Different threads may use
 * different trees, and one thread may free a tree that another thread built.
 * "Threads: tree" below means this rule.
 *
 * Misuse (a node freed twice, a pointer that is no node, a cycle by steal, a
 * damaged list) ends the program with a numbered line: slice-errors(7).  With
 * the options checked, hardened and debug every function checks every node
 * that it gets.  In the default mode allocation, ralloc_parent() and the calls
 * for objects of linear and gc contexts check only a word or two of their
 * context.  They recognise a freed context until its memory is used again, but
 * not a pointer that never was a node.  All other functions check fully.
 * With the option always-malloc, and under valgrind and the sanitizers, there
 * are exceptions: a linear context looks like any other node (206, 213),
 * and its objects like nodes (202); links are not looked up (203); and unless
 * a checking mode is set, too, a pointer that is no node may be read: the tool
 * reports that, or it is a crash.
 *
 * Costs are instructions on x86-64 where a number is given.
 *
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_RALLOC_H
#define SLICE_RALLOC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <slice/slice.h>

SLICE_BEGIN_DECLS

/* --- the fast path's frozen layout (version 1) --------------------------- */

/* The words before a payload, in a program without a memory checker.  Only the
 * inline code below and the library may use them. (context/node-layout.h
 * explains them.) */
typedef struct
{
  uintptr_t parent;
  void *child;
  void *next;
  void **pprev;
} RallocHeaderV1;

/* Bits of a parent word that send an allocation below that node out of the
 * inline code: it has an extension or a limit, or was freed. */
#define RALLOC_UNUSUAL_V1 ((uintptr_t) 5)
/* The largest payload of the inline code: what fits a slice. */
#define RALLOC_INLINE_MAX_V1 (SLICE_SIZE_MAX - sizeof (RallocHeaderV1))
/* Does the inline code serve a size?  It leaves 0 to the library, unless the
 * size is a constant. */
#define RALLOC_IS_INLINE_V1(size)                                             \
  (__builtin_constant_p (size) ? (size) <= RALLOC_INLINE_MAX_V1               \
                               : (size) - 1 < RALLOC_INLINE_MAX_V1)
/* The entry of a node's class.  The node's block has a multiple of 16 bytes,
 * and space for at least one byte of payload, so that no other block has the
 * payload's address.  A size that is not constant is not 0 here; its total is
 * written so that it shares the subtraction of RALLOC_IS_INLINE_V1. */
#define RALLOC_TOTAL_V1(size)                                                 \
  (((size) + ((size) == 0) + sizeof (RallocHeaderV1) + 15) & ~(size_t) 15)
#define RALLOC_ENTRY_V1(thread, size)                                         \
  (__builtin_constant_p (size)                                                \
       ? &(thread)->entries[SLICE_CLASS_V1 (RALLOC_TOTAL_V1 (size))]          \
       : SLICE_ENTRY_V1 (thread,                                              \
                         (size_t) (thread)->class_table                       \
                             [(((size) - 1) & ~(size_t) 15)                   \
                              + sizeof (RallocHeaderV1) + 16]))

/* Prefetches, for writing, the line of the block that is allocated this many
 * calls later.  A tree that outgrows the near caches is built a tenth to a
 * third faster, a smaller one up to a twentieth slower.  Near the end of a
 * magazine there is no such block, and the prefetch has no effect. */
#define RALLOC_AHEAD_V1 (SLICE_FRONT_WORDS_V1 + 1)
#define RALLOC_FETCH_V1(top)                                                  \
  __builtin_prefetch (SLICE_LOAD (&(top)[-RALLOC_AHEAD_V1]), 1)

/* The slow path of the inline code. */
SLICE_API void *ralloc_size_slow_v1 (const void *ctx, size_t size);
SLICE_API void *rzalloc_size_v1 (const void *ctx, size_t size);

/* ralloc.c defines RALLOC_DEFINE_EXPORTS to make the exported bodies. */
#ifdef RALLOC_DEFINE_EXPORTS
# define RALLOC_INLINE SLICE_API
# define RALLOC_ALWAYS_V1
#else
# define RALLOC_INLINE                                                        \
  SLICE_API extern __inline__ __attribute__ ((__gnu_inline__))
# define RALLOC_ALWAYS_V1 SLICE_ATTR_ALWAYS_INLINE
#endif

/* --- nodes --------------------------------------------------------------- */

/** Makes a node without payload, to be the parent of others.
 *
 * @param ctx  its parent; NULL makes a root
 * @return     the node, or NULL with errno ENOMEM
 *
 * It *makes* a child of ctx; for the parent of a node see ralloc_parent().
 * No other live block has its address, and the program must not write to it.
 *
 * Threads: tree.  Cost: as ralloc_size().  Source: Mesa ralloc_context().
 */
SLICE_API void *ralloc_context (const void *ctx);

/** Not for callers: the inline part of ralloc_size(): a node from the thread's
 * magazine, or NULL for the slow path. */
RALLOC_INLINE void *ralloc_take_v1 (const void *ctx, size_t size);
RALLOC_INLINE void *
ralloc_take_v1 (const void *ctx, size_t size)
{
  if (SLICE_LIKELY (ctx != NULL && RALLOC_IS_INLINE_V1 (size)))
    {
      SliceThreadV1 *thread = SLICE_LOAD (&slice_tls_v1);
      SliceEntryV1 *entry = RALLOC_ENTRY_V1 (thread, size);
      void **top = SLICE_LOAD (&entry->top);
      RallocHeaderV1 *node = (RallocHeaderV1 *) *top;
      /* Computed as an integer, because ctx may be no valid pointer.  In modes
       * in which headers lie elsewhere the magazines are empty, so no header
       * is read without a block. */
      RallocHeaderV1 *parent
          = (RallocHeaderV1 *) ((uintptr_t) (const void *) ctx
                                - sizeof (RallocHeaderV1));

      if (SLICE_LIKELY (node != NULL
                        && (parent->parent & RALLOC_UNUSUAL_V1) == 0))
        {
          void *payload = node + 1;
          void *next = parent->child;

          SLICE_STORE (&entry->top, top - 1);
          RALLOC_FETCH_V1 (top);
          node->parent = (uintptr_t) ctx;
          node->child = NULL;
          node->next = next;
          node->pprev = &parent->child;
          if (next != NULL)
            ((RallocHeaderV1 *) next - 1)->pprev = &node->next;
          parent->child = payload;
          if (payload == NULL)
            __builtin_unreachable ();
          return payload;
        }
    }
  return NULL;
}

/** Allocates a node.
 *
 * @param ctx   its parent, any node; NULL makes a root
 * @param size  bytes of payload; 0 gives a node that can still have children
 * @return      the payload, 16-aligned, contents undefined; or NULL with
 *              errno ENOMEM
 *
 * Errors: a ctx that has been freed ends the program (201); with checked,
 *   hardened and debug one that is no node, too (200, 202).
 * Threads: tree.
 * Cost: inline, 32 instructions and no call for sizes up to 2032, 27 where the
 *   size is a constant; what is larger comes from the system's malloc.
 * Source: Mesa ralloc_size(), talloc_size().
 */
RALLOC_INLINE void *ralloc_size (const void *ctx, size_t size)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2);
RALLOC_INLINE void *
ralloc_size (const void *ctx, size_t size)
{
  void *payload = ralloc_take_v1 (ctx, size);
  if (SLICE_LIKELY (payload != NULL))
    return payload;
  return ralloc_size_slow_v1 (ctx, size);
}

/** As ralloc_size(), with the payload zero.
 * Source: Mesa rzalloc_size(). */
RALLOC_INLINE void *rzalloc_size (const void *ctx, size_t size)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2);
RALLOC_INLINE void *
rzalloc_size (const void *ctx, size_t size)
{
  /* A few stores, if the size is a small constant. */
  if (__builtin_constant_p (size) && size <= 64)
    {
      void *payload = ralloc_take_v1 (ctx, size);
      if (SLICE_LIKELY (payload != NULL))
        {
          memset (payload, 0, size);
          return payload;
        }
    }
  return rzalloc_size_v1 (ctx, size);
}

/** Changes the size of a node.
 *
 * @param ctx   parent of ptr; used only if ptr is NULL
 * @param ptr   the node; NULL allocates a new one
 * @param size  new bytes of payload; 0 keeps the node and its children
 * @return      the payload, which may have moved; or NULL, ptr untouched, with
 *              errno ENOMEM; or EINVAL if the node is being destroyed
 *
 * Children, destructor, place among the siblings and everything else of the
 * node stay.  A node that keeps its size class, or shrinks to not less than
 * half, does not move.
 *
 * Errors: ptr is no live node (200 to 203), or one that the library uses
 *   itself: a linear or gc context, an arena that belongs to a context (213,
 *   with the exception below of linear contexts); with the option `debug` a
 *   ctx that is not the parent (205).  In its own destructor, or in that of a
 *   descendant, a node that is being freed has a warning (211), whatever the
 *   new size.
 * Threads: tree.
 * Cost: a node that moves takes O(1) and the copying, or O(children) at the
 *   first move if it has more than 32.  One of more than 2032 bytes that grows
 *   is resized by the system's realloc(), which copies only if it has to; with
 *   a recorder, or slices that are mallocs, each growth copies.
 * Source: Mesa reralloc_size().
 */
SLICE_API void *reralloc_size (const void *ctx, void *ptr, size_t size);

/** As reralloc_size(), and bytes from old_size up to new_size become zero.
 *
 * @param old_size  bytes that hold data now, as the caller knows
 * Source: Mesa rerzalloc_size(). */
SLICE_API void *rerzalloc_size (const void *ctx, void *ptr, size_t old_size,
                                size_t new_size);

/** Allocates an array of `count` elements of `size` bytes; either may be 0.
 * Errors, Threads, Cost: as ralloc_size().
 * Source: Mesa ralloc_array_size(), whose count is an unsigned. */
SLICE_API void *ralloc_array_size (const void *ctx, size_t size, size_t count)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE2 (3, 2);
/** As ralloc_array_size(), zeroed. */
SLICE_API void *rzalloc_array_size (const void *ctx, size_t size,
                                    size_t count)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE2 (3, 2);
/** As reralloc_size() for `count` elements of `size` bytes. */
SLICE_API void *reralloc_array_size (const void *ctx, void *ptr, size_t size,
                                     size_t count);
/** As rerzalloc_size() for elements of `size` bytes. */
SLICE_API void *rerzalloc_array_size (const void *ctx, void *ptr, size_t size,
                                      size_t old_count, size_t new_count);

/** Copies memory into a new node.
 *
 * @param ctx   as ralloc_size()
 * @param mem   what to copy; NULL gives NULL, unless n is 0
 * @param n     bytes; 0 gives a node of no bytes
 * @return      the copy, or NULL with errno ENOMEM
 *
 * Mesa's function crashes if mem is NULL; ralloc_strdup() and GLib's
 * g_memdup2() return NULL, too.
 *
 * Source: Mesa ralloc_memdup().
 */
SLICE_API void *ralloc_memdup (const void *ctx, const void *mem, size_t n)
    SLICE_ATTR_ALLOC_SIZE (3);

/** Frees a node and all its descendants.
 *
 * @param ptr  the node; NULL does nothing
 *
 * If other contexts hold references to the node, it is not destroyed but moves
 * to one of them (ralloc_reference()).  If a refusing destructor refuses, its
 * node stays, or moves to the parent of ptr if its own parent is freed.  A
 * destructor may free a node that is being freed already; this does nothing.
 *
 * Errors: freed before (201), no node (200), inside a node (202), damaged
 *   list (203).  With checked, hardened and debug the library looks a link up
 *   before it follows it.  Without them it compares only the links that point
 *   back: a link that leads to no memory crashes, and a parent word is not
 *   checked.
 * Threads: tree; any thread.
 * Cost: under 40 instructions a node; no recursion, 21 KiB of stack (and as
 *   much again for each tree that a destructor frees meanwhile).  If a node of
 *   the tree has references, the library looks for a holder that survives: for
 *   each reference it follows the parents of the holder, up to the first that
 *   was seen before and has a record (a destructor, a name, a limit or
 *   references), or to the referenced node.  On a way of more than 16 nodes it
 *   gives some nodes a record.  If there is no memory for these, a chain of n
 *   nodes, each of which refers to the root, takes O(n * n).
 * Source: Mesa ralloc_free(), talloc_free().
 */
SLICE_API void ralloc_free (void *ptr);

/** Gives a node, with its subtree, another parent.
 *
 * @param new_ctx  the new parent; NULL makes ptr a root
 * @param ptr      the node; NULL does nothing
 *
 * Errors: new_ctx is ptr or a descendant (204; the tree is unchanged when
 *   the line is written); as ralloc_free().  In its own destructor, or in
 *   that of a descendant, a node that is being freed can't be stolen: a line is
 *   written (211), nothing else happens.
 * Threads: tree (both trees).
 * Cost: O(1); a node with children also walks up from new_ctx to its root.
 * Source: Mesa ralloc_steal(), talloc_steal().
 */
SLICE_API void ralloc_steal (const void *new_ctx, void *ptr);

/** Gives all children of one node to another.
 *
 * @param new_ctx  the new parent, any node; NULL makes each child a root
 * @param old_ctx  the old parent; NULL does nothing, and so does new_ctx
 *                 itself
 *
 * What moves: every child, with its subtree, destructor, name, limit and the
 * references to it.  No address changes.  The children keep their order and
 * come in front of the children of new_ctx: they count as younger, and are
 * freed first.  The references that old_ctx holds are children as well, so
 * new_ctx holds them afterwards; but if new_ctx is NULL, they stay with
 * old_ctx.
 *
 * What stays: old_ctx itself, with its payload, destructor, name, limit and
 * the references to it.  Objects of linear and gc contexts stay, but objects
 * that are nodes move, and then belong to no such context.  These are large
 * objects of a gc context, and all objects of both kinds under a memory
 * checker or a recorder, or with the option always-malloc.
 *
 * Limits: the bytes of the children no longer count in the limits at and above
 * old_ctx, and count in those at and above new_ctx.  As with ralloc_steal(),
 * no limit refuses an adoption.
 *
 * In a destructor old_ctx and new_ctx may be nodes that are being destroyed.
 * Children that leave such a node survive; children that it gets are freed.
 *
 * Errors: new_ctx is below old_ctx (204; nothing has moved when the line is
 *   written); as ralloc_free(), of both.  It needs no memory and can't fail.
 * Threads: tree (both trees).
 * Cost: O(children), and a walk up from new_ctx to its root; where there are
 *   limits, O(nodes) of the children's subtrees.
 * Source: Mesa ralloc_adopt(), which takes neither NULL nor itself.
 */
SLICE_API void ralloc_adopt (const void *new_ctx, void *old_ctx);

/** The parent of a node; NULL for a root and for NULL.
 * Errors: as ralloc_size().
 * Threads: tree.  Cost: 8 instructions.  Source: Mesa ralloc_parent(). */
SLICE_API void *ralloc_parent (const void *ptr);

/** Sets the function that is called just before a node is freed.
 *
 * @param ptr         the node, not NULL
 * @param destructor  called once, with the node, after all its descendants
 *                    were freed; NULL clears it.  The library clears it before
 *                    the call.  So if a destructor sets itself or another
 *                    function, that is called next; if it always does, the
 *                    free never ends.  The destructor of a linear or gc
 *                    context must not read its objects (ralloc-linear.h)
 *
 * It may allocate, free other nodes, and add children to the node or to its
 * parent; these children are freed.  It may also free an ancestor of the node
 * that the program is freeing.  The ancestor is then destroyed at once, with
 * all below it that is not being freed already, so its destructor runs first.
 * Then the first free goes on, and ralloc_parent() of its node is the
 * ancestor's parent, or NULL.
 *
 * The node itself can't be resized, stolen, appended to or referenced any more,
 * nor can an ancestor that is being freed with it: the functions write a
 * warning (211), change nothing, and return NULL or false with errno EINVAL.
 * (A refusing destructor runs before that, and may do all of this.)
 *
 * It must return.  After a longjmp() or an exception out of it, the tree would
 * be half freed, and the list of suspended walks wrong.
 *
 * Errors: as ralloc_free(); ptr is NULL (210); if there is no memory for the
 *   record, it calls the failure handler and ends the program, as
 *   slice_alloc() does; ralloc_try_set_destructor() returns false.
 * Threads: tree.  Cost: a record of 112 bytes at a node's first.
 * Source: Mesa ralloc_set_destructor().
 */
SLICE_API void ralloc_set_destructor (const void *ptr,
                                      void (*destructor) (void *));

/* --- typed macros -------------------------------------------------------- */

/* The alignment of every payload. */
#define RALLOC_ALIGN_V1 16
/* sizeof (type), or an error of the compiler if the type must be aligned to
 * more than `most'. */
#ifdef __cplusplus
}
template <typename T, size_t Most> struct RallocSizeof_
{
  static_assert (alignof (T) <= Most,
                 "the type must be aligned to more than it is here");
  enum : size_t
  {
    bytes = sizeof (T)
  };
};
extern "C" {
# define RALLOC_SIZEOF_(type, most)                                           \
   (static_cast<size_t> (RallocSizeof_<type, most>::bytes))
#else
# define RALLOC_SIZEOF_(type, most)                                           \
   (sizeof (type)                                                             \
    + 0 * sizeof (void (*) (                                                  \
        char the_type_must_be_aligned_to_more_than_this_allocator_aligns      \
          [__alignof__ (type) <= (most) ? 1 : -1])))
#endif

/** A new node for one `type`.  A type that must be aligned to more than 16
 * bytes is refused by the compiler, here and in the macros below; a gc context
 * can allocate it (ralloc_gc_alloc()). */
#define ralloc(ctx, type)                                                     \
  SLICE_CAST_ (type *,                                                        \
               ralloc_size ((ctx), RALLOC_SIZEOF_ (type, RALLOC_ALIGN_V1)))
/** As ralloc(), zeroed. */
#define rzalloc(ctx, type)                                                    \
  SLICE_CAST_ (type *,                                                        \
               rzalloc_size ((ctx),                                           \
                             RALLOC_SIZEOF_ (type, RALLOC_ALIGN_V1)))
/** A new node for `count` of `type`. */
#define ralloc_array(ctx, type, count)                                        \
  SLICE_CAST_ (type *, ralloc_array_size (                                    \
      (ctx), RALLOC_SIZEOF_ (type, RALLOC_ALIGN_V1), (count)))
/** As ralloc_array(), zeroed. */
#define rzalloc_array(ctx, type, count)                                       \
  SLICE_CAST_ (type *, rzalloc_array_size (                                   \
      (ctx), RALLOC_SIZEOF_ (type, RALLOC_ALIGN_V1), (count)))
/** Resizes an array. */
#define reralloc(ctx, ptr, type, count)                                       \
  SLICE_CAST_ (type *, reralloc_array_size (                                  \
      (ctx), (ptr), RALLOC_SIZEOF_ (type, RALLOC_ALIGN_V1), (count)))
/** Resizes an array; what it grows by is zero. */
#define rerzalloc(ctx, ptr, type, old_count, new_count)                       \
  SLICE_CAST_ (type *, rerzalloc_array_size (                                 \
      (ctx), (ptr), RALLOC_SIZEOF_ (type, RALLOC_ALIGN_V1), (old_count),      \
      (new_count)))

/* --- sizes and lists ----------------------------------------------------- */

/** Usable bytes of payload of a node and all its descendants, at least as many
 * as were requested; 0 for NULL.  Linear buffers and gc slabs count with their
 * contexts.
 * Errors: as ralloc_free().
 * Threads: tree.  Cost: O(nodes), constant stack.
 * Source: Mesa ralloc_total_size(), there in debug builds only. */
SLICE_API size_t ralloc_total_size (const void *ptr);

/** Flags of ralloc_print_info(). */
enum
{
  RALLOC_PRINT_INFO_SUMMARY_ONLY = 1 << 0 /**< the totals, not the tree */
};

/** Prints a node and its descendants, a line each, and totals.
 * @param f      the stream
 * @param ptr    the node; NULL prints nothing
 * @param flags  0 or RALLOC_PRINT_INFO_SUMMARY_ONLY
 * Names are printed as by ralloc_report().  The totals' metadata are headers,
 * and the records that some nodes have (ralloc-extension.h).
 * Threads: tree.  Source: Mesa ralloc_print_info(). */
SLICE_API void ralloc_print_info (FILE *f, const void *ptr, unsigned flags);

SLICE_END_DECLS

#include <slice/ralloc-string.h>
#include <slice/ralloc-linear.h>
#include <slice/ralloc-extension.h>
#ifdef __cplusplus
# include <slice/ralloc-operators.hpp>
#endif

#ifdef RALLOC_MARKS
/* A source file that defines this before the #include has its nodes marked:
 * those that it allocates, and those that it resizes, by the place of the last
 * resize.  Strings that an append makes longer keep their mark.  Objects of
 * linear and gc contexts have none.  (A name in parentheses is the
 * function's.) */
# define RALLOC_MARK_(node) (ralloc_mark_place ((node), __FILE__, __LINE__))
# define RALLOC_MARK_AS_(type, node) SLICE_CAST_ (type *, RALLOC_MARK_ (node))
# define ralloc_context(c) RALLOC_MARK_ ((ralloc_context) (c))
# define ralloc_size(c, s) RALLOC_MARK_ ((ralloc_size) (c, s))
# define rzalloc_size(c, s) RALLOC_MARK_ ((rzalloc_size) (c, s))
# define reralloc_size(c, p, s) RALLOC_MARK_ ((reralloc_size) (c, p, s))
# define rerzalloc_size(c, p, o, s)                                           \
  RALLOC_MARK_ ((rerzalloc_size) (c, p, o, s))
# define ralloc_array_size(c, s, n)                                           \
  RALLOC_MARK_ ((ralloc_array_size) (c, s, n))
# define rzalloc_array_size(c, s, n)                                          \
  RALLOC_MARK_ ((rzalloc_array_size) (c, s, n))
# define reralloc_array_size(c, p, s, n)                                      \
  RALLOC_MARK_ ((reralloc_array_size) (c, p, s, n))
# define rerzalloc_array_size(c, p, s, o, n)                                  \
  RALLOC_MARK_ ((rerzalloc_array_size) (c, p, s, o, n))
# define ralloc_memdup(c, m, n) RALLOC_MARK_ ((ralloc_memdup) (c, m, n))
# define ralloc_strdup(c, s) RALLOC_MARK_AS_ (char, (ralloc_strdup) (c, s))
# define ralloc_strndup(c, s, n)                                              \
  RALLOC_MARK_AS_ (char, (ralloc_strndup) (c, s, n))
# define ralloc_asprintf(c, ...)                                              \
  RALLOC_MARK_AS_ (char, (ralloc_asprintf) (c, __VA_ARGS__))
# define ralloc_vasprintf(c, f, a)                                            \
  RALLOC_MARK_AS_ (char, (ralloc_vasprintf) (c, f, a))
# define ralloc_linear_context(c)                                             \
  RALLOC_MARK_AS_ (RallocLinear, (ralloc_linear_context) (c))
# define ralloc_linear_context_with_opts(c, o)                                \
  RALLOC_MARK_AS_ (RallocLinear, (ralloc_linear_context_with_opts) (c, o))
# define ralloc_linear_alloc_parent(c, s)                                     \
  RALLOC_MARK_ ((ralloc_linear_alloc_parent) (c, s))
# define ralloc_linear_zalloc_parent(c, s)                                    \
  RALLOC_MARK_ ((ralloc_linear_zalloc_parent) (c, s))
# define ralloc_gc_context(c)                                                 \
  RALLOC_MARK_AS_ (RallocGc, (ralloc_gc_context) (c))
# define ralloc_named_const(c, s, n)                                          \
  RALLOC_MARK_ ((ralloc_named_const) (c, s, n))
#endif

#endif
