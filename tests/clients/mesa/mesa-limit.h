/* mesa-limit.h - what any ralloc could come to: an allocator without a duty
 *
 * mesa-ralloc.sh compiles Mesa's own ralloc.c with this file in front of it,
 * and with a header of 32 bytes instead of 48.  Its mallocs are then chunks of
 * slabs, one size class every 16 bytes, that nothing is kept for: no lock, no
 * check, no thread, no order, nothing given back.  With LIMIT_BUMP nothing is
 * ever used again either: an allocation adds to a pointer, a free does
 * nothing.  Not an allocator to use; a scale to hold ours against.
 *
 *   slab  64 KiB, aligned to that
 *   +--------+---------+---------+----   ----+-----------+
 *   | Slab   | chunk   | chunk   |    ...    | never cut |
 *   +--------+---------+---------+----   ----+-----------+
 *                                            ^ at
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum
{
  LIMIT_STEP_BYTES = 16,
  LIMIT_CLASSES = 129, /* up to 2 KiB; what is larger is malloc's */
  LIMIT_SLAB_BYTES = 64 * 1024,
  LIMIT_DESTRUCTORS = 4096
};

#define LIMIT_SPACE_BYTES ((size_t) 1 << 32)

typedef struct LimitSlab LimitSlab;
struct LimitSlab
{
  /* In the list of its class, or of empty ones. */
  _Alignas (LIMIT_STEP_BYTES) LimitSlab *next;
  LimitSlab *previous;
  void *free;                 /* a chain through the chunks that came back */
  char *at, *end;             /* what was never cut */
  unsigned n_out;
  unsigned chunk_bytes;
  bool is_listed;
};

/* Of each class those that seem to have free chunks. */
static LimitSlab *limit_classes[LIMIT_CLASSES];
static LimitSlab *limit_empty;
static char *limit_start, *limit_at;

static inline LimitSlab *
limit_slab_of (const void *block)
{
  return (LimitSlab *) ((uintptr_t) block
                        & ~(uintptr_t) (LIMIT_SLAB_BYTES - 1));
}

static inline bool
limit_is_ours (const void *block)
{
  return limit_start != NULL
         && (uintptr_t) block - (uintptr_t) limit_start < LIMIT_SPACE_BYTES;
}

static LimitSlab *
limit_slab_new (unsigned class_index)
{
  LimitSlab *slab = limit_empty;

  if (limit_start == NULL)
    {
      uintptr_t start = (uintptr_t) mmap (
          NULL, LIMIT_SPACE_BYTES + LIMIT_SLAB_BYTES, PROT_READ | PROT_WRITE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

      if (start == (uintptr_t) MAP_FAILED)
        abort ();
      limit_start = (char *) ((start + LIMIT_SLAB_BYTES - 1)
                              & ~(uintptr_t) (LIMIT_SLAB_BYTES - 1));
      limit_at = limit_start;
    }
  if (slab != NULL)
    limit_empty = slab->next;
  else
    {
      slab = (LimitSlab *) limit_at;
      limit_at += LIMIT_SLAB_BYTES;
      if (limit_at > limit_start + LIMIT_SPACE_BYTES)
        abort ();
    }
  memset (slab, 0, sizeof *slab);
  slab->chunk_bytes = class_index * LIMIT_STEP_BYTES;
  slab->at = (char *) (slab + 1);
  slab->end = (char *) slab + LIMIT_SLAB_BYTES - slab->chunk_bytes;
  slab->is_listed = true;
  return slab;
}

static inline void *
limit_malloc (size_t bytes)
{
  size_t class_index = (bytes + LIMIT_STEP_BYTES - 1) / LIMIT_STEP_BYTES;
  LimitSlab *slab;
  void *chunk;

  if (class_index >= LIMIT_CLASSES)
    return malloc (bytes);
  for (;;)
    {
      slab = limit_classes[class_index];
      if (slab == NULL)
        slab = limit_classes[class_index]
            = limit_slab_new ((unsigned) class_index);
      chunk = slab->free;
      if (chunk != NULL)
        {
          slab->free = *(void **) chunk;
          break;
        }
      chunk = slab->at;
      if (slab->at <= slab->end)
        {
          slab->at += slab->chunk_bytes;
          break;
        }
      /* It is full: it comes back with the first free. */
      limit_classes[class_index] = slab->next;
      if (slab->next != NULL)
        slab->next->previous = NULL;
      slab->is_listed = false;
    }
  slab->n_out++;
  return chunk;
}

static inline void
limit_slab_is_empty (LimitSlab *slab)
{
  LimitSlab **first = &limit_classes[slab->chunk_bytes / LIMIT_STEP_BYTES];

  if (slab->is_listed)
    {
      if (slab->previous != NULL)
        slab->previous->next = slab->next;
      else
        *first = slab->next;
      if (slab->next != NULL)
        slab->next->previous = slab->previous;
    }
  slab->next = limit_empty;
  limit_empty = slab;
}

static inline void
limit_free (void *block)
{
  LimitSlab *slab = limit_slab_of (block);

  if (!limit_is_ours (block))
    {
      free (block);
      return;
    }
#ifdef LIMIT_BUMP
  return;
#endif
  *(void **) block = slab->free;
  slab->free = block;
  if (--slab->n_out == 0)
    limit_slab_is_empty (slab);
  else if (!slab->is_listed)
    {
      LimitSlab **first = &limit_classes[slab->chunk_bytes / LIMIT_STEP_BYTES];

      slab->next = *first;
      slab->previous = NULL;
      if (slab->next != NULL)
        slab->next->previous = slab;
      *first = slab;
      slab->is_listed = true;
    }
}

static inline void *
limit_realloc (void *block, size_t bytes)
{
  const LimitSlab *slab = limit_slab_of (block);
  void *moved;

  if (!limit_is_ours (block))
    return realloc (block, bytes);
  if (bytes <= slab->chunk_bytes)
    return block;
  moved = limit_malloc (bytes);
  memcpy (moved, block, slab->chunk_bytes);
  limit_free (block);
  return moved;
}

/* --- destructors, which are no longer in the header ---------------------- */

typedef struct
{
  const void *node;
  void (*destructor) (void *);
} LimitDestructor;

static LimitDestructor limit_destructors[LIMIT_DESTRUCTORS];
static unsigned limit_n_destructors;

/* Takes a node's destructor off; NULL if it has none. */
static inline void (*limit_take_destructor (const void *node)) (void *)
{
  for (unsigned i = 0; i < limit_n_destructors; i++)
    if (limit_destructors[i].node == node)
      {
        void (*destructor) (void *) = limit_destructors[i].destructor;

        limit_destructors[i] = limit_destructors[--limit_n_destructors];
        return destructor;
      }
  return NULL;
}

static inline void
limit_destroy (void *node)
{
  void (*destructor) (void *) = limit_take_destructor (node);

  if (destructor != NULL)
    destructor (node);
}

static inline void
limit_set_destructor (const void *node, void (*destructor) (void *))
{
  (void) limit_take_destructor (node);
  if (destructor == NULL)
    return;
  if (limit_n_destructors == LIMIT_DESTRUCTORS)
    abort ();
  limit_destructors[limit_n_destructors++]
      = (LimitDestructor){ node, destructor };
}

#define malloc(bytes) limit_malloc (bytes)
#define realloc(block, bytes) limit_realloc (block, bytes)
#define free(block) limit_free (block)
