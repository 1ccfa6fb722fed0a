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

#include <errno.h>

#include "linear-prefix.h"
#include "linear.h"
#include "context/node-memory.h"
#include "context/owned.h"
#include "context/ralloc/debug/debug.h"
#include "context/ralloc/extension.h"

/* own: LINEAR_BUFFER_OWN or 0 */
static LinearBuffer *
buffer_new (LinearPrefix *prefix, const void *linear, size_t bytes,
            size_t own)
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
  buffer->bytes_and_own = bytes | own;
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

/* Makes a smaller buffer than the next one, for which a limit or the memory has
 * no space: half of it, and so on, as long as two such objects fit. */
static COLD LinearBuffer *
smaller_buffer_new (LinearPrefix *prefix, void *linear, size_t rounded,
                    size_t *bytes)
{
  LinearBuffer *buffer = NULL;

  while (buffer == NULL && *bytes / 2 >= alone_bytes (2 * rounded))
    {
      *bytes = sli_context_linear_memory_bytes (*bytes / 2);
      buffer = buffer_new (prefix, linear, *bytes, 0);
    }
  return buffer;
}

/* Allocates an object of `rounded' bytes for which the current buffer has no
 * space: in the next buffer; or in a buffer of its own, if it is large or there
 * is no memory for any other. */
CONTEXT_TEXT static NOINLINE void *
object_in_new_buffer (LinearPrefix *prefix, void *linear, size_t rounded)
{
  size_t bytes = next_buffer_bytes (prefix);
  bool is_alone = rounded > bytes / LINEAR_OVERSIZE_PART;
  LinearBuffer *buffer
      = is_alone ? NULL : buffer_new (prefix, linear, bytes, 0);

  if (UNLIKELY (buffer == NULL) && !is_alone)
    buffer = smaller_buffer_new (prefix, linear, rounded, &bytes);
  if (buffer == NULL)
    {
      buffer = buffer_new (prefix, linear, alone_bytes (rounded),
                           LINEAR_BUFFER_OWN);
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

/* The word that leads to an object's own buffer; NULL: it has none, or one
 * that is not among the newest. */
static LinearBuffer **
own_find (LinearPrefix *prefix, const char *object)
{
  LinearBuffer **place = &prefix->buffers;
  unsigned n;

  for (n = 0; n < LINEAR_LOOKS_MAX && *place != NULL; n++)
    {
      if ((const char *) (*place + 1) == object)
        return (*place)->bytes_and_own & LINEAR_BUFFER_OWN ? place : NULL;
      place = &(*place)->next;
    }
  return NULL;
}

/* Makes a buffer the newest one, so that the next append finds it at once. */
static void
own_to_front (LinearPrefix *prefix, LinearBuffer **place)
{
  LinearBuffer *buffer = *place;

  *place = buffer->next;
  buffer->next = prefix->buffers;
  prefix->buffers = buffer;
}

/* Frees the own buffer of an object that has moved, if it has one. */
static void
own_free (LinearPrefix *prefix, const void *linear, const char *object)
{
  LinearBuffer **place = own_find (prefix, object);
  LinearBuffer *buffer;
  size_t bytes;

  if (place == NULL)
    return;
  buffer = *place;
  *place = buffer->next;
  bytes = linear_buffer_bytes (buffer);
  prefix->held_bytes -= bytes;
  if (head_of (linear)->parent & NODE_LIMITED)
    sli_limit_subtract (linear, bytes);
  sli_context_linear_memory_free (buffer, bytes);
}

/* Makes a buffer for one object, which can grow to `room' bytes there, or to
 * less if memory is short.  NULL: there is no memory for any room. */
static void *
own_new (LinearPrefix *prefix, const void *linear, size_t size, size_t room)
{
  LinearBuffer *buffer = NULL;
  size_t more = room - size;
  int error = errno;

  for (; buffer == NULL && more >= LINEAR_ROOM_MIN; more /= 2)
    buffer = buffer_new (prefix, linear, alone_bytes (size + more),
                         LINEAR_BUFFER_OWN);
  errno = error; /* less may do */
  return buffer != NULL ? buffer + 1 : NULL;
}

bool
sli_context_linear_extend (void *linear, char *object, size_t new_size,
                           const char *operation)
{
  LinearPrefix *prefix;
  LinearBuffer **place;

  if (sli_context_mode & MODE_NODES)
    return false;
  prefix = linear_checked (linear, operation);
  if (object == prefix->last)
    {
      if (new_size > (size_t) (prefix->end - object))
        return false;
      prefix->at = object + object_bytes (new_size);
      return true;
    }
  place = own_find (prefix, object);
  if (place == NULL
      || new_size > linear_buffer_bytes (*place) - sizeof (LinearBuffer))
    return false;
  own_to_front (prefix, place);
  return true;
}

/* In MODE_NODES: returns true if an object is one of the youngest.  (A text may
 * also be elsewhere, and no node.) */
static COLD bool
is_young_node (const void *linear, const void *object, const char *operation)
{
  const Node *node = sli_context_check (linear, operation);
  const void *child = node_first_child (node);
  unsigned n;

  for (n = 1; child != NULL && child != object && n < LINEAR_LOOKS_MAX; n++)
    child = node_next (node_of (child), child);
  return child == object;
}

/* Resizes an object that is a node, and makes it the youngest object, so that
 * the next append finds it at once. */
static COLD void *
young_node_resize (void *linear, void *object, size_t size, size_t room,
                   const char *operation)
{
  void *resized = sli_context_resize (object, size, room, operation);
  uintptr_t word;

  if (resized == NULL)
    return NULL;
  word = context_enter (linear, operation);
  node_unlink (node_of (resized), resized, operation);
  node_link (linear, node_of (resized), resized);
  context_leave (linear, word);
  return resized;
}

/* Copies a text of `used' bytes to a new place, where it can grow. */
static char *
text_copy (void *linear, const char *text, size_t used, size_t size,
           size_t room, const char *operation)
{
  bool is_node = (sli_context_mode & MODE_NODES) != 0;
  char *copy = NULL;

  if (!is_node && size > LINEAR_SHARED_TEXT_MAX)
    copy = own_new (linear_prefix (linear), linear, size, room);
  if (copy == NULL)
    copy = sli_context_linear_alloc (linear, size, operation);
  if (copy != NULL)
    memcpy (copy, text, used);
  if (copy != NULL && !is_node)
    own_free (linear_prefix (linear), linear, text);
  return copy;
}

char *
sli_context_linear_text (void *linear, char *text, size_t used, size_t size,
                         const char *operation)
{
  size_t room = size + size / 2;

  if (sli_context_linear_extend (linear, text, size, operation))
    return text;
  if ((sli_context_mode & MODE_NODES) != 0
      && is_young_node (linear, text, operation))
    return young_node_resize (linear, text, size, room, operation);
  return text_copy (linear, text, used, size, room, operation);
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
      return sli_context_payload_bytes (object, "ralloc_linear_realloc");
    }
  prefix = linear_checked (linear, "ralloc_linear_realloc");
  end = (const char *) prefix + prefix->block_bytes;
  if (object >= (const char *) linear && object < end)
    return (size_t) (end - object);
  for (buffer = prefix->buffers; buffer != NULL; buffer = buffer->next)
    {
      end = (const char *) buffer + linear_buffer_bytes (buffer);
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
  if ((sli_context_mode & MODE_NODES) != 0
      && is_young_node (linear, old, "ralloc_linear_realloc"))
    return young_node_resize (linear, old, new_size, new_size,
                              "ralloc_linear_realloc");
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
  if ((sli_context_mode & MODE_NODES) == 0)
    own_free (linear_prefix (linear), linear, old);
  return object;
}
