/* groups.c - groups rows by a key in a hash table, report by report
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N_BUCKETS 4096
#define N_ROWS 40000

typedef struct Group
{
  struct Group *next;
  uint64_t key, sum, least, most;
  unsigned n;
} Group;

static Group *buckets[N_BUCKETS];

static Group *
group_find (uint64_t key)
{
  Group **bucket = &buckets[key * 0x9E3779B97F4A7C15u >> 52], *group;

  for (group = *bucket; group != NULL; group = group->next)
    if (group->key == key)
      return group;
  group = malloc (sizeof *group);
  if (group == NULL)
    abort ();
  *group = (Group){ *bucket, key, 0, UINT64_MAX, 0, 0 };
  *bucket = group;
  return group;
}

static uint64_t
groups_end (void)
{
  uint64_t result = 0;

  for (unsigned i = 0; i < N_BUCKETS; i++)
    {
      for (const Group *at = buckets[i]; at != NULL; at = at->next)
        result += at->sum / at->n + (at->most - at->least);
      for (Group *at = buckets[i], *next; at != NULL; at = next)
        {
          next = at->next;
          free (at);
        }
      buckets[i] = NULL;
    }
  return result;
}

int
main (void)
{
  uint64_t random = 29, result = 0;

  for (unsigned report = 0; report < 120; report++)
    {
      for (unsigned i = 0; i < N_ROWS; i++)
        {
          uint64_t value;
          Group *group;

          random = random * 6364136223846793005u + 1442695040888963407u;
          value = random >> 50;
          group = group_find ((random >> 20) % 15000);

          group->sum += value;
          group->n++;
          if (value < group->least)
            group->least = value;
          if (value > group->most)
            group->most = value;
        }
      result += groups_end ();
    }
  printf ("%llu\n", (unsigned long long) result);
  return 0;
}
