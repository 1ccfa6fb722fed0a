/* block-check.c - the registry of live blocks (option debug-blocks)
 *
 * Floor 6 (alloc).  An open-addressing hash table by address, in memory of
 * the kernel's own, so that neither slices nor malloc are disturbed by what
 * watches them.  Lock: registry.lock (rank 10).  Theory: section 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "block-check.h"
#include "base/check.h"
#include "base/diag.h"
#include "port/compiler.h"
#include "port/os.h"

enum
{
  SLOTS_INITIAL = 4096 /* a power of two; doubled at three quarters full */
};

typedef struct
{
  uintptr_t address; /* 0: never used */
  size_t size;       /* SIZE_MAX: the block has been freed */
} Slot;

#define SIZE_FREED SIZE_MAX

static struct
{
  Lock lock;
  Slot *slots;
  size_t n_slots;  /* a power of two; 0 before the first block */
  size_t n_used;   /* live, or freed and not cleared away yet */
  size_t n_live;
} registry = { .lock = LOCK_INIT (LOCK_RANK_BASE) };

Lock *
sli_block_check_lock (void)
{
  return &registry.lock;
}

/* The slot of an address, or the empty one where it would be. */
static Slot *
slot_find (Slot *slots, size_t n_slots, uintptr_t address)
{
  size_t i = (size_t) ((address >> 3) * (uintptr_t) 0x9e3779b97f4a7c15u);

  for (i ^= i >> (sizeof i * 4);; i++)
    {
      Slot *slot = &slots[i & (n_slots - 1)];

      if (slot->address == address || slot->address == 0)
        return slot;
    }
}

/* A table with only the live ones, twice as large if these are many. */
static Slot *
table_copy (const Slot *old, size_t n_old, size_t n_new)
{
  Slot *slots = sli_os_map (n_new * sizeof *slots, sli_os_page_bytes ());

  if (slots == NULL)
    return NULL;
  for (size_t i = 0; i < n_old; i++)
    if (old[i].address != 0 && old[i].size != SIZE_FREED)
      *slot_find (slots, n_new, old[i].address) = old[i];
  return slots;
}

/* Room for one more.  The debug mode may map under its lock: it has nobody
 * to hurry for. */
static bool
table_make_room (void)
{
  size_t n_new;
  Slot *slots;

  assert_held (&registry.lock);
  if (registry.n_slots != 0
      && (registry.n_used + 1) * 4 <= registry.n_slots * 3)
    return true;
  n_new = registry.n_slots == 0                      ? SLOTS_INITIAL
          : registry.n_live * 2 >= registry.n_slots ? registry.n_slots * 2
                                                     : registry.n_slots;
  slots = table_copy (registry.slots, registry.n_slots, n_new);
  if (slots == NULL)
    return false;
  if (registry.slots != NULL)
    sli_os_unmap (registry.slots, registry.n_slots * sizeof *slots);
  registry.slots = slots;
  registry.n_slots = n_new;
  registry.n_used = registry.n_live;
  return true;
}

bool
sli_block_check_add (const void *block, size_t size)
{
  bool has_room;

  sli_lock (&registry.lock);
  has_room = table_make_room ();
  if (has_room)
    {
      Slot *slot = slot_find (registry.slots, registry.n_slots,
                              (uintptr_t) block);

      registry.n_used += slot->address == 0;
      registry.n_live++;
      *slot = (Slot){ (uintptr_t) block, size };
    }
  sli_unlock (&registry.lock);
  return has_room;
}

void
sli_block_check_remove (const void *block, size_t size, const char *operation)
{
  size_t real_bytes = 0;
  bool is_live = false;

  sli_lock (&registry.lock);
  if (registry.n_slots != 0)
    {
      Slot *slot = slot_find (registry.slots, registry.n_slots,
                              (uintptr_t) block);

      is_live = slot->address != 0 && slot->size != SIZE_FREED;
      real_bytes = is_live ? slot->size : 0;
      if (is_live && (size == real_bytes || size == BLOCK_CHECK_ANY_SIZE))
        {
          slot->size = SIZE_FREED;
          registry.n_live--;
        }
    }
  sli_unlock (&registry.lock);
  if (!is_live)
    sli_diag_misuse (ERROR_NOT_A_BLOCK, operation, block, size, 0);
  if (size != real_bytes && size != BLOCK_CHECK_ANY_SIZE)
    sli_diag_misuse (ERROR_NOT_THAT_SIZE, operation, block, size, real_bytes);
}

size_t
sli_block_check_count (void)
{
  return LOAD (&registry.n_live);
}
