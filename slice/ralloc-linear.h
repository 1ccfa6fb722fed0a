/* ralloc-linear.h - linear and garbage-collected contexts
 *
 * Public; a part of ralloc.h, which programs include.  Its rules on order,
 * memory, threads and misuse hold here, too.
 *
 * Design: section 7.9.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_RALLOC_LINEAR_H
#define SLICE_RALLOC_LINEAR_H

#include <slice/ralloc.h>

SLICE_BEGIN_DECLS

/* A destructor that the program sets on a linear or gc context must not read
 * the context's objects.  They may be gone, as a node's descendants are: under
 * a memory checker or a recorder, and with the option always-malloc, each
 * object is a node below the context; a large one of a gc context always is. */

/* --- linear contexts -------------------------------------------------------
 *
 * Many small objects that are freed together: without a header each, aligned
 * to 8, never freed alone.  The context is an ordinary node (free it, steal
 * it, allocate nodes below it).  The objects lie in its buffers, none of them
 * at the context's own address, and are not nodes: freeing or stealing one
 * ends the program (202).  So does using one as a parent in the modes checked,
 * hardened and debug; by default this is not found, and overwrites memory
 * before the object.
 *
 * With the option always-malloc, under valgrind and the sanitizers, and under a
 * recorder, "not a linear context" (206) and the misuse of an object (202) are
 * not found: there a linear context is a node as any other, and its objects
 * are nodes below it.  What ralloc.h says of pointers that are no nodes holds.
 *
 * Only libslice-ralloc exports Mesa's names without the
 * prefix `ralloc_`. */

/** A linear context: a node as well. */
typedef struct RallocLinear RallocLinear;

/** Options of a linear context; all zero is the default. */
typedef struct
{
  size_t min_buffer_size; /**< bytes of the smallest buffer, rounded up to a
                               multiple of 2048; 0: the first has 496 bytes,
                               and each new one is as large as all before it
                               together, up to 64 KiB */
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
/** Frees a linear context and all in it, as ralloc_free() does; NULL does
 * nothing.
 * Errors: as ralloc_free(); not a linear context (206). */
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
 * @param size    bytes; 0 gives a pointer that must not be read, an address
 *                that no other object has
 * @return        8-aligned memory, contents undefined; or NULL with ENOMEM
 *
 * An object that does not fit and is larger than a quarter of the next buffer
 * gets a buffer of its own, and the current one stays.  If a limit or the
 * memory has no space for the next buffer, it is smaller: half of it, or a
 * quarter, and so on.
 *
 * Errors: not a linear context (206).  NULL is error 210 in the modes, under
 *   tools, and if this is the process's first call for contexts.  Otherwise
 *   the context is read unexamined, and the call crashes.
 * Threads: tree.  Cost: 18 instructions while the buffer lasts.
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
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE2 (3, 2);
/** As ralloc_linear_alloc_child_array(), zeroed. */
SLICE_API void *ralloc_linear_zalloc_child_array (void *linear, size_t size,
                                                  size_t count)
    SLICE_ATTR_MALLOC SLICE_ATTR_ALLOC_SIZE2 (3, 2);

/** The old style (Mesa until 23): the handle of the context is its first
 * object, of `size` bytes.
 *
 * @param ctx   its parent; NULL gives NULL
 * @param size  bytes of the first object
 * @return      the first object and handle, or NULL
 *
 * As it is the handle, ralloc_free() of it frees the whole context.
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
 * @param new_size  bytes; 0 as in ralloc_linear_alloc_child()
 * @return          the object: in place if it was the last allocated or has
 *                  a buffer of its own, and that is large enough, else a copy
 *
 * Linear objects have no size of their own.  So a copy has `new_size` bytes of
 * the old buffer, or fewer if that buffer ends before, or if the new object
 * lies in it.  An object that leaves a buffer of its own is freed with that
 * buffer, if this is among the 64 newest.
 * Source: Mesa 22.3 linear_realloc().
 */
SLICE_API void *ralloc_linear_realloc (void *linear, void *old,
                                       size_t new_size);

/* The string calls for linear contexts: as those of ralloc.h; the string is
 * reallocated in `linear`, in place if it is the last object or has a buffer of
 * its own.
 *
 * A string of more than 256 bytes that moves gets a buffer of its own with half
 * as much again as it needs, or less if a limit or the memory forbids that; the
 * own buffer that it had is freed.  So n appends of one byte move a string
 * O(log n) times and the context holds O(n) bytes for it, also if objects are
 * allocated between the appends, and the same string grows again before 64
 * further buffers are added.  Each append to a shorter string that is not the
 * last object makes a copy.  While a string moves, its old and its new buffer
 * must fit the limits.
 *
 * With always-malloc, valgrind and the sanitizers each append moves the string,
 * as in ralloc_strcat(), and frees the old one, if it is among the 64 objects
 * that were allocated or grew last. */

/** A copy of a string; NULL of NULL. */
SLICE_API char *ralloc_linear_strdup (void *linear, const char *str)
    SLICE_ATTR_MALLOC;
/** A copy of n bytes; as ralloc_memdup(). */
SLICE_API void *ralloc_linear_memdup (void *linear, const void *mem, size_t n)
    SLICE_ATTR_ALLOC_SIZE (3);
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

/* The alignment of every object. */
#define RALLOC_LINEAR_ALIGN_V1 8

/** One object of a `type` in a linear context.  A type that must be aligned to
 * more than 8 bytes is refused by the compiler, here and in the macros below;
 * a linear arena (linear.h) serves it. */
#define ralloc_linear_alloc(linear, type)                                     \
  SLICE_CAST_ (type *, ralloc_linear_alloc_child (                            \
      (linear), RALLOC_SIZEOF_ (type, RALLOC_LINEAR_ALIGN_V1)))
/** As ralloc_linear_alloc(), zeroed. */
#define ralloc_linear_zalloc(linear, type)                                    \
  SLICE_CAST_ (type *, ralloc_linear_zalloc_child (                           \
      (linear), RALLOC_SIZEOF_ (type, RALLOC_LINEAR_ALIGN_V1)))
/** An array of a `type` in a linear context. */
#define ralloc_linear_alloc_array(linear, type, count)                        \
  SLICE_CAST_ (type *, ralloc_linear_alloc_child_array (                      \
      (linear), RALLOC_SIZEOF_ (type, RALLOC_LINEAR_ALIGN_V1), (count)))
/** As ralloc_linear_alloc_array(), zeroed. */
#define ralloc_linear_zalloc_array(linear, type, count)                       \
  SLICE_CAST_ (type *, ralloc_linear_zalloc_child_array (                     \
      (linear), RALLOC_SIZEOF_ (type, RALLOC_LINEAR_ALIGN_V1), (count)))

/* --- garbage-collected contexts --------------------------------------------
 *
 * Objects that are freed one by one or by mark and sweep, without a header
 * each.  The context is an ordinary node; its objects are freed with it.
 *
 * Objects of up to 512 bytes with an alignment of up to 64 lie in slabs of
 * 16 KiB, each for a range of sizes.  Slabs count in limits
 * (ralloc_set_limit()) as a whole.  So the first object of a range takes 16 KiB
 * of a limit, and is refused if less is left, however small it is.  Each range
 * keeps one slab without objects until the next sweep.
 *
 * Other objects are nodes; so are all with always-malloc, under valgrind and
 * the sanitizers, and under a recorder.  An alignment above 16 makes a node
 * larger by about as many bytes.  The node keeps it until reralloc() moves the
 * node, as with realloc(). */

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
 * @param align  a power of two up to 4096, honoured in every build
 * @return       the object, or NULL with errno ENOMEM
 *
 * Between ralloc_gc_sweep_start() and _end() new objects count as marked.
 *
 * Errors: not a gc context or a bad alignment (207).  (With always-malloc,
 *   under valgrind and the sanitizers, and under a recorder, every object is a
 *   node: see ralloc_gc_free().)
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
 * Errors: no live object of a gc context (207).  Larger objects are nodes: for
 * one that was freed before, and for an address that is no node either, the
 * errors of ralloc_free() (200 to 203).  With always-malloc, under valgrind and
 * the sanitizers, and under a recorder, all objects are nodes. */
SLICE_API void ralloc_gc_free (void *ptr);
/** The context of an object, in O(1).
 * Errors: as ralloc_gc_free(); NULL (210). */
SLICE_API RallocGc *ralloc_gc_get_context (void *ptr);
/** Begins a sweep: all objects of the context and all its children count as
 * unreachable until they are marked (or, if they are nodes, stolen).
 * References that the context holds stay.
 *
 * Until the sweep ends the nodes remain children of the context and count in
 * limits; beside them it has a node of 16 bytes, named "sweep", which no limit
 * refuses.  An adoption of its children (ralloc_adopt()) takes all of them from
 * the sweep.  A second start restarts the sweep.  If there is no memory for
 * that node, the sweep frees nothing. */
SLICE_API void ralloc_gc_sweep_start (RallocGc *gc);
/** Marks an object of the context as live; NULL does nothing.  It may be called
 * again for the same object.
 * Errors: as ralloc_gc_free(), and an object of another context or a node
 * elsewhere (207). */
SLICE_API void ralloc_gc_mark_live (RallocGc *gc, const void *mem);
/** Ends a sweep: frees all objects that are not marked.  Without a sweep it
 * does nothing.
 *
 * Objects that are nodes first move below the node "sweep" and are freed with
 * it.  Their destructors see "sweep" as the parent, and can't mark them any
 * more.  If a refusing destructor refuses, its node stays with the context. */
SLICE_API void ralloc_gc_sweep_end (RallocGc *gc);

/* The most that a gc context aligns to. */
#define RALLOC_GC_ALIGN_MAX_V1 4096

/* size * count, or SIZE_MAX if that does not fit. */
static __inline__ size_t
ralloc_product_ (size_t size, size_t count)
{
  size_t bytes;

  return __builtin_mul_overflow (size, count, &bytes) ? SIZE_MAX : bytes;
}

/** `count` of `type` in a gc context; NULL with errno ENOMEM if the product
 * does not fit.  The compiler refuses an alignment above 4096. */
#define ralloc_gc_alloc(gc, type, count)                                      \
  SLICE_CAST_ (type *, ralloc_gc_alloc_size (                                 \
      (gc),                                                                   \
      ralloc_product_ (RALLOC_SIZEOF_ (type, RALLOC_GC_ALIGN_MAX_V1),         \
                       (count)),                                              \
      __alignof__ (type)))
/** As ralloc_gc_alloc(), zeroed. */
#define ralloc_gc_zalloc(gc, type, count)                                     \
  SLICE_CAST_ (type *, ralloc_gc_zalloc_size (                                \
      (gc),                                                                   \
      ralloc_product_ (RALLOC_SIZEOF_ (type, RALLOC_GC_ALIGN_MAX_V1),         \
                       (count)),                                              \
      __alignof__ (type)))

SLICE_END_DECLS

/* --- C++ ----------------------------------------------------------------- */

#ifdef __cplusplus

/** In a class: `new (linear) Type` and `new (linear) Type[n]` allocate from a
 * linear context; `delete` runs the destructor and frees nothing.  The type
 * must have a trivial destructor, because no other would run when the context
 * is freed.
 * Source: Mesa DECLARE_LINEAR_ALLOC_CXX_OPERATORS(). */
# define DECLARE_RALLOC_LINEAR_CXX_OPERATORS_TEMPLATE(TYPE, ALLOC_FUNC)       \
public:                                                                       \
  static void *operator new (size_t size, void *linear)                       \
  {                                                                           \
    static_assert (alignof (TYPE) <= RALLOC_LINEAR_ALIGN_V1,                  \
                   "an object of a linear context is aligned to 8 bytes");    \
    static_assert (__has_trivial_destructor (TYPE),                           \
                   "nobody destroys the objects of a linear context");        \
    void *p;                                                                  \
    while ((p = ALLOC_FUNC (linear, size)) == SLICE_NULL_ (void *))           \
      SLICE_RALLOC_BAD_ALLOC_ (size);                                         \
    return p;                                                                 \
  }                                                                           \
  SLICE_RALLOC_NO_ALIGNED_NEW_                                                \
  static void *operator new[] (size_t size, void *linear)                     \
  {                                                                           \
    return operator new (size, linear);                                       \
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

#endif /* __cplusplus */

#endif
