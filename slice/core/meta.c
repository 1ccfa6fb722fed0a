/* meta.c - memory for the allocator's own records
 *
 * Floor 2 (page).  Below: page.  Lock: meta.lock (rank 15), never held while
 * the pages are asked.  Theory: section 3.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "meta.h"
#include "page.h"
#include "base/align.h"
#include "base/check.h"
#include "port/compiler.h"

enum
{
  META_SIZES = 9 /* 64 ... 16384 */
};

SLICE_STATIC_ASSERT (META_BYTES_MIN << (META_SIZES - 1) == META_BYTES_MAX,
                     "a list for every size");

/* A piece that waits; nothing else is known of its bytes. */
typedef struct Spare
{
  struct Spare *next;
} Spare;

static struct
{
  Lock lock;
  Spare *spares[META_SIZES]; /* by size */
  char *next;                /* where the current run is cut */
  char *end;
  size_t held_bytes;
} meta = { .lock = LOCK_INIT (LOCK_RANK_META) };

static unsigned
size_index (size_t bytes)
{
  unsigned index = 0;

  require (bytes <= META_BYTES_MAX);
  while (((size_t) META_BYTES_MIN << index) < bytes)
    index++;
  return index;
}

size_t
sli_meta_bytes (size_t bytes)
{
  return (size_t) META_BYTES_MIN << size_index (bytes);
}

Lock *
sli_meta_lock (void)
{
  return &meta.lock;
}

/* From the spares, or cut from the current run; NULL if neither can. */
static void *
meta_take (unsigned index)
{
  size_t bytes = (size_t) META_BYTES_MIN << index;
  void *piece = NULL;

  assert_held (&meta.lock);
  if (meta.spares[index] != NULL)
    {
      piece = meta.spares[index];
      meta.spares[index] = meta.spares[index]->next;
    }
  else if ((size_t) (meta.end - meta.next) >= bytes)
    {
      piece = meta.next;
      meta.next += bytes;
    }
  return piece;
}

static void
meta_put (void *piece, unsigned index)
{
  Spare *spare = piece;

  assert_held (&meta.lock);
  spare->next = meta.spares[index];
  meta.spares[index] = spare;
}

/* Files what is left of the current run, so that nothing is lost. */
static void
meta_file_rest (void)
{
  for (unsigned index = META_SIZES; index-- > 0;)
    while ((size_t) (meta.end - meta.next)
           >= ((size_t) META_BYTES_MIN << index))
      {
        meta_put (meta.next, index);
        meta.next += (size_t) META_BYTES_MIN << index;
      }
}

void *
sli_meta_alloc (size_t bytes)
{
  unsigned index = size_index (bytes);
  void *piece, *run, *record;
  bool is_zero;

  sli_lock (&meta.lock);
  piece = meta_take (index);
  sli_unlock (&meta.lock);
  if (LIKELY (piece != NULL))
    return piece;

  run = sli_page_alloc_run (1, &record, &is_zero);
  if (run == NULL)
    return NULL;
  sli_lock (&meta.lock);
  meta_file_rest ();
  meta.next = run;
  meta.end = meta.next + sli_page_unit_bytes ();
  meta.held_bytes += sli_page_unit_bytes ();
  piece = meta_take (index);
  sli_unlock (&meta.lock);
  return piece;
}

void
sli_meta_free (void *piece, size_t bytes)
{
  sli_lock (&meta.lock);
  meta_put (piece, size_index (bytes));
  sli_unlock (&meta.lock);
}

size_t
sli_meta_held_bytes (void)
{
  return LOAD (&meta.held_bytes);
}
