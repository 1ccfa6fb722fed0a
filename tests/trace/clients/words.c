/* words.c - lists of words, a list a line, freed word by word
 *
 * Tests: a program to be recorded, and to be changed as it is advised
 * (-DADVISED): each list lives in an arena that is reset.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/linear.h>
#include <stdio.h>
#include <stdlib.h>

#define N_LINES 20000
#define N_WORDS 200

struct word
{
  struct word *next;
  char text[16];
};

#ifdef ADVISED
static SliceLinear *arena;
#endif

static struct word *
word_new (unsigned number, struct word *next)
{
#ifdef ADVISED
  struct word *word = slice_linear_alloc (arena, sizeof *word);
#else
  struct word *word = malloc (sizeof *word);
#endif
  word->next = next;
  for (int i = 0; i < 8; i++)
    word->text[i] = (char)('a' + ((number >> 3 * i) & 7));
  return word;
}

static void
words_free (struct word *words)
{
#ifdef ADVISED
  (void)words;
  slice_linear_reset (arena, SLICE_KEEP_ALL);
#else
  while (words != NULL)
    {
      struct word *next = words->next;
      free (words);
      words = next;
    }
#endif
}

int
main (void)
{
  unsigned weight = 0;
#ifdef ADVISED
  arena = slice_linear_new (NULL);
#endif
  for (unsigned line = 0; line < N_LINES; line++)
    {
      struct word *words = NULL;
      for (unsigned i = 0; i < N_WORDS; i++)
        words = word_new (line * 31 + i, words);
      for (const struct word *word = words; word != NULL; word = word->next)
        weight += (unsigned)word->text[line % 8];
      words_free (words);
    }
  printf ("%u\n", weight);
  return 0;
}
