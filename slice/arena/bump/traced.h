/* traced.h - linear and stack arenas that report to the hooks
 *
 * Layer: arena.  An arena made while hooks are set takes the slow path at
 * every call and reports each object.  As objects have no headers, it keeps a
 * list of the live ones, for calls that end many at once.  The head of the
 * list follows the embedded block:
 *
 *   | control block | embedded block | Traced |
 *   |<------------ control_bytes ---------->|
 *
 * Design: section 13.9.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_BUMP_TRACED_H
#define SLI_ARENA_BUMP_TRACED_H

#include <stddef.h>
#include <stdint.h>

#include "bump.h"
#include "base/trace.h"

typedef struct
{
  const char *object;
  uint64_t stamp; /* of the newest mark when it was allocated */
} TracedObject;

typedef struct
{
  _Alignas (16) TracedObject *objects; /* oldest first */
  uint32_t n;
  uint32_t capacity;
  uint64_t stamp; /* of the newest mark */
} Traced;

/* A flag in the options of an arena that is traced. */
#define ARENA_TRACED (1u << 31)

static inline size_t
sli_traced_bytes (const SliceArenaOptions *options)
{
  return (options->flags & ARENA_TRACED) != 0 ? sizeof (Traced) : 0;
}

void sli_traced_init (Bump *bump);

/* Objects from now on are newer than this mark. */
void sli_traced_mark (Bump *bump, uint64_t stamp);

void sli_traced_alloc (Bump *bump, const void *object, size_t size);
void sli_traced_realloc (Bump *bump, const void *old_object,
                         const void *object, size_t size);
/* The same if the new place is newer than all objects and marks: a rollback to
 * the newest mark ends the object. */
void sli_traced_move (Bump *bump, const void *old_object, const void *object,
                      size_t size);
void sli_traced_free (Bump *bump, const void *object);

/* Report the end of an object and all newer ones; of all objects newer than a
 * mark; of all objects. */
void sli_traced_cut (Bump *bump, const void *object);
void sli_traced_cut_mark (Bump *bump, uint64_t stamp);
void sli_traced_cut_all (Bump *bump);

/* Reports the end of all objects, and frees the list. */
void sli_traced_fini (Bump *bump);

#endif
