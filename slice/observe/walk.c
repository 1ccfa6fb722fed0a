/* walk.c - slice_walk() and slice_validate()
 *
 * Layer: observe.  Reads the layers through their getters, which take their
 * locks one at a time.  Lists what they show in a mapping, so that the walk
 * allocates no block and calls the program with no lock held.
 * Design: chapter 10.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/walk.h>

#include "base/sizeclass.h"
#include "alloc/alloc.h"
#include "depot/depot.h"
#include "magazine/magazine.h"
#include "page/page.h"
#include "slab/slab.h"
#include "port/os/os.h"

#include <string.h>

/* --- lists: counted first, then written ---------------------------------- */

/* A slab or a cached chunk. */
typedef struct
{
  void *address;
  uint32_t class_index;
} Item;

typedef struct
{
  Item *items; /* NULL: they are only counted */
  size_t n;
  size_t capacity; /* items beyond it are dropped */
} ItemList;

static void
list_add (ItemList *list, void *address, unsigned class_index)
{
  if (list->items != NULL && list->n < list->capacity)
    list->items[list->n] = (Item){ address, class_index };
  list->n++;
}

static void
add_slab (void *run, unsigned class_index, void *data)
{
  list_add (data, run, class_index);
}

static void
add_rounds (unsigned class_index, void *const *rounds, size_t n, void *data)
{
  for (size_t i = 0; i < n; i++)
    if (rounds[i] != NULL)
      list_add (data, rounds[i], class_index);
}

static void
list_slabs (ItemList *list)
{
  sli_slab_each (add_slab, list);
}

static void
list_cached (ItemList *list)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    sli_depot_each (i, add_rounds, list);
  sli_magazine_each (add_rounds, list);
}

/* Lists twice, first to count and then to write; false if there is no
 * memory. */
static bool
list_make (ItemList *list, void (*fill) (ItemList *list))
{
  *list = (ItemList){ NULL, 0, 0 };
  fill (list);
  list->capacity = list->n + 1;
  list->n = 0;
  list->items = sli_os_map (list->capacity * sizeof list->items[0],
                            sli_os_page_bytes ());
  if (list->items == NULL)
    return false;
  fill (list);
  if (list->n > list->capacity) /* other threads were at work */
    list->n = list->capacity;
  return true;
}

static void
list_free (ItemList *list)
{
  sli_os_unmap (list->items, list->capacity * sizeof list->items[0]);
}

/* --- the walk ------------------------------------------------------------ */

static bool
walk_slab (const Item *slab, SliceVisit visit, void *data)
{
  const SizeClass *sizeclass = &sli_sizeclasses[slab->class_index];
  SlicePart part = { SLICE_PART_SLAB, slab->address, sizeclass->slab_bytes,
                     slab->class_index };
  bool wants_more = visit (&part, data);
  ChunkInfo chunk;

  for (unsigned i = 0;
       wants_more && i < sli_slab_chunk (slab->address, i, &chunk); i++)
    {
      part.kind = chunk.state == CHUNK_OUT ? SLICE_PART_OUT : SLICE_PART_FREE;
      part.address = sli_alloc_block_of (&chunk, &part.bytes);
      wants_more = visit (&part, data);
    }
  return wants_more;
}

static bool
walk_cached (const Item *cached, SliceVisit visit, void *data)
{
  const ChunkInfo chunk = { .class_index = cached->class_index,
                            .start = cached->address };
  SlicePart part = { .kind = SLICE_PART_CACHED,
                     .class_index = cached->class_index };

  part.address = sli_alloc_block_of (&chunk, &part.bytes);
  return visit (&part, data);
}

static bool
walk_items (void (*fill) (ItemList *list),
            bool (*walk) (const Item *item, SliceVisit visit, void *data),
            SliceVisit visit, void *data)
{
  bool wants_more = true;
  ItemList list;

  if (!list_make (&list, fill))
    return false;
  for (size_t i = 0; wants_more && i < list.n; i++)
    wants_more = walk (&list.items[i], visit, data);
  list_free (&list);
  return wants_more;
}

bool
slice_walk (SliceVisit visit, void *data)
{
  bool is_whole;

  if (!sli_alloc_is_ready ())
    return true;
  sli_trim_thread_suspend ();
  is_whole = walk_items (list_slabs, walk_slab, visit, data)
             && walk_items (list_cached, walk_cached, visit, data);
  sli_trim_thread_resume ();
  return is_whole;
}

/* --- the invariants ------------------------------------------------------ */

/* As in design chapter 10. */
static const char *const invariants[] = {
  "P1: a region in use lies in the ring of its fullness, an idle one in "
  "`idle' or `purged', one that a trimmer works on in none",
  "P2: n_free counts the set `free'; a granule is free, or in a run, or a "
  "trimmer has it",
  "P3: `zeroed' is a subset of `free'",
  "P4: n_purged counts an extent's purged regions",
  "P5: the map has the bits of every region that was initialised, and no "
  "other",
  "P6: the counts of bytes and regions are those of the regions and extents",
  "S1: a slab in a ring has state PARTIAL, the ring's number, and a "
  "chunk that is free or not carved",
  "S2: bits of chunks that are not carved are 0",
  "S3: n_carved <= n_chunks",
  "S4: the slabs in rings are at most n_slabs",
  "S6: a slab in no ring has no free chunk",
  "S7: a shard has claimed at most one slab of a class",
  "S8: the region names the class of a slab at each of its granules",
  "D1: every magazine in a depot is of its class, and holds 1 to "
  "n_rounds_max rounds",
  "D2: the stack is ordered by pushed_msec, latest first",
  "D3: n_magazines and n_chunks count the stack",
  "D4: n_large counts the stacks of its class that are large",
  "M1: slots[0] is NULL; base <= top <= end",
  "M2: the previous magazine is of its class, and its n_rounds is true",
  "M3: accounted_bytes is the sum of what the accounted classes may hold",
  "M4: n_taken rounds lie below what the owner may touch",
  "X1: a cached chunk is of its magazine's class, and out of its slab",
  "X2: no chunk is cached twice"
};

/* The text of an invariant. */
static const char *
invariant_text (const char *id)
{
  if (id == NULL)
    return NULL;
  for (size_t i = 0; i < sizeof invariants / sizeof invariants[0]; i++)
    if (strncmp (invariants[i], id, strlen (id)) == 0)
      return invariants[i];
  return id;
}

/* Heap sort by address: it needs no memory, no recursion and never quadratic
 * time. */
static void
items_sift (Item *items, size_t at, size_t n)
{
  for (size_t child; (child = 2 * at + 1) < n; at = child)
    {
      Item swapped = items[at];

      if (child + 1 < n && items[child + 1].address > items[child].address)
        child++;
      if (items[at].address >= items[child].address)
        return;
      items[at] = items[child];
      items[child] = swapped;
    }
}

static void
list_sort (ItemList *list)
{
  for (size_t at = list->n / 2; at-- > 0;)
    items_sift (list->items, at, list->n);
  for (size_t n = list->n; n-- > 1;)
    {
      Item last = list->items[n];

      list->items[n] = list->items[0];
      list->items[0] = last;
      items_sift (list->items, 0, n);
    }
}

/* X1 or X2 if it does not hold, and where; or NULL. */
static const char *
check_cached (const void **where)
{
  const char *broken = NULL;
  ItemList list;

  if (!list_make (&list, list_cached))
    return NULL;
  list_sort (&list);
  for (size_t i = 0; i < list.n && broken == NULL; i++)
    {
      const Item *cached = &list.items[i];
      ChunkInfo chunk;

      *where = cached->address;
      sli_slab_lookup (cached->address, &chunk);
      if (chunk.state != CHUNK_OUT
          || chunk.class_index != cached->class_index)
        broken = "X1";
      else if (i > 0 && list.items[i - 1].address == cached->address)
        broken = "X2";
    }
  list_free (&list);
  return broken;
}

/* The id of the first invariant that does not hold; NULL: all do. */
static const char *
check_all (const void **where)
{
  const char *broken = sli_page_check (where);

  for (unsigned i = 1; i < N_CLASSES && broken == NULL; i++)
    broken = sli_slab_check (i, where);
  if (broken == NULL)
    broken = sli_slab_check_full (where);
  for (unsigned i = 1; i < N_CLASSES && broken == NULL; i++)
    broken = sli_depot_check (i, where);
  if (broken == NULL)
    broken = sli_magazine_check (where);
  if (broken == NULL)
    broken = check_cached (where);
  return broken;
}

const char *
slice_validate (const void **where)
{
  const void *unwanted;
  const char *broken;

  if (where == NULL)
    where = &unwanted;
  *where = NULL;
  if (!sli_alloc_is_ready ())
    return NULL;
  sli_trim_thread_suspend ();
  broken = check_all (where);
  sli_trim_thread_resume ();
  if (broken == NULL)
    *where = NULL;
  return invariant_text (broken);
}
