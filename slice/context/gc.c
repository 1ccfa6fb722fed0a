/* gc.c - contexts whose objects are freed one by one or by mark and sweep
 *
 * Layer: context.  No locks.
 *
 * Objects up to GC_SMALL_MAX lie in slabs of one size each, aligned to
 * GC_SLAB_BYTES, so that an object finds its slab by masking; used and marked
 * are bits in the slab, and an object has no header.
 *
 *   +--------+---------+---------+-----+----------+----------+-----
 *   | GcSlab | used .. | marked..| pad | object 0 | object 1 | ...
 *   +--------+---------+---------+-----+----------+----------+-----
 *   ^ a multiple of GC_SLAB_BYTES, noted in the address map
 *
 * Larger objects are nodes below the context; those with an alignment that
 * nodes don't have get a slab alone.  During a sweep the nodes are children of
 * another root, the condemned, until they are marked or the sweep ends.
 *
 * In MODE_TRAILING_HEADER (under a memory checker) and MODE_TRACED (under a
 * recorder) every object is a node, except those alone in a slab, which tool
 * and recorder do not see.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <stdlib.h>

#include <slice/ralloc.h>

#include "node.h"
#include "base/align.h"
#include "base/trace.h"
#include "port/os.h"

enum
{
  GC_SLAB_BYTES = 16 * 1024,
  /* Sixteen bytes less are requested, so that malloc, which puts words of its
   * own between two blocks, can place slabs side by side. */
  GC_SLAB_ASKED = GC_SLAB_BYTES - 16,
  GC_STEP_BYTES = 16,
  GC_SMALL_MAX = 512,
  GC_SMALL_ALIGN_MAX = 64, /* slabs' objects begin at a multiple of it */
  GC_ALIGN_MAX = 4096,
  GC_BUCKETS = GC_SMALL_MAX / GC_STEP_BYTES,
  GC_ALONE = GC_BUCKETS,   /* the bucket of slabs with one object */
  GC_WORD_BITS = 64,
  GC_RECIPROCAL_SHIFT = 32
};

#define GC_MAGIC ((size_t) 0x67632d63)      /* a context */
#define CONDEMNED_MAGIC ((size_t) 0x67632d72) /* its nodes in a sweep */

typedef struct GcSlab GcSlab;
struct GcSlab
{
  RallocGc *gc;
  GcSlab *next;           /* all slabs of the bucket */
  GcSlab **pprev;
  GcSlab *room_next;      /* those with room */
  GcSlab **room_pprev;    /* NULL: full, on no such list */
  size_t bytes;           /* as requested */
  uint32_t object_bytes;
  uint32_t reciprocal;    /* 2^32 / object_bytes, rounded up */
  uint16_t n_objects;
  uint16_t n_used;
  uint16_t n_words;       /* of each of the two bitmaps */
  uint16_t first_offset;  /* of object 0 */
  uint16_t bucket;
  uint16_t hint;          /* a word that may have a free object */
  uint64_t bits[];        /* used, then marked */
};

typedef struct
{
  GcSlab *slabs;
  GcSlab *room;
} Bucket;

struct RallocGc
{
  size_t magic;
  void *condemned; /* not NULL: a sweep is under way */
  size_t slab_bytes;
  Bucket buckets[GC_BUCKETS + 1];
};

typedef struct
{
  size_t magic;
  RallocGc *gc;
} Condemned;

static COLD _Noreturn void
report_not_gc (const void *pointer, const char *operation)
{
  sli_diag_abort (ERROR_NOT_GC,
                  "no gc context, no live object of one, or a bad alignment: "
                  "%s (%p)",
                  operation, pointer);
}

/* Checks any pointer. */
static void
gc_examine (const RallocGc *gc, const char *operation)
{
  sli_context_check (gc, operation);
  if (UNLIKELY (!sli_gc_is_context (gc)))
    report_not_gc (gc, operation);
}

/* Checks one word, if no mode asks for more. */
static inline void
gc_require (const RallocGc *gc, const char *operation)
{
  if (UNLIKELY (sli_context_mode != 0 || gc == NULL || gc->magic != GC_MAGIC))
    gc_examine (gc, operation);
}

/* --- slabs --------------------------------------------------------------- */

static void
room_link (GcSlab *slab)
{
  GcSlab **head = &slab->gc->buckets[slab->bucket].room;

  slab->room_next = *head;
  slab->room_pprev = head;
  if (*head != NULL)
    (*head)->room_pprev = &slab->room_next;
  *head = slab;
}

static void
room_unlink (GcSlab *slab)
{
  assert_here (slab->room_pprev != NULL && *slab->room_pprev == slab);
  *slab->room_pprev = slab->room_next;
  if (slab->room_next != NULL)
    slab->room_next->room_pprev = slab->room_pprev;
  slab->room_pprev = NULL;
}

static GcSlab *
slab_map (RallocGc *gc, size_t bytes)
{
  bool limited = (node_of (gc)->parent & NODE_LIMITED) != 0;
  GcSlab *slab;

  if (limited && !sli_limit_add (gc, bytes))
    return NULL;
  TRACE_INTERNAL (slab = sli_os_aligned_alloc (bytes, GC_SLAB_BYTES));
  if (slab == NULL && slice_trim (0) > 0)
    TRACE_INTERNAL (slab = sli_os_aligned_alloc (bytes, GC_SLAB_BYTES));
  if (slab != NULL && !sli_map_note (slab, NOTE_GC_SLAB))
    {
      TRACE_INTERNAL (free (slab));
      slab = NULL;
    }
  if (slab == NULL)
    {
      if (limited)
        sli_limit_subtract (gc, bytes);
      errno = ENOMEM;
      return NULL;
    }
  slab->bytes = bytes;
  gc->slab_bytes += bytes;
  return slab;
}

static void
slab_unmap (GcSlab *slab)
{
  RallocGc *gc = slab->gc;

  if (slab->room_pprev != NULL)
    room_unlink (slab);
  *slab->pprev = slab->next;
  if (slab->next != NULL)
    slab->next->pprev = slab->pprev;
  gc->slab_bytes -= slab->bytes;
  if (node_of (gc)->parent & NODE_LIMITED)
    sli_limit_subtract (gc, slab->bytes);
  sli_map_forget (slab);
  TRACE_INTERNAL (free (slab));
}

/* Bitmaps and objects share the slab: the bitmaps have room for the number of
 * objects that would fit without them, so they are at most a word too long. */
static void
slab_lay_out (GcSlab *slab, size_t object_bytes, size_t n_max, size_t align)
{
  size_t n = (slab->bytes - sizeof (GcSlab)) / object_bytes;
  size_t first;

  if (n > n_max)
    n = n_max;
  slab->n_words = (uint16_t) ((n + GC_WORD_BITS - 1) / GC_WORD_BITS);
  first = align_up (sizeof (GcSlab) + 2 * sizeof (uint64_t) * slab->n_words,
                    align);
  if (n > (slab->bytes - first) / object_bytes)
    n = (slab->bytes - first) / object_bytes;
  slab->first_offset = (uint16_t) first;
  slab->n_objects = (uint16_t) n;
  slab->object_bytes = (uint32_t) object_bytes;
  slab->reciprocal
      = (uint32_t) ((((uint64_t) 1 << GC_RECIPROCAL_SHIFT) + object_bytes - 1)
                    / object_bytes);
}

static GcSlab *
slab_new (RallocGc *gc, unsigned bucket, size_t object_bytes, size_t bytes,
          size_t align)
{
  GcSlab *slab = slab_map (gc, bytes);

  if (slab == NULL)
    return NULL;
  slab->gc = gc;
  slab->bucket = (uint16_t) bucket;
  slab->n_used = 0;
  slab->hint = 0;
  slab_lay_out (slab, object_bytes, bucket == GC_ALONE ? 1 : SIZE_MAX, align);
  memset (slab->bits, 0, 2 * sizeof (uint64_t) * slab->n_words);
  slab->next = gc->buckets[bucket].slabs;
  slab->pprev = &gc->buckets[bucket].slabs;
  if (slab->next != NULL)
    slab->next->pprev = &slab->next;
  gc->buckets[bucket].slabs = slab;
  room_link (slab);
  return slab;
}

/* A free object's index; the slab has room. */
static inline unsigned
slab_find (GcSlab *slab)
{
  unsigned word = slab->hint;
  unsigned index;

  for (;;)
    {
      uint64_t unused = ~slab->bits[word];
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

static inline void *
slab_alloc (GcSlab *slab)
{
  unsigned index = slab_find (slab);
  unsigned word = index / GC_WORD_BITS;
  uint64_t bit = (uint64_t) 1 << (index % GC_WORD_BITS);

  slab->bits[word] |= bit;
  if (UNLIKELY (slab->gc->condemned != NULL))
    slab->bits[slab->n_words + word] |= bit;
  if (UNLIKELY (++slab->n_used == slab->n_objects))
    room_unlink (slab);
  return (char *) slab + slab->first_offset
         + (size_t) index * slab->object_bytes;
}

/* The slab of an object, or NULL: then it is a node. */
static inline GcSlab *
slab_of (const void *object)
{
  GcSlab *slab
      = (GcSlab *) ((uintptr_t) object & ~(uintptr_t) (GC_SLAB_BYTES - 1));

  return sli_map_is_noted (slab, NOTE_GC_SLAB) ? slab : NULL;
}

/* The index of an object's bits; ends the program unless it is live. */
static unsigned
slab_index (const GcSlab *slab, const void *object, const char *operation)
{
  size_t offset = (size_t) ((const char *) object - (const char *) slab)
                  - slab->first_offset;
  size_t index = (size_t) (((uint64_t) offset * slab->reciprocal)
                           >> GC_RECIPROCAL_SHIFT);

  if (slab->bucket == GC_ALONE)
    index = 0;
  if (UNLIKELY (offset >= GC_SLAB_BYTES || index >= slab->n_objects
                || index * slab->object_bytes != offset
                || ((slab->bits[index / GC_WORD_BITS]
                     >> (index % GC_WORD_BITS)) & 1) == 0))
    report_not_gc (object, operation);
  return (unsigned) index;
}

/* One slab of a size stays when it is empty, for the next object. */
static void
slab_emptied (GcSlab *slab)
{
  const Bucket *bucket = &slab->gc->buckets[slab->bucket];

  if (slab->bucket == GC_ALONE
      || !(bucket->room == slab && slab->room_next == NULL))
    slab_unmap (slab);
}

/* --- contexts ------------------------------------------------------------ */

RallocGc *
ralloc_gc_context (const void *parent)
{
  RallocGc *gc = rzalloc_size (parent, sizeof (RallocGc));
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

  if (gc->condemned != NULL)
    ralloc_free (gc->condemned);
  for (i = 0; i <= GC_BUCKETS; i++)
    for (GcSlab *slab = gc->buckets[i].slabs, *next; slab != NULL; slab = next)
      {
        next = slab->next;
        slab_unmap (slab);
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

/* --- objects ------------------------------------------------------------- */

/* Up to GC_SMALL_MAX and GC_SMALL_ALIGN_MAX. */
static inline __attribute__ ((always_inline)) void *
object_small (RallocGc *gc, size_t size, size_t align)
{
  size_t bytes = size > 0 ? align_up (size, align) : align;
  unsigned bucket = (unsigned) (bytes / GC_STEP_BYTES - 1);
  GcSlab *slab = gc->buckets[bucket].room;

  if (UNLIKELY (slab == NULL))
    {
      slab = slab_new (gc, bucket, bytes, GC_SLAB_ASKED, GC_SMALL_ALIGN_MAX);
      if (slab == NULL)
        return NULL;
    }
  return slab_alloc (slab);
}

/* The slab takes all of the first GC_SLAB_BYTES: anything else there would be
 * mistaken for an object of this slab. */
static COLD void *
object_alone (RallocGc *gc, size_t size, size_t align)
{
  size_t object = size > 0 ? size : 1;
  size_t bytes = align_up (sizeof (GcSlab) + 2 * sizeof (uint64_t), align)
                 + align_up (object, GC_STEP_BYTES);
  GcSlab *slab
      = slab_new (gc, GC_ALONE, object,
                  bytes > GC_SLAB_ASKED ? bytes : GC_SLAB_ASKED, align);

  return slab != NULL ? slab_alloc (slab) : NULL;
}

/* In a mode that checks, or large, or not a gc context. */
static COLD void *
object_slow (RallocGc *gc, size_t size, size_t align)
{
  gc_examine (gc, "ralloc_gc_alloc_size");
  if (size <= GC_SMALL_MAX && align <= GC_SMALL_ALIGN_MAX
      && (sli_context_mode & (MODE_TRAILING_HEADER | MODE_TRACED)) == 0)
    return object_small (gc, size, align);
  if (size > (size_t) PTRDIFF_MAX / 2)
    {
      errno = ENOMEM;
      return NULL;
    }
  if (align <= NODE_ALIGN)
    return ralloc_size (gc, size);
  return object_alone (gc, size, align);
}

void *
ralloc_gc_alloc_size (RallocGc *gc, size_t size, size_t align)
{
  if (UNLIKELY (align == 0 || (align & (align - 1)) != 0
                || align > GC_ALIGN_MAX))
    report_not_gc (gc, "ralloc_gc_alloc_size");
  if (align < GC_STEP_BYTES)
    align = GC_STEP_BYTES;
  if (UNLIKELY (size > GC_SMALL_MAX || align > GC_SMALL_ALIGN_MAX
                || sli_context_mode != 0 || gc == NULL
                || gc->magic != GC_MAGIC))
    return object_slow (gc, size, align);
  return object_small (gc, size, align);
}

void *
ralloc_gc_zalloc_size (RallocGc *gc, size_t size, size_t align)
{
  void *object = ralloc_gc_alloc_size (gc, size, align);

  if (LIKELY (object != NULL))
    memset (object, 0, size);
  return object;
}

/* The context of an object that is a node.  In a sweep its parent is the
 * condemned. */
static RallocGc *
gc_of_node (const void *ptr, const char *operation)
{
  void *parent = node_parent (sli_context_check (ptr, operation));

  if (parent != NULL && !sli_gc_is_context (parent)
      && sli_context_room_bytes (parent) >= sizeof (Condemned)
      && ((const Condemned *) parent)->magic == CONDEMNED_MAGIC)
    parent = ((const Condemned *) parent)->gc;
  if (UNLIKELY (parent == NULL || !sli_gc_is_context (parent)))
    report_not_gc (ptr, operation);
  return parent;
}

void
ralloc_gc_free (void *ptr)
{
  GcSlab *slab;
  unsigned index;
  uint64_t bit;

  if (UNLIKELY (ptr == NULL))
    return;
  slab = slab_of (ptr);
  if (UNLIKELY (slab == NULL))
    {
      gc_of_node (ptr, "ralloc_gc_free");
      ralloc_free (ptr);
      return;
    }
  index = slab_index (slab, ptr, "ralloc_gc_free");
  bit = (uint64_t) 1 << (index % GC_WORD_BITS);
  slab->bits[index / GC_WORD_BITS] &= ~bit;
  slab->bits[slab->n_words + index / GC_WORD_BITS] &= ~bit;
  slab->hint = (uint16_t) (index / GC_WORD_BITS);
  if (UNLIKELY (slab->room_pprev == NULL))
    room_link (slab);
  if (UNLIKELY (--slab->n_used == 0))
    slab_emptied (slab);
}

RallocGc *
ralloc_gc_get_context (void *ptr)
{
  const GcSlab *slab = slab_of (ptr);

  if (UNLIKELY (slab == NULL))
    return gc_of_node (ptr, "ralloc_gc_get_context");
  slab_index (slab, ptr, "ralloc_gc_get_context");
  return slab->gc;
}

/* --- mark and sweep ------------------------------------------------------ */

/* The references that the context holds are no objects of it. */
static void
references_return (RallocGc *gc)
{
  void *child = node_first_child (node_of (gc->condemned));
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

/* Without memory for the condemned there is no sweep: nothing is freed, which
 * is always right. */
void
ralloc_gc_sweep_start (RallocGc *gc)
{
  Condemned *condemned;
  GcSlab *slab;
  unsigned i;

  gc_examine (gc, "ralloc_gc_sweep_start");
  if (gc->condemned == NULL)
    {
      condemned = ralloc_size (NULL, sizeof *condemned);
      if (condemned == NULL)
        return;
      condemned->magic = CONDEMNED_MAGIC;
      condemned->gc = gc;
      gc->condemned = condemned;
    }
  ralloc_adopt (gc->condemned, gc);
  references_return (gc);
  for (i = 0; i <= GC_BUCKETS; i++)
    for (slab = gc->buckets[i].slabs; slab != NULL; slab = slab->next)
      memset (slab->bits + slab->n_words, 0,
              sizeof (uint64_t) * slab->n_words);
}

void
ralloc_gc_mark_live (RallocGc *gc, const void *mem)
{
  GcSlab *slab;
  unsigned index;

  gc_require (gc, "ralloc_gc_mark_live");
  slab = slab_of (mem);
  if (UNLIKELY (slab == NULL))
    {
      if (mem != NULL && gc_of_node (mem, "ralloc_gc_mark_live") != gc)
        report_not_gc (mem, "ralloc_gc_mark_live");
      ralloc_steal (gc, (void *) (uintptr_t) mem);
      return;
    }
  if (UNLIKELY (slab->gc != gc))
    report_not_gc (mem, "ralloc_gc_mark_live");
  index = slab_index (slab, mem, "ralloc_gc_mark_live");
  slab->bits[slab->n_words + index / GC_WORD_BITS]
      |= (uint64_t) 1 << (index % GC_WORD_BITS);
}

static void
slab_sweep (GcSlab *slab)
{
  unsigned n_used = 0;
  unsigned i;

  for (i = 0; i < slab->n_words; i++)
    {
      slab->bits[i] &= slab->bits[slab->n_words + i];
      n_used += COUNT_BITS (slab->bits[i]);
    }
  assert_here (n_used <= slab->n_used);
  slab->n_used = (uint16_t) n_used;
  slab->hint = 0;
  if (n_used < slab->n_objects && slab->room_pprev == NULL)
    room_link (slab);
  if (n_used == 0)
    slab_unmap (slab);
}

void
ralloc_gc_sweep_end (RallocGc *gc)
{
  GcSlab *slab;
  GcSlab *next;
  void *condemned;
  unsigned i;

  gc_examine (gc, "ralloc_gc_sweep_end");
  condemned = gc->condemned;
  if (condemned == NULL)
    return;
  for (i = 0; i <= GC_BUCKETS; i++)
    for (slab = gc->buckets[i].slabs; slab != NULL; slab = next)
      {
        next = slab->next;
        slab_sweep (slab);
      }
  gc->condemned = NULL;
  ralloc_free (condemned);
}
