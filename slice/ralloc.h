/* ralloc.h - contexts: memory that is freed as a tree
 *
 * Public.  The calls, the macros and their meaning are those of Mesa's
 * util/ralloc.h, so that its users need a new #include and no more; below
 * the line "beyond Mesa" stands what talloc's users value and ralloc lacks.
 *
 * Every allocation is a node: it has a parent (or is a root), may have
 * children, and dies with its parent.  Any node may serve as a context.  A
 * node costs 32 bytes beside its payload (16 on 32-bit machines); the rest
 * (destructor, name, limit, references) is paid by the nodes that use it.
 *
 * Order: a tree is destroyed from its leaves to its root, among siblings the
 * youngest first.  A node's destructor runs when all its descendants are
 * gone, its parent's payload still stands and ralloc_parent() still answers.
 *
 * Alignment: a payload is aligned to 16 bytes.
 *
 * No memory: NULL or false, errno ENOMEM, and the tree is as it was.  A size
 * or a product that does not fit is no memory.  Size 0 gives a real node.
 *
 * Threads: a tree belongs to one thread at a time (the caller locks, or
 * hands over); different trees may be used by different threads at will, and
 * a tree may be freed by another thread than built it.  In every call below
 * "Threads: tree" means that.
 *
 * Misuse (a node freed twice, a pointer that is no node, a cycle by steal, a
 * damaged list) ends the program with a numbered line: slice-errors(7).
 *
 * Cost is given as instructions on x86-64 where one figure says it.
 *
 * Theory: section 7.
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

/* What lies before a payload of a program that no memory checker watches.
 * Nobody but the inline code below and the library may look at it.  (What the
 * words mean is drawn in context/node.h.) */
typedef struct
{
  uintptr_t parent;
  void *child;
  void *next;
  void **pprev;
} RallocHeaderV1;

/* Bits of a parent word that send an allocation below that node out of the
 * inline code: an extension, a limit, death. */
#define RALLOC_UNUSUAL_V1 ((uintptr_t) 5)
/* The inline code serves what slices serve. */
#define RALLOC_INLINE_MAX_V1 (SLICE_SIZE_MAX - sizeof (RallocHeaderV1))
/* The entry of a node's class; its block is that of a multiple of 16 bytes.
 * See SLICE_ENTRY_V1: every other byte of the table serves. */
#define RALLOC_TOTAL_V1(size)                                                 \
  (((size) + sizeof (RallocHeaderV1) + 15) & ~(size_t) 15)
#define RALLOC_ENTRY_V1(thread, size)                                         \
  (__builtin_constant_p (size)                                                \
       ? &(thread)->entries[SLICE_CLASS_V1 (RALLOC_TOTAL_V1 (size))]          \
       : (SliceEntryV1 *) (void *) ((char *) (thread)->entries                \
                                    + sizeof (SliceEntryV1) / 2               \
                                          * (thread)->class_table             \
                                              [((size)                        \
                                                + sizeof (RallocHeaderV1)     \
                                                + 15) / 16 * 2]))

/* Where the inline code gives up. */
SLICE_API void *ralloc_size_slow_v1 (const void *ctx, size_t size);
SLICE_API void *rzalloc_size_v1 (const void *ctx, size_t size);

/* ralloc.c defines RALLOC_DEFINE_EXPORTS to make the exported bodies. */
#ifdef RALLOC_DEFINE_EXPORTS
# define RALLOC_INLINE SLICE_API
#else
# define RALLOC_INLINE                                                        \
  SLICE_API extern __inline__ __attribute__ ((__gnu_inline__))
#endif

/* --- nodes ---------------------------------------------------------------- */

/** Makes a node without payload, to hang others on.
 *
 * @param ctx  its parent; NULL makes a root
 * @return     the node, or NULL with errno ENOMEM
 *
 * It *makes* a child of ctx; for the parent of a node see ralloc_parent().
 *
 * Threads: tree.  Cost: as ralloc_size().  Source: Mesa ralloc_context().
 */
SLICE_API void *ralloc_context (const void *ctx);

/** Allocates a node.
 *
 * @param ctx   its parent, any node; NULL makes a root
 * @param size  bytes of payload; 0 gives a node that can still have children
 * @return      the payload, 16-aligned, contents undefined; or NULL with
 *              errno ENOMEM
 *
 * Errors: a ctx that has been freed ends the program (201).
 * Threads: tree.
 * Cost: inline, 30 instructions and no call for sizes up to 2000, 25 where the
 *   size is a constant; what is larger comes from the system's malloc.
 * Source: Mesa ralloc_size(), talloc_size().
 */
RALLOC_INLINE void *ralloc_size (const void *ctx, size_t size)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2);
RALLOC_INLINE void *
ralloc_size (const void *ctx, size_t size)
{
  if (SLICE_LIKELY (ctx != NULL && size <= RALLOC_INLINE_MAX_V1))
    {
      SliceThreadV1 *thread = SLICE_LOAD (&slice_tls_v1);
      SliceEntryV1 *entry = RALLOC_ENTRY_V1 (thread, size);
      void **top = SLICE_LOAD (&entry->top);
      RallocHeaderV1 *node = (RallocHeaderV1 *) *top;
      RallocHeaderV1 *parent
          = (RallocHeaderV1 *) (uintptr_t) (const void *) ctx - 1;

      /* Where headers lie elsewhere there are no magazines: so no header is
       * looked at before a block is there. */
      if (SLICE_LIKELY (node != NULL
                        && (parent->parent & RALLOC_UNUSUAL_V1) == 0))
        {
          void *payload = node + 1;
          void *next = parent->child;

          SLICE_STORE (&entry->top, top - 1);
          node->parent = (uintptr_t) ctx;
          node->child = NULL;
          node->next = next;
          node->pprev = &parent->child;
          if (next != NULL)
            ((RallocHeaderV1 *) next - 1)->pprev = &node->next;
          parent->child = payload;
          return payload;
        }
    }
  return ralloc_size_slow_v1 (ctx, size);
}

/** As ralloc_size(), with the payload zero.  Memory that is known to be
 * fresh from the system is not cleared again.
 * Source: Mesa rzalloc_size(). */
RALLOC_INLINE void *rzalloc_size (const void *ctx, size_t size)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2);
RALLOC_INLINE void *
rzalloc_size (const void *ctx, size_t size)
{
  /* A few stores where the size is a small constant. */
  if (__builtin_constant_p (size) && size <= 64)
    {
      void *payload = ralloc_size (ctx, size);
      if (SLICE_LIKELY (payload != NULL))
        memset (payload, 0, size);
      return payload;
    }
  return rzalloc_size_v1 (ctx, size);
}

/** Changes the size of a node.
 *
 * @param ctx   parent of ptr; used only if ptr is NULL
 * @param ptr   the node; NULL allocates a fresh one
 * @param size  new bytes of payload; 0 keeps the node and its children
 * @return      the payload, which may have moved; or NULL with errno ENOMEM,
 *              ptr untouched
 *
 * Children, destructor, place among the siblings and everything else of the
 * node stay.  A node that keeps its size class, or shrinks to not less than
 * half, does not move.
 *
 * Errors: ptr is no live node (200 to 203); with the option `debug` a ctx
 *   that is not the parent (205).
 * Threads: tree.
 * Cost: O(1) and the copying.  A node with more than 32 children pays for
 *   them once, at its first move.
 * Source: Mesa reralloc_size().
 */
SLICE_API void *reralloc_size (const void *ctx, void *ptr, size_t size);

/** As reralloc_size(), and bytes from old_size up to new_size become zero.
 *
 * @param old_size  bytes that hold data now: the caller's word
 * Source: Mesa rerzalloc_size(). */
SLICE_API void *rerzalloc_size (const void *ctx, void *ptr, size_t old_size,
                                size_t new_size);

/** Allocates an array of `count` elements of `size` bytes; either may be 0.
 * Errors, Threads, Cost: as ralloc_size().
 * Source: Mesa ralloc_array_size(), whose count is an unsigned. */
SLICE_API void *ralloc_array_size (const void *ctx, size_t size, size_t count)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE2 (2, 3);
/** As ralloc_array_size(), zeroed. */
SLICE_API void *rzalloc_array_size (const void *ctx, size_t size,
                                    size_t count)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE2 (2, 3);
/** As reralloc_size() for `count` elements of `size` bytes. */
SLICE_API void *reralloc_array_size (const void *ctx, void *ptr, size_t size,
                                     size_t count);
/** As rerzalloc_size() for elements of `size` bytes. */
SLICE_API void *rerzalloc_array_size (const void *ctx, void *ptr, size_t size,
                                      size_t old_count, size_t new_count);

/** Copies memory into a new node.
 *
 * @param ctx   as ralloc_size()
 * @param mem   what to copy; may be NULL only if n is 0
 * @param n     bytes
 * @return      the copy, or NULL with errno ENOMEM
 *
 * Source: Mesa ralloc_memdup().
 */
SLICE_API void *ralloc_memdup (const void *ctx, const void *mem, size_t n)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (3);

/** Frees a node and all its descendants.
 *
 * @param ptr  the node; NULL does nothing
 *
 * A node that others hold references to is not destroyed, it moves to one of
 * these (ralloc_reference()); one whose refusing destructor refuses stays,
 * or if its parent goes, moves to the parent of what was freed.  Freeing a
 * node that is being freed already (from a destructor) does nothing.
 *
 * Errors: freed before (201), no node (200), inside a node (202), damaged
 *   list (203).
 * Threads: tree; any thread.
 * Cost: under 40 instructions a node; no recursion, constant stack.
 * Source: Mesa ralloc_free(), talloc_free().
 */
SLICE_API void ralloc_free (void *ptr);

/** Gives a node, with its subtree, another parent.
 *
 * @param new_ctx  the new parent; NULL makes ptr a root
 * @param ptr      the node; NULL does nothing
 *
 * Errors: new_ctx is ptr or a descendant (204; the tree is unchanged when
 *   the line is written); as ralloc_free().  A node that is being destroyed
 *   can't be stolen: a line is written (211), nothing else happens.
 * Threads: tree (both trees).
 * Cost: O(1); a node with children also walks up from new_ctx to its root.
 * Source: Mesa ralloc_steal(), talloc_steal().
 */
SLICE_API void ralloc_steal (const void *new_ctx, void *ptr);

/** Gives all children of one node to another, in the same order, in front of
 * those that it has.
 *
 * @param new_ctx  the new parent; NULL makes each child a root
 * @param old_ctx  the old parent; NULL does nothing; new_ctx itself does
 *                 nothing
 *
 * Errors: new_ctx is a descendant of old_ctx (204); as ralloc_steal().
 * Threads: tree (both trees).  Cost: O(children).
 * Source: Mesa ralloc_adopt(), which takes neither NULL nor itself.
 */
SLICE_API void ralloc_adopt (const void *new_ctx, void *old_ctx);

/** The parent of a node; NULL for a root and for NULL.
 * Threads: tree.  Cost: 8 instructions.  Source: Mesa ralloc_parent(). */
SLICE_API void *ralloc_parent (const void *ptr);

/** Sets the function that is called just before a node goes.
 *
 * @param ptr         the node, not NULL
 * @param destructor  called once, with the node, after all its descendants
 *                    are gone; NULL clears it
 *
 * It may allocate, free other nodes, and add children to the node or to its
 * parent (they are freed).
 *
 * Errors: as ralloc_free(); where there is no memory for the record, the
 *   failure handler is called and the program ended, as slice_alloc() does;
 *   ralloc_try_set_destructor() returns.
 * Threads: tree.  Cost: a record of 112 bytes at a node's first.
 * Source: Mesa ralloc_set_destructor().
 */
SLICE_API void ralloc_set_destructor (const void *ptr,
                                      void (*destructor) (void *));

/* --- typed macros --------------------------------------------------------- */

/** A new node for one `type`. */
#define ralloc(ctx, type) ((type *) ralloc_size ((ctx), sizeof (type)))
/** As ralloc(), zeroed. */
#define rzalloc(ctx, type) ((type *) rzalloc_size ((ctx), sizeof (type)))
/** A new node for `count` of `type`. */
#define ralloc_array(ctx, type, count)                                        \
  ((type *) ralloc_array_size ((ctx), sizeof (type), (count)))
/** As ralloc_array(), zeroed. */
#define rzalloc_array(ctx, type, count)                                       \
  ((type *) rzalloc_array_size ((ctx), sizeof (type), (count)))
/** Resizes an array. */
#define reralloc(ctx, ptr, type, count)                                       \
  ((type *) reralloc_array_size ((ctx), (ptr), sizeof (type), (count)))
/** Resizes an array; what it grows by is zero. */
#define rerzalloc(ctx, ptr, type, old_count, new_count)                       \
  ((type *) rerzalloc_array_size ((ctx), (ptr), sizeof (type), (old_count),   \
                                  (new_count)))

/* --- strings -------------------------------------------------------------- */

/** A copy of a string; NULL of NULL.  Source: Mesa ralloc_strdup(). */
SLICE_API char *ralloc_strdup (const void *ctx, const char *str)
    SLICE_ATTR_MALLOC;
/** A copy of at most n bytes of a string, with a NUL.
 * Source: Mesa ralloc_strndup(). */
SLICE_API char *ralloc_strndup (const void *ctx, const char *str, size_t n)
    SLICE_ATTR_MALLOC;

/** Appends to a string that is a node.
 *
 * @param dest  where the string is; neither it nor the string may be NULL;
 *              updated when the string moves
 * @param str   what to append, not NULL
 * @return      false with errno ENOMEM, *dest untouched
 *
 * Room grows geometrically: n appends of one byte move the string O(log n)
 * times.
 *
 * Errors: NULL where none may be (210).
 * Threads: tree.  Cost: O(length of both); ralloc_str_append() does not
 *   look for the end.
 * Source: Mesa ralloc_strcat().
 */
SLICE_API bool ralloc_strcat (char **dest, const char *str);
/** As ralloc_strcat(), at most n bytes of str. */
SLICE_API bool ralloc_strncat (char **dest, const char *str, size_t n);
/** As ralloc_strcat() for known lengths: `existing_length` of *dest and
 * `str_size` bytes of str, none of which is looked at for a NUL.
 * Source: Mesa ralloc_str_append(). */
SLICE_API bool ralloc_str_append (char **dest, const char *str,
                                  size_t existing_length, size_t str_size);

/** A new string by printf's rules.
 *
 * @return  the string, or NULL (no memory, or a format that libc refuses)
 *
 * Cost: one formatting where the text is shorter than 256 bytes.
 * Source: Mesa ralloc_asprintf().
 */
SLICE_API char *ralloc_asprintf (const void *ctx, const char *fmt, ...)
    SLICE_ATTR_PRINTF (2, 3) SLICE_ATTR_MALLOC;
/** As ralloc_asprintf(). */
SLICE_API char *ralloc_vasprintf (const void *ctx, const char *fmt,
                                  va_list args)
    SLICE_ATTR_PRINTF (2, 0) SLICE_ATTR_MALLOC;

/** Overwrites a string from a place on with formatted text.
 *
 * @param str    where the string is; if *str is NULL a root is allocated
 * @param start  index to write at; afterwards that of the new end
 * @return       false with *str as it was
 *
 * Cost: one formatting where the room suffices.
 * Source: Mesa ralloc_asprintf_rewrite_tail().
 */
SLICE_API bool ralloc_asprintf_rewrite_tail (char **str, size_t *start,
                                             const char *fmt, ...)
    SLICE_ATTR_PRINTF (3, 4);
/** As ralloc_asprintf_rewrite_tail(). */
SLICE_API bool ralloc_vasprintf_rewrite_tail (char **str, size_t *start,
                                              const char *fmt, va_list args)
    SLICE_ATTR_PRINTF (3, 0);
/** Appends formatted text; if *str is NULL a root is allocated.
 * Source: Mesa ralloc_asprintf_append(). */
SLICE_API bool ralloc_asprintf_append (char **str, const char *fmt, ...)
    SLICE_ATTR_PRINTF (2, 3);
/** As ralloc_asprintf_append(). */
SLICE_API bool ralloc_vasprintf_append (char **str, const char *fmt,
                                        va_list args)
    SLICE_ATTR_PRINTF (2, 0);

/* --- linear contexts -------------------------------------------------------
 *
 * Many small objects that die together: no header each, 8-aligned, no free.
 * The context is an ordinary node (free it, steal it, hang nodes on it); the
 * objects lie in its buffers.  Mesa's names without the prefix `ralloc_` are
 * exported by libslice-ralloc only. */

/** A linear context: a node as well. */
typedef struct RallocLinear RallocLinear;

/** Options of a linear context; all zero is the default. */
typedef struct
{
  size_t min_buffer_size; /**< bytes of the smallest buffer, rounded up to a
                               multiple of 2048; 0: buffers begin at 496
                               bytes and double in sum up to 64 KiB */
} RallocLinearOpts;

/** Makes a linear context.
 *
 * @param ctx  its parent; NULL makes a root
 * @return     the context, or NULL with errno ENOMEM
 *
 * Threads: tree.  Cost: as ralloc_size().  Source: Mesa linear_context().
 */
SLICE_API RallocLinear *ralloc_linear_context (const void *ctx);
/** As ralloc_linear_context(), with options; NULL means none.
 * Source: Mesa linear_context_with_opts(). */
SLICE_API RallocLinear *ralloc_linear_context_with_opts (
    const void *ctx, const RallocLinearOpts *opts);
/** Frees a linear context and all in it; ralloc_free() does it as well. */
SLICE_API void ralloc_linear_free_context (RallocLinear *linear);
/** ralloc_steal() for a linear context.
 * Source: Mesa ralloc_steal_linear_context(). */
SLICE_API void ralloc_steal_linear_context (const void *new_ctx,
                                            RallocLinear *linear);
/** ralloc_parent() for a linear context.
 * Source: Mesa ralloc_parent_of_linear_context(). */
SLICE_API void *ralloc_parent_of_linear_context (const RallocLinear *linear);

/** Allocates from a linear context.
 *
 * @param linear  the context, or the parent of the old style
 * @param size    bytes; 0 gives a pointer that must not be read
 * @return        8-aligned memory, contents undefined; or NULL with ENOMEM
 *
 * What is larger than a quarter of the current buffer and does not fit gets
 * a buffer of its own, and the current one stays.
 *
 * Errors: not a linear context (206).
 * Threads: tree.  Cost: 13 instructions while the buffer lasts.
 * Source: Mesa linear_alloc_child().
 */
SLICE_API void *ralloc_linear_alloc_child (void *linear, size_t size)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2);
/** As ralloc_linear_alloc_child(), zeroed. */
SLICE_API void *ralloc_linear_zalloc_child (void *linear, size_t size)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2);
/** An array in a linear context. */
SLICE_API void *ralloc_linear_alloc_child_array (void *linear, size_t size,
                                                 size_t count)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE2 (2, 3);
/** As ralloc_linear_alloc_child_array(), zeroed. */
SLICE_API void *ralloc_linear_zalloc_child_array (void *linear, size_t size,
                                                  size_t count)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE2 (2, 3);

/** The old style (Mesa until 23): the handle of the context is its first
 * object, of `size` bytes.
 *
 * @param ctx   its parent; NULL gives NULL
 * @param size  bytes of the first object
 * @return      the first object and handle, or NULL
 *
 * Source: Mesa 22.3 linear_alloc_parent().
 */
SLICE_API void *ralloc_linear_alloc_parent (const void *ctx, size_t size)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2);
/** As ralloc_linear_alloc_parent(), zeroed. */
SLICE_API void *ralloc_linear_zalloc_parent (const void *ctx, size_t size)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2);
/** Frees a parent of the old style; NULL does nothing. */
SLICE_API void ralloc_linear_free_parent (void *linear);
/** ralloc_steal() for a parent of the old style. */
SLICE_API void ralloc_steal_linear_parent (const void *new_ctx, void *linear);
/** ralloc_parent() for a parent of the old style. */
SLICE_API void *ralloc_parent_of_linear_parent (const void *linear);
/** Grows an object of a linear context.
 *
 * @param linear    the context
 * @param old       the object; NULL allocates
 * @param new_size  bytes
 * @return          the object: in place if it was the last allocated and
 *                  there is room, else a copy
 *
 * Linear objects carry no size: `new_size` bytes are copied, less where the
 * old object's buffer ends before.
 * Source: Mesa 22.3 linear_realloc().
 */
SLICE_API void *ralloc_linear_realloc (void *linear, void *old,
                                       size_t new_size);

/** The string calls for linear contexts: as their ralloc_ fellows; the
 * string is reallocated in `linear`, in place if it is the last object. */
SLICE_API char *ralloc_linear_strdup (void *linear, const char *str)
    SLICE_ATTR_MALLOC;
/** A copy of n bytes. */
SLICE_API void *ralloc_linear_memdup (void *linear, const void *mem, size_t n)
    SLICE_ATTR_MALLOC;
/** As ralloc_asprintf(). */
SLICE_API char *ralloc_linear_asprintf (void *linear, const char *fmt, ...)
    SLICE_ATTR_PRINTF (2, 3) SLICE_ATTR_MALLOC;
/** As ralloc_vasprintf(). */
SLICE_API char *ralloc_linear_vasprintf (void *linear, const char *fmt,
                                         va_list args)
    SLICE_ATTR_PRINTF (2, 0) SLICE_ATTR_MALLOC;
/** As ralloc_asprintf_append(). */
SLICE_API bool ralloc_linear_asprintf_append (void *linear, char **str,
                                              const char *fmt, ...)
    SLICE_ATTR_PRINTF (3, 4);
/** As ralloc_vasprintf_append(). */
SLICE_API bool ralloc_linear_vasprintf_append (void *linear, char **str,
                                               const char *fmt, va_list args)
    SLICE_ATTR_PRINTF (3, 0);
/** As ralloc_asprintf_rewrite_tail(). */
SLICE_API bool ralloc_linear_asprintf_rewrite_tail (void *linear, char **str,
                                                    size_t *start,
                                                    const char *fmt, ...)
    SLICE_ATTR_PRINTF (4, 5);
/** As ralloc_vasprintf_rewrite_tail(). */
SLICE_API bool ralloc_linear_vasprintf_rewrite_tail (void *linear, char **str,
                                                     size_t *start,
                                                     const char *fmt,
                                                     va_list args)
    SLICE_ATTR_PRINTF (4, 0);
/** As ralloc_strcat(). */
SLICE_API bool ralloc_linear_strcat (void *linear, char **dest,
                                     const char *str);

/** One object of a `type` in a linear context. */
#define ralloc_linear_alloc(linear, type)                                     \
  ((type *) ralloc_linear_alloc_child ((linear), sizeof (type)))
/** As ralloc_linear_alloc(), zeroed. */
#define ralloc_linear_zalloc(linear, type)                                    \
  ((type *) ralloc_linear_zalloc_child ((linear), sizeof (type)))
/** An array of a `type` in a linear context. */
#define ralloc_linear_alloc_array(linear, type, count)                        \
  ((type *) ralloc_linear_alloc_child_array ((linear), sizeof (type),         \
                                             (count)))
/** As ralloc_linear_alloc_array(), zeroed. */
#define ralloc_linear_zalloc_array(linear, type, count)                       \
  ((type *) ralloc_linear_zalloc_child_array ((linear), sizeof (type),        \
                                              (count)))

/* --- garbage-collected contexts --------------------------------------------
 *
 * Objects that are freed one by one or by mark and sweep, without a header
 * each.  The context is an ordinary node; its objects die with it. */

/** A garbage-collected context: a node as well. */
typedef struct RallocGc RallocGc;

/** Makes a garbage-collected context.
 * @param parent  NULL makes a root
 * @return        the context, or NULL with errno ENOMEM
 * Threads: tree.  Source: Mesa gc_context(). */
SLICE_API RallocGc *ralloc_gc_context (const void *parent);
/** Allocates an object.
 *
 * @param gc     the context, not NULL
 * @param size   bytes; 0 gives a real object
 * @param align  a power of two up to 4096, kept in every build
 * @return       the object, or NULL with errno ENOMEM
 *
 * Between ralloc_gc_sweep_start() and _end() new objects count as marked.
 *
 * Errors: not a gc context or a bad alignment (207).
 * Threads: tree.  Cost: about 35 instructions.
 * Source: Mesa gc_alloc_size().
 */
SLICE_API void *ralloc_gc_alloc_size (RallocGc *gc, size_t size, size_t align)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2);
/** As ralloc_gc_alloc_size(), zeroed. */
SLICE_API void *ralloc_gc_zalloc_size (RallocGc *gc, size_t size,
                                       size_t align)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE (2);
/** Frees an object; NULL does nothing.
 * Errors: no live object of a gc context (207). */
SLICE_API void ralloc_gc_free (void *ptr);
/** The context of an object, in O(1). */
SLICE_API RallocGc *ralloc_gc_get_context (void *ptr);
/** Begins a sweep: all objects and all nodes that hang on the context count
 * as rubbish until marked (nodes: until stolen away). */
SLICE_API void ralloc_gc_sweep_start (RallocGc *gc);
/** Marks an object of the context as live; twice is once. */
SLICE_API void ralloc_gc_mark_live (RallocGc *gc, const void *mem);
/** Ends a sweep: what is not marked is freed. */
SLICE_API void ralloc_gc_sweep_end (RallocGc *gc);

/** `count` of `type` in a gc context. */
#define ralloc_gc_alloc(gc, type, count)                                      \
  ((type *) ralloc_gc_alloc_size ((gc), sizeof (type) * (count),              \
                                  __alignof__ (type)))
/** As ralloc_gc_alloc(), zeroed. */
#define ralloc_gc_zalloc(gc, type, count)                                     \
  ((type *) ralloc_gc_zalloc_size ((gc), sizeof (type) * (count),             \
                                   __alignof__ (type)))

/* --- sizes and lists -------------------------------------------------------- */

/** Bytes of payload of a node and all its descendants: what may be used, so
 * at least what was asked for; 0 of NULL.  Linear buffers and gc slabs are
 * counted with their contexts.
 * Threads: tree.  Cost: O(nodes), constant stack.
 * Source: Mesa ralloc_total_size(), there in debug builds only. */
SLICE_API size_t ralloc_total_size (const void *ptr);

/** Flags of ralloc_print_info(). */
enum
{
  RALLOC_PRINT_INFO_SUMMARY_ONLY = 1 << 0 /**< the totals, not the tree */
};

/** Prints a node and its descendants, a line each, and totals.
 * @param f      where to
 * @param ptr    the node; NULL prints nothing
 * @param flags  0 or RALLOC_PRINT_INFO_SUMMARY_ONLY
 * Threads: tree.  Source: Mesa ralloc_print_info(). */
SLICE_API void ralloc_print_info (FILE *f, const void *ptr, unsigned flags);

/* =========================== beyond Mesa ==================================== */

/** Frees all children of a node, not the node itself; NULL does nothing.
 * Source: talloc_free_children(). */
SLICE_API void ralloc_free_children (void *ctx);

/** Is `ancestor` an ancestor of ptr (or ptr itself)?  NULL is ancestor of
 * nothing.  Threads: tree.  Cost: O(depth).  Source: talloc_is_parent(). */
SLICE_API bool ralloc_is_ancestor (const void *ancestor, const void *ptr);

/** Bytes of payload of one node that may be used; 0 of NULL.
 * Threads: tree.  Cost: some loads. */
SLICE_API size_t ralloc_usable_size (const void *ptr);

/** Nodes in a tree, the top included; 0 of NULL.
 * Threads: tree.  Cost: O(nodes).  Source: talloc_total_blocks(). */
SLICE_API size_t ralloc_total_nodes (const void *ptr);

/* --- destructors that may refuse --------------------------------------------- */

/** Sets a function that is asked before a node and its descendants are freed.
 *
 * @param ptr      the node, not NULL
 * @param refuses  called with the node *before* its descendants go (so from
 *                 the top of a tree downwards); true keeps the node and its
 *                 subtree.  NULL clears it.
 * @return         false if there is no memory for the record
 *
 * A node that is kept while its parent goes moves to the parent of the node
 * whose freeing began it all (to the roots, if that had none).  The function
 * may free others, add children, or steal its node away, which keeps it.
 * A node may have a destructor as well: that runs when the node goes.
 *
 * Threads: tree.  Source: talloc_set_destructor().
 */
SLICE_API bool ralloc_set_refusing_destructor (const void *ptr,
                                               bool (*refuses) (void *));

/** As ralloc_free(), and says what became of it.
 * @return  true if ptr is gone (or NULL); false if it was refused, kept by a
 *          reference, or is being freed already */
SLICE_API bool ralloc_try_free (void *ptr);

/** As ralloc_set_destructor(), but returns false when there is no memory. */
SLICE_API bool ralloc_try_set_destructor (const void *ptr,
                                          void (*destructor) (void *));

/** As ralloc_steal(), but returns false and changes nothing where the steal
 * would close a cycle (errno EINVAL), or where a limit above new_ctx does not
 * leave room for the subtree (errno ENOMEM). */
SLICE_API bool ralloc_try_steal (const void *new_ctx, void *ptr);

/* --- names and types ---------------------------------------------------------- */

/** Names a node.
 * @param ptr   the node, not NULL
 * @param name  copied; NULL takes the name away
 * @return      false with errno ENOMEM
 * Threads: tree.  Cost: a record at a node's first.
 * Source: talloc_set_name(). */
SLICE_API bool ralloc_set_name (const void *ptr, const char *name);
/** As ralloc_set_name(), but the name is kept by address: a literal. */
SLICE_API bool ralloc_set_name_const (const void *ptr, const char *name);
/** The name of a node; NULL if it has none, and of NULL. */
SLICE_API const char *ralloc_get_name (const void *ptr);
/** The nearest ancestor of that name (ptr itself does not count), or NULL.
 * Source: talloc_find_parent_byname(). */
SLICE_API void *ralloc_find_parent_by_name (const void *ptr,
                                            const char *name);
/** Allocates a zeroed node that bears a name; kept by address. */
SLICE_API void *ralloc_named_const (const void *ctx, size_t size,
                                    const char *name);
/** ptr if its name is `name`, else NULL. */
SLICE_API void *ralloc_check_name (const void *ptr, const char *name);
/** As ralloc_check_name(), but ends the program (208) if it is not. */
SLICE_API void *ralloc_check_name_abort (const void *ptr, const char *name,
                                         const char *place);

/** A zeroed node that knows its type. */
#define ralloc_typed(ctx, type)                                               \
  ((type *) ralloc_named_const ((ctx), sizeof (type), #type))
/** ptr as `type` if that is its type, else NULL.
 * Source: talloc_get_type(). */
#define ralloc_get_type(ptr, type)                                            \
  ((type *) ralloc_check_name ((ptr), #type))
/** ptr as `type`; ends the program if that is not its type.
 * Source: talloc_get_type_abort(). */
#define ralloc_get_type_abort(ptr, type)                                      \
  ((type *) ralloc_check_name_abort ((ptr), #type,                            \
                                     __FILE__ ":" RALLOC_STR_ (__LINE__)))
#define RALLOC_STR_(x) RALLOC_STR2_ (x)
#define RALLOC_STR2_(x) #x

/* --- references ----------------------------------------------------------------- */

/** Makes ctx a second owner of ptr.
 *
 * @param ctx  who shall keep ptr alive; any node, not NULL
 * @param ptr  the node to be kept, not NULL
 * @return     ptr, or NULL with errno ENOMEM
 *
 * A node has one parent always.  When that lets it go (by ralloc_free() on
 * the node or on an ancestor), the node moves to the oldest context that
 * holds a reference and is not dying with it; that reference is used up.
 *
 * Threads: tree (both).  Cost: a node of 32 bytes of payload under ctx.
 * Source: talloc_reference().
 */
SLICE_API void *ralloc_reference (const void *ctx, const void *ptr);
/** Gives up what ctx holds of ptr: a reference of it, else, if ctx is the
 * parent, as ralloc_free().
 * @return  false if ctx held nothing.  Source: talloc_unlink(). */
SLICE_API bool ralloc_unlink (const void *ctx, void *ptr);
/** References to a node, its parent not counted. */
SLICE_API size_t ralloc_reference_count (const void *ptr);

/* --- limits ---------------------------------------------------------------------- */

/** Limits the bytes that a subtree may hold.
 *
 * @param ctx    the top of the subtree, which counts
 * @param bytes  most bytes of blocks, headers included; 0 lifts the limit
 * @return       false with errno ENOMEM if there is no memory for the record;
 *               a limit below what is held now is set, and nothing more is
 *               given out until enough is freed
 *
 * An allocation under it that would pass the limit gives NULL with errno
 * ENOMEM.  Limits may be nested; a steal by ralloc_steal() is counted but
 * never refused, see ralloc_try_steal().
 *
 * Threads: tree.  Cost: O(nodes) to set; afterwards each allocation, free
 *   and steal in the subtree walks up to its root.
 * Source: talloc_set_memlimit().
 */
SLICE_API bool ralloc_set_limit (const void *ctx, size_t bytes);
/** Bytes held under the limit that is set on ctx itself; 0 if none is. */
SLICE_API size_t ralloc_limit_used (const void *ctx);

/* --- reports ----------------------------------------------------------------------- */

/** Prints a tree: names, kinds, nodes and bytes, one line a node, indented.
 * @param f    where to
 * @param ptr  the node; NULL prints the tracked roots
 * Threads: tree.  Source: talloc_report_full(). */
SLICE_API void ralloc_report (FILE *f, const void *ptr);
/** As ralloc_report(), as one JSON object (an array for NULL). */
SLICE_API void ralloc_report_json (FILE *f, const void *ptr);

/** Keeps a list of roots from now on (roots made before are not on it).
 * Costs each root a record and a lock; off by default.
 * @param on  false forgets the list
 * Threads: any, while no other thread uses a context. */
SLICE_API void ralloc_track_roots (bool on);
/** As ralloc_track_roots (true), and when the program exits the roots that
 * are still alive are printed on standard error.
 * @param full  whole trees, not just a line a root
 * Source: talloc_enable_leak_report(). */
SLICE_API void ralloc_report_at_exit (bool full);

/* --- debugging ------------------------------------------------------------------------ */

/** Makes the calling thread the owner of ptr's tree.
 *
 * With the option `debug` each tree belongs to the thread that made its root,
 * and linking or unlinking a node in another thread ends the program (209);
 * this hands the tree over.  Without that option it does nothing.
 * Threads: tree. */
SLICE_API void ralloc_take_tree (const void *ptr);

/** Notes where a node was allocated, for reports.
 * @param ptr   the node, or NULL
 * @param file  kept by address
 * @return      ptr
 * Only with the option `debug`; without it nothing is kept. */
SLICE_API void *ralloc_mark_place (const void *ptr, const char *file,
                                   unsigned line);

#ifdef RALLOC_MARKS
/* A source file that defines this before the #include has its allocations
 * marked. */
# define RALLOC_MARK_(node) (ralloc_mark_place ((node), __FILE__, __LINE__))
# define ralloc_context(c) RALLOC_MARK_ (ralloc_context (c))
# define ralloc_size(c, s) RALLOC_MARK_ (ralloc_size (c, s))
# define rzalloc_size(c, s) RALLOC_MARK_ (rzalloc_size (c, s))
# define ralloc_array_size(c, s, n) RALLOC_MARK_ (ralloc_array_size (c, s, n))
# define rzalloc_array_size(c, s, n)                                          \
  RALLOC_MARK_ (rzalloc_array_size (c, s, n))
# define ralloc_memdup(c, m, n) RALLOC_MARK_ (ralloc_memdup (c, m, n))
#endif

SLICE_END_DECLS

/* --- C++ ----------------------------------------------------------------------------- */

#ifdef __cplusplus

/** In a class: `new (ctx) Type` allocates from a context, `delete` frees, and
 * a destructor that does something is run when the tree is freed.
 * Source: Mesa DECLARE_ALLOC_CXX_OPERATORS_TEMPLATE(). */
# define DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE(TYPE, ALLOC_FUNC)              \
private:                                                                      \
  static void _ralloc_destructor (void *p)                                    \
  {                                                                           \
    reinterpret_cast<TYPE *> (p)->TYPE::~TYPE ();                             \
  }                                                                           \
                                                                              \
public:                                                                       \
  static void *operator new (size_t size, void *mem_ctx)                      \
  {                                                                           \
    void *p = ALLOC_FUNC (mem_ctx, size);                                     \
    if (p == NULL)                                                            \
      SLICE_RALLOC_BAD_ALLOC_ ();                                             \
    if (!__has_trivial_destructor (TYPE))                                     \
      ralloc_set_destructor (p, _ralloc_destructor);                          \
    return p;                                                                 \
  }                                                                           \
  static void operator delete (void *p, void *)                               \
  {                                                                           \
    ralloc_set_destructor (p, NULL);                                          \
    ralloc_free (p);                                                          \
  }                                                                           \
  static void operator delete (void *p)                                       \
  {                                                                           \
    if (p != NULL && !__has_trivial_destructor (TYPE))                        \
      ralloc_set_destructor (p, NULL);                                        \
    ralloc_free (p);                                                          \
  }

# define DECLARE_ALLOC_CXX_OPERATORS_TEMPLATE(TYPE, ALLOC_FUNC)               \
  DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE (TYPE, ALLOC_FUNC)
/** As the template, by ralloc_size(). */
# define DECLARE_RALLOC_CXX_OPERATORS(TYPE)                                   \
  DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE (TYPE, ralloc_size)
/** As the template, by rzalloc_size(). */
# define DECLARE_RZALLOC_CXX_OPERATORS(TYPE)                                  \
  DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE (TYPE, rzalloc_size)

/** In a class: `new (linear) Type` and `new (linear) Type[n]` allocate from a
 * linear context; `delete` runs the destructor and frees nothing.  The type
 * must have a trivial destructor, since nobody would run it.
 * Source: Mesa DECLARE_LINEAR_ALLOC_CXX_OPERATORS(). */
# define DECLARE_RALLOC_LINEAR_CXX_OPERATORS_TEMPLATE(TYPE, ALLOC_FUNC)       \
public:                                                                       \
  static void *operator new (size_t size, void *linear)                       \
  {                                                                           \
    static_assert (__has_trivial_destructor (TYPE),                           \
                   "nobody destroys the objects of a linear context");        \
    void *p = ALLOC_FUNC (linear, size);                                      \
    if (p == NULL)                                                            \
      SLICE_RALLOC_BAD_ALLOC_ ();                                             \
    return p;                                                                 \
  }                                                                           \
  static void *operator new[] (size_t size, void *linear)                     \
  {                                                                           \
    static_assert (__has_trivial_destructor (TYPE),                           \
                   "nobody destroys the objects of a linear context");        \
    void *p = ALLOC_FUNC (linear, size);                                      \
    if (p == NULL)                                                            \
      SLICE_RALLOC_BAD_ALLOC_ ();                                             \
    return p;                                                                 \
  }                                                                           \
  static void operator delete (void *, void *) {}                             \
  static void operator delete[] (void *, void *) {}                           \
  static void operator delete (void *) {}                                     \
  static void operator delete[] (void *) {}

# define DECLARE_LINEAR_ALLOC_CXX_OPERATORS(TYPE)                             \
  DECLARE_RALLOC_LINEAR_CXX_OPERATORS_TEMPLATE (TYPE,                         \
                                                ralloc_linear_alloc_child)
# define DECLARE_LINEAR_ZALLOC_CXX_OPERATORS(TYPE)                            \
  DECLARE_RALLOC_LINEAR_CXX_OPERATORS_TEMPLATE (TYPE,                         \
                                                ralloc_linear_zalloc_child)

# include <new>
# if defined __cpp_exceptions || defined __EXCEPTIONS
#  define SLICE_RALLOC_BAD_ALLOC_() throw std::bad_alloc ()
# else
#  define SLICE_RALLOC_BAD_ALLOC_() __builtin_trap ()
# endif

#endif /* __cplusplus */

#endif
