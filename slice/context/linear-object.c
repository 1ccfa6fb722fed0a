/* linear-object.c - objects of linear contexts
 *
 * Layer: context.  No locks.
 * Design: chapter 7; layout: linear-prefix.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "linear-prefix.h"

static LinearBuffer *
buffer_new (LinearPrefix *prefix, const void *linear, size_t bytes)
{
  bool limited = (head_of (linear)->parent & NODE_LIMITED) != 0;
  LinearBuffer *buffer;

  if (limited && !sli_limit_add (linear, bytes))
    return NULL;
  buffer = sli_context_linear_memory_new (bytes);
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
  return sli_context_linear_memory_bytes (bytes);
}

/* The size of a buffer for one object. */
static size_t
alone_bytes (size_t size)
{
  return sli_context_linear_memory_bytes (sizeof (LinearBuffer) + size);
}

/* The bytes that an object takes.  One of no bytes takes those of one byte:
 * otherwise the next object would have its address, and realloc could not tell
 * them apart. */
static inline size_t
object_bytes (size_t size)
{
  return linear_round (size + (size == 0));
}

/* Allocates an object of `rounded' bytes for which the current buffer has no
 * space: in the next buffer; or in a buffer of its own, if it is large or there
 * is no memory for the next one. */
CONTEXT_TEXT static NOINLINE void *
object_in_new_buffer (LinearPrefix *prefix, void *linear, size_t rounded)
{
  size_t bytes = next_buffer_bytes (prefix);
  bool is_alone = rounded > bytes / LINEAR_OVERSIZE_PART;
  LinearBuffer *buffer
      = is_alone ? NULL : buffer_new (prefix, linear, bytes);

  if (buffer == NULL)
    {
      buffer = buffer_new (prefix, linear, alone_bytes (rounded));
      return buffer != NULL ? buffer + 1 : NULL;
    }
  prefix->last = (char *) (buffer + 1);
  prefix->at = prefix->last + rounded;
  prefix->end = (char *) buffer + bytes;
  return buffer + 1;
}

CONTEXT_TEXT static COLD void *
object_slow (void *linear, size_t size, const char *operation)
{
  LinearPrefix *prefix;
  size_t rounded;

  if (size > (size_t) PTRDIFF_MAX / 2)
    {
      errno = ENOMEM;
      return NULL;
    }
  if (!sli_context_init ())
    return NULL;
  if (sli_context_mode & MODE_NODES)
    {
      sli_context_check (linear, operation); /* NULL, too */
      return context_alloc (linear, size, operation);
    }
  prefix = sli_context_linear_examine (linear, operation);
  rounded = object_bytes (size);
  if (rounded <= (size_t) (prefix->end - prefix->at))
    {
      prefix->last = prefix->at;
      prefix->at += rounded;
      return prefix->last;
    }
  return object_in_new_buffer (prefix, linear, rounded);
}

static ALWAYS_INLINE void *
object_new (void *linear, size_t size, const char *operation)
{
  LinearPrefix *prefix = linear_prefix (linear);
  size_t last;
  char *at;

  /* The slow path serves all other modes; in the default mode one word tells a
   * linear context from a freed one. */
  if (UNLIKELY (sli_context_mode != 0 || prefix->kind != KIND_LINEAR))
    return object_slow (linear, size, operation);
  at = prefix->at;
  /* The offset of the object's last byte, rounded up; of no bytes: none is as
   * large. */
  last = (size - 1) | (LINEAR_ALIGN - 1);
  if (UNLIKELY (last >= (size_t) (prefix->end - at)))
    return object_slow (linear, size, operation);
  prefix->last = at;
  prefix->at = at + last + 1;
  return at;
}

CONTEXT_TEXT void *
ralloc_linear_alloc_child (void *linear, size_t size)
{
  return object_new (linear, size, "ralloc_linear_alloc_child");
}

CONTEXT_TEXT void *
sli_context_linear_alloc (void *linear, size_t size, const char *operation)
{
  return object_new (linear, size, operation);
}

typedef long long Words
    __attribute__ ((vector_size (16), aligned (LINEAR_ALIGN), may_alias));

/* Most objects are short: two or four stores, from both ends towards the
 * middle, take less time than a call to memset(). */
static inline void
object_clear (char *object, size_t size)
{
  const Words zero = { 0, 0 };
  size_t padded = linear_round (size);
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

static ALWAYS_INLINE void *
object_new_clear (void *linear, size_t size, const char *operation)
{
  void *object = object_new (linear, size, operation);

  if (UNLIKELY (object == NULL))
    return NULL;
  /* An object that is a node has no bytes beyond its size. */
  if (UNLIKELY (sli_context_mode & MODE_NODES))
    return memset (object, 0, size);
  object_clear (object, size);
  return object;
}

CONTEXT_TEXT void *
ralloc_linear_zalloc_child (void *linear, size_t size)
{
  return object_new_clear (linear, size, "ralloc_linear_zalloc_child");
}

void *
ralloc_linear_alloc_child_array (void *linear, size_t size, size_t count)
{
  size_t bytes;

  return node_product (size, count, &bytes)
             ? sli_context_linear_alloc (linear, bytes,
                                         "ralloc_linear_alloc_child_array")
             : NULL;
}

void *
ralloc_linear_zalloc_child_array (void *linear, size_t size, size_t count)
{
  size_t bytes;

  return node_product (size, count, &bytes)
             ? object_new_clear (linear, bytes,
                                 "ralloc_linear_zalloc_child_array")
             : NULL;
}

/* --- growing objects ----------------------------------------------------- */

bool
sli_context_linear_extend (void *linear, char *object, size_t new_size,
                           const char *operation)
{
  LinearPrefix *prefix;

  if (sli_context_mode & MODE_NODES)
    return false;
  prefix = linear_checked (linear, operation);
  if (object != prefix->last || new_size > (size_t) (prefix->end - object))
    return false;
  prefix->at = object + object_bytes (new_size);
  return true;
}

/* The number of bytes from an object on that certainly belong to the
 * context. */
static size_t
readable_bytes (void *linear, const char *object)
{
  const LinearPrefix *prefix;
  const LinearBuffer *buffer;
  const char *end;

  if (sli_context_mode & MODE_NODES)
    {
      sli_context_check (object, "ralloc_linear_realloc");
      return sli_context_payload_bytes (object);
    }
  prefix = linear_checked (linear, "ralloc_linear_realloc");
  end = (const char *) prefix + prefix->block_bytes;
  if (object >= (const char *) linear && object < end)
    return (size_t) (end - object);
  for (buffer = prefix->buffers; buffer != NULL; buffer = buffer->next)
    {
      end = (const char *) buffer + buffer->bytes;
      if (object >= (const char *) buffer && object < end)
        return (size_t) (end - object);
    }
  sli_context_linear_report (object, "ralloc_linear_realloc");
}

void *
ralloc_linear_realloc (void *linear, void *old, size_t new_size)
{
  size_t readable, distance;
  void *object;

  if (old == NULL)
    return sli_context_linear_alloc (linear, new_size,
                                     "ralloc_linear_realloc");
  if (sli_context_linear_extend (linear, old, new_size,
                                 "ralloc_linear_realloc"))
    return old;
  readable = readable_bytes (linear, old);
  object = sli_context_linear_alloc (linear, new_size,
                                     "ralloc_linear_realloc");
  if (object == NULL)
    return NULL;
  /* The new object may follow in the same buffer, and the old one ends before
   * it. */
  distance = (uintptr_t) object - (uintptr_t) old;
  readable = readable < distance ? readable : distance;
  memcpy (object, old, new_size < readable ? new_size : readable);
  return object;
}
