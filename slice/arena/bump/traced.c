/* traced.c - linear and stack arenas that report to the hooks
 *
 * Layer: arena.  See traced.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "traced.h"

#include <string.h>

enum
{
  CAPACITY_MIN = 64
};

static Traced *
traced_of (const Bump *bump)
{
  return (Traced *) ((uintptr_t) bump + bump->control_bytes - sizeof (Traced));
}

static SliceTraceKind
traced_kind (const Bump *bump)
{
  return bump->kind == ARENA_STACK ? SLICE_TRACE_STACK : SLICE_TRACE_LINEAR;
}

void
sli_traced_init (Bump *bump)
{
  memset (traced_of (bump), 0, sizeof (Traced));
}

void
sli_traced_mark (Bump *bump, uint64_t stamp)
{
  traced_of (bump)->stamp = stamp;
}

static bool
traced_reserve (Traced *traced)
{
  uint32_t n;
  TracedObject *objects;

  if (traced->n < traced->capacity)
    return true;
  n = traced->capacity == 0 ? CAPACITY_MIN : traced->capacity * 2;
  objects = slice_try_alloc (n * sizeof *objects);
  if (objects == NULL)
    return false;
  if (traced->n > 0)
    memcpy (objects, traced->objects, traced->n * sizeof *objects);
  slice_free1 (traced->capacity * sizeof *objects, traced->objects);
  traced->objects = objects;
  traced->capacity = n;
  return true;
}

/* If the list can't grow, the end of the object can't be reported, so its
 * allocation is not reported either. */
void
sli_traced_alloc (Bump *bump, const void *object, size_t size)
{
  Traced *traced = traced_of (bump);

  if (!traced_reserve (traced))
    return;
  traced->objects[traced->n++] = (TracedObject){ object, traced->stamp };
  sli_trace_alloc (traced_kind (bump), object, size);
}

/* The index in the list plus one, 0 if it is not there.  Most objects are near
 * the end. */
static uint32_t
traced_find (const Traced *traced, const void *object)
{
  uint32_t i = traced->n;

  while (i > 0 && traced->objects[i - 1].object != object)
    i--;
  return i;
}

void
sli_traced_realloc (Bump *bump, const void *old_object, const void *object,
                    size_t size)
{
  const Traced *traced = traced_of (bump);
  uint32_t i = traced_find (traced, old_object);

  if (i == 0)
    return;
  traced->objects[i - 1].object = object;
  sli_trace_realloc (traced_kind (bump), old_object, object, size);
}

static void
traced_remove (Traced *traced, uint32_t i)
{
  memmove (traced->objects + i - 1, traced->objects + i,
           (traced->n - i) * sizeof *traced->objects);
  traced->n--;
}

void
sli_traced_move (Bump *bump, const void *old_object, const void *object,
                 size_t size)
{
  Traced *traced = traced_of (bump);
  uint32_t i = traced_find (traced, old_object);

  if (i == 0)
    return;
  traced_remove (traced, i);
  traced->objects[traced->n++] = (TracedObject){ object, traced->stamp };
  sli_trace_realloc (traced_kind (bump), old_object, object, size);
}

void
sli_traced_free (Bump *bump, const void *object)
{
  Traced *traced = traced_of (bump);
  uint32_t i = traced_find (traced, object);

  if (i == 0)
    return;
  traced_remove (traced, i);
  sli_trace_free (traced_kind (bump), object, 0);
}

/* Newest first, as cleanups run. */
static void
traced_cut_to (Bump *bump, uint32_t n)
{
  Traced *traced = traced_of (bump);

  while (traced->n > n)
    sli_trace_free (traced_kind (bump),
                    traced->objects[--traced->n].object, 0);
}

void
sli_traced_cut (Bump *bump, const void *object)
{
  uint32_t i = traced_find (traced_of (bump), object);

  if (i > 0)
    traced_cut_to (bump, i - 1);
}

void
sli_traced_cut_mark (Bump *bump, uint64_t stamp)
{
  const Traced *traced = traced_of (bump);
  uint32_t n = traced->n;

  while (n > 0 && traced->objects[n - 1].stamp >= stamp)
    n--;
  traced_cut_to (bump, n);
}

void
sli_traced_cut_all (Bump *bump)
{
  traced_cut_to (bump, 0);
}

void
sli_traced_fini (Bump *bump)
{
  Traced *traced = traced_of (bump);

  traced_cut_to (bump, 0);
  slice_free1 (traced->capacity * sizeof *traced->objects, traced->objects);
  memset (traced, 0, sizeof *traced);
}
