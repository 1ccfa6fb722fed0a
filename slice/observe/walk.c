/* walk.c - slice_walk() and slice_validate()
 *
 * Layer: observe.  Reads the layers through their getters, which take their
 * locks one at a time.  Notes what they show in a mapping, so that the walk
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
#include "port/os.h"

#include <string.h>

/* --- notes: counted first, then written ---------------------------------- */

typedef struct
{
  void *address;
  uint32_t class_index;
} Note;

typedef struct
{
  Note *notes; /* NULL: they are only counted */
  size_t n;
  size_t capacity; /* notes beyond it are dropped */
} Notes;

static void
note (Notes *notes, void *address, unsigned class_index)
{
  if (notes->notes != NULL && notes->n < notes->capacity)
    notes->notes[notes->n] = (Note){ address, class_index };
  notes->n++;
}

static void
note_slab (void *run, unsigned class_index, void *data)
{
  note (data, run, class_index);
}

static void
note_rounds (unsigned class_index, void *const *rounds, size_t n, void *data)
{
  for (size_t i = 0; i < n; i++)
    if (rounds[i] != NULL)
      note (data, rounds[i], class_index);
}

static void
list_slabs (Notes *notes)
{
  sli_slab_each (note_slab, notes);
}

static void
list_cached (Notes *notes)
{
  for (unsigned i = 1; i < N_CLASSES; i++)
    sli_depot_each (i, note_rounds, notes);
  sli_magazine_each (note_rounds, notes);
}

/* Lists twice, first to count and then to note; false if there is no
 * memory. */
static bool
notes_add (Notes *notes, void (*list) (Notes *notes))
{
  *notes = (Notes){ NULL, 0, 0 };
  list (notes);
  notes->capacity = notes->n + 1;
  notes->n = 0;
  notes->notes = sli_os_map (notes->capacity * sizeof notes->notes[0],
                             sli_os_page_bytes ());
  if (notes->notes == NULL)
    return false;
  list (notes);
  if (notes->n > notes->capacity) /* other threads were at work */
    notes->n = notes->capacity;
  return true;
}

static void
notes_free (Notes *notes)
{
  sli_os_unmap (notes->notes, notes->capacity * sizeof notes->notes[0]);
}

/* --- the walk ------------------------------------------------------------ */

static bool
walk_slab (const Note *slab, SliceVisit visit, void *data)
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
walk_cached (const Note *cached, SliceVisit visit, void *data)
{
  const ChunkInfo chunk = { .class_index = cached->class_index,
                            .start = cached->address };
  SlicePart part = { .kind = SLICE_PART_CACHED,
                     .class_index = cached->class_index };

  part.address = sli_alloc_block_of (&chunk, &part.bytes);
  return visit (&part, data);
}

static bool
walk_notes (void (*list) (Notes *notes),
            bool (*walk) (const Note *note, SliceVisit visit, void *data),
            SliceVisit visit, void *data)
{
  bool wants_more = true;
  Notes notes;

  if (!notes_add (&notes, list))
    return false;
  for (size_t i = 0; wants_more && i < notes.n; i++)
    wants_more = walk (&notes.notes[i], visit, data);
  notes_free (&notes);
  return wants_more;
}

bool
slice_walk (SliceVisit visit, void *data)
{
  bool is_whole;

  if (!sli_alloc_is_ready ())
    return true;
  sli_trim_thread_suspend ();
  is_whole = walk_notes (list_slabs, walk_slab, visit, data)
             && walk_notes (list_cached, walk_cached, visit, data);
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
  "S1: a slab in a ring has state PARTIAL, the ring's number, and a "
  "chunk that is free or not carved",
  "S2: bits of chunks that are not carved are 0",
  "S3: n_carved <= n_chunks",
  "S4: the slabs in rings are at most n_slabs",
  "S6: a slab in no ring has no free chunk",
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
notes_sift (Note *notes, size_t at, size_t n)
{
  for (size_t child; (child = 2 * at + 1) < n; at = child)
    {
      Note swapped = notes[at];

      if (child + 1 < n && notes[child + 1].address > notes[child].address)
        child++;
      if (notes[at].address >= notes[child].address)
        return;
      notes[at] = notes[child];
      notes[child] = swapped;
    }
}

static void
notes_sort (Notes *notes)
{
  for (size_t at = notes->n / 2; at-- > 0;)
    notes_sift (notes->notes, at, notes->n);
  for (size_t n = notes->n; n-- > 1;)
    {
      Note last = notes->notes[n];

      notes->notes[n] = notes->notes[0];
      notes->notes[0] = last;
      notes_sift (notes->notes, 0, n);
    }
}

/* X1 or X2 if it does not hold, and where; or NULL. */
static const char *
check_cached (const void **where)
{
  const char *broken = NULL;
  Notes notes;

  if (!notes_add (&notes, list_cached))
    return NULL;
  notes_sort (&notes);
  for (size_t i = 0; i < notes.n && broken == NULL; i++)
    {
      const Note *cached = &notes.notes[i];
      ChunkInfo chunk;

      *where = cached->address;
      sli_slab_lookup (cached->address, &chunk);
      if (chunk.state != CHUNK_OUT
          || chunk.class_index != cached->class_index)
        broken = "X1";
      else if (i > 0 && notes.notes[i - 1].address == cached->address)
        broken = "X2";
    }
  notes_free (&notes);
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
