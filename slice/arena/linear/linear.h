/* linear.h - inside a linear arena
 *
 * Layer: arena: shared by the files of this folder.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_LINEAR_LINEAR_H
#define SLI_ARENA_LINEAR_LINEAR_H

#include "arena/bump/bump.h"

enum
{
  /* Objects of up to this size share blocks in the smallest arena, too. */
  LINEAR_SHARED_BYTES_MAX = 256
};

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
  bool uses_embedded;   /* there were objects in the embedded block when the
                           arena left it */
};

static inline SliceLinear *
linear_checked (const SliceLinear *linear, const char *operation)
{
  sli_arena_require (linear, linear->bump.kind, ARENA_LINEAR, operation);
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

/* Reports misuse of a call while an object grows. */
void sli_arena_linear_require_still (const SliceLinear *linear,
                                     const char *operation);

/* Adds an object with an alignment. */
void *sli_arena_linear_add (SliceLinear *linear, size_t alignment,
                            size_t size);

/* Adds an object of `size' bytes with a block of its own, of `need' bytes. */
void *sli_arena_linear_add_dedicated (SliceLinear *linear, size_t alignment,
                                      size_t size, size_t need);

/* slice_linear_resize() with an alignment, once the caller has required that
 * the arena is one and no object grows.  An object that moves can then grow
 * to `room' bytes, if there is memory for them; room 0: it need not grow. */
void *sli_arena_linear_resize (SliceLinear *linear, void *object,
                               size_t alignment, size_t old_size,
                               size_t new_size, size_t room);

/* Runs the cleanups that were added after `until', newest first. */
void sli_arena_linear_run_cleanups (SliceLinear *linear, Cleanup *until);

/* Leaves the current block for the one that was pushed last. */
void sli_arena_linear_enter_pushed (SliceLinear *linear);

#endif
