/* joins.c - queries that join two tables: a hash table of one, and a list of
 * the pairs that match, grouped
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ROWS 60000
#define N_BUCKETS 32768
#define N_QUERIES 7

typedef struct row
{
  unsigned key, amount;
  unsigned char region, kind;
} row;

typedef struct entry
{
  struct entry *chain;
  const row *of;
} entry;

typedef struct pair
{
  struct pair *next;
  const row *left, *right;
} pair;

static row left[N_ROWS], right[N_ROWS];
static entry *buckets[N_BUCKETS];
static unsigned state = 4;

static unsigned
random_next (void)
{
  state = state * 22695477u + 1u;
  return state >> 8;
}

static void
table_fill (row *table)
{
  for (unsigned i = 0; i < N_ROWS; i++)
    {
      table[i].key = random_next () % (N_ROWS / 2);
      table[i].amount = random_next () % 500;
      table[i].region = random_next () % 16;
      table[i].kind = random_next () % 9;
    }
}

static void
entries_add (unsigned kind)
{
  for (const row *at = left; at < left + N_ROWS; at++)
    if (at->kind != kind)
      {
        entry *made = malloc (sizeof *made), **bucket;

        bucket = &buckets[at->key * 2654435761u % N_BUCKETS];
        made->of = at;
        made->chain = *bucket;
        *bucket = made;
      }
}

static void
pair_add (pair **group, const row *a, const row *b)
{
  pair *made = malloc (sizeof *made);

  made->left = a;
  made->right = b;
  made->next = *group;
  *group = made;
}

static void
pairs_find (pair **groups)
{
  for (const row *at = right; at < right + N_ROWS; at++)
    for (const entry *one = buckets[at->key * 2654435761u % N_BUCKETS];
         one != NULL; one = one->chain)
      if (one->of->key == at->key)
        pair_add (&groups[one->of->region ^ at->region], one->of, at);
}

static unsigned long
groups_sum (pair **groups)
{
  unsigned long sum = 0;

  for (unsigned i = 0; i < 16; i++)
    {
      unsigned long amount = 0;

      for (const pair *at = groups[i]; at != NULL; at = at->next)
        amount += at->left->amount * at->right->amount;
      sum = sum * 17 + amount;
    }
  return sum;
}

static void
query_end (pair **groups)
{
  for (unsigned i = 0; i < 16; i++)
    while (groups[i] != NULL)
      {
        pair *next = groups[i]->next;

        free (groups[i]);
        groups[i] = next;
      }
  for (unsigned i = 0; i < N_BUCKETS; i++)
    while (buckets[i] != NULL)
      {
        entry *next = buckets[i]->chain;

        free (buckets[i]);
        buckets[i] = next;
      }
}

int
main (void)
{
  unsigned long sum = 0;

  table_fill (left);
  table_fill (right);
  for (unsigned i = 0; i < N_QUERIES; i++)
    {
      pair *groups[16] = { NULL };

      entries_add (i);
      pairs_find (groups);
      sum ^= groups_sum (groups);
      query_end (groups);
    }
  printf ("%lu\n", sum);
  return 0;
}
