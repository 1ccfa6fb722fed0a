/* trace.h - what a program may report to the recorder: scopes, marks, lines
 *
 * Public, and all inline: a program that includes it needs no library.  Under
 * slice-trace(1) the recorder receives the calls; otherwise each call takes a
 * load and a test.
 *
 * What the program does with slices, contexts and arenas is recorded without
 * any of this: hooks.h.
 *
 * Source lines are for C programs that are rebuilt: with
 * SLICE_TRACE_SOURCE_LINES defined before this header is included, malloc(),
 * calloc(), realloc() and strdup() are macros that count each call by file and
 * line, with or without the recorder.  Include this header last then, because
 * the macros would change declarations of these names in other headers.  C++
 * has no such macros.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_TRACE_H
#define SLICE_TRACE_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <slice/version.h>
#if defined SLICE_TRACE_SOURCE_LINES && defined __has_include
# if __has_include(<malloc.h>)
#  include <malloc.h> /* it declares them again */
# endif
#endif

SLICE_BEGIN_DECLS

/* Defined by the recorder; NULL in a program that runs without it. */
extern void slice_trace_scope_begin_v1 (const char *name)
    __attribute__ ((weak));
extern void slice_trace_scope_end_v1 (const char *name) __attribute__ ((weak));
extern void slice_trace_mark_v1 (const char *name) __attribute__ ((weak));
extern void slice_trace_line_v1 (const char *file_line) __attribute__ ((weak));

/** Begins a scope: a stretch of one thread's work, such as a request, a
 * compiler's function or a frame.  The analysis finds the blocks that live
 * within it.
 *
 * @param name  the same for each activation; not NULL
 *
 * Threads: any; each has its own scopes.  Scopes nest, 16 deep.
 * Cost: without the recorder one load and one test.
 */
static __inline__ void
slice_trace_scope_begin (const char *name)
{
  if (slice_trace_scope_begin_v1 != NULL)
    slice_trace_scope_begin_v1 (name);
}

/** Ends the innermost scope of that name, and those that began within it. */
static __inline__ void
slice_trace_scope_end (const char *name)
{
  if (slice_trace_scope_end_v1 != NULL)
    slice_trace_scope_end_v1 (name);
}

/** Marks a point in time, which the dump shows. */
static __inline__ void
slice_trace_mark (const char *name)
{
  if (slice_trace_mark_v1 != NULL)
    slice_trace_mark_v1 (name);
}

/* --- source lines -------------------------------------------------------- */

/** A place in the source that allocates.  All places of a program (or library)
 * are in a section of their own. */
typedef struct
{
  const char *place; /* "file:line" */
  const char *function;
  uint64_t n_calls;
  uint64_t bytes;
} SliceTraceLine;

#define SLICE_TRACE_TEXT_(x) #x
#define SLICE_TRACE_TEXT(x) SLICE_TRACE_TEXT_ (x)

/* The bounds of the section, defined by the linker. */
#ifdef __clang__
# pragma clang diagnostic push
# pragma clang diagnostic ignored "-Wunknown-warning-option"
# pragma clang diagnostic ignored "-Wreserved-identifier"
#endif
extern SliceTraceLine *const __start_slice_trace_lines[]
    __attribute__ ((weak, visibility ("hidden")));
extern SliceTraceLine *const __stop_slice_trace_lines[]
    __attribute__ ((weak, visibility ("hidden")));
#ifdef __clang__
# pragma clang diagnostic pop
#endif

static __inline__ void
slice_trace_line_count (SliceTraceLine *line, size_t bytes)
{
  __atomic_fetch_add (&line->n_calls, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add (&line->bytes, bytes, __ATOMIC_RELAXED);
  if (slice_trace_line_v1 != NULL)
    slice_trace_line_v1 (line->place);
}

/** Evaluates an expression that allocates, and counts it for the place.
 *
 * @param bytes  how much it allocates, for the count
 */
#define SLICE_TRACE_HERE(bytes, expression)                                   \
 (__extension__({                                                             \
static SliceTraceLine slice_trace_here_                                       \
    = { __FILE__ ":" SLICE_TRACE_TEXT (__LINE__), __func__, 0, 0 };           \
static SliceTraceLine *const slice_trace_here_at_                             \
    __attribute__ ((section ("slice_trace_lines"), used))                     \
    = &slice_trace_here_;                                                     \
(void)slice_trace_here_at_;                                                   \
slice_trace_line_count (&slice_trace_here_, (bytes));                         \
(expression);                                                                 \
 }))

/** Prints the places of this program that allocated, with their counts.
 *
 * @param file  the stream; not NULL
 */
static __inline__ void
slice_trace_print_lines (FILE *file)
{
  SliceTraceLine *const *at = __start_slice_trace_lines;
  SliceTraceLine *const *end = __stop_slice_trace_lines;

  for (; at != NULL && at < end; at++)
    if ((*at)->n_calls > 0)
      /* C89 prints no 64-bit integer where long has 32 bits. */
      fprintf (file, "%10.0f %12.0f  %s (%s)\n", (double) (*at)->n_calls,
               (double) (*at)->bytes, (*at)->place, (*at)->function);
}

/* Each argument is evaluated once, before the call is counted. */
#if defined SLICE_TRACE_SOURCE_LINES && !defined __cplusplus
# define malloc(size)                                                         \
  (__extension__({                                                            \
    size_t slice_trace_size_ = (size);                                        \
    SLICE_TRACE_HERE (slice_trace_size_, (malloc)(slice_trace_size_));        \
  }))
# define calloc(n, size)                                                      \
  (__extension__({                                                            \
    size_t slice_trace_n_ = (n), slice_trace_size_ = (size);                  \
    SLICE_TRACE_HERE (slice_trace_n_ * slice_trace_size_,                     \
                      (calloc)(slice_trace_n_, slice_trace_size_));           \
  }))
# define realloc(block, size)                                                 \
  (__extension__({                                                            \
    void *slice_trace_block_ = (block);                                       \
    size_t slice_trace_size_ = (size);                                        \
    SLICE_TRACE_HERE (slice_trace_size_,                                      \
                      (realloc)(slice_trace_block_, slice_trace_size_));      \
  }))
# undef strdup
# define strdup(text)                                                         \
  (__extension__({                                                            \
    const char *slice_trace_text_ = (text);                                   \
    SLICE_TRACE_HERE (strlen (slice_trace_text_) + 1,                         \
                      (strdup)(slice_trace_text_));                           \
  }))
#endif

SLICE_END_DECLS

#endif
