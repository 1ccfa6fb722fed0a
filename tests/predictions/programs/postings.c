/* postings.c - an inverted index of documents, one shard after the other: words
 * and where they stand
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_BUCKETS 8192
#define N_SHARDS 3
#define N_DOCUMENTS 2000
#define N_WORDS 180

typedef struct posting
{
  struct posting *next;
  unsigned document, position;
} posting;

typedef struct word
{
  struct word *chain;
  posting *first;
  unsigned n, hash;
  char text[];
} word;

static word *buckets[N_BUCKETS];
static unsigned state = 11;

static unsigned
random_next (void)
{
  state = state * 1103515245u + 12345u;
  return state >> 7;
}

/* Common words come often. */
static size_t
word_make (char *text)
{
  unsigned n = random_next () % 20000;
  unsigned m = random_next () % 20000;
  size_t length = 0;

  n = n < m ? n : m;
  n = n * 3 / 2 + 1;
  for (; n > 0; n /= 11)
    {
      text[length++] = "bcdfghlmnrt"[n % 11];
      text[length++] = "aeiouaeiouy"[n % 11];
    }
  text[length] = '\0';
  return length;
}

static word *
word_find (const char *text, size_t length)
{
  unsigned hash = 5381;
  word *at;

  for (size_t i = 0; i < length; i++)
    hash = hash * 33 + (unsigned char) text[i];
  for (at = buckets[hash % N_BUCKETS]; at != NULL; at = at->chain)
    if (at->hash == hash && strcmp (at->text, text) == 0)
      return at;
  at = malloc (sizeof *at + length + 1);
  at->chain = buckets[hash % N_BUCKETS];
  at->first = NULL;
  at->n = 0;
  at->hash = hash;
  memcpy (at->text, text, length + 1);
  return buckets[hash % N_BUCKETS] = at;
}

static void
posting_add (word *of, unsigned document, unsigned position)
{
  posting *made = malloc (sizeof *made);

  made->document = document;
  made->position = position;
  made->next = of->first;
  of->first = made;
  of->n++;
}

static unsigned long
shard_write (void)
{
  unsigned long sum = 0;

  for (unsigned i = 0; i < N_BUCKETS; i++)
    for (const word *of = buckets[i]; of != NULL; of = of->chain)
      {
        unsigned before = 0;

        for (const posting *at = of->first; at != NULL; at = at->next)
          {
            sum += at->document ^ before;
            before = at->document + at->position;
          }
        sum += of->n;
      }
  return sum;
}

static void
shard_free (void)
{
  for (unsigned i = 0; i < N_BUCKETS; i++)
    while (buckets[i] != NULL)
      {
        word *old = buckets[i];

        buckets[i] = old->chain;
        while (old->first != NULL)
          {
            posting *next = old->first->next;

            free (old->first);
            old->first = next;
          }
        free (old);
      }
}

int
main (void)
{
  unsigned long sum = 0;

  for (unsigned shard = 0; shard < N_SHARDS; shard++)
    {
      for (unsigned document = 0; document < N_DOCUMENTS; document++)
        for (unsigned position = 0; position < N_WORDS; position++)
          {
            char text[32];
            size_t length = word_make (text);

            posting_add (word_find (text, length), document, position);
          }
      sum += shard_write ();
      shard_free ();
    }
  printf ("%lu\n", sum);
  return 0;
}
