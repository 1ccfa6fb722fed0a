/* traced.c - linear and stack arenas that tell a recorder's hooks
 *
 * Layer: arena.  See traced.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "traced.h"

#include <string.h>

#define N_ROOM_MIN 64

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
traced_has_room (Traced *told)
{
  if (told->n < told->n_room)
    return true;
  uint32_t n = told->n_room == 0 ? N_ROOM_MIN : told->n_room * 2;
  TracedObject *objects = slice_try_alloc (n * sizeof *objects);
  if (objects == NULL)
    return false;
  if (told->n > 0)
    memcpy (objects, told->objects, told->n * sizeof *objects);
  slice_free1 (told->n_room * sizeof *objects, told->objects);
  told->objects = objects;
  told->n_room = n;
  return true;
}

/* An object whose death could not be told of is better not told of at all. */
void
sli_traced_alloc (Bump *bump, const void *object, size_t size)
{
  Traced *told = traced_of (bump);
  if (!traced_has_room (told))
    return;
  told->objects[told->n++] = (TracedObject){ object, told->stamp };
  sli_trace_alloc (traced_kind (bump), object, size);
}

/* Its place in the list plus one, 0 if it is not there; most are near the
 * end. */
static uint32_t
traced_find (const Traced *told, const void *object)
{
  uint32_t i = told->n;
  while (i > 0 && told->objects[i - 1].object != object)
    i--;
  return i;
}

void
sli_traced_realloc (Bump *bump, const void *old_object, const void *object,
                    size_t size)
{
  const Traced *told = traced_of (bump);
  uint32_t i = traced_find (told, old_object);
  if (i == 0)
    return;
  told->objects[i - 1].object = object;
  sli_trace_realloc (traced_kind (bump), old_object, object, size);
}

void
sli_traced_free (Bump *bump, const void *object)
{
  Traced *told = traced_of (bump);
  uint32_t i = traced_find (told, object);
  if (i == 0)
    return;
  memmove (told->objects + i - 1, told->objects + i,
           (told->n - i) * sizeof *told->objects);
  told->n--;
  sli_trace_free (traced_kind (bump), object, 0);
}

/* Newest first, as cleanups run. */
static void
traced_cut_to (Bump *bump, uint32_t n)
{
  Traced *told = traced_of (bump);
  while (told->n > n)
    sli_trace_free (traced_kind (bump), told->objects[--told->n].object, 0);
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
  const Traced *told = traced_of (bump);
  uint32_t n = told->n;
  while (n > 0 && told->objects[n - 1].stamp >= stamp)
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
  Traced *told = traced_of (bump);
  traced_cut_to (bump, 0);
  slice_free1 (told->n_room * sizeof *told->objects, told->objects);
  memset (told, 0, sizeof *told);
}
