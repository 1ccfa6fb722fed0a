/* bump.h - the current block of a linear or stack arena
 *
 * Layer: arena: above the chain of blocks, below linear and stack.
 *
 * The place where the next object goes is in head.next, where the inline code
 * finds it; while the arena is hidden from that code it is in `at`, and
 * head.next, head.end and head.low are all the control block's own address.
 *
 * Design: section 8.1.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_BUMP_H
#define SLI_ARENA_BUMP_H

#include "block-source.h"
#include "annotate.h"

typedef enum
{
  ARENA_LINEAR = 0x4c696e31, /* "Lin1" and so on: a handle is known by it */
  ARENA_STACK = 0x53746b31,
  ARENA_POOL = 0x506f6f31,
  ARENA_TLSF = 0x546c7331,
  ARENA_DEAD = 0x44656164
} ArenaKind;

typedef struct
{
  SliceBumpV1 head;     /* first: the inline code's */
  char *at;             /* while hidden: the place of the next object */
  char *block_end;      /* of the current block */
  size_t left_bytes;    /* in objects of regular blocks that were left */
  size_t own_bytes;     /* in objects of own blocks */
  void (*end) (void *); /* what destroy calls: fini, and free the control
                           block */
  ArenaKind kind;
  int32_t current;        /* index of the current block; BLOCK_NONE: none */
  uint32_t control_bytes; /* with the embedded block */
  bool is_hidden;         /* from the inline code, now */
  bool is_asked_always;   /* hidden for good: checked, watched or told of */
  BlockChain chain;
} Bump;

_Noreturn void sli_arena_report_handle (const void *handle, ArenaKind want);

/* Ends the program if the handle is no arena of that kind. */
static inline void
sli_arena_require (const void *handle, ArenaKind have, ArenaKind want)
{
  if (SLICE_UNLIKELY (have != want))
    sli_arena_report_handle (handle, want);
}

void sli_bump_init (Bump *bump, ArenaKind kind,
                    const SliceArenaOptions *options, size_t control_bytes,
                    void (*end) (void *));

static inline char *
sli_bump_at (const Bump *bump)
{
  return bump->is_hidden ? bump->at : bump->head.next;
}

static inline void
sli_bump_set_at (Bump *bump, char *at)
{
  if (bump->is_hidden)
    bump->at = at;
  else
    bump->head.next = at;
}

/* Makes a block the current one, with the next object at `at`. */
void sli_bump_enter (Bump *bump, int32_t index, char *at);

/* Hides the place from the inline code, and shows it again. */
void sli_bump_hide (Bump *bump);
void sli_bump_unhide (Bump *bump);

/* The arena is no more: every call takes the slow path and finds that out, for
 * as long as the control block's memory is nobody else's. */
void sli_bump_end (Bump *bump);

static inline size_t
sli_bump_gap (const Bump *bump)
{
  return bump->chain.is_annotated ? ANNOTATE_GAP_BYTES : 0;
}

/* The start of the current block. */
static inline char *
sli_bump_start (const Bump *bump)
{
  return bump->current == BLOCK_NONE
             ? NULL
             : sli_chain_block (&bump->chain, bump->current).start;
}

/* What an object of that size is aligned to when nothing is said. */
static inline size_t
sli_natural_alignment (size_t size)
{
  return ((size + 7) & 8) != 0 ? 8 : 16;
}

static inline char *
sli_align (char *address, size_t alignment)
{
  return address
         + ((alignment - ((uintptr_t) address & (alignment - 1)))
            & (alignment - 1));
}

static inline size_t
sli_round8 (size_t size)
{
  return (size + 7) & ~(size_t) 7;
}

/* Ends the program if it is none that arenas give; at least 8. */
size_t sli_require_alignment (size_t alignment);
/* The same of any size. */
void sli_require_power_of_two (size_t alignment);

/* Takes bytes from the current block, or NULL; tells the watching tool, and
 * the hooks. */
char *sli_bump_alloc (Bump *bump, size_t alignment, size_t size);

void sli_bump_stats (const Bump *bump, size_t control_bytes,
                     SliceArenaStats *stats);

#endif
