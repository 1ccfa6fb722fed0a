/* mesa-ralloc.h - replaces Mesa's src/util/ralloc.h
 *
 * A program includes util/ralloc.h.  The folder on the compiler's path selects
 * the version of Mesa: mesa-22.3, or mesa-26.1, the newest.
 *
 * It has the same names and arguments; link with -lslice-ralloc -lslice.  Like
 * Mesa's header it includes <stddef.h>, <stdarg.h>, <stdbool.h> and, inside
 * Mesa's tree, Mesa's macros.h, on which other files rely.  <slice/ralloc.h>
 * describes the calls under the same names (linear_ and gc_ with `ralloc_'
 * before them).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RALLOC_H
#define RALLOC_H

/* Major version times 100, and minor. */
#ifndef SLICE_MESA_VERSION
# define SLICE_MESA_VERSION 2601
#endif

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Mesa's own, if we are in its tree. */
#if defined __has_include
# if __has_include(<util/macros.h>)
#  include <util/macros.h>
# endif
#endif

/* Outside Mesa's tree. */
#include <assert.h>
#ifndef MALLOCLIKE
# define MALLOCLIKE __attribute__ ((__malloc__))
#endif
#ifndef PRINTFLIKE
# define PRINTFLIKE(f, a) __attribute__ ((format (__printf__, f, a)))
#endif
#ifndef MAX2
# define MAX2(A, B) ((A) > (B) ? (A) : (B))
#endif
#ifndef HAS_TRIVIAL_DESTRUCTOR
# define HAS_TRIVIAL_DESTRUCTOR(T) (__has_trivial_destructor (T))
#endif
#ifndef __cplusplus
# include <stdalign.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* nodes */
void *ralloc_context (const void *ctx);
void *ralloc_size (const void *ctx, size_t size) MALLOCLIKE;
void *rzalloc_size (const void *ctx, size_t size) MALLOCLIKE;
void *reralloc_size (const void *ctx, void *ptr, size_t size);
void *rerzalloc_size (const void *ctx, void *ptr, size_t old_size,
                      size_t new_size);
void *ralloc_array_size (const void *ctx, size_t size, unsigned count)
    MALLOCLIKE;
void *rzalloc_array_size (const void *ctx, size_t size, unsigned count)
    MALLOCLIKE;
void *reralloc_array_size (const void *ctx, void *ptr, size_t size,
                           unsigned count);
void *rerzalloc_array_size (const void *ctx, void *ptr, size_t size,
                            unsigned old_count, unsigned new_count);
#if SLICE_MESA_VERSION >= 2601
void *ralloc_memdup (const void *ctx, const void *mem, size_t n);
#endif
void ralloc_free (void *ptr);
void ralloc_steal (const void *new_ctx, void *ptr);
void ralloc_adopt (const void *new_ctx, void *old_ctx);
void *ralloc_parent (const void *ptr);
void ralloc_set_destructor (const void *ptr, void (*destructor) (void *));

#define ralloc(ctx, type) ((type *) ralloc_size (ctx, sizeof (type)))
#define rzalloc(ctx, type) ((type *) rzalloc_size (ctx, sizeof (type)))
#define ralloc_array(ctx, type, count)                                        \
  ((type *) ralloc_array_size (ctx, sizeof (type), count))
#define rzalloc_array(ctx, type, count)                                       \
  ((type *) rzalloc_array_size (ctx, sizeof (type), count))
#define reralloc(ctx, ptr, type, count)                                       \
  ((type *) reralloc_array_size (ctx, ptr, sizeof (type), count))
#define rerzalloc(ctx, ptr, type, old_count, new_count)                       \
  ((type *) rerzalloc_array_size (ctx, ptr, sizeof (type), old_count,         \
                                  new_count))

/* strings */
char *ralloc_strdup (const void *ctx, const char *str) MALLOCLIKE;
char *ralloc_strndup (const void *ctx, const char *str, size_t n) MALLOCLIKE;
bool ralloc_strcat (char **dest, const char *str);
bool ralloc_strncat (char **dest, const char *str, size_t n);
bool ralloc_str_append (char **dest, const char *str, size_t existing_length,
                        size_t str_size);
char *ralloc_asprintf (const void *ctx, const char *fmt, ...)
    PRINTFLIKE (2, 3) MALLOCLIKE;
char *ralloc_vasprintf (const void *ctx, const char *fmt, va_list args)
    MALLOCLIKE;
bool ralloc_asprintf_rewrite_tail (char **str, size_t *start, const char *fmt,
                                   ...) PRINTFLIKE (3, 4);
bool ralloc_vasprintf_rewrite_tail (char **str, size_t *start,
                                    const char *fmt, va_list args);
bool ralloc_asprintf_append (char **str, const char *fmt, ...)
    PRINTFLIKE (2, 3);
bool ralloc_vasprintf_append (char **str, const char *fmt, va_list args);

/* garbage-collected contexts */
typedef struct gc_ctx gc_ctx;

gc_ctx *gc_context (const void *parent);
void *gc_alloc_size (gc_ctx *ctx, size_t size, size_t align) MALLOCLIKE;
void *gc_zalloc_size (gc_ctx *ctx, size_t size, size_t align) MALLOCLIKE;
void gc_free (void *ptr);
gc_ctx *gc_get_context (void *ptr);
void gc_sweep_start (gc_ctx *ctx);
void gc_mark_live (gc_ctx *ctx, const void *mem);
void gc_sweep_end (gc_ctx *ctx);

/* fixed + size * count, or SIZE_MAX on overflow. */
static inline size_t
slice_gc_bytes_ (size_t fixed, size_t size, size_t count)
{
  size_t bytes;

  return __builtin_mul_overflow (size, count, &bytes)
                 || __builtin_add_overflow (bytes, fixed, &bytes)
             ? SIZE_MAX
             : bytes;
}

#define gc_alloc(ctx, type, count)                                            \
  gc_alloc_size (ctx, slice_gc_bytes_ (0, sizeof (type), (count)),            \
                 __alignof__ (type))
#define gc_zalloc(ctx, type, count)                                           \
  gc_zalloc_size (ctx, slice_gc_bytes_ (0, sizeof (type), (count)),           \
                  __alignof__ (type))
#define gc_alloc_zla(ctx, type, type2, count)                                 \
  gc_alloc_size (ctx,                                                         \
                 slice_gc_bytes_ (sizeof (type), sizeof (type2), (count)),    \
                 MAX2 (__alignof__ (type), __alignof__ (type2)))
#define gc_zalloc_zla(ctx, type, type2, count)                                \
  gc_zalloc_size (ctx,                                                        \
                  slice_gc_bytes_ (sizeof (type), sizeof (type2), (count)),   \
                  MAX2 (__alignof__ (type), __alignof__ (type2)))

/* linear contexts; in 22.3 the first object is the handle */
#if SLICE_MESA_VERSION >= 2601
typedef struct linear_ctx linear_ctx;
# define SLICE_MESA_LINEAR linear_ctx

typedef struct
{
  unsigned min_buffer_size;
} linear_opts;

linear_ctx *linear_context (void *ralloc_ctx);
linear_ctx *linear_context_with_opts (void *ralloc_ctx,
                                      const linear_opts *opts);
void linear_free_context (linear_ctx *ctx);
void ralloc_steal_linear_context (void *new_ralloc_ctx, linear_ctx *ctx);
void *ralloc_parent_of_linear_context (linear_ctx *ctx);
void *linear_alloc_child_array (linear_ctx *ctx, size_t size, unsigned count)
    MALLOCLIKE;
void *linear_zalloc_child_array (linear_ctx *ctx, size_t size,
                                 unsigned count) MALLOCLIKE;
void *linear_memdup (linear_ctx *ctx, const void *mem, size_t n);
#else
# define SLICE_MESA_LINEAR void

void *linear_alloc_parent (void *ralloc_ctx, unsigned size);
void *linear_zalloc_parent (void *ralloc_ctx, unsigned size);
void linear_free_parent (void *ptr);
void ralloc_steal_linear_parent (void *new_ralloc_ctx, void *ptr);
void *ralloc_parent_of_linear_parent (void *ptr);
void *linear_realloc (void *parent, void *old, unsigned new_size);
#endif

void *linear_alloc_child (SLICE_MESA_LINEAR *ctx, unsigned size);
void *linear_zalloc_child (SLICE_MESA_LINEAR *ctx, unsigned size) MALLOCLIKE;
char *linear_strdup (SLICE_MESA_LINEAR *ctx, const char *str) MALLOCLIKE;
char *linear_asprintf (SLICE_MESA_LINEAR *ctx, const char *fmt, ...)
    PRINTFLIKE (2, 3) MALLOCLIKE;
char *linear_vasprintf (SLICE_MESA_LINEAR *ctx, const char *fmt, va_list args)
    MALLOCLIKE;
bool linear_asprintf_append (SLICE_MESA_LINEAR *ctx, char **str,
                             const char *fmt, ...) PRINTFLIKE (3, 4);
bool linear_vasprintf_append (SLICE_MESA_LINEAR *ctx, char **str,
                              const char *fmt, va_list args);
bool linear_asprintf_rewrite_tail (SLICE_MESA_LINEAR *ctx, char **str,
                                   size_t *start, const char *fmt, ...)
    PRINTFLIKE (4, 5);
bool linear_vasprintf_rewrite_tail (SLICE_MESA_LINEAR *ctx, char **str,
                                    size_t *start, const char *fmt,
                                    va_list args);
bool linear_strcat (SLICE_MESA_LINEAR *ctx, char **dest, const char *str);

#if SLICE_MESA_VERSION >= 2601
# define linear_alloc(ctx, type)                                              \
  ((type *) linear_alloc_child (ctx, sizeof (type)))
# define linear_zalloc(ctx, type)                                             \
  ((type *) linear_zalloc_child (ctx, sizeof (type)))
# define linear_alloc_array(ctx, type, count)                                 \
  ((type *) linear_alloc_child_array (ctx, sizeof (type), count))
# define linear_zalloc_array(ctx, type, count)                                \
  ((type *) linear_zalloc_child_array (ctx, sizeof (type), count))

/* reports; in Mesa the first exists in debug builds only */
size_t ralloc_total_size (const void *ptr);

enum
{
  RALLOC_PRINT_INFO_SUMMARY_ONLY = 1 << 0
};

void ralloc_print_info (FILE *f, const void *p, unsigned flags);
#endif

#ifdef __cplusplus
} /* extern "C" */
#endif

/* C++ */
#define DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE(TYPE, ALLOC_FUNC)               \
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
    assert (p != NULL);                                                       \
    if (!HAS_TRIVIAL_DESTRUCTOR (TYPE))                                       \
      ralloc_set_destructor (p, _ralloc_destructor);                          \
    return p;                                                                 \
  }                                                                           \
  static void operator delete (void *p)                                       \
  {                                                                           \
    if (!HAS_TRIVIAL_DESTRUCTOR (TYPE))                                       \
      ralloc_set_destructor (p, NULL);                                        \
    ralloc_free (p);                                                          \
  }

#define DECLARE_RALLOC_CXX_OPERATORS(type)                                    \
  DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE (type, ralloc_size)
#define DECLARE_RZALLOC_CXX_OPERATORS(type)                                   \
  DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE (type, rzalloc_size)

#if SLICE_MESA_VERSION < 2601
# define DECLARE_ALLOC_CXX_OPERATORS_TEMPLATE                                 \
   DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE
# define DECLARE_LINEAR_ALLOC_CXX_OPERATORS(type)                             \
   DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE (type, linear_alloc_child)
# define DECLARE_LINEAR_ZALLOC_CXX_OPERATORS(type)                            \
   DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE (type, linear_zalloc_child)
#else
/* new_cmd and new_array_cmd are statements that see the object as `p'. */
# define DECLARE_LINEAR_ALLOC_CXX_OPERATORS_TEMPLATE(                         \
    TYPE, ALLOC_FUNC, new_cmd, new_array_cmd, ATTRIBUTE)                      \
public:                                                                       \
  ATTRIBUTE static void *operator new (size_t size, linear_ctx *ctx)          \
  {                                                                           \
    void *p = ALLOC_FUNC (ctx, size);                                         \
    assert (p != NULL);                                                       \
    new_cmd return p;                                                         \
  }                                                                           \
  ATTRIBUTE static void *operator new[] (size_t size, linear_ctx *ctx)        \
  {                                                                           \
    void *p = ALLOC_FUNC (ctx, size);                                         \
    assert (p != NULL);                                                       \
    new_array_cmd return p;                                                   \
  }
# define DECLARE_LINEAR_ALLOC_CXX_OPERATORS(type, new_cmd, new_array_cmd)     \
  DECLARE_LINEAR_ALLOC_CXX_OPERATORS_TEMPLATE (type, linear_alloc_child,      \
                                               new_cmd, new_array_cmd, )
# define DECLARE_LINEAR_ZALLOC_CXX_OPERATORS(type, new_cmd, new_array_cmd)    \
  DECLARE_LINEAR_ALLOC_CXX_OPERATORS_TEMPLATE (type, linear_zalloc_child,     \
                                               new_cmd, new_array_cmd, )
# define DECLARE_LINEAR_ZALLOC_CXX_OPERATORS_NO_SANITIZE(                     \
    type, new_cmd, new_array_cmd, FLAG)                                       \
  DECLARE_LINEAR_ALLOC_CXX_OPERATORS_TEMPLATE (type, linear_zalloc_child,     \
                                               new_cmd, new_array_cmd,        \
                                               ATTRIBUTE_NO_SANITIZE_##FLAG)
#endif

#endif
