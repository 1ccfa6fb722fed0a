/* lru.c - a cache of the least recently used kind, in front of a slow function
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N_BUCKETS 65536
#define N_ENTRIES_MAX 60000
#define N_LOOKUPS 3000000

typedef struct Entry
{
  struct Entry *next_hash, *newer, *older;
  uint64_t key, value;
} Entry;

static Entry *buckets[N_BUCKETS], *newest, *oldest;
static unsigned n_entries, n_hits;

static uint64_t
slow_function (uint64_t key)
{
  for (int i = 0; i < 6; i++)
    key = key * 6364136223846793005u + 1442695040888963407u;
  return key >> 20;
}

static void
list_remove (Entry *entry)
{
  *(entry->newer != NULL ? &entry->newer->older : &newest) = entry->older;
  *(entry->older != NULL ? &entry->older->newer : &oldest) = entry->newer;
}

static void
list_add (Entry *entry)
{
  entry->newer = NULL;
  entry->older = newest;
  *(newest != NULL ? &newest->newer : &oldest) = entry;
  newest = entry;
}

static void
entry_evict (void)
{
  Entry *entry = oldest, **link = &buckets[entry->key % N_BUCKETS];

  while (*link != entry)
    link = &(*link)->next_hash;
  *link = entry->next_hash;
  list_remove (entry);
  free (entry);
  n_entries--;
}

static uint64_t
lookup (uint64_t key)
{
  Entry **bucket = &buckets[key % N_BUCKETS], *entry;

  for (entry = *bucket; entry != NULL; entry = entry->next_hash)
    if (entry->key == key)
      {
        n_hits++;
        list_remove (entry);
        list_add (entry);
        return entry->value;
      }
  if (n_entries == N_ENTRIES_MAX)
    entry_evict ();
  entry = malloc (sizeof *entry);
  if (entry == NULL)
    abort ();
  entry->key = key;
  entry->value = slow_function (key);
  entry->next_hash = *bucket;
  *bucket = entry;
  list_add (entry);
  n_entries++;
  return entry->value;
}

int
main (void)
{
  uint64_t sum = 0, random = 1;

  for (unsigned i = 0; i < N_LOOKUPS; i++)
    {
      random = random * 6364136223846793005u + 1442695040888963407u;
      sum += lookup ((random >> 40) % 200000);
    }
  printf ("%u hits, %llx\n", n_hits, (unsigned long long) sum);
  return 0;
}
