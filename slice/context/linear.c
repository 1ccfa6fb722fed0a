/* linear.c - linear contexts: many small objects without headers
 *
 * Layer: context.  No locks.
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
 * the first buffer is full, others are chained to it.  Each doubles the sum,
 * up to LINEAR_BUFFER_BYTES_MAX.
 *
 * In MODE_TRAILING_HEADER (under a memory checker) and MODE_TRACED (under a
 * recorder) every object is a node below the context.
 *
 * Strings in them: linear-string.c.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "node.h"

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
  LINEAR_OVERSIZE_PART = 4
};

typedef struct LinearBuffer LinearBuffer;
struct LinearBuffer
{
  _Alignas (NODE_ALIGN) LinearBuffer *next; /* the next older one */
  size_t bytes;                             /* this header included */
};

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

_Static_assert (offsetof (LinearPrefix, kind) + sizeof (size_t)
                    == sizeof (LinearPrefix),
                "the kind lies just before the header");

static inline LinearPrefix *
prefix_of (const void *linear)
{
  return (LinearPrefix *) head_of (linear) - 1;
}

size_t
sli_context_linear_prefix_bytes (void)
{
  return sizeof (LinearPrefix);
}

size_t
sli_context_linear_bytes (const Node *node)
{
  return ((const LinearPrefix *) node - 1)->held_bytes;
}

static COLD _Noreturn void
report_not_linear (const void *linear)
{
  sli_diag_abort (ERROR_NOT_LINEAR, "not a linear context: %p", linear);
}

/* The prefix of a pointer, which may be any, after all checks.  Not in
 * MODE_NODES. */
static LinearPrefix *
prefix_examined (const void *linear, const char *operation)
{
  const Node *node = sli_context_check (linear, operation);
  LinearPrefix *prefix = prefix_of (linear);

  if (UNLIKELY ((node->parent & NODE_HAS_PREFIX) == 0
                || prefix->kind != KIND_LINEAR))
    report_not_linear (linear);
  return prefix;
}

/* The same, but checks only one word if no mode is set. */
static inline LinearPrefix *
prefix_checked (const void *linear, const char *operation)
{
  LinearPrefix *prefix = prefix_of (linear);

  if (UNLIKELY (sli_context_mode != 0 || prefix->kind != KIND_LINEAR))
    return prefix_examined (linear, operation);
  return prefix;
}

/* Checks the argument of calls that then treat it as any node; NULL is
 * valid. */
static void
require_linear (const void *linear, const char *operation)
{
  if (linear != NULL && (sli_context_mode & MODE_NODES) == 0)
    prefix_examined (linear, operation);
}

/* --- memory -------------------------------------------------------------- */

CONTEXT_TEXT static void *
memory_new (size_t bytes)
{
  return bytes <= slab_block_max () ? slice_try_alloc (bytes)
                                    : sli_large_alloc (bytes, false);
}

CONTEXT_TEXT static void
memory_free (void *memory, size_t bytes)
{
  if (bytes <= slab_block_max ())
    slice_free1 (bytes, memory);
  else
    sli_large_free (memory);
}

/* Rounds up to the size of the class, so that no part of a chunk is wasted. */
CONTEXT_TEXT static size_t
memory_bytes (size_t bytes)
{
  return bytes <= slab_block_max () ? node_total (bytes - sizeof (Node))
                                    : (bytes + NODE_ALIGN - 1)
                                          & ~(size_t) (NODE_ALIGN - 1);
}

CONTEXT_TEXT void
sli_context_linear_release (Node *node)
{
  LinearPrefix *prefix = (LinearPrefix *) node - 1;
  LinearBuffer *buffer = prefix->buffers;
  LinearBuffer *next;

  prefix->kind = 0;
  for (; buffer != NULL; buffer = next)
    {
      next = buffer->next;
      memory_free (buffer, buffer->bytes);
    }
  if (prefix->block_bytes > slab_block_max ())
    sli_map_forget (node + 1);
  memory_free (prefix, prefix->block_bytes);
}

/* --- contexts ------------------------------------------------------------ */

static void *
linear_init (char *block, size_t bytes, size_t min_buffer_bytes)
{
  LinearPrefix *prefix = (LinearPrefix *) block;
  Node *node = (Node *) (prefix + 1);
  char *payload = (char *) (node + 1);

  prefix->at = payload;
  prefix->end = block + bytes;
  prefix->last = NULL;
  prefix->buffers = NULL;
  prefix->held_bytes = bytes;
  prefix->block_bytes = bytes;
  prefix->min_buffer_bytes = min_buffer_bytes;
  prefix->kind = KIND_LINEAR;
  node->parent = NODE_HAS_PREFIX;
  node->child = NULL;
  if (bytes > slab_block_max () && !sli_map_note (payload, NOTE_NODE))
    {
      sli_large_free (block);
      return NULL;
    }
  return payload;
}

/* Links a new linear context to its parent, as ralloc_size() would. */
static void *
linear_link (const void *ctx, void *payload)
{
  void *parent = (void *) (uintptr_t) ctx;
  Node *node = head_of (payload);
  uintptr_t word;

  if (parent != NULL)
    {
      Node *parent_node = head_of (parent);
      if (UNLIKELY (parent_node->parent & NODE_LIMITED))
        {
          if (!sli_limit_add (parent, prefix_of (payload)->held_bytes))
            {
              sli_context_linear_release (node);
              return NULL;
            }
          node->parent |= NODE_LIMITED;
        }
    }
  word = context_enter (parent, "ralloc_linear_context");
  node_link (parent, node, payload);
  context_leave (parent, word);
  if (UNLIKELY (sli_context_mode & MODE_ROOTS) && parent == NULL)
    sli_roots_add (payload);
  return payload;
}

/* Makes a context that begins with an object of `size' bytes. */
CONTEXT_TEXT static void *
linear_new (const void *ctx, size_t size, size_t min_buffer_bytes)
{
  const size_t head = sizeof (LinearPrefix) + sizeof (Node);
  size_t bytes = LINEAR_FIRST_BYTES;
  char *block;

  if (UNLIKELY (size > (size_t) PTRDIFF_MAX / 2
                || min_buffer_bytes > (size_t) PTRDIFF_MAX / 2))
    {
      errno = ENOMEM;
      return NULL;
    }
  if (UNLIKELY (ctx == NULL && !sli_context_init ()))
    return NULL;
  if (sli_context_mode & MODE_NODES)
    return ralloc_size (ctx, size);
  /* Check before the allocation, which may return the block of a freed
   * parent. */
  if (ctx != NULL)
    sli_context_check (ctx, "ralloc_linear_context");
  if (bytes < head + size)
    bytes = head + size;
  if (bytes < head + min_buffer_bytes)
    bytes = head + min_buffer_bytes;
  bytes = memory_bytes (bytes);
  block = memory_new (bytes);
  if (UNLIKELY (block == NULL))
    return NULL;
  block = linear_init (block, bytes, min_buffer_bytes);
  return LIKELY (block != NULL) ? linear_link (ctx, block) : NULL;
}

/* Makes a context of the new style: the handle is no object. */
static RallocLinear *
linear_new_apart (const void *ctx, size_t min_buffer_bytes)
{
  void *linear = linear_new (ctx, 0, min_buffer_bytes);

  if (LIKELY (linear != NULL && (sli_context_mode & MODE_NODES) == 0))
    prefix_of (linear)->at += LINEAR_GAP_BYTES;
  return linear;
}

RallocLinear *
ralloc_linear_context (const void *ctx)
{
  return linear_new_apart (ctx, 0);
}

RallocLinear *
ralloc_linear_context_with_opts (const void *ctx,
                                 const RallocLinearOpts *opts)
{
  size_t min = opts != NULL ? opts->min_buffer_size : 0;

  if (min > (size_t) PTRDIFF_MAX / 2)
    {
      errno = ENOMEM;
      return NULL;
    }
  min = (min + LINEAR_OPTION_STEP_BYTES - 1)
        & ~(size_t) (LINEAR_OPTION_STEP_BYTES - 1);
  return linear_new_apart (ctx, min > 0 ? min + LINEAR_GAP_BYTES : 0);
}

void
ralloc_linear_free_context (RallocLinear *linear)
{
  require_linear (linear, "ralloc_linear_free_context");
  ralloc_free (linear);
}

void
ralloc_steal_linear_context (const void *new_ctx, RallocLinear *linear)
{
  require_linear (linear, "ralloc_steal_linear_context");
  ralloc_steal (new_ctx, linear);
}

void *
ralloc_parent_of_linear_context (const RallocLinear *linear)
{
  require_linear (linear, "ralloc_parent_of_linear_context");
  return ralloc_parent (linear);
}

CONTEXT_TEXT void *
ralloc_linear_alloc_parent (const void *ctx, size_t size)
{
  void *linear;

  if (UNLIKELY (ctx == NULL))
    return NULL;
  linear = linear_new (ctx, size, 0);
  if (LIKELY (linear != NULL && (sli_context_mode & MODE_NODES) == 0))
    {
      LinearPrefix *prefix = prefix_of (linear);
      prefix->last = prefix->at;
      /* No object has the handle's address. */
      prefix->at += (size + (size == 0) + LINEAR_ALIGN - 1)
                    & ~(size_t) (LINEAR_ALIGN - 1);
    }
  return linear;
}

void *
ralloc_linear_zalloc_parent (const void *ctx, size_t size)
{
  void *linear = ralloc_linear_alloc_parent (ctx, size);

  if (LIKELY (linear != NULL))
    memset (linear, 0, size);
  return linear;
}

void
ralloc_linear_free_parent (void *linear)
{
  require_linear (linear, "ralloc_linear_free_parent");
  ralloc_free (linear);
}

void
ralloc_steal_linear_parent (const void *new_ctx, void *linear)
{
  require_linear (linear, "ralloc_steal_linear_parent");
  ralloc_steal (new_ctx, linear);
}

void *
ralloc_parent_of_linear_parent (const void *linear)
{
  require_linear (linear, "ralloc_parent_of_linear_parent");
  return ralloc_parent (linear);
}

/* --- objects ------------------------------------------------------------- */

static LinearBuffer *
buffer_new (LinearPrefix *prefix, const void *linear, size_t bytes)
{
  bool limited = (head_of (linear)->parent & NODE_LIMITED) != 0;
  LinearBuffer *buffer;

  if (limited && !sli_limit_add (linear, bytes))
    return NULL;
  buffer = memory_new (bytes);
  if (buffer == NULL)
    {
      if (limited)
        sli_limit_subtract (linear, bytes);
      return NULL;
    }
  buffer->bytes = bytes;
  buffer->next = prefix->buffers;
  prefix->buffers = buffer;
  prefix->held_bytes += bytes;
  return buffer;
}

/* The size of the next buffer: the sum of all before it. */
static size_t
next_buffer_bytes (const LinearPrefix *prefix)
{
  size_t bytes = prefix->held_bytes;
  size_t min = prefix->min_buffer_bytes;

  if (bytes > LINEAR_BUFFER_BYTES_MAX)
    bytes = LINEAR_BUFFER_BYTES_MAX;
  if (min > 0 && bytes < min + sizeof (LinearBuffer))
    bytes = min + sizeof (LinearBuffer);
  return memory_bytes (bytes);
}

/* `at' and `end' are 8-aligned, so an object that fits also fits rounded
 * up. */
CONTEXT_TEXT static inline void *
object_alloc (LinearPrefix *prefix, char *at, size_t size)
{
  assert_here (size <= (size_t) (prefix->end - at));
  prefix->last = at;
  prefix->at
      = at + ((size + LINEAR_ALIGN - 1) & ~(size_t) (LINEAR_ALIGN - 1));
  return at;
}

CONTEXT_TEXT static COLD void *
object_slow (void *linear, size_t size)
{
  LinearPrefix *prefix;
  LinearBuffer *buffer;
  size_t rounded;
  size_t bytes;
  bool is_alone;

  if (size > (size_t) PTRDIFF_MAX / 2)
    {
      errno = ENOMEM;
      return NULL;
    }
  if (sli_context_mode & MODE_NODES)
    {
      sli_context_check (linear, "ralloc_linear_alloc_child"); /* NULL, too */
      return ralloc_size (linear, size);
    }
  prefix = prefix_examined (linear, "ralloc_linear_alloc_child");
  if (size <= (size_t) (prefix->end - prefix->at))
    return object_alloc (prefix, prefix->at, size);
  rounded = (size + LINEAR_ALIGN - 1) & ~(size_t) (LINEAR_ALIGN - 1);
  bytes = next_buffer_bytes (prefix);
  is_alone = rounded > bytes / LINEAR_OVERSIZE_PART;
  if (is_alone)
    bytes = memory_bytes (sizeof (LinearBuffer) + rounded);
  buffer = buffer_new (prefix, linear, bytes);
  if (UNLIKELY (buffer == NULL) && !is_alone)
    {
      is_alone = true;
      buffer = buffer_new (prefix, linear,
                           memory_bytes (sizeof (LinearBuffer) + rounded));
    }
  if (buffer == NULL)
    return NULL;
  if (!is_alone)
    {
      prefix->last = (char *) (buffer + 1);
      prefix->at = prefix->last + rounded;
      prefix->end = (char *) buffer + bytes;
    }
  return buffer + 1;
}

static inline __attribute__ ((always_inline)) void *
object_new (void *linear, size_t size)
{
  LinearPrefix *prefix = prefix_of (linear);
  char *at;

  /* The slow path serves all other modes; in the default mode one word tells a
   * linear context from a freed one. */
  if (UNLIKELY (sli_context_mode != 0 || prefix->kind != KIND_LINEAR))
    return object_slow (linear, size);
  at = prefix->at;
  if (UNLIKELY (size > (size_t) (prefix->end - at)))
    return object_slow (linear, size);
  return object_alloc (prefix, at, size);
}

CONTEXT_TEXT void *
ralloc_linear_alloc_child (void *linear, size_t size)
{
  return object_new (linear, size);
}

typedef long long Words
    __attribute__ ((vector_size (16), aligned (LINEAR_ALIGN), may_alias));

/* Most objects are short: two or four stores, from both ends towards the
 * middle, take less time than a call to memset(). */
static inline void
object_clear (char *object, size_t size)
{
  const Words zero = { 0, 0 };
  size_t padded = (size + LINEAR_ALIGN - 1) & ~(size_t) (LINEAR_ALIGN - 1);
  char *end = object + padded;

  if (UNLIKELY (padded - 16 > 64 - 16))
    {
      memset (object, 0, size);
      return;
    }
  ((Words *) (void *) object)[0] = zero;
  ((Words *) (void *) end)[-1] = zero;
  if (padded > 32)
    {
      ((Words *) (void *) object)[1] = zero;
      ((Words *) (void *) end)[-2] = zero;
    }
}

CONTEXT_TEXT void *
ralloc_linear_zalloc_child (void *linear, size_t size)
{
  void *object = object_new (linear, size);

  if (UNLIKELY (object == NULL))
    return NULL;
  /* An object that is a node has no bytes beyond its size. */
  if (UNLIKELY (sli_context_mode & MODE_NODES))
    return memset (object, 0, size);
  object_clear (object, size);
  return object;
}

void *
ralloc_linear_alloc_child_array (void *linear, size_t size, size_t count)
{
  size_t bytes;

  return node_product (size, count, &bytes)
             ? ralloc_linear_alloc_child (linear, bytes)
             : NULL;
}

void *
ralloc_linear_zalloc_child_array (void *linear, size_t size, size_t count)
{
  size_t bytes;

  return node_product (size, count, &bytes)
             ? ralloc_linear_zalloc_child (linear, bytes)
             : NULL;
}

/* --- growing objects ----------------------------------------------------- */

bool
sli_context_linear_extend (void *linear, char *object, size_t new_size)
{
  LinearPrefix *prefix;

  if (sli_context_mode & MODE_NODES)
    return false;
  prefix = prefix_checked (linear, "ralloc_linear_realloc");
  if (object != prefix->last || new_size > (size_t) (prefix->end - object))
    return false;
  prefix->at = object
               + ((new_size + LINEAR_ALIGN - 1)
                  & ~(size_t) (LINEAR_ALIGN - 1));
  return true;
}

/* The number of bytes from an object on that certainly belong to the context.
 * (An object of no bytes may lie at a buffer's end.) */
static size_t
readable_bytes (void *linear, const char *object)
{
  const LinearPrefix *prefix;
  const LinearBuffer *buffer;
  const char *end;

  if (sli_context_mode & MODE_NODES)
    return ralloc_usable_size (object);
  prefix = prefix_checked (linear, "ralloc_linear_realloc");
  end = (const char *) prefix + prefix->block_bytes;
  if (object >= (const char *) linear && object <= end)
    return (size_t) (end - object);
  for (buffer = prefix->buffers; buffer != NULL; buffer = buffer->next)
    {
      end = (const char *) buffer + buffer->bytes;
      if (object >= (const char *) buffer && object <= end)
        return (size_t) (end - object);
    }
  report_not_linear (object);
}

void *
ralloc_linear_realloc (void *linear, void *old, size_t new_size)
{
  size_t readable;
  void *object;

  if (old == NULL)
    return ralloc_linear_alloc_child (linear, new_size);
  if (sli_context_linear_extend (linear, old, new_size))
    return old;
  readable = readable_bytes (linear, old);
  object = ralloc_linear_alloc_child (linear, new_size);
  if (object != NULL)
    memcpy (object, old, new_size < readable ? new_size : readable);
  return object;
}
