/* table.h - a hash table from 64-bit keys to numbers
 *
 * Tools.  Open addressing with linear probing, at most half full.  Data larger
 * than a number is in an array of the caller's, and its index plus 1 in the
 * table.  A caller whose keys are hashes (of strings) compares the result, and
 * tries the next key if it is another one's.
 *
 *   entries  | key value | 0 0 | key value | key value | 0 0 | ...
 *              value 0: the slot is empty
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMON_TABLE_H
#define SLI_TRACE_COMMON_TABLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct
{
  uint64_t key;
  uint32_t value; /* never 0 in a slot that is used */
} TableEntry;

/* All zero is an empty table. */
typedef struct
{
  TableEntry *entries;
  size_t n, n_slots; /* n_slots: 0 or a power of two */
} Table;

/* The value of a key in its slot.  If the key is new the value is 0, and the
 * caller sets it at once.  Valid until the next call. */
uint32_t *sli_table_add (Table *table, uint64_t key);
/* The same for a string, which value - 1 numbers in an array of structs that
 * begin with a string. */
uint32_t *sli_table_add_text (Table *table, const char *text,
                              const void *items, size_t item_bytes);
/* Returns the value that was there, 0 if there was none. */
uint32_t sli_table_remove (Table *table, uint64_t key);
void sli_table_clear (Table *table);
void sli_table_free (Table *table);

static inline size_t
table_home (const Table *table, uint64_t key)
{
  /* the product's upper half is the better mixed one */
  return (size_t) ((key * UINT64_C (0x9E3779B97F4A7C15)) >> 32)
         & (table->n_slots - 1);
}

/* Where a key is, or would be; the table has slots. */
static inline TableEntry *
table_slot (const Table *table, uint64_t key)
{
  size_t at = table_home (table, key);

  while (table->entries[at].value != 0 && table->entries[at].key != key)
    at = (at + 1) & (table->n_slots - 1);
  return &table->entries[at];
}

/* 0 if there is none. */
static inline uint32_t
table_get (const Table *table, uint64_t key)
{
  return table->n_slots == 0 ? 0 : table_slot (table, key)->value;
}

/* gcc treats a function that only prefetches as one without effects, and drops
 * the calls; the empty asm statement is an effect. */
static inline void
memory_prefetch (const void *address)
{
  __builtin_prefetch (address, 1);
  __asm__ volatile("");
}

static inline void
table_prefetch (const Table *table, uint64_t key)
{
  if (table->n_slots > 0)
    memory_prefetch (&table->entries[table_home (table, key)]);
}

#endif
