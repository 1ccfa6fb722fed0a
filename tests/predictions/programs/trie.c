/* trie.c - a trie of words, built for each text and searched
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

typedef struct trie
{
  struct trie *child, *next;
  unsigned n_words, n_below, depth;
  unsigned char letter;
} trie;

static unsigned state = 5;

static unsigned
random_next (unsigned n)
{
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % n;
}

__attribute__ ((noinline)) static trie *
trie_new (unsigned char letter, unsigned depth)
{
  trie *made = malloc (sizeof *made);

  *made = (trie){ NULL, NULL, 0, 0, depth, letter };
  return made;
}

static trie *
trie_find (trie *in, unsigned char letter)
{
  trie **at = &in->child;

  while (*at != NULL && (*at)->letter != letter)
    at = &(*at)->next;
  if (*at == NULL)
    *at = trie_new (letter, in->depth + 1);
  return *at;
}

static void
word_add (trie *root)
{
  unsigned n = 6 + random_next (5);

  for (unsigned i = 0; i < n; i++)
    {
      root->n_below++;
      root = trie_find (root, (unsigned char) ('a' + random_next (6)));
    }
  root->n_words++;
}

static unsigned long
trie_sum (const trie *at)
{
  unsigned long sum = 0;

  for (; at != NULL; at = at->next)
    sum += at->n_words * at->depth + trie_sum (at->child);
  return sum;
}

static void
trie_free (trie *at)
{
  while (at != NULL)
    {
      trie *next = at->next;

      trie_free (at->child);
      free (at);
      at = next;
    }
}

int
main (void)
{
  unsigned long sum = 0;

  for (int text = 0; text < 3; text++)
    {
      trie *root = trie_new (0, 0);

      for (int i = 0; i < 50000; i++)
        word_add (root);
      sum += trie_sum (root);
      trie_free (root);
    }
  printf ("%lu\n", sum);
  return 0;
}
