/* traced.h - linear and stack arenas that tell a recorder's hooks
 *
 * Layer: arena.  An arena that was made while hooks were set is asked at every
 * call and tells of each object.  As objects have no headers, it keeps a list
 * of those that live, for what takes many off at once.  The list's head lies
 * behind the embedded block, where other arenas end:
 *
 *   | control block | embedded block | Traced |
 *   |<------------ control_bytes ---------->|
 *
 * Design: section 13.9.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_TRACED_H
#define SLI_ARENA_TRACED_H

#include <stddef.h>
#include <stdint.h>

#include "bump.h"
#include "base/trace.h"

typedef struct
{
  const char *object;
  uint64_t stamp; /* the newest mark when it came */
} TracedObject;

typedef struct
{
  _Alignas (16) TracedObject *objects; /* oldest first */
  uint32_t n;
  uint32_t n_room;
  uint64_t stamp;
} Traced;

/* What options of an arena that tells carry. */
#define ARENA_TRACED (1u << 31)

static inline size_t
sli_traced_bytes (const SliceArenaOptions *options)
{
  return (options->flags & ARENA_TRACED) != 0 ? sizeof (Traced) : 0;
}

void sli_traced_init (Bump *bump);

/* The next objects come after this mark. */
void sli_traced_mark (Bump *bump, uint64_t stamp);

void sli_traced_alloc (Bump *bump, const void *object, size_t size);
void sli_traced_realloc (Bump *bump, const void *old_object,
                         const void *object, size_t size);
void sli_traced_free (Bump *bump, const void *object);

/* The object and all that came after it go; all that came after a mark; all.
 */
void sli_traced_cut (Bump *bump, const void *object);
void sli_traced_cut_mark (Bump *bump, uint64_t stamp);
void sli_traced_cut_all (Bump *bump);

/* As the last, and gives the list back. */
void sli_traced_fini (Bump *bump);

#endif
