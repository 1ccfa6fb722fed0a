/* index.c - an index of a log: which line has which word, and how often
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_LINES 60000
#define N_BUCKETS 8192

typedef struct posting
{
  struct posting *next;
  unsigned line, column;
  double weight;
  unsigned n, hash;
} posting;

typedef struct word
{
  struct word *next;
  posting *postings;
  char text[];
} word;

static word *buckets[N_BUCKETS];

static word *
word_find (const char *text, size_t n)
{
  unsigned hash = 5381;
  word *found;

  for (size_t i = 0; i < n; i++)
    hash = hash * 33 ^ (unsigned char) text[i];
  for (found = buckets[hash % N_BUCKETS]; found != NULL; found = found->next)
    if (strncmp (found->text, text, n) == 0 && found->text[n] == '\0')
      return found;
  found = malloc (sizeof *found + n + 1);
  memcpy (found->text, text, n);
  found->text[n] = '\0';
  found->postings = NULL;
  found->next = buckets[hash % N_BUCKETS];
  buckets[hash % N_BUCKETS] = found;
  return found;
}

static void
posting_add (word *of, unsigned line, unsigned column)
{
  posting *made = of->postings;

  if (made != NULL && made->line == line)
    {
      made->n++;
      return;
    }
  made = malloc (sizeof *made);
  *made = (posting){ of->postings, line, column, 1.0 / (1 + column), 1, line };
  of->postings = made;
}

static void
line_add (unsigned line, const char *text)
{
  for (const char *at = text; *at != '\0';)
    {
      size_t n = strcspn (at, " /=\n");

      if (n > 0)
        posting_add (word_find (at, n), line, (unsigned) (at - text));
      at += n + (at[n] != '\0');
    }
}

static void
index_free (void)
{
  for (unsigned i = 0; i < N_BUCKETS; i++)
    while (buckets[i] != NULL)
      {
        word *old = buckets[i];

        buckets[i] = old->next;
        while (old->postings != NULL)
          {
            posting *next = old->postings->next;

            free (old->postings);
            old->postings = next;
          }
        free (old);
      }
}

int
main (void)
{
  double weight = 0;

  for (int round = 0; round < 2; round++)
    {
      for (unsigned i = 0; i < N_LINES; i++)
        {
          char text[160];

          snprintf (text, sizeof text,
                    "Jan %u host%u daemon[%u]: GET /page%u/item%u status=%u",
                    i % 28, i % 40, i % 300, i * 7 % 900, i * 11 % 1300,
                    200 + i % 5);
          line_add (i, text);
        }
      for (unsigned i = 0; i < N_BUCKETS; i++)
        for (word *of = buckets[i]; of != NULL; of = of->next)
          for (posting *at = of->postings; at != NULL; at = at->next)
            weight += at->weight * at->n;
      index_free ();
    }
  printf ("%.4f\n", weight);
  return 0;
}
