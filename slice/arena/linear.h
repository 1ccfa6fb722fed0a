/* linear.h - inside a linear arena
 *
 * Layer: arena: shared by linear.c, linear-grow.c and linear-string.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_LINEAR_H
#define SLI_ARENA_LINEAR_H

#include "bump.h"

typedef struct Cleanup Cleanup;

/* An object of the arena itself. */
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
  /* Marks carry stamps that count up.  Those that still hold have
   * first < stamp <= undone_from  or  undone_to < stamp <= stamp. */
  uint64_t stamp;       /* of the newest mark */
  uint64_t first;       /* what a reset has undone ends here */
  uint64_t undone_from; /* what the last rollback has undone: from here */
  uint64_t undone_to;   /* to here */
  bool is_growing;      /* at sli_bump_at (), aligned; ends at
                           head.growing */
  bool grows_alone;     /* its block was entered for it */
};

/* Ends the program while an object grows. */
void sli_arena_linear_require_still (const SliceLinear *linear);

/* An object with an alignment. */
void *sli_arena_linear_add (SliceLinear *linear, size_t alignment,
                            size_t size);

/* slice_linear_resize() with an alignment. */
void *sli_arena_linear_resize (SliceLinear *linear, void *object,
                               size_t alignment, size_t old_size,
                               size_t new_size);

/* Leaves the current block for the one that was pushed last. */
void sli_arena_linear_enter_pushed (SliceLinear *linear);

#endif
