/* mapped.c - blocks with mappings of their own
 *
 * Layer: heap.  Below: port.  Lock: mapped.lock (rank 25), not held during
 * system calls, except to enlarge the table.
 * Design: chapter 14.
 *
 * An open-addressing hash table by address has the live blocks.
 *
 * A program that allocates and frees a block in turn would have page faults
 * for all its pages each time.  So a block that follows a freed one of about
 * its size recurs: when it is freed, it is kept with its memory for the next.
 * Other blocks are unmapped at once, and only their size is remembered.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "heap.h"
#include "base/align.h"
#include "port/os/os.h"

enum
{
  SLOTS_INITIAL = 256,  /* a power of two; doubled at half full */
  KEPT_MAX = 8,
  KEPT_BYTES_MAX = 16 * 1024 * 1024, /* together */
  KEPT_MSEC = 1000,     /* later calls unmap blocks that are kept longer */
  KEPT_SLACK_SHIFT = 3, /* a kept block may be an eighth too large */
  GONE_MAX = 8,         /* sizes of unmapped blocks that are remembered */
  FREED_MAX = 64        /* addresses that are remembered for messages */
};

typedef struct
{
  char *start;  /* NULL: none */
  size_t bytes;
  bool recurs;  /* a freed block of about its size came before it */
} Mapping;

#define NO_MAPPING ((Mapping){ NULL, 0, false })

/* The size of an unmapped block. */
typedef struct
{
  size_t bytes; /* 0: none */
  uint64_t msec; /* when it was freed */
} Gone;

static struct
{
  Lock lock;
  Mapping *slots;
  size_t n_slots;  /* a power of two; 0 before the first block */
  size_t n_used;
  size_t bytes;    /* of live blocks */
  Mapping kept[KEPT_MAX];
  uint64_t kept_msec[KEPT_MAX]; /* when each was freed */
  size_t kept_bytes;
  Gone gone[GONE_MAX]; /* a ring */
  unsigned n_gone;     /* counts up */
  const void *freed[FREED_MAX];
  unsigned n_freed; /* counts up */
} mapped = { .lock = LOCK_INIT (LOCK_RANK_HEAP) };

Lock *
sli_mapped_lock (void)
{
  return &mapped.lock;
}

void
sli_mapped_count (SliceHeapCounts *counts)
{
  sli_lock (&mapped.lock);
  counts->n_mapped = mapped.n_used;
  counts->mapped_bytes = mapped.bytes;
  counts->kept_bytes = mapped.kept_bytes;
  sli_unlock (&mapped.lock);
}

static size_t
page_round (size_t bytes)
{
  return align_up (bytes, sli_os_page_bytes ());
}

/* --- the table ----------------------------------------------------------- */

static size_t
slot_home (const void *start, size_t n_slots)
{
  uint64_t hash
      = (uint64_t) (uintptr_t) start * UINT64_C (0x9e3779b97f4a7c15);

  return (size_t) (hash >> 32) & (n_slots - 1);
}

/* The slot of an address, or the empty one where it would be. */
static Mapping *
slot_find (Mapping *slots, size_t n_slots, const void *start)
{
  size_t i = slot_home (start, n_slots);

  while (slots[i].start != NULL && slots[i].start != start)
    i = (i + 1) & (n_slots - 1);
  return &slots[i];
}

/* The slot of a live block; NULL: it has none. */
static Mapping *
table_find (const void *start)
{
  Mapping *slot;

  assert_held (&mapped.lock);
  if (mapped.n_slots == 0)
    return NULL;
  slot = slot_find (mapped.slots, mapped.n_slots, start);
  return slot->start != NULL ? slot : NULL;
}

HEAP_TEXT static bool
table_reserve (void)
{
  size_t n_new = max_size (SLOTS_INITIAL, mapped.n_slots * 2);
  Mapping *slots;

  assert_held (&mapped.lock);
  if ((mapped.n_used + 1) * 2 <= mapped.n_slots)
    return true;
  slots = sli_os_map (page_round (n_new * sizeof *slots),
                      sli_os_page_bytes ());
  if (slots == NULL)
    return false;
  for (size_t i = 0; i < mapped.n_slots; i++)
    if (mapped.slots[i].start != NULL)
      *slot_find (slots, n_new, mapped.slots[i].start) = mapped.slots[i];
  if (mapped.slots != NULL)
    sli_os_unmap (mapped.slots, page_round (mapped.n_slots * sizeof *slots));
  mapped.slots = slots;
  mapped.n_slots = n_new;
  return true;
}

HEAP_TEXT static bool
table_add (Mapping mapping)
{
  bool is_reserved;

  sli_lock (&mapped.lock);
  is_reserved = table_reserve ();
  if (is_reserved)
    {
      *slot_find (mapped.slots, mapped.n_slots, mapping.start) = mapping;
      mapped.n_used++;
      mapped.bytes += mapping.bytes;
    }
  sli_unlock (&mapped.lock);
  return is_reserved;
}

/* Moves slots back into the empty one (Knuth, volume 3, section 6.4, algorithm
 * R). */
static void
table_close_gap (size_t gap)
{
  size_t mask = mapped.n_slots - 1;

  assert_held (&mapped.lock);
  for (size_t i = (gap + 1) & mask; mapped.slots[i].start != NULL;
       i = (i + 1) & mask)
    {
      size_t home = slot_home (mapped.slots[i].start, mapped.n_slots);

      if (((i - home) & mask) < ((i - gap) & mask))
        continue;
      mapped.slots[gap] = mapped.slots[i];
      mapped.slots[i].start = NULL;
      gap = i;
    }
}

/* Removes a live block; false: it is none. */
HEAP_TEXT static bool
table_remove (const void *start, Mapping *mapping)
{
  Mapping *slot = table_find (start);

  assert_held (&mapped.lock);
  if (slot == NULL)
    return false;
  *mapping = *slot;
  slot->start = NULL;
  mapped.n_used--;
  mapped.bytes -= mapping->bytes;
  table_close_gap ((size_t) (slot - mapped.slots));
  return true;
}

/* --- blocks that recur --------------------------------------------------- */

/* Returns true if a block of at most `bytes' may stand for one of `wanted'. */
static bool
is_about (size_t bytes, size_t wanted)
{
  return bytes >= wanted && bytes - wanted <= wanted >> KEPT_SLACK_SHIFT;
}

static void
gone_add (size_t bytes)
{
  assert_held (&mapped.lock);
  mapped.gone[mapped.n_gone++ % GONE_MAX]
      = (Gone){ bytes, sli_os_clock_msec () };
}

/* Returns true if a block of about this size was unmapped not long ago, and
 * forgets it. */
HEAP_TEXT static bool
gone_take (size_t bytes)
{
  uint64_t now_msec;

  assert_held (&mapped.lock);
  for (unsigned i = 0; i < GONE_MAX; i++)
    if (is_about (mapped.gone[i].bytes, bytes))
      {
        now_msec = sli_os_clock_msec ();
        mapped.gone[i].bytes = 0;
        return now_msec - mapped.gone[i].msec < KEPT_MSEC;
      }
  return false;
}

/* --- freed blocks that are kept ------------------------------------------ */

static Mapping
kept_take (unsigned i)
{
  Mapping taken = mapped.kept[i];

  assert_held (&mapped.lock);
  mapped.kept_bytes -= taken.bytes;
  mapped.kept[i] = NO_MAPPING;
  return taken;
}

/* Takes the kept block that fits best; start is NULL: none does. */
HEAP_TEXT static Mapping
kept_find (size_t bytes, size_t alignment)
{
  unsigned best = KEPT_MAX;

  assert_held (&mapped.lock);
  for (unsigned i = 0; i < KEPT_MAX; i++)
    {
      const Mapping *kept = &mapped.kept[i];

      if (is_about (kept->bytes, bytes)
          && ((uintptr_t) kept->start & (alignment - 1)) == 0
          && (best == KEPT_MAX || kept->bytes < mapped.kept[best].bytes))
        best = i;
    }
  return best < KEPT_MAX ? kept_take (best) : NO_MAPPING;
}

/* Removes kept blocks that are too old or too many; the caller unmaps them. */
HEAP_TEXT static unsigned
kept_surplus (uint64_t max_age_msec, Mapping surplus[KEPT_MAX])
{
  uint64_t now_msec = sli_os_clock_msec ();
  unsigned n = 0;

  assert_held (&mapped.lock);
  for (unsigned i = 0; i < KEPT_MAX; i++)
    if (mapped.kept[i].start != NULL
        && now_msec - mapped.kept_msec[i] >= max_age_msec)
      surplus[n++] = kept_take (i);
  return n;
}

/* Keeps a freed block that recurs, if the cache has a free place. */
HEAP_TEXT static bool
kept_add (Mapping mapping)
{
  assert_held (&mapped.lock);
  if (!mapping.recurs || mapping.bytes > KEPT_BYTES_MAX - mapped.kept_bytes)
    return false;
  for (unsigned i = 0; i < KEPT_MAX; i++)
    if (mapped.kept[i].start == NULL)
      {
        mapped.kept[i] = mapping;
        mapped.kept_msec[i] = sli_os_clock_msec ();
        mapped.kept_bytes += mapping.bytes;
        return true;
      }
  return false;
}

static size_t
unmap_all (unsigned n, const Mapping *mappings)
{
  size_t bytes = 0;

  for (unsigned i = 0; i < n; i++)
    {
      sli_os_unmap (mappings[i].start, mappings[i].bytes);
      bytes += mappings[i].bytes;
    }
  return bytes;
}

size_t
sli_mapped_trim (void)
{
  Mapping surplus[KEPT_MAX];
  unsigned n;

  sli_lock (&mapped.lock);
  n = kept_surplus (0, surplus);
  sli_unlock (&mapped.lock);
  return unmap_all (n, surplus);
}

/* --- blocks -------------------------------------------------------------- */

HEAP_TEXT void *
sli_mapped_alloc (size_t size, size_t alignment, bool *is_zero)
{
  size_t bytes = page_round (size);
  Mapping mapping;
  bool recurs;

  if (bytes < size)
    return NULL;
  alignment = max_size (alignment, sli_os_page_bytes ());
  sli_lock (&mapped.lock);
  mapping = kept_find (bytes, alignment);
  recurs = mapping.start == NULL && gone_take (bytes);
  sli_unlock (&mapped.lock);
  *is_zero = mapping.start == NULL;
  if (mapping.start == NULL)
    mapping = (Mapping){ sli_os_map (bytes, alignment), bytes, recurs };
  if (mapping.start != NULL && !table_add (mapping))
    {
      sli_os_unmap (mapping.start, mapping.bytes);
      return NULL;
    }
  return mapping.start;
}

HEAP_TEXT size_t
sli_mapped_bytes (const void *block)
{
  const Mapping *slot;
  size_t bytes;

  if (((uintptr_t) block & (sli_os_page_bytes () - 1)) != 0)
    return 0;
  sli_lock (&mapped.lock);
  slot = table_find (block);
  bytes = slot != NULL ? slot->bytes : 0;
  sli_unlock (&mapped.lock);
  return bytes;
}

bool
sli_mapped_was (const void *block)
{
  bool found = false;

  sli_lock (&mapped.lock);
  for (unsigned i = 0; i < FREED_MAX && !found; i++)
    found = mapped.freed[i] == block;
  sli_unlock (&mapped.lock);
  return found;
}

HEAP_TEXT bool
sli_mapped_free (void *block)
{
  Mapping surplus[KEPT_MAX], mapping = NO_MAPPING;
  bool found, is_kept = false;
  unsigned n = 0;

  if (((uintptr_t) block & (sli_os_page_bytes () - 1)) != 0)
    return false;
  sli_lock (&mapped.lock);
  found = table_remove (block, &mapping);
  if (found)
    {
      mapped.freed[mapped.n_freed++ % FREED_MAX] = block;
      n = kept_surplus (KEPT_MSEC, surplus);
      is_kept = kept_add (mapping);
      if (!is_kept)
        gone_add (mapping.bytes);
    }
  sli_unlock (&mapped.lock);
  unmap_all (n, surplus);
  if (found && !is_kept)
    sli_os_unmap (mapping.start, mapping.bytes);
  return found;
}

/* The block is not in the table while it moves, since another thread may get
 * its old address at once. */
HEAP_TEXT void *
sli_mapped_resize (void *block, size_t size)
{
  size_t bytes = page_round (size);
  Mapping mapping;
  void *moved;
  bool found;

  if (bytes < size)
    return NULL;
  sli_lock (&mapped.lock);
  found = table_remove (block, &mapping);
  sli_unlock (&mapped.lock);
  if (!found)
    return NULL;
  moved = sli_os_remap (block, mapping.bytes, bytes);
  if (moved != NULL)
    mapping = (Mapping){ moved, bytes,
                         mapping.recurs && bytes == mapping.bytes };
  /* A moment ago there was a slot for the block.  If others have taken it and
   * there is no memory for more, the program must not lose the block. */
  while (!table_add (mapping))
    sli_os_sleep_msec (1);
  return moved;
}
