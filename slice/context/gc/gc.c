/* gc.c - contexts whose objects are freed one by one or by mark and sweep
 *
 * Layer: context.  No locks.
 *
 * Objects up to GC_SMALL_MAX and GC_SMALL_ALIGN_MAX are in slabs (gc-slab.h).
 * Others are nodes below the context.
 *
 * A sweep begins with a divider, a node in front of the context's children:
 *
 *   context's first child -> marked, new .. -> divider -> not marked .. -> NULL
 *
 * New nodes come in front of all others, and a mark moves a node there.  When
 * the sweep ends, what is behind the divider moves below it and is freed with
 * it.  All the time the nodes are the context's children, so that limits,
 * walks, reports and searches for a parent know them.
 *
 * In MODE_TRAILING_HEADER (under a memory checker) and MODE_TRACED (under a
 * recorder) every object is a node.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include <errno.h>
#include <limits.h>
#include "gc-slab.h"
#include "gc.h"
#include "context/node-memory.h"
#include "context/owned.h"
#include "context/ralloc/extension.h"
#include "context/ralloc/steal.h"

enum
{
  GC_ALIGN_MAX = 4096
};

#define GC_MAGIC ((size_t) 0x67632d63)

typedef struct
{
  RallocGc *gc; /* NULL: its sweep has ended, and the context may be gone */
} Divider;

/* Makes all checks of a pointer, which may be any. */
static void
gc_examine (const RallocGc *gc, const char *operation)
{
  sli_context_check (gc, operation);
  if (UNLIKELY (!sli_gc_is_context (gc)))
    sli_gc_report (gc, "a node that is no gc context", operation);
}

/* The same, but checks only one word if no mode is set. */
static inline void
gc_require (const RallocGc *gc, const char *operation)
{
  if (UNLIKELY (sli_context_mode != 0 || gc == NULL || gc->magic != GC_MAGIC))
    gc_examine (gc, operation);
}

/* --- contexts ------------------------------------------------------------ */

RallocGc *
ralloc_gc_context (const void *parent)
{
  RallocGc *gc = sli_context_zalloc (parent, sizeof (RallocGc),
                                     "ralloc_gc_context");
  Extension *extension = gc != NULL ? sli_context_extend (gc) : NULL;

  if (extension == NULL)
    {
      ralloc_free (gc);
      return NULL;
    }
  extension->kind = EXT_GC;
  gc->magic = GC_MAGIC;
  return gc;
}

void
sli_gc_release (void *payload)
{
  RallocGc *gc = payload;
  unsigned i;

  assert_here (gc->divider == NULL);
  for (i = 0; i < GC_BUCKETS; i++)
    for (GcSlab *slab = gc->buckets[i].slabs, *next; slab != NULL; slab = next)
      {
        next = slab->next;
        sli_gc_slab_end (slab);
      }
  gc->magic = 0;
}

bool
sli_gc_is_context (const void *payload)
{
  const Extension *extension = node_extension (node_of (payload));

  return extension != NULL && extension->kind == EXT_GC;
}

size_t
sli_gc_bytes (const void *payload)
{
  return ((const RallocGc *) payload)->slab_bytes;
}

/* --- slabs' objects ------------------------------------------------------- */

/* The bits of an object: the word that has them, and which they are. */
typedef struct
{
  GcWord *word;
  unsigned index; /* of the object in its slab */
} ObjectBits;

/* The index of the object that begins at an address; false: none does.  One
 * does where the lower half of the product is less than the reciprocal. */
static ALWAYS_INLINE bool
slab_index (const GcSlab *slab, const void *address, unsigned *index)
{
  size_t offset = (size_t) ((const char *) address - slab->objects);
  uint64_t product = (uint64_t) offset * slab->reciprocal;

  *index = (unsigned) (product >> GC_RECIPROCAL_SHIFT);
  return offset < slab->objects_bytes
         && (uint32_t) product < slab->reciprocal;
}

/* Finds the bits of a live object of a slab; false: the address is none. */
static ALWAYS_INLINE bool
slab_has (GcSlab *slab, const void *object, ObjectBits *bits)
{
  if (UNLIKELY (!slab_index (slab, object, &bits->index)))
    return false;
  bits->word = &slab->words[bits->index / GC_WORD_BITS];
  KEEP (bits->word);
  return LIKELY ((bits->word->used >> (bits->index % GC_WORD_BITS) & 1) != 0
                 && !slab_sets_aside (slab, object));
}

/* The same, but ends the program unless the object is live. */
static ObjectBits
slab_find_live (GcSlab *slab, const void *object, const char *operation)
{
  ObjectBits bits;

  if (slab_has (slab, object, &bits))
    return bits;
  sli_gc_report (object,
                 slab_index (slab, object, &bits.index)
                     ? "an object of a gc context that is free already"
                     : "an address inside an object of a gc context",
                 operation);
}

/* Called when an object of a slab is freed that was full, or that is empty
 * now. */
static NOINLINE void
slab_freed_edge (GcSlab *slab)
{
  if (slab->partial_pprev == NULL)
    sli_gc_partial_link (slab);
  if (slab->n_used == 0)
    sli_gc_slab_emptied (slab);
}

static inline void
slab_free (GcSlab *slab, ObjectBits bits)
{
  uint64_t bit = (uint64_t) 1 << (bits.index % GC_WORD_BITS);

  bits.word->used &= ~bit;
  bits.word->marked &= ~bit;
  slab->hint = (uint16_t) (bits.word - slab->words);
  if (UNLIKELY (--slab->n_used == 0 || slab->partial_pprev == NULL))
    slab_freed_edge (slab);
}

/* --- objects ------------------------------------------------------------- */

/* The bucket of objects of `bytes', a multiple of a step, is this far behind
 * the first one.  (Half as many instructions as an index.) */
static inline Bucket *
bucket_of (RallocGc *gc, size_t bytes)
{
  size_t distance
      = (bytes - GC_STEP_BYTES) * (sizeof (Bucket) / GC_STEP_BYTES);

  return (Bucket *) (void *) ((char *) gc->buckets + distance);
}

/* Sets objects aside, and allocates the first of them. */
static NOINLINE void *
bucket_alloc (RallocGc *gc, size_t bytes)
{
  Bucket *bucket = bucket_of (gc, bytes);
  GcSlab *slab = bucket->partial;
  unsigned n;
  char *object;

  if (UNLIKELY (slab == NULL))
    {
      slab = sli_gc_slab_new (gc, (unsigned) (bucket - gc->buckets), bytes);
      if (slab == NULL)
        return NULL;
    }
  object = slab_alloc_objects (slab, UINT_MAX, &n);
  bucket->next = object + bytes;
  bucket->end = object + n * bytes;
  return object;
}

/* Allocates an object up to GC_SMALL_MAX and GC_SMALL_ALIGN_MAX. */
static ALWAYS_INLINE void *
object_small (RallocGc *gc, size_t size, size_t align)
{
  size_t bytes = align_up (size + (size == 0), align);
  Bucket *bucket = bucket_of (gc, bytes);
  char *object = bucket->next;

  if (UNLIKELY (object == bucket->end))
    return bucket_alloc (gc, bytes);
  bucket->next = object + bytes;
  return object;
}

/* The slow path: other modes, large objects, wrong arguments. */
static COLD void *
object_slow (RallocGc *gc, size_t size, size_t align, const char *operation)
{
  if (align == 0 || (align & (align - 1)) != 0 || align > GC_ALIGN_MAX)
    sli_gc_report (gc, "an alignment that gc contexts can't give",
                   operation);
  align = max_size (align, GC_STEP_BYTES);
  gc_examine (gc, operation);
  if (size <= GC_SMALL_MAX && align <= GC_SMALL_ALIGN_MAX
      && (sli_context_mode & (MODE_TRAILING_HEADER | MODE_TRACED)) == 0)
    return object_small (gc, size, align);
  if (size > (size_t) PTRDIFF_MAX / 2)
    {
      errno = ENOMEM;
      return NULL;
    }
  return align <= NODE_ALIGN
             ? context_alloc (gc, size, operation)
             : sli_context_alloc_aligned (gc, size, align, operation);
}

/* The alignments 32 and 64, and objects of no bytes. */
static NOINLINE void *
object_aligned (RallocGc *gc, size_t size, size_t align,
                const char *operation)
{
  if (UNLIKELY (size > GC_SMALL_MAX || align - 1 >= GC_SMALL_ALIGN_MAX
                || (align & (align - 1)) != 0 || sli_context_mode != 0
                || gc == NULL || gc->magic != GC_MAGIC))
    return object_slow (gc, size, align, operation);
  return object_small (gc, size, max_size (align, GC_STEP_BYTES));
}

static ALWAYS_INLINE void *
object_new (RallocGc *gc, size_t size, size_t align, const char *operation)
{
  size_t last = size - 1; /* of no bytes: none is as large */
  Bucket *bucket;
  char *object;

  /* The alignments that need no more than a step: 1, 2, 4, 8, 16. */
  if (UNLIKELY (last >= GC_SMALL_MAX || align > GC_STEP_BYTES
                || (UINT32_C (0x10116) >> align & 1) == 0
                || sli_context_mode != 0 || gc == NULL
                || gc->magic != GC_MAGIC))
    return object_aligned (gc, size, align, operation);
  last &= ~(size_t) (GC_STEP_BYTES - 1);
  bucket = bucket_of (gc, last + GC_STEP_BYTES);
  object = bucket->next;
  if (UNLIKELY (object == bucket->end))
    return bucket_alloc (gc, last + GC_STEP_BYTES);
  bucket->next = object + last + GC_STEP_BYTES;
  return object;
}

void *
ralloc_gc_alloc_size (RallocGc *gc, size_t size, size_t align)
{
  return object_new (gc, size, align, "ralloc_gc_alloc_size");
}

void *
ralloc_gc_zalloc_size (RallocGc *gc, size_t size, size_t align)
{
  void *object = object_new (gc, size, align, "ralloc_gc_zalloc_size");

  if (LIKELY (object != NULL))
    memset (object, 0, size);
  return object;
}

/* The context of an object that is a node. */
static RallocGc *
gc_of_node (const void *ptr, const char *operation)
{
  void *parent = node_parent (sli_context_check (ptr, operation));

  if (UNLIKELY (parent == NULL || !sli_gc_is_context (parent)))
    sli_gc_report (ptr, "a node that is no object of a gc context",
                   operation);
  return parent;
}

/* Frees any pointer. */
static NOINLINE void
any_free (void *ptr)
{
  GcSlab *slab = slab_of (ptr);

  if (slab != NULL)
    {
      slab_free (slab, slab_find_live (slab, ptr, "ralloc_gc_free"));
      return;
    }
  gc_of_node (ptr, "ralloc_gc_free");
  ralloc_free (ptr);
}

/* (It ends with each call that it makes, so that it saves no registers.) */
void
ralloc_gc_free (void *ptr)
{
  GcSlab *slab = slab_start (ptr);
  ObjectBits bits;

  if (UNLIKELY (ptr == NULL))
    return;
  if (LIKELY (sli_map_is_noted_near (slab, NOTE_GC_SLAB)
              && slab_has (slab, ptr, &bits)))
    slab_free (slab, bits);
  else
    any_free (ptr);
}

RallocGc *
ralloc_gc_get_context (void *ptr)
{
  GcSlab *slab = slab_of (ptr);

  if (UNLIKELY (slab == NULL))
    return gc_of_node (ptr, "ralloc_gc_get_context");
  slab_find_live (slab, ptr, "ralloc_gc_get_context");
  return slab->gc;
}

/* --- mark and sweep ------------------------------------------------------ */

/* Called when the divider is freed: with the context, by
 * ralloc_free_children (), or at the end of a sweep. */
static void
divider_end (void *payload)
{
  RallocGc *gc = ((const Divider *) payload)->gc;

  if (gc != NULL)
    gc->divider = NULL;
}

void
sli_gc_end_divider (void *payload)
{
  RallocGc *gc = payload;

  if (gc->divider != NULL)
    ralloc_free (gc->divider);
}

/* A limit does not refuse it: a sweep is what makes space. */
static void *
divider_new (RallocGc *gc)
{
  Divider *divider = ralloc_size (NULL, sizeof *divider);

  if (divider == NULL)
    return NULL;
  divider->gc = gc;
  if (sli_context_extend (divider) == NULL)
    {
      ralloc_free (divider);
      return NULL;
    }
  ralloc_set_destructor (divider, divider_end);
  ralloc_set_name_const (divider, "sweep");
  ralloc_steal (gc, divider);
  return divider;
}

/* Moves the references that the context holds, which are no objects, to the
 * front. */
static void
references_move (RallocGc *gc)
{
  void *child = node_next (node_of (gc->divider), gc->divider);
  void *next;
  Node *node;

  for (; child != NULL; child = next)
    {
      node = node_of (child);
      next = node->next;
      if (node_is_reference (node))
        sli_context_steal (gc, node, child, "ralloc_gc_sweep_start");
    }
}

/* Without memory for the divider there is no sweep: nothing is freed, which is
 * always correct. */
void
ralloc_gc_sweep_start (RallocGc *gc)
{
  GcSlab *slab;
  unsigned i;

  gc_examine (gc, "ralloc_gc_sweep_start");
  sli_gc_end_divider (gc);
  gc->divider = divider_new (gc);
  gc->is_sweeping = gc->divider != NULL;
  if (!gc->is_sweeping)
    return;
  references_move (gc);
  sli_gc_return_aside (gc);
  for (i = 0; i < GC_BUCKETS; i++)
    for (slab = gc->buckets[i].slabs; slab != NULL; slab = slab->next)
      sli_gc_slab_unmark (slab);
}

static COLD _Noreturn void
report_other (const void *mem)
{
  sli_gc_report (mem, "an object of another gc context",
                 "ralloc_gc_mark_live");
}

static inline void
bits_mark (ObjectBits bits)
{
  bits.word->marked |= (uint64_t) 1 << (bits.index % GC_WORD_BITS);
}

/* Marks what any pointer leads to, and remembers its slab. */
static NOINLINE void
any_mark (RallocGc *gc, const void *mem)
{
  GcSlab *slab = slab_of (mem);

  gc_require (gc, "ralloc_gc_mark_live");
  if (UNLIKELY (slab == NULL))
    {
      if (mem != NULL && gc_of_node (mem, "ralloc_gc_mark_live") != gc)
        report_other (mem);
      sli_context_steal_any (gc, (void *) (uintptr_t) mem,
                             "ralloc_gc_mark_live");
      return;
    }
  if (UNLIKELY (slab->gc != gc))
    report_other (mem);
  *gc_marked (gc, slab) = slab;
  bits_mark (slab_find_live (slab, mem, "ralloc_gc_mark_live"));
}

/* (It ends with each call that it makes, so that it saves no registers.) */
void
ralloc_gc_mark_live (RallocGc *gc, const void *mem)
{
  GcSlab *slab = slab_start (mem);
  ObjectBits bits;

  if (LIKELY (sli_context_mode == 0 && gc != NULL && gc->magic == GC_MAGIC
              && *gc_marked (gc, slab) == slab && slab != NULL
              && slab_has (slab, mem, &bits)))
    bits_mark (bits);
  else
    any_mark (gc, mem);
}

/* Frees the divider with the nodes behind it.  Their destructors may begin
 * another sweep, or free the context. */
static void
divider_sweep (RallocGc *gc)
{
  Divider *divider = gc->divider;
  Node *node = node_of (divider);

  gc->divider = NULL;
  divider->gc = NULL;
  if (node->next != NULL)
    sli_context_adopt_list (divider, &node->next, "ralloc_gc_sweep_end");
  ralloc_free (divider);
}

void
ralloc_gc_sweep_end (RallocGc *gc)
{
  GcSlab *slab;
  GcSlab *next;
  unsigned i;

  gc_examine (gc, "ralloc_gc_sweep_end");
  if (!gc->is_sweeping)
    return;
  sli_gc_return_aside (gc);
  for (i = 0; i < GC_BUCKETS; i++)
    for (slab = gc->buckets[i].slabs; slab != NULL; slab = next)
      {
        next = slab->next;
        sli_gc_slab_sweep (slab);
      }
  gc->is_sweeping = false;
  if (gc->divider != NULL)
    divider_sweep (gc);
}
