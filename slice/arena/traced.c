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

static Told *
told_of (const Bump *bump)
{
  return (Told *) ((uintptr_t) bump + bump->control_bytes - sizeof (Told));
}

static SliceTraceKind
told_kind (const Bump *bump)
{
  return bump->kind == ARENA_STACK ? SLICE_TRACE_STACK : SLICE_TRACE_LINEAR;
}

void
sli_told_init (Bump *bump)
{
  memset (told_of (bump), 0, sizeof (Told));
}

void
sli_told_mark (Bump *bump, uint64_t stamp)
{
  told_of (bump)->stamp = stamp;
}

static bool
told_has_room (Told *told)
{
  if (told->n < told->n_room)
    return true;
  uint32_t n = told->n_room == 0 ? N_ROOM_MIN : told->n_room * 2;
  ToldObject *objects = slice_try_alloc (n * sizeof *objects);
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
sli_told_born (Bump *bump, const void *object, size_t size)
{
  Told *told = told_of (bump);
  if (!told_has_room (told))
    return;
  told->objects[told->n++] = (ToldObject) { object, told->stamp };
  sli_trace_born (told_kind (bump), object, size);
}

/* Its place in the list plus one, 0 if it is not there; most are near the
 * end. */
static uint32_t
told_find (const Told *told, const void *object)
{
  uint32_t i = told->n;
  while (i > 0 && told->objects[i - 1].object != object)
    i--;
  return i;
}

void
sli_told_moved (Bump *bump, const void *old_object, const void *object,
                size_t size)
{
  const Told *told = told_of (bump);
  uint32_t i = told_find (told, old_object);
  if (i == 0)
    return;
  told->objects[i - 1].object = object;
  sli_trace_moved (told_kind (bump), old_object, object, size);
}

void
sli_told_died (Bump *bump, const void *object)
{
  Told *told = told_of (bump);
  uint32_t i = told_find (told, object);
  if (i == 0)
    return;
  memmove (told->objects + i - 1, told->objects + i,
           (told->n - i) * sizeof *told->objects);
  told->n--;
  sli_trace_died (told_kind (bump), object, 0);
}

/* Newest first, as cleanups run. */
static void
told_cut_to (Bump *bump, uint32_t n)
{
  Told *told = told_of (bump);
  while (told->n > n)
    sli_trace_died (told_kind (bump), told->objects[--told->n].object, 0);
}

void
sli_told_cut (Bump *bump, const void *object)
{
  uint32_t i = told_find (told_of (bump), object);
  if (i > 0)
    told_cut_to (bump, i - 1);
}

void
sli_told_cut_mark (Bump *bump, uint64_t stamp)
{
  const Told *told = told_of (bump);
  uint32_t n = told->n;
  while (n > 0 && told->objects[n - 1].stamp >= stamp)
    n--;
  told_cut_to (bump, n);
}

void
sli_told_cut_all (Bump *bump)
{
  told_cut_to (bump, 0);
}

void
sli_told_fini (Bump *bump)
{
  Told *told = told_of (bump);
  told_cut_to (bump, 0);
  slice_free1 (told->n_room * sizeof *told->objects, told->objects);
  memset (told, 0, sizeof *told);
}
