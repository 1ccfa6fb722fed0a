/* anagrams.c - a trie of made-up words, and searches in it
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Node
{
  struct Node *sibling, *child;
  unsigned n_words;
  char letter;
} Node;

static Node root;

static Node *
child_find (Node *node, char letter, int make)
{
  Node **link = &node->child, *child;

  for (; (child = *link) != NULL; link = &child->sibling)
    if (child->letter == letter)
      return child;
  if (!make)
    return NULL;
  child = calloc (1, sizeof *child);
  if (child == NULL)
    abort ();
  child->letter = letter;
  *link = child;
  return child;
}

static int
letters_compare (const void *a, const void *b)
{
  return *(const char *) a - *(const char *) b;
}

static unsigned
word_make (char *word, uint64_t *random)
{
  unsigned n;
  uint64_t bits;

  *random = *random * 6364136223846793005u + 1442695040888963407u;
  n = 3 + (unsigned) (*random >> 60) % 8;
  bits = *random >> 8;

  for (unsigned i = 0; i < n; i++, bits /= 13)
    word[i] = "etaoinshrdluc"[bits % 13];
  qsort (word, n, 1, letters_compare);
  return n;
}

int
main (void)
{
  uint64_t random = 3;
  unsigned found = 0;
  char word[16];

  for (int i = 0; i < 700000; i++)
    {
      unsigned n = word_make (word, &random);
      Node *node = &root;

      for (unsigned k = 0; k < n; k++)
        node = child_find (node, word[k], 1);
      found += node->n_words++;
    }
  printf ("%u\n", found);
  return 0;
}
