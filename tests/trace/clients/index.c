/* index.c - the words of one text after the other, counted
 *
 * Tests: a program to be recorded, and to be changed as it is advised
 * (-DADVISED: both are of arenas that are reset).  A table of chains holds an
 * entry and a copy of each word; at the end of a text it is emptied chain by
 * chain, which is not the order the entries came in.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/linear.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "random.h"

#define N_TEXTS 40
#define N_WORDS 40000
#define N_DISTINCT 9000
#define N_CHAINS 4096

struct entry
{
  struct entry *next;
  char *word;
  unsigned hash, count;
};

#ifdef ADVISED
static SliceLinear *entries, *words;
#endif
static struct entry *chains[N_CHAINS];

/* Few words are common, most are not. */
static size_t
word_make (char *word, unsigned text)
{
  unsigned number = below (below (N_DISTINCT) + 1) * 7919 + text;
  size_t n = 3 + number % 17;
  for (size_t i = 0; i < n; i++)
    {
      number = number * 69069 + 1;
      word[i] = (char)('a' + (number >> 24) % 26);
    }
  word[n] = '\0';
  return n;
}

static struct entry *
entry_new (const char *word, size_t n, unsigned hash)
{
#ifdef ADVISED
  struct entry *entry = slice_linear_alloc (entries, sizeof *entry);
  entry->word = slice_linear_alloc (words, n + 1);
#else
  struct entry *entry = malloc (sizeof *entry);
  entry->word = malloc (n + 1);
#endif
  memcpy (entry->word, word, n + 1);
  entry->hash = hash;
  entry->count = 0;
  return entry;
}

static void
count (const char *word, size_t n)
{
  unsigned hash = 5381;
  for (size_t i = 0; i < n; i++)
    hash = hash * 33 + (unsigned char)word[i];
  struct entry **chain = &chains[(hash ^ hash >> 15) % N_CHAINS];
  struct entry *entry = *chain;
  while (entry != NULL
         && (entry->hash != hash || strcmp (entry->word, word) != 0))
    entry = entry->next;
  if (entry == NULL)
    {
      entry = entry_new (word, n, hash);
      entry->next = *chain;
      *chain = entry;
    }
  entry->count++;
}

static unsigned
most_common (void)
{
  unsigned most = 0;
  for (unsigned i = 0; i < N_CHAINS; i++)
    for (const struct entry *entry = chains[i]; entry != NULL;
         entry = entry->next)
      if (entry->count > most)
        most = entry->count;
  return most;
}

static void
table_empty (void)
{
#ifdef ADVISED
  memset (chains, 0, sizeof chains);
  slice_linear_reset (entries, SLICE_KEEP_ALL);
  slice_linear_reset (words, SLICE_KEEP_ALL);
#else
  for (unsigned i = 0; i < N_CHAINS; i++)
    {
      for (struct entry *entry = chains[i], *next; entry != NULL; entry = next)
        {
          next = entry->next;
          free (entry->word);
          free (entry);
        }
      chains[i] = NULL;
    }
#endif
}

int
main (void)
{
  random_state = 3;
  unsigned sum = 0;
#ifdef ADVISED
  entries = slice_linear_new (NULL);
  words = slice_linear_new (NULL);
#endif
  for (unsigned text = 0; text < N_TEXTS; text++)
    {
      char word[32];
      for (unsigned i = 0; i < N_WORDS; i++)
        {
          size_t n = word_make (word, text);
          count (word, n);
        }
      sum += most_common ();
      table_empty ();
    }
  printf ("%u\n", sum);
  return 0;
}
