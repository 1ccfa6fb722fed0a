/* mesa-ralloc.c - Mesa's names for contexts: libslice-ralloc.so
 *
 * Layer: dropin.  A program built against Mesa's util/ralloc.h, of 22.3 or the
 * newest, links with this library instead of Mesa's ralloc.o.  Every function
 * here takes Mesa's arguments, where counts and linear sizes are `unsigned',
 * and jumps to libslice's.
 *
 * Both libraries export, for instance, ralloc_size: this one with the version
 * SLICE_MESA_0, libslice with SLICE_0.  The references below name SLICE_0, so
 * they find libslice in whatever order the two are loaded.
 *
 * Linear contexts of the old style and of the new have the same handle (see
 * context/linear/), so linear_alloc_child() serves both.
 * Design: chapter 7.  Source: Mesa's util/ralloc.h (interface only).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Functions are declared here, because Mesa's header and our stand-ins for it
 * need more of Mesa.  A linear_ctx is only passed as a pointer, so void * can
 * replace it. */
#define EXPORTED __attribute__ ((visibility ("default")))

/* Declares a function of libslice, by its version, as sli_<name>. */
#define LIBSLICE(type, name, parameters)                                      \
  extern type sli_##name parameters;                                          \
  __asm__(".symver sli_" #name ", " #name "@SLICE_0")

/* Defines a function that calls one of libslice. */
#define FORWARD(type, name, parameters, real, arguments)                      \
  EXPORTED type name parameters;                                              \
  type name parameters                                                        \
  {                                                                           \
    return sli_##real arguments;                                              \
  }
#define FORWARD_VOID(name, parameters, real, arguments)                       \
  EXPORTED void name parameters;                                              \
  void name parameters                                                        \
  {                                                                           \
    sli_##real arguments;                                                     \
  }

/* The same for a function with variable arguments after fmt; libslice's takes
 * a va_list. */
#define FORWARD_FORMAT(type, name, parameters, real, arguments)               \
  EXPORTED type name parameters;                                              \
  type name parameters                                                        \
  {                                                                           \
    va_list args;                                                             \
    type result;                                                              \
                                                                              \
    va_start (args, fmt);                                                     \
    result = sli_##real arguments;                                            \
    va_end (args);                                                            \
    return result;                                                            \
  }

/* --- nodes --------------------------------------------------------------- */

LIBSLICE (void *, ralloc_context, (const void *));
LIBSLICE (void *, ralloc_size, (const void *, size_t));
LIBSLICE (void *, rzalloc_size_v1, (const void *, size_t));
LIBSLICE (void *, reralloc_size, (const void *, void *, size_t));
LIBSLICE (void *, rerzalloc_size, (const void *, void *, size_t, size_t));
LIBSLICE (void *, ralloc_array_size, (const void *, size_t, size_t));
LIBSLICE (void *, rzalloc_array_size, (const void *, size_t, size_t));
LIBSLICE (void *, reralloc_array_size,
          (const void *, void *, size_t, size_t));
LIBSLICE (void *, rerzalloc_array_size,
          (const void *, void *, size_t, size_t, size_t));
LIBSLICE (void *, ralloc_memdup, (const void *, const void *, size_t));
LIBSLICE (void, ralloc_free, (void *));
LIBSLICE (void, ralloc_steal, (const void *, void *));
LIBSLICE (void, ralloc_adopt, (const void *, void *));
LIBSLICE (void *, ralloc_parent, (const void *));
LIBSLICE (void, ralloc_set_destructor, (const void *, void (*) (void *)));
LIBSLICE (size_t, ralloc_total_size, (const void *));
LIBSLICE (void, ralloc_print_info, (FILE *, const void *, unsigned));

FORWARD (void *, ralloc_context, (const void *ctx), ralloc_context, (ctx))
FORWARD (void *, ralloc_size, (const void *ctx, size_t size), ralloc_size,
         (ctx, size))
FORWARD (void *, rzalloc_size, (const void *ctx, size_t size),
         rzalloc_size_v1, (ctx, size))
FORWARD (void *, reralloc_size, (const void *ctx, void *ptr, size_t size),
         reralloc_size, (ctx, ptr, size))
FORWARD (void *, rerzalloc_size,
         (const void *ctx, void *ptr, size_t old_size, size_t new_size),
         rerzalloc_size, (ctx, ptr, old_size, new_size))
FORWARD (void *, ralloc_array_size,
         (const void *ctx, size_t size, unsigned count), ralloc_array_size,
         (ctx, size, count))
FORWARD (void *, rzalloc_array_size,
         (const void *ctx, size_t size, unsigned count), rzalloc_array_size,
         (ctx, size, count))
FORWARD (void *, reralloc_array_size,
         (const void *ctx, void *ptr, size_t size, unsigned count),
         reralloc_array_size, (ctx, ptr, size, count))
FORWARD (void *, rerzalloc_array_size,
         (const void *ctx, void *ptr, size_t size, unsigned old_count,
          unsigned new_count),
         rerzalloc_array_size, (ctx, ptr, size, old_count, new_count))
FORWARD (void *, ralloc_memdup, (const void *ctx, const void *mem, size_t n),
         ralloc_memdup, (ctx, mem, n))
FORWARD_VOID (ralloc_free, (void *ptr), ralloc_free, (ptr))
FORWARD_VOID (ralloc_steal, (const void *new_ctx, void *ptr), ralloc_steal,
              (new_ctx, ptr))
FORWARD_VOID (ralloc_adopt, (const void *new_ctx, void *old_ctx),
              ralloc_adopt, (new_ctx, old_ctx))
FORWARD (void *, ralloc_parent, (const void *ptr), ralloc_parent, (ptr))
FORWARD_VOID (ralloc_set_destructor,
              (const void *ptr, void (*destructor) (void *)),
              ralloc_set_destructor, (ptr, destructor))
FORWARD (size_t, ralloc_total_size, (const void *ptr), ralloc_total_size,
         (ptr))
FORWARD_VOID (ralloc_print_info, (FILE * f, const void *p, unsigned flags),
              ralloc_print_info, (f, p, flags))

/* --- strings ------------------------------------------------------------- */

LIBSLICE (char *, ralloc_strdup, (const void *, const char *));
LIBSLICE (char *, ralloc_strndup, (const void *, const char *, size_t));
LIBSLICE (bool, ralloc_strcat, (char **, const char *));
LIBSLICE (bool, ralloc_strncat, (char **, const char *, size_t));
LIBSLICE (bool, ralloc_str_append, (char **, const char *, size_t, size_t));
LIBSLICE (char *, ralloc_vasprintf, (const void *, const char *, va_list));
LIBSLICE (bool, ralloc_vasprintf_append, (char **, const char *, va_list));
LIBSLICE (bool, ralloc_vasprintf_rewrite_tail,
          (char **, size_t *, const char *, va_list));

FORWARD (char *, ralloc_strdup, (const void *ctx, const char *str),
         ralloc_strdup, (ctx, str))
FORWARD (char *, ralloc_strndup, (const void *ctx, const char *str, size_t n),
         ralloc_strndup, (ctx, str, n))
FORWARD (bool, ralloc_strcat, (char **dest, const char *str), ralloc_strcat,
         (dest, str))
FORWARD (bool, ralloc_strncat, (char **dest, const char *str, size_t n),
         ralloc_strncat, (dest, str, n))
FORWARD (bool, ralloc_str_append,
         (char **dest, const char *str, size_t existing, size_t str_size),
         ralloc_str_append, (dest, str, existing, str_size))
FORWARD (char *, ralloc_vasprintf,
         (const void *ctx, const char *fmt, va_list args), ralloc_vasprintf,
         (ctx, fmt, args))
FORWARD (bool, ralloc_vasprintf_append,
         (char **str, const char *fmt, va_list args),
         ralloc_vasprintf_append, (str, fmt, args))
FORWARD (bool, ralloc_vasprintf_rewrite_tail,
         (char **str, size_t *start, const char *fmt, va_list args),
         ralloc_vasprintf_rewrite_tail, (str, start, fmt, args))
FORWARD_FORMAT (char *, ralloc_asprintf,
                (const void *ctx, const char *fmt, ...), ralloc_vasprintf,
                (ctx, fmt, args))
FORWARD_FORMAT (bool, ralloc_asprintf_append,
                (char **str, const char *fmt, ...), ralloc_vasprintf_append,
                (str, fmt, args))
FORWARD_FORMAT (bool, ralloc_asprintf_rewrite_tail,
                (char **str, size_t *start, const char *fmt, ...),
                ralloc_vasprintf_rewrite_tail, (str, start, fmt, args))

/* --- garbage-collected contexts ------------------------------------------ */

LIBSLICE (void *, ralloc_gc_context, (const void *));
LIBSLICE (void *, ralloc_gc_alloc_size, (void *, size_t, size_t));
LIBSLICE (void *, ralloc_gc_zalloc_size, (void *, size_t, size_t));
LIBSLICE (void, ralloc_gc_free, (void *));
LIBSLICE (void *, ralloc_gc_get_context, (void *));
LIBSLICE (void, ralloc_gc_sweep_start, (void *));
LIBSLICE (void, ralloc_gc_mark_live, (void *, const void *));
LIBSLICE (void, ralloc_gc_sweep_end, (void *));

FORWARD (void *, gc_context, (const void *parent), ralloc_gc_context,
         (parent))
FORWARD (void *, gc_alloc_size, (void *ctx, size_t size, size_t align),
         ralloc_gc_alloc_size, (ctx, size, align))
FORWARD (void *, gc_zalloc_size, (void *ctx, size_t size, size_t align),
         ralloc_gc_zalloc_size, (ctx, size, align))
FORWARD_VOID (gc_free, (void *ptr), ralloc_gc_free, (ptr))
FORWARD (void *, gc_get_context, (void *ptr), ralloc_gc_get_context, (ptr))
FORWARD_VOID (gc_sweep_start, (void *ctx), ralloc_gc_sweep_start, (ctx))
FORWARD_VOID (gc_mark_live, (void *ctx, const void *mem),
              ralloc_gc_mark_live, (ctx, mem))
FORWARD_VOID (gc_sweep_end, (void *ctx), ralloc_gc_sweep_end, (ctx))

/* --- linear contexts, both styles ---------------------------------------- */

/* RallocLinearOpts; Mesa's linear_opts holds an unsigned. */
typedef struct
{
  size_t min_buffer_size;
} Options;

typedef struct
{
  unsigned min_buffer_size;
} MesaOptions;

LIBSLICE (void *, ralloc_linear_context, (const void *));
LIBSLICE (void *, ralloc_linear_context_with_opts,
          (const void *, const Options *));
LIBSLICE (void, ralloc_linear_free_context, (void *));
LIBSLICE (void *, ralloc_linear_alloc_child, (void *, size_t));
LIBSLICE (void *, ralloc_linear_zalloc_child, (void *, size_t));
LIBSLICE (void *, ralloc_linear_alloc_child_array, (void *, size_t, size_t));
LIBSLICE (void *, ralloc_linear_zalloc_child_array, (void *, size_t, size_t));
LIBSLICE (void *, ralloc_linear_alloc_parent, (const void *, size_t));
LIBSLICE (void *, ralloc_linear_zalloc_parent, (const void *, size_t));
LIBSLICE (void *, ralloc_linear_realloc, (void *, void *, size_t));
LIBSLICE (void *, ralloc_linear_memdup, (void *, const void *, size_t));
LIBSLICE (char *, ralloc_linear_strdup, (void *, const char *));
LIBSLICE (bool, ralloc_linear_strcat, (void *, char **, const char *));
LIBSLICE (char *, ralloc_linear_vasprintf, (void *, const char *, va_list));
LIBSLICE (bool, ralloc_linear_vasprintf_append,
          (void *, char **, const char *, va_list));
LIBSLICE (bool, ralloc_linear_vasprintf_rewrite_tail,
          (void *, char **, size_t *, const char *, va_list));

FORWARD (void *, linear_context, (void *ctx), ralloc_linear_context, (ctx))

EXPORTED void *linear_context_with_opts (void *ctx, const MesaOptions *opts);
void *
linear_context_with_opts (void *ctx, const MesaOptions *opts)
{
  Options ours = { opts != NULL ? opts->min_buffer_size : 0 };

  return sli_ralloc_linear_context_with_opts (ctx, &ours);
}

FORWARD_VOID (linear_free_context, (void *linear), ralloc_free, (linear))
FORWARD_VOID (ralloc_steal_linear_context, (void *ctx, void *linear),
              ralloc_steal, (ctx, linear))
FORWARD (void *, ralloc_parent_of_linear_context, (void *linear),
         ralloc_parent, (linear))
FORWARD (void *, linear_alloc_parent, (void *ctx, unsigned size),
         ralloc_linear_alloc_parent, (ctx, size))
FORWARD (void *, linear_zalloc_parent, (void *ctx, unsigned size),
         ralloc_linear_zalloc_parent, (ctx, size))
FORWARD_VOID (linear_free_parent, (void *linear), ralloc_free, (linear))
FORWARD_VOID (ralloc_steal_linear_parent, (void *ctx, void *linear),
              ralloc_steal, (ctx, linear))
FORWARD (void *, ralloc_parent_of_linear_parent, (void *linear),
         ralloc_parent, (linear))
FORWARD (void *, linear_alloc_child, (void *linear, unsigned size),
         ralloc_linear_alloc_child, (linear, size))
FORWARD (void *, linear_zalloc_child, (void *linear, unsigned size),
         ralloc_linear_zalloc_child, (linear, size))
FORWARD (void *, linear_alloc_child_array,
         (void *linear, size_t size, unsigned count),
         ralloc_linear_alloc_child_array, (linear, size, count))
FORWARD (void *, linear_zalloc_child_array,
         (void *linear, size_t size, unsigned count),
         ralloc_linear_zalloc_child_array, (linear, size, count))
FORWARD (void *, linear_realloc,
         (void *linear, void *old, unsigned new_size), ralloc_linear_realloc,
         (linear, old, new_size))
FORWARD (void *, linear_memdup, (void *linear, const void *mem, size_t n),
         ralloc_linear_memdup, (linear, mem, n))
FORWARD (char *, linear_strdup, (void *linear, const char *str),
         ralloc_linear_strdup, (linear, str))
FORWARD (bool, linear_strcat, (void *linear, char **dest, const char *str),
         ralloc_linear_strcat, (linear, dest, str))
FORWARD (char *, linear_vasprintf,
         (void *linear, const char *fmt, va_list args),
         ralloc_linear_vasprintf, (linear, fmt, args))
FORWARD (bool, linear_vasprintf_append,
         (void *linear, char **str, const char *fmt, va_list args),
         ralloc_linear_vasprintf_append, (linear, str, fmt, args))
FORWARD (bool, linear_vasprintf_rewrite_tail,
         (void *linear, char **str, size_t *start, const char *fmt,
          va_list args),
         ralloc_linear_vasprintf_rewrite_tail, (linear, str, start, fmt, args))
FORWARD_FORMAT (char *, linear_asprintf, (void *linear, const char *fmt, ...),
                ralloc_linear_vasprintf, (linear, fmt, args))
FORWARD_FORMAT (bool, linear_asprintf_append,
                (void *linear, char **str, const char *fmt, ...),
                ralloc_linear_vasprintf_append, (linear, str, fmt, args))
FORWARD_FORMAT (bool, linear_asprintf_rewrite_tail,
                (void *linear, char **str, size_t *start, const char *fmt,
                 ...),
                ralloc_linear_vasprintf_rewrite_tail,
                (linear, str, start, fmt, args))
