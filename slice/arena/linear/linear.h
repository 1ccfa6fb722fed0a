/* linear.h - inside a linear arena
 *
 * Layer: arena: shared by linear.c, linear-grow.c and linear-string.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_LINEAR_LINEAR_H
#define SLI_ARENA_LINEAR_LINEAR_H

#include "arena/bump.h"

typedef struct Cleanup Cleanup;

/* A cleanup is an object in its arena. */
struct Cleanup
{
  void (*cleanup) (void *data);
  void *data;
  Cleanup *next; /* the one added before */
};

struct SliceLinear
{
  Bump bump;         /* first */
  Cleanup *cleanups; /* newest first */
  /* Marks carry stamps that count up.  A mark m still holds if
   * first < m <= undone_from  or  undone_to < m <= stamp. */
  uint64_t stamp;       /* of the newest mark */
  uint64_t first;       /* the last reset undid the marks up to here */
  uint64_t undone_from; /* the last rollback undid the marks above this */
  uint64_t undone_to;   /* up to this */
  const char *mark_limit; /* where the newest mark was set: objects below it
                             stay as they are.  NULL: there is no mark */
  uint32_t mark_n_used; /* the blocks that were in use at that mark */
  bool is_growing;      /* an object grows from sli_bump_at() to
                           head.growing */
  bool grows_alone;     /* the current block was pushed for it */
};

static inline SliceLinear *
linear_checked (const SliceLinear *linear)
{
  sli_arena_require (linear, linear->bump.kind, ARENA_LINEAR);
  return (SliceLinear *) (uintptr_t) linear;
}

/* Returns true if the inline code has started an object, which grows. */
static inline bool
linear_grows_inline (const SliceLinear *linear)
{
  const SliceBumpV1 *head = &linear->bump.head;

  return (uintptr_t) head->growing > (uintptr_t) head->next;
}

/* Hides an arena in which the inline code has started an object. */
void sli_arena_linear_hide_growing (SliceLinear *linear);

/* Returns true while an object grows.  The library sees one way of growing
 * only: the arena is hidden. */
static inline bool
linear_grows (SliceLinear *linear)
{
  if (linear_grows_inline (linear))
    sli_arena_linear_hide_growing (linear);
  return linear->is_growing;
}

/* Reports misuse while an object grows. */
void sli_arena_linear_require_still (const SliceLinear *linear);

/* Adds an object with an alignment. */
void *sli_arena_linear_add (SliceLinear *linear, size_t alignment,
                            size_t size);

/* slice_linear_resize() with an alignment. */
void *sli_arena_linear_resize (SliceLinear *linear, void *object,
                               size_t alignment, size_t old_size,
                               size_t new_size);

/* Runs the cleanups that were added after `until', newest first. */
void sli_arena_linear_run_cleanups (SliceLinear *linear, Cleanup *until);

/* Leaves the current block for the one that was pushed last. */
void sli_arena_linear_enter_pushed (SliceLinear *linear);

#endif
