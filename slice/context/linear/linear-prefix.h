/* linear-prefix.h - the layout of linear contexts
 *
 * Layer: context.  For linear.c and linear-object.c alone.
 *
 * A linear context is a node whose block begins with the state of the arena:
 *
 *   block
 *   +----------------+--------+-------------------------------------+
 *   | LinearPrefix   | Node   | gap | first object, next object     |
 *   +----------------+--------+-------------------------------------+
 *                             ^ the handle, old style and new
 *
 * The state is at a fixed distance from the handle, and the handle is a node
 * like any other.  It is followed by 8 unused bytes, so that no object has the
 * address of the context and a free of the first object is reported.  In the
 * old style the handle is also the first object, and there is no gap.  When
 * the first buffer is full, others are chained to it.  Each buffer doubles the
 * sum, up to LINEAR_BUFFER_BYTES_MAX.
 *
 * In MODE_TRAILING_HEADER (under a memory checker) and MODE_TRACED (under a
 * recorder) every object is a node below the context.
 *
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_LINEAR_LINEAR_PREFIX_H
#define SLI_CONTEXT_LINEAR_LINEAR_PREFIX_H

#include "context/node.h"

enum
{
  MODE_NODES = MODE_TRAILING_HEADER | MODE_TRACED,
  LINEAR_ALIGN = 8,
  LINEAR_GAP_BYTES = 8,
  /* The first block.  A quarter of it is prefix and header.  Half of a
   * compiler's linear contexts hold less than 1 KiB. */
  LINEAR_FIRST_BYTES = 512,
  LINEAR_BUFFER_BYTES_MAX = 64 * 1024,
  LINEAR_OPTION_STEP_BYTES = 2048, /* min_buffer_size is rounded up to this */
  /* An object that does not fit gets a buffer of its own if it is larger than
   * this part of the next one. */
  LINEAR_OVERSIZE_PART = 4,
  /* A text longer than this that moves gets a buffer of its own. */
  LINEAR_SHARED_TEXT_MAX = 256,
  LINEAR_ROOM_MIN = 64, /* less room for appends is not worth a buffer */
  /* An object that grows is searched for in this many of the newest buffers,
   * and if objects are nodes, of the youngest of these. */
  LINEAR_LOOKS_MAX = 64
};

typedef struct LinearBuffer LinearBuffer;
struct LinearBuffer
{
  _Alignas (NODE_ALIGN) LinearBuffer *next; /* the next older one */
  size_t bytes_and_own; /* this header included */
};

/* The low bit of a buffer's size: it holds a single object, at its start. */
#define LINEAR_BUFFER_OWN ((size_t) 1)

static inline size_t
linear_buffer_bytes (const LinearBuffer *buffer)
{
  return buffer->bytes_and_own & ~LINEAR_BUFFER_OWN;
}

typedef struct
{
  _Alignas (NODE_ALIGN) char *at; /* the address of the next object */
  char *end;                      /* of the current buffer */
  char *last;                     /* the object allocated last */
  LinearBuffer *buffers;          /* all but the first */
  size_t held_bytes;              /* of all, this block included */
  size_t block_bytes;             /* of this block */
  size_t min_buffer_bytes;        /* option; 0: none */
  size_t kind;                    /* KIND_LINEAR; must be last */
} LinearPrefix;

SLICE_STATIC_ASSERT (offsetof (LinearPrefix, kind) + sizeof (size_t)
                         == sizeof (LinearPrefix),
                     "the kind lies just before the header");

static inline LinearPrefix *
linear_prefix (const void *linear)
{
  /* (One difference: the compiler puts it into each access.) */
  return (LinearPrefix *) ((uintptr_t) linear - sizeof (Node)
                           - sizeof (LinearPrefix));
}

static inline size_t
linear_round (size_t bytes)
{
  return align_up (bytes, LINEAR_ALIGN);
}

COLD _Noreturn void sli_context_linear_report (const void *linear,
                                               const char *operation);

/* The prefix of a linear context, after all checks; any other pointer ends the
 * program.  Not in MODE_NODES. */
LinearPrefix *sli_context_linear_examine (const void *linear,
                                          const char *operation);

/* The same, but checks only one word if no mode is set. */
static inline LinearPrefix *
linear_checked (const void *linear, const char *operation)
{
  LinearPrefix *prefix = linear_prefix (linear);

  if (UNLIKELY (sli_context_mode != 0 || prefix->kind != KIND_LINEAR))
    return sli_context_linear_examine (linear, operation);
  return prefix;
}

void *sli_context_linear_memory_new (size_t bytes);
void sli_context_linear_memory_free (void *memory, size_t bytes);

/* Rounds up to the size of the class, so that no part of a chunk is wasted. */
size_t sli_context_linear_memory_bytes (size_t bytes);

#endif
