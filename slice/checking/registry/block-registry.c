/* block-registry.c - the registry of live blocks: mallocs, and debug's sites
 *
 * Layer: checking.  Open-addressing hash tables by address, in pages from the
 * kernel, so that the registry needs neither slices nor malloc.  There are
 * several, so that each grows by itself and by little: where the address space
 * is limited, the extents leave no space for a large new table.  A small one
 * may then be a run of the extents.
 * Below: slab, for the tags of freed blocks.
 * Lock: registry.lock (rank 10), within the tags' lock where tags are read.
 * Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "block-registry.h"
#include "checking/checking-state.h"
#include "code-files.h"
#include "page/meta.h"
#include "base/check.h"
#include "port/compiler.h"
#include "port/os/os.h"

enum
{
  TABLE_BITS = 6,
  TABLES = 1 << TABLE_BITS,
  SLOTS_INITIAL = 64 /* a power of two; doubled at three quarters full */
};

typedef struct
{
  uintptr_t address; /* 0: never used */
  size_t size;       /* as it was allocated, of a freed block too */
  const void *alloc_site, *free_site;
  unsigned alloc_thread, free_thread;
  uint16_t alloc_file : 15; /* of the sites: see code-files.h */
  uint16_t is_node : 1;     /* of a context */
  uint16_t free_file : 15;
  uint16_t is_inside : 1;   /* that node is inside of a block of malloc */
  uint16_t generation;      /* of the process that allocated it */
  uint8_t alignment_bit : 7; /* 1 + log2 of the requested alignment; 0: none */
  uint8_t is_freed : 1;
  uint8_t slack_bytes;      /* at a node's end; 0: not known */
} Slot;

SLICE_STATIC_ASSERT (sizeof (Slot) <= 4 * sizeof (void *) + 16,
                     "a slot is small");

typedef struct
{
  Slot *slots;
  size_t n_slots;  /* a power of two; 0 before the first block */
  size_t n_used;   /* live, or freed and not removed */
  size_t n_live;
} Table;

static struct
{
  Lock lock;
  Table tables[TABLES];
  size_t n_live;       /* in all of them */
  uint16_t generation; /* the number of forks that led to this process */
} registry = { .lock = LOCK_INIT (LOCK_RANK_BASE) };

COMMON_TEXT Lock *
sli_block_registry_lock (void)
{
  return &registry.lock;
}

static inline size_t
hash_of (uintptr_t address)
{
  return (size_t) ((address >> 3) * (uintptr_t) 0x9e3779b97f4a7c15u);
}

static inline Table *
table_of (const void *block)
{
  return &registry.tables[hash_of ((uintptr_t) block)
                          >> (sizeof (size_t) * 8 - TABLE_BITS)];
}

/* Where the search for an address begins; more than an index. */
static inline size_t
slot_home (uintptr_t address)
{
  size_t i = hash_of (address);

  return i ^ i >> (sizeof i * 4);
}

/* The slot of an address, or the empty one where it would be. */
static Slot *
slot_find (Slot *slots, size_t n_slots, uintptr_t address)
{
  for (size_t i = slot_home (address);; i++)
    {
      Slot *slot = &slots[i & (n_slots - 1)];

      if (slot->address == address || slot->address == 0)
        return slot;
    }
}

static inline bool
slot_is_live (const Slot *slot)
{
  return slot->address != 0 && !slot->is_freed;
}

/* Returns true if a live block begins there. */
static inline bool
slot_is_block (const Slot *slot)
{
  return slot != NULL && slot_is_live (slot) && !slot->is_inside;
}

static bool
slots_suffice (size_t n_slots, size_t n_used)
{
  return (n_used + 1) * 4 <= n_slots * 3;
}

/* Moves the blocks of a table to n_new empty slots, and forgets the freed ones
 * if there are not enough for them.  Returns the slots that are no longer
 * needed, which may be the new ones, and their number. */
static Slot *
table_move (Table *table, Slot *slots, size_t n_new, size_t *n_unneeded)
{
  bool moves_freed = slots_suffice (n_new, table->n_used);
  Slot *old = table->slots;

  *n_unneeded = n_new;
  if (!slots_suffice (n_new, table->n_live))
    return slots;
  for (size_t i = 0; i < table->n_slots; i++)
    if (slot_is_live (&old[i]) || (moves_freed && old[i].is_freed))
      *slot_find (slots, n_new, old[i].address) = old[i];
  *n_unneeded = table->n_slots;
  table->slots = slots;
  table->n_slots = n_new;
  if (!moves_freed)
    table->n_used = table->n_live;
  return old;
}

/* Gives slots back.  Not under the lock, because a page source of the program
 * may be called. */
static void
slots_free (Slot *slots, size_t n_slots)
{
  if (slots == NULL)
    return;
  sli_unlock (&registry.lock);
  sli_meta_unmap_or_run (slots, n_slots * sizeof *slots);
  sli_lock (&registry.lock);
}

/* Gives a table n_new slots; false: no memory.  Releases the lock meanwhile,
 * so another thread may have changed the table, and the caller looks again. */
static bool
table_resize (Table *table, size_t n_new)
{
  Slot *slots;
  size_t n_unneeded;

  assert_held (&registry.lock);
  sli_unlock (&registry.lock);
  slots = sli_meta_map_or_run (n_new * sizeof *slots);
  sli_lock (&registry.lock);
  if (slots == NULL)
    return false;
  slots = table_move (table, slots, n_new, &n_unneeded);
  slots_free (slots, n_unneeded);
  return true;
}

/* Empties a slot, and moves later ones so that each is still found. */
static void
slot_remove (Table *table, size_t hole)
{
  size_t mask = table->n_slots - 1;
  Slot *slots = table->slots;

  for (size_t i = (hole + 1) & mask; slots[i].address != 0; i = (i + 1) & mask)
    if (((i - slot_home (slots[i].address)) & mask) >= ((i - hole) & mask))
      {
        slots[hole] = slots[i];
        hole = i;
      }
  slots[hole] = (Slot){ 0 };
}

/* Returns true if one more slot may be used. */
static bool
table_has_room (const Table *table)
{
  return slots_suffice (table->n_slots, table->n_used);
}

/* Returns true if a message may still need what is known of a freed block: its
 * chunk is free and was not allocated again, so that a write into it may yet be
 * found.  TAG_LIVE: it is about to be freed, or was just allocated.  The caller
 * holds the tags' lock. */
static bool
slot_is_needed (const Slot *slot)
{
  uint16_t *tag;

  assert_held (chunk_tags_lock ());
  return sli_checking.mode == CHECKING_DEBUG
         && chunk_has_tag ((const void *) (slot->address
                                           - sli_checking.front_bytes),
                           &tag)
         && (LOAD (tag) == TAG_FREE || LOAD (tag) >= TAG_LIVE);
}

/* Forgets freed blocks: all of them, or those that are not needed.  What
 * slot_remove() moves comes from further on, or from the start, which was
 * looked through before. */
static COLD void
table_drop_freed (Table *table, bool keeps_needed)
{
  assert_held (&registry.lock);
  for (size_t i = 0; i < table->n_slots; i++)
    while (table->slots[i].is_freed
           && !(keeps_needed && slot_is_needed (&table->slots[i])))
      {
        slot_remove (table, i);
        table->n_used--;
      }
}

/* Forgets the freed blocks that are not needed.  Releases the lock meanwhile,
 * because the tags' lock comes before it. */
static void
table_drop_unneeded (Table *table)
{
  assert_held (&registry.lock);
  sli_unlock (&registry.lock);
  sli_lock (chunk_tags_lock ());
  sli_lock (&registry.lock);
  table_drop_freed (table, true);
  sli_unlock (chunk_tags_lock ());
}

/* Reserves one more slot.  A table that is more than half full of what it
 * needs grows, so that it is looked through rarely. */
static bool
table_reserve (Table *table)
{
  size_t n_new;

  assert_held (&registry.lock);
  assert_here (table->n_live <= table->n_used);
  assert_here (table->n_used <= table->n_slots);
  while (!table_has_room (table))
    {
      if (table->n_live < table->n_used)
        table_drop_unneeded (table);
      if (table->n_used * 2 < table->n_slots)
        continue;
      n_new = table->n_slots == 0 ? SLOTS_INITIAL : table->n_slots * 2;
      if (!table_resize (table, n_new))
        {
          table_drop_freed (table, false);
          return table_has_room (table);
        }
    }
  return true;
}

/* Shrinks a table to what its live blocks need.  The smallest one stays, and
 * so does what it knows of freed blocks. */
static void
table_trim (Table *table)
{
  size_t n_new = SLOTS_INITIAL;
  Table old = *table;

  assert_held (&registry.lock);
  while (n_new < table->n_live * 2)
    n_new *= 2;
  if (n_new >= table->n_slots)
    return;
  if (table->n_live > 0)
    {
      table_resize (table, n_new);
      return;
    }
  *table = (Table){ NULL, 0, 0, 0 };
  slots_free (old.slots, old.n_slots);
}

COLD void
sli_block_registry_trim (void)
{
  sli_lock (&registry.lock);
  for (unsigned i = 0; i < TABLES; i++)
    table_trim (&registry.tables[i]);
  sli_unlock (&registry.lock);
}

bool
sli_block_registry_add (const void *block, size_t size, const void *site)
{
  unsigned thread = site != NULL ? sli_os_thread_id () : 0;
  Table *table = table_of (block);
  bool is_reserved;
  OsModule file;

  /* May allocate: no lock is held. */
  site = sli_os_caller_outside (site, &file);
  sli_code_files_begin ();
  sli_lock (&registry.lock);
  is_reserved = table_reserve (table);
  if (is_reserved)
    {
      Slot *slot
          = slot_find (table->slots, table->n_slots, (uintptr_t) block);

      table->n_used += slot->address == 0;
      table->n_live++;
      STORE (&registry.n_live, registry.n_live + 1);
      *slot = (Slot){ .address = (uintptr_t) block,
                      .size = size,
                      .alloc_site = site,
                      .alloc_thread = thread,
                      .alloc_file = sli_code_file_number (&file) & 0x7fff,
                      .generation = registry.generation };
    }
  sli_unlock (&registry.lock);
  return is_reserved;
}

/* The slot of a block, live or freed; NULL if it has none. */
static Slot *
table_lookup (const void *block)
{
  const Table *table = table_of (block);
  Slot *slot;

  assert_held (&registry.lock);
  if (table->n_slots == 0)
    return NULL;
  slot = slot_find (table->slots, table->n_slots, (uintptr_t) block);
  return slot->address == 0 ? NULL : slot;
}

size_t
sli_block_registry_size (const void *block)
{
  Slot *slot;
  size_t size;

  sli_lock (&registry.lock);
  slot = table_lookup (block);
  size = slot_is_block (slot) ? slot->size : SIZE_MAX;
  sli_unlock (&registry.lock);
  return size;
}

void
sli_block_registry_note_alignment (const void *block, size_t alignment)
{
  Slot *slot;

  sli_lock (&registry.lock);
  slot = table_lookup (block);
  if (slot != NULL)
    slot->alignment_bit
        = (unsigned) __builtin_ffsll ((long long) alignment) & 0x7f;
  sli_unlock (&registry.lock);
}

size_t
sli_block_registry_alignment (const void *block)
{
  const Slot *slot;
  unsigned bit;

  sli_lock (&registry.lock);
  slot = table_lookup (block);
  bit = slot != NULL ? slot->alignment_bit : 0;
  sli_unlock (&registry.lock);
  return bit != 0 ? (size_t) 1 << (bit - 1) : 0;
}

void
sli_block_registry_note_node (const void *node, bool is_inside)
{
  Slot *slot;

  sli_lock (&registry.lock);
  slot = table_lookup (node);
  if (slot != NULL)
    {
      slot->is_node = true;
      slot->is_inside = is_inside;
    }
  sli_unlock (&registry.lock);
}

void
sli_block_registry_note_slack (const void *block, uint8_t bytes)
{
  Slot *slot;

  sli_lock (&registry.lock);
  slot = table_lookup (block);
  if (slot != NULL)
    slot->slack_bytes = bytes;
  sli_unlock (&registry.lock);
}

/* The first live block's slot, or the next one's; NULL: there is none. */
static const Slot *
slot_next (const Slot *slot)
{
  Table *table = slot != NULL ? table_of ((const void *) slot->address)
                              : registry.tables;
  size_t i = slot != NULL ? (size_t) (slot - table->slots) + 1 : 0;

  assert_held (&registry.lock);
  for (; table < registry.tables + TABLES; table++, i = 0)
    for (; i < table->n_slots; i++)
      if (slot_is_live (&table->slots[i]))
        return &table->slots[i];
  return NULL;
}

/* The live node that an address is inside of; NULL: none. */
static const Slot *
node_around (uintptr_t address)
{
  const Slot *slot = NULL;

  assert_held (&registry.lock);
  while ((slot = slot_next (slot)) != NULL)
    if (slot->is_node && address - slot->address < slot->size)
      break;
  return slot;
}

BlockNodeState
sli_block_registry_node_at (const void *address, void **start, size_t *bytes)
{
  BlockNodeState state = BLOCK_NODE_NONE;
  const Slot *slot;

  sli_lock (&registry.lock);
  slot = table_lookup (address);
  if (slot != NULL && slot->is_node)
    state = slot->is_freed ? BLOCK_NODE_FREED : BLOCK_NODE_LIVE;
  else if ((slot = node_around ((uintptr_t) address)) != NULL)
    {
      state = BLOCK_NODE_INTERIOR;
      *start = (void *) slot->address;
      *bytes = slot->size;
    }
  sli_unlock (&registry.lock);
  return state;
}

static CodePlace
place_of (const void *site, unsigned file)
{
  return (CodePlace){ site, sli_code_file (file) };
}

bool
sli_block_registry_find (const void *block, BlockFacts *facts)
{
  const Slot *slot;

  *facts = (BlockFacts){ .given_bytes = DIAG_SIZE_UNKNOWN };
  sli_lock (&registry.lock);
  slot = table_lookup (block);
  if (slot != NULL)
    {
      facts->address = block;
      facts->real_bytes = slot->size;
      facts->slack_bytes = slot->slack_bytes;
      facts->sites
          = (BlockSites){ place_of (slot->alloc_site, slot->alloc_file),
                          place_of (slot->free_site, slot->free_file),
                          slot->alloc_thread, slot->free_thread };
    }
  sli_unlock (&registry.lock);
  return slot != NULL;
}

bool
sli_block_registry_knows (const void *block)
{
  BlockFacts facts;

  return sli_block_registry_find (block, &facts);
}

BlockSites
sli_block_registry_sites (const void *block)
{
  BlockFacts facts;

  sli_block_registry_find (block, &facts);
  return facts.sites;
}

static void
slot_free (Slot *slot, const void *site, const OsModule *file,
           unsigned thread)
{
  assert_held (&registry.lock);
  slot->is_freed = true;
  slot->free_site = site;
  slot->free_file = sli_code_file_number (file) & 0x7fff;
  slot->free_thread = thread;
  table_of ((const void *) slot->address)->n_live--;
  STORE (&registry.n_live, registry.n_live - 1);
}

void
sli_block_registry_forget_node (const void *node, const void *site)
{
  OsModule file;
  Slot *slot;

  site = sli_os_caller_outside (site, &file);
  sli_lock (&registry.lock);
  slot = table_lookup (node);
  if (slot != NULL && slot_is_live (slot) && slot->is_node)
    slot_free (slot, site, &file, sli_os_thread_id ());
  sli_unlock (&registry.lock);
}

void
sli_block_registry_remove (const void *block, size_t size,
                           const char *operation, const void *site)
{
  unsigned thread = site != NULL ? sli_os_thread_id () : 0;
  size_t real_bytes = 0;
  OsModule file;
  bool is_live, is_node;
  Slot *slot;

  site = sli_os_caller_outside (site, &file);
  sli_lock (&registry.lock);
  slot = table_lookup (block);
  is_node = slot != NULL && slot_is_live (slot) && slot->is_node;
  is_live = slot_is_block (slot) && !is_node;
  real_bytes = is_live ? slot->size : 0;
  if (is_live && (size == real_bytes || size == BLOCK_ANY_SIZE))
    slot_free (slot, site, &file, thread);
  sli_unlock (&registry.lock);
  if (is_live && (size == real_bytes || size == BLOCK_ANY_SIZE))
    return;
  sli_diag_misuse (is_live ? ERROR_NOT_THAT_SIZE : ERROR_NOT_A_BLOCK,
                   operation,
                   &(BlockFacts){ .address = block,
                                  .given_bytes = size == BLOCK_ANY_SIZE
                                                     ? DIAG_SIZE_UNKNOWN
                                                     : size,
                                  .real_bytes = real_bytes,
                                  .words = is_node ? "a node of a context"
                                                   : NULL,
                                  .sites = sli_block_registry_sites (block) });
}

void
sli_block_registry_each (BlockVisit visit, void *data)
{
  const Slot *slot = NULL;

  sli_lock (&registry.lock);
  while ((slot = slot_next (slot)) != NULL)
    if (slot->generation == registry.generation)
      visit (&(RegisteredBlock){ .address = (const void *) slot->address,
                                 .size = slot->size,
                                 .site = place_of (slot->alloc_site,
                                                   slot->alloc_file),
                                 .is_inside = slot->is_inside },
             data);
  sli_unlock (&registry.lock);
}

void
sli_block_registry_fork_child (void)
{
  registry.generation++;
}

size_t
sli_block_registry_count (void)
{
  return LOAD (&registry.n_live);
}
