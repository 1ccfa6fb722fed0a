/* arena-options.h - the options of an arena, with defaults and limits
 *
 * Layer: arena: below the kinds of arenas.
 *
 * Design: section 8.1.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_ARENA_OPTIONS_H
#define SLI_ARENA_ARENA_OPTIONS_H

#include <slice/arena.h>

#include "base/trace.h"
#include "port/compiler.h"

enum
{
  /* The bytes that a checking mode may put around a block.  A block that is a
   * slice together with them is filled and quarantined when it is freed. */
  CHECKS_BYTES_MAX = 64
};

/* Can options of the program that are so many bytes be read?  0: version 1.
 * (A later version of these structs has more sizes here.) */
static inline bool
sli_options_size_is_known (size_t given, size_t ours)
{
  return given == 0 || given == ours;
}

/* Fills in the defaults; false with errno EINVAL.  default_cap: 0 means the
 * default of all arenas. */
bool sli_options_fill (const SliceArenaOptions *given, size_t default_first,
                       size_t default_cap, SliceArenaOptions *options);

/* The size of the block to embed behind a control block.  0 if blocks come
 * from the caller's own source, or if the first one is too large. */
size_t sli_options_embedded (const SliceArenaOptions *options,
                             size_t control_bytes);

/* Makes the options of the library final, if they are not.  Returns true if
 * they were not: then what was computed from them may be wrong, as another
 * thread may have set one meanwhile.  Once an arena is not refused for its
 * options. */
bool sli_options_settle (void);

/* Returns true if the limit allows what an empty arena holds; false with errno
 * EINVAL. */
bool sli_options_allow (const SliceArenaOptions *options, size_t empty_bytes);

/* A copy of an arena as its making left it, from which others are made. */
typedef enum
{
  PRISTINE_NONE = 0,
  PRISTINE_BUSY, /* a thread is writing it */
  PRISTINE_KEPT
} PristineState;

/* Keeps a copy of a new arena, unless another thread has done so or does it
 * now. */
void sli_pristine_keep (int *state, void *copy, const void *arena,
                        size_t bytes);

/* Returns true if it may be copied now.  It does not suit an arena that the
 * hooks see. */
static inline bool
sli_pristine_is_kept (const int *state)
{
  return LOAD_ACQUIRE (state) == PRISTINE_KEPT && !trace_is_on ();
}

/* Returns true if one of the options `checked', `hardened' and `debug' is set.
 * Remembers the result. */
bool sli_arena_all_checked (void);

#endif
