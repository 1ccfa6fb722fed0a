/* bump.h - the current block of a linear or stack arena
 *
 * Layer: arena: above the chain of blocks, below linear and stack.
 *
 *   shown to the inline code:          hidden from it:
 *     head.next  the next object         head.next, .end, .low  the address
 *     head.end   end of the block                               below
 *     at         unused                  at      the next object
 *
 * To the inline code a hidden arena has neither free bytes nor an object to
 * release, so every call takes the slow path.
 *
 * Design: section 8.1.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_BUMP_BUMP_H
#define SLI_ARENA_BUMP_BUMP_H

#include "arena/arena-options.h"
#include "arena/block/block-source.h"
#include "arena/annotate.h"
#include "base/check.h"
#include "port/compiler.h"

typedef enum
{
  ARENA_LINEAR = 0x4c696e31, /* "Lin1" and so on: it identifies a handle */
  ARENA_STACK = 0x53746b31,
  ARENA_POOL = 0x506f6f31,
  ARENA_TLSF = 0x546c7331,
  ARENA_POOL_LOCKED = 0x506f6f32, /* the shell of a pool, or of a heap */
  ARENA_TLSF_LOCKED = 0x546c7332,
  ARENA_DEAD = 0x44656164
} ArenaKind;

typedef struct
{
  SliceBumpV1 head;     /* first: the inline code reads it */
  char *at;             /* while hidden: address of the next object */
  char *block_end;      /* of the current block */
  size_t left_bytes;    /* in objects of earlier regular blocks */
  size_t own_bytes;     /* in objects of dedicated blocks */
  void (*end) (void *); /* destroy calls it: fini, and free the control
                           block */
  ArenaKind kind;
  int32_t current;        /* index of the current block; BLOCK_NONE: none */
  uint32_t control_bytes; /* with the embedded block */
  bool is_hidden;         /* from the inline code, at present */
  bool is_always_hidden;  /* checked, traced or watched by a tool */
  BlockChain chain;
} Bump;

_Noreturn void sli_arena_report_handle (const void *handle, ArenaKind want,
                                        const char *operation);

/* Reports misuse by the function `operation' if the handle is no arena of that
 * kind. */
static inline void
sli_arena_require (const void *handle, ArenaKind have, ArenaKind want,
                   const char *operation)
{
  if (UNLIKELY (have != want))
    sli_arena_report_handle (handle, want, operation);
}

/* The bytes of a new arena with these options: the control block, the block
 * behind it, and what a recorder needs.  0, with errno EINVAL: above its
 * limit. */
size_t sli_bump_bytes (const SliceArenaOptions *options,
                       size_t control_bytes);

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

/* Makes a block the current one, with the next object at `at'. */
void sli_bump_enter (Bump *bump, int32_t index, char *at);

/* Shows the current block, which ends at `end', to the inline code. */
static inline void
sli_bump_show (Bump *bump, char *at, char *end)
{
  bump->block_end = end;
  bump->is_hidden = false;
  bump->head.next = at;
  bump->head.end = end;
  bump->head.low = (char *) bump;
}

/* What the inline code sees of a hidden arena: above all objects, so that none
 * looks like one that it may finish, and not so high that the sum of this and
 * a small size overflows. */
#define BUMP_HIDDEN ((char *) (UINTPTR_MAX - 8191))

/* Hides the current block from the inline code, and shows it again. */
static inline void
sli_bump_hide (Bump *bump)
{
  if (!bump->is_hidden)
    bump->at = bump->head.next;
  bump->is_hidden = true;
  bump->head.next = BUMP_HIDDEN;
  bump->head.end = BUMP_HIDDEN;
  bump->head.low = BUMP_HIDDEN;
}
void sli_bump_unhide (Bump *bump);

/* Ends the arena and frees its blocks.  Every further call takes the slow path
 * and reports misuse, until the memory of the control block is used again. */
void sli_bump_fini (Bump *bump);

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

/* The alignment of an object of that size if the caller asks for none. */
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
  return align_up (size, 8);
}

/* Returns the alignment, 8 if it is less.  Reports what arenas do not support
 * as misuse of a call. */
size_t sli_require_alignment (size_t alignment, const char *operation);
/* Reports an alignment that is no power of two; there is no upper bound. */
void sli_require_power_of_two (size_t alignment, const char *operation);

/* Allocates from the current block; NULL if the object does not fit.  Tells
 * the tool and the hooks. */
char *sli_bump_alloc (Bump *bump, size_t alignment, size_t size);

void sli_bump_stats (const Bump *bump, size_t control_bytes,
                     SliceArenaStats *stats);

#endif
