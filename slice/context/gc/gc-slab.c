/* gc-slab.c - the slabs of gc contexts
 *
 * Layer: context.  No locks.  Beneath: runs of pages, and the address map.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <errno.h>
#include <stdlib.h>

#include "gc-slab.h"
#include "context/ralloc/extension.h"
#include "base/trace.h"
#include "page/page.h"
#include "port/annotate.h"
#include "port/os/os.h"

COLD void
sli_gc_report (const void *pointer, const char *cause, const char *operation)
{
  sli_context_abort (ERROR_NOT_GC, pointer, "%s: %s (%p)", cause, operation,
                     pointer);
}

/* --- slabs with free objects --------------------------------------------- */

void
sli_gc_partial_link (GcSlab *slab)
{
  GcSlab **head = &slab->gc->buckets[slab->bucket].partial;

  slab->partial_next = *head;
  slab->partial_pprev = head;
  if (*head != NULL)
    (*head)->partial_pprev = &slab->partial_next;
  *head = slab;
}

void
sli_gc_partial_unlink (GcSlab *slab)
{
  assert_here (slab->partial_pprev != NULL && *slab->partial_pprev == slab);
  *slab->partial_pprev = slab->partial_next;
  if (slab->partial_next != NULL)
    slab->partial_next->partial_pprev = slab->partial_pprev;
  slab->partial_pprev = NULL;
}

/* --- their memory -------------------------------------------------------- */

static void *
run_alloc (void)
{
  void *record;
  bool is_zero;
  char *run = sli_page_alloc_run (1, &record, &is_zero);

  if (run != NULL && sli_annotate_is_on ())
    sli_annotate_access (run, sli_page_granule_bytes ());
  return run;
}

static void
run_free (void *run)
{
  if (sli_page_free_run (run, 1, sli_os_clock_msec ()))
    sli_page_trim (0, 1);
}

static GcSlab *
slab_map (RallocGc *gc)
{
  size_t bytes = sli_page_granule_bytes ();
  bool limited = (node_of (gc)->parent & NODE_LIMITED) != 0;
  GcSlab *slab;

  if (limited && !sli_limit_add (gc, bytes))
    return NULL;
  slab = run_alloc ();
  if (slab == NULL && slice_trim (0) > 0)
    slab = run_alloc ();
  if (slab != NULL && !sli_map_note (slab, NOTE_GC_SLAB)
      && !(slice_trim (0) > 0 && sli_map_note (slab, NOTE_GC_SLAB)))
    {
      run_free (slab);
      slab = NULL;
    }
  if (slab == NULL)
    {
      if (limited)
        sli_limit_subtract (gc, bytes);
      errno = ENOMEM;
      return NULL;
    }
  gc->slab_bytes += bytes;
  return slab;
}

void
sli_gc_slab_end (GcSlab *slab)
{
  size_t bytes = sli_page_granule_bytes ();
  RallocGc *gc = slab->gc;

  if (*gc_marked (gc, slab) == slab)
    *gc_marked (gc, slab) = NULL;
  if (slab->partial_pprev != NULL)
    sli_gc_partial_unlink (slab);
  *slab->pprev = slab->next;
  if (slab->next != NULL)
    slab->next->pprev = slab->pprev;
  gc->slab_bytes -= bytes;
  if (node_of (gc)->parent & NODE_LIMITED)
    sli_limit_subtract (gc, bytes);
  sli_map_forget (slab);
  run_free (slab);
}

/* Bitmaps and objects share the slab.  The bitmaps are sized for the objects
 * that would fit without bitmaps, so they are at most a word too long. */
static void
slab_lay_out (GcSlab *slab, size_t object_bytes)
{
  size_t bytes = sli_page_granule_bytes ();
  size_t n = (bytes - sizeof (GcSlab)) / object_bytes;
  size_t first;

  slab->n_words = (uint16_t) ((n + GC_WORD_BITS - 1) / GC_WORD_BITS);
  first = align_up (sizeof (GcSlab) + sizeof (GcWord) * slab->n_words,
                    GC_SMALL_ALIGN_MAX);
  if (n > (bytes - first) / object_bytes)
    n = (bytes - first) / object_bytes;
  slab->objects = (char *) slab + first;
  slab->n_objects = (uint16_t) n;
  slab->object_bytes = (uint32_t) object_bytes;
  slab->objects_bytes = (uint16_t) (n * object_bytes);
  slab->reciprocal
      = (uint32_t) ((((uint64_t) 1 << GC_RECIPROCAL_SHIFT) + object_bytes - 1)
                    / object_bytes);
}

GcSlab *
sli_gc_slab_new (RallocGc *gc, unsigned bucket, size_t object_bytes)
{
  GcSlab *slab = slab_map (gc);

  if (slab == NULL)
    return NULL;
  slab->gc = gc;
  slab->bucket = (uint16_t) bucket;
  slab->n_used = 0;
  slab->hint = 0;
  slab_lay_out (slab, object_bytes);
  memset (slab->words, 0, sizeof (GcWord) * slab->n_words);
  slab->next = gc->buckets[bucket].slabs;
  slab->pprev = &gc->buckets[bucket].slabs;
  if (slab->next != NULL)
    slab->next->pprev = &slab->next;
  gc->buckets[bucket].slabs = slab;
  sli_gc_partial_link (slab);
  return slab;
}

/* --- emptied and swept --------------------------------------------------- */

/* Keeps one empty slab of a size for the next object. */
void
sli_gc_slab_emptied (GcSlab *slab)
{
  const Bucket *bucket = &slab->gc->buckets[slab->bucket];

  if (bucket->partial != slab || slab->partial_next != NULL)
    sli_gc_slab_end (slab);
}

static void
bucket_return_aside (Bucket *bucket)
{
  GcSlab *slab
      = align_down_address (bucket->next, sli_page_granule_bytes ());
  size_t offset = (size_t) (bucket->next - slab->objects);
  unsigned index = (unsigned) (offset / slab->object_bytes);
  unsigned n = (unsigned) ((size_t) (bucket->end - bucket->next)
                           / slab->object_bytes);
  GcWord *word = &slab->words[index / GC_WORD_BITS];
  uint64_t bits = run_bits (index, n);

  assert_here ((word->used & bits) == bits && slab->n_used >= n);
  word->used &= ~bits;
  word->marked &= ~bits;
  slab->n_used = (uint16_t) (slab->n_used - n);
  slab->hint = (uint16_t) (index / GC_WORD_BITS);
  if (slab->partial_pprev == NULL)
    sli_gc_partial_link (slab);
  bucket->next = bucket->end = NULL;
}

void
sli_gc_return_aside (RallocGc *gc)
{
  for (unsigned i = 0; i < GC_BUCKETS; i++)
    if (gc->buckets[i].next != gc->buckets[i].end)
      bucket_return_aside (&gc->buckets[i]);
}

void
sli_gc_slab_unmark (GcSlab *slab)
{
  for (unsigned i = 0; i < slab->n_words; i++)
    slab->words[i].marked = 0;
}

void
sli_gc_slab_sweep (GcSlab *slab)
{
  unsigned n_used = 0;
  unsigned i;

  for (i = 0; i < slab->n_words; i++)
    {
      slab->words[i].used &= slab->words[i].marked;
      n_used += COUNT_BITS (slab->words[i].used);
    }
  assert_here (n_used <= slab->n_used);
  slab->n_used = (uint16_t) n_used;
  slab->hint = 0;
  if (n_used < slab->n_objects && slab->partial_pprev == NULL)
    sli_gc_partial_link (slab);
  if (n_used == 0)
    sli_gc_slab_end (slab);
}
