/* memtable.c - a store's table in memory: a skip list of keys and values,
 * written out when it is full
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEVEL 12
#define N_TABLES 3
#define N_PUTS 180000

typedef struct entry
{
  unsigned key, n_levels;
  char *value;
  unsigned length;
  struct entry *next[];
} entry;

static entry *head;
static unsigned state = 99;

static unsigned
random_next (void)
{
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static entry *
entry_new (unsigned key, unsigned n_levels)
{
  entry *made = malloc (sizeof *made + n_levels * sizeof (entry *));

  made->key = key;
  made->n_levels = n_levels;
  made->value = NULL;
  made->length = 0;
  memset (made->next, 0, n_levels * sizeof (entry *));
  return made;
}

/* An older value stays where it is: somebody may read it. */
static void
value_put (entry *of, unsigned version)
{
  unsigned length = 4 + random_next () % 36;
  char *made = malloc (length + sizeof (char *));

  memcpy (made, &of->value, sizeof (char *));
  memset (made + sizeof (char *), 'a' + version % 26, length);
  of->value = made;
  of->length = length;
}

static void
put (unsigned key, unsigned version)
{
  entry *before[MAX_LEVEL], *at = head;

  for (int level = MAX_LEVEL - 1; level >= 0; level--)
    {
      while (at->next[level] != NULL && at->next[level]->key < key)
        at = at->next[level];
      before[level] = at;
    }
  at = at->next[0];
  if (at == NULL || at->key != key)
    {
      unsigned n = 1;

      while (n < MAX_LEVEL && random_next () % 4 == 0)
        n++;
      at = entry_new (key, n);
      for (unsigned level = 0; level < n; level++)
        {
          at->next[level] = before[level]->next[level];
          before[level]->next[level] = at;
        }
    }
  value_put (at, version);
}

static unsigned long
table_write (void)
{
  unsigned long sum = 0;

  for (const entry *at = head->next[0]; at != NULL; at = at->next[0])
    sum = sum * 31 + at->key + (unsigned char) at->value[sizeof (char *)]
          + at->length;
  return sum;
}

static void
table_free (void)
{
  entry *at = head;

  while (at != NULL)
    {
      entry *next = at->next[0];
      char *value = at->value;

      while (value != NULL)
        {
          char *older;

          memcpy (&older, value, sizeof older);
          free (value);
          value = older;
        }
      free (at);
      at = next;
    }
}

int
main (void)
{
  unsigned long sum = 0;

  for (unsigned table = 0; table < N_TABLES; table++)
    {
      unsigned key = 0;

      head = entry_new (0, MAX_LEVEL);
      for (unsigned i = 0; i < N_PUTS; i++)
        {
          /* near the last key, as those who write do */
          key = random_next () % 8 == 0 ? random_next () % 65536
                                        : (key + random_next () % 16) % 65536;
          put (key + 1, i);
        }
      sum ^= table_write ();
      table_free ();
    }
  printf ("%lu\n", sum);
  return 0;
}
