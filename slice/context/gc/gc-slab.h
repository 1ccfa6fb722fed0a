/* gc-slab.h - the slabs of gc contexts
 *
 * Layer: context.  No locks.  Beneath: runs of pages, and the address map.
 *
 * Small objects are in slabs of one size each.  A slab is a run of one
 * granule, so masking an object's address gives its slab.  The slab has two
 * bits for each object, used and marked, and an object has no header.
 *
 *   +--------+----------+----------+-----+-----+----------+----------+-----
 *   | GcSlab | GcWord 0 | GcWord 1 | ... | pad | object 0 | object 1 | ...
 *   +--------+----------+----------+-----+-----+----------+----------+-----
 *   ^ a multiple of a granule, noted in the address map
 *
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_GC_SLAB_H
#define SLI_CONTEXT_GC_SLAB_H

#include <slice/ralloc.h>

#include "context/node.h"
#include "base/align.h"
#include "page/region.h"

enum
{
  GC_STEP_BYTES = 16,
  GC_SMALL_MAX = 512,
  GC_SMALL_ALIGN_MAX = 64, /* slabs' objects begin at a multiple of it */
  GC_BUCKETS = GC_SMALL_MAX / GC_STEP_BYTES,
  GC_WORD_BITS = 64,
  GC_MARKED = 8,
  GC_RECIPROCAL_SHIFT = 32
};

/* The bits of 64 objects. */
typedef struct
{
  uint64_t used;
  uint64_t marked;
} GcWord;

typedef struct GcSlab GcSlab;
struct GcSlab
{
  RallocGc *gc;
  GcSlab *next;           /* all slabs of the bucket */
  GcSlab **pprev;
  GcSlab *partial_next;   /* those with free objects */
  GcSlab **partial_pprev; /* NULL: full, on no such list */
  char *objects;          /* object 0 */
  uint32_t object_bytes;
  uint32_t reciprocal;    /* 2^32 / object_bytes, rounded up */
  uint16_t objects_bytes; /* of all objects */
  uint16_t n_objects;
  uint16_t n_used;
  uint16_t n_words;
  uint16_t bucket;
  uint16_t hint;          /* a word that may have a free object */
  GcWord words[];
};

/* The objects from `next' to `end' are set aside: neighbours in a slab, whose
 * bits are set and which count as used there, but which are not handed out
 * yet.  So most objects cost no look at a bitmap. */
typedef struct
{
  GcSlab *slabs;
  GcSlab *partial;
  char *next;
  char *end;
} Bucket;

struct RallocGc
{
  size_t magic;
  void *divider;   /* in a sweep: see gc.c; NULL: no child may be freed */
  GcSlab *marked[GC_MARKED]; /* slabs whose objects were marked last, or NULL:
                                see gc_marked() */
  bool is_sweeping;
  size_t slab_bytes;
  Bucket buckets[GC_BUCKETS];
};

/* --- gc-slab.c --- */

/* Ends the program: the pointer is no gc context, or no live object of one. */
_Noreturn void sli_gc_report (const void *pointer, const char *cause,
                              const char *operation);
/* Makes a slab of a bucket; NULL: no memory. */
GcSlab *sli_gc_slab_new (RallocGc *gc, unsigned bucket, size_t object_bytes);
void sli_gc_slab_end (GcSlab *slab);
/* Called when the last object of a slab is freed. */
void sli_gc_slab_emptied (GcSlab *slab);
/* Clears the marks of a slab's objects, as a sweep begins. */
void sli_gc_slab_unmark (GcSlab *slab);
/* Frees the objects that have no mark, as it ends. */
void sli_gc_slab_sweep (GcSlab *slab);
/* Put a slab on the list of those with free objects, and remove it. */
void sli_gc_partial_link (GcSlab *slab);
void sli_gc_partial_unlink (GcSlab *slab);

/* Returns what is set aside to the slabs. */
void sli_gc_return_aside (RallocGc *gc);

/* --- objects ------------------------------------------------------------- */

/* The index of a free object; the slab has one. */
static inline unsigned
slab_find (GcSlab *slab)
{
  unsigned word = slab->hint;
  unsigned index;

  for (;;)
    {
      uint64_t unused = ~slab->words[word].used;

      if (LIKELY (unused != 0))
        {
          index = word * GC_WORD_BITS + (unsigned) __builtin_ctzll (unused);
          if (LIKELY (index < slab->n_objects))
            break;
        }
      word = word + 1u < slab->n_words ? word + 1 : 0;
    }
  slab->hint = (uint16_t) word;
  return index;
}

/* The bits of n objects of a word, from one on. */
static inline uint64_t
run_bits (unsigned index, unsigned n)
{
  uint64_t bits = ~UINT64_C (0) >> (GC_WORD_BITS - n);

  return bits << (index % GC_WORD_BITS);
}

/* How many objects from one on are free, at least that one, in one word. */
static inline unsigned
run_length (const GcSlab *slab, unsigned index)
{
  uint64_t used
      = slab->words[index / GC_WORD_BITS].used >> (index % GC_WORD_BITS);
  unsigned n = GC_WORD_BITS - index % GC_WORD_BITS;
  unsigned n_left = slab->n_objects - index;

  if (used != 0)
    n = (unsigned) __builtin_ctzll (used);
  return n < n_left ? n : n_left;
}

/* Uses up to n_max free neighbours of a slab that has one; *n is how many. */
static inline char *
slab_alloc_objects (GcSlab *slab, unsigned n_max, unsigned *n)
{
  unsigned index = slab_find (slab);
  GcWord *word = &slab->words[index / GC_WORD_BITS];
  unsigned length = run_length (slab, index);
  uint64_t bits;

  *n = length < n_max ? length : n_max;
  bits = run_bits (index, *n);
  word->used |= bits;
  if (UNLIKELY (slab->gc->is_sweeping))
    word->marked |= bits;
  slab->n_used = (uint16_t) (slab->n_used + *n);
  if (UNLIKELY (slab->n_used == slab->n_objects))
    sli_gc_partial_unlink (slab);
  return slab->objects + (size_t) index * slab->object_bytes;
}

/* Is the object set aside? */
static inline bool
slab_sets_aside (const GcSlab *slab, const void *object)
{
  const Bucket *bucket = &slab->gc->buckets[slab->bucket];
  uintptr_t next = (uintptr_t) bucket->next;

  return (uintptr_t) object - next < (uintptr_t) bucket->end - next;
}

/* Where a context remembers the slab of an object that it marks.  A program
 * marks objects of several slabs in turn, so the context remembers several
 * slabs; neighbouring slabs have different places. */
static inline GcSlab **
gc_marked (RallocGc *gc, const GcSlab *slab)
{
  return &gc->marked[(uintptr_t) slab / GRANULE_BYTES_MIN % GC_MARKED];
}

/* Where the slab of an object would begin. */
static inline GcSlab *
slab_start (const void *object)
{
  size_t granule_bytes = (size_t) 1 << sli_region_granule_shift;

  return align_down_address (object, granule_bytes);
}

/* The slab of an object; NULL: the object is a node. */
static inline GcSlab *
slab_of (const void *object)
{
  GcSlab *slab = slab_start (object);

  return LIKELY (sli_map_is_noted_near (slab, NOTE_GC_SLAB))
                 || sli_map_is_noted (slab, NOTE_GC_SLAB)
             ? slab
             : NULL;
}

#endif
