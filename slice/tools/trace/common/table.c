/* table.c - a hash table from 64-bit keys to numbers
 *
 * Tools.  See table.h.  SPDX-License-Identifier: MIT
 */
#include "table.h"
#include "tool.h"
#include "tools/trace/format/trace-format.h"
#include <stdlib.h>
#include <string.h>

#define N_SLOTS_MIN 4

static void
table_double (Table *table)
{
  const Table old = *table;

  table->n_slots = old.n_slots == 0 ? N_SLOTS_MIN : 2 * old.n_slots;
  table->entries = sli_tool_zero (table->n_slots * sizeof (TableEntry));
  for (size_t i = 0; i < old.n_slots; i++)
    if (old.entries[i].value != 0)
      *table_slot (table, old.entries[i].key) = old.entries[i];
  free (old.entries);
}

uint32_t *
sli_table_add (Table *table, uint64_t key)
{
  TableEntry *slot;

  if (2 * table->n >= table->n_slots)
    table_double (table);
  slot = table_slot (table, key);
  if (slot->value == 0)
    {
      slot->key = key;
      table->n++;
    }
  return &slot->value;
}

uint32_t *
sli_table_add_text (Table *table, const char *text, const void *items,
                    size_t item_bytes)
{
  for (uint64_t key = sli_xxh64 (text, strlen (text), 0);; key++)
    {
      uint32_t *value = sli_table_add (table, key);
      const char *const *item;

      if (*value == 0)
        return value;
      item = (const void *) ((const char *) items + (*value - 1) * item_bytes);
      if (strcmp (*item, text) == 0)
        return value;
    }
}

/* Moves up the entries behind the hole that a search would no longer find
 * (Knuth, volume 3, 6.4, algorithm R). */
uint32_t
sli_table_remove (Table *table, uint64_t key)
{
  TableEntry *hole;
  uint32_t value;
  size_t mask, hole_at;

  if (table->n_slots == 0)
    return 0;
  hole = table_slot (table, key);
  value = hole->value;
  if (value == 0)
    return 0;
  mask = table->n_slots - 1;
  hole_at = (size_t) (hole - table->entries);
  for (size_t at = (hole_at + 1) & mask; table->entries[at].value != 0;
       at = (at + 1) & mask)
    {
      size_t home = table_home (table, table->entries[at].key);

      if (((at - home) & mask) < ((at - hole_at) & mask))
        continue;
      table->entries[hole_at] = table->entries[at];
      hole_at = at;
    }
  table->entries[hole_at].value = 0;
  table->n--;
  return value;
}

void
sli_table_clear (Table *table)
{
  if (table->n > 0)
    memset (table->entries, 0, table->n_slots * sizeof (TableEntry));
  table->n = 0;
}

void
sli_table_free (Table *table)
{
  free (table->entries);
  *table = (Table){ 0 };
}
