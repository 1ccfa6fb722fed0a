/* undo.c - the history of an editor: what was put in and cut out, and how to go
 * back; it is dropped when a document is closed
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_DOCUMENTS 10
#define N_CHANGES 160000
#define TEXT_MAX 4000

typedef struct change
{
  struct change *before;
  char *text; /* what was there */
  unsigned short at, n_cut, n_put;
} change;

static char text[TEXT_MAX + 64];
static unsigned length;
static change *last;
static unsigned state = 6;

static unsigned
random_next (void)
{
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

static void
change_note (unsigned at, unsigned n_cut, unsigned n_put)
{
  change *made = malloc (sizeof *made);

  made->before = last;
  made->at = at;
  made->n_cut = n_cut;
  made->n_put = n_put;
  made->text = NULL;
  if (n_cut > 0)
    {
      made->text = malloc (n_cut);
      memcpy (made->text, text + at, n_cut);
    }
  last = made;
}

static void
text_replace (unsigned at, unsigned n_cut, const char *put, unsigned n_put)
{
  memmove (text + at + n_put, text + at + n_cut, length - at - n_cut);
  memcpy (text + at, put, n_put);
  length += n_put - n_cut;
}

/* Somebody types near the end, and corrects. */
static void
type (void)
{
  static const char words[] = "one word after the other is typed here";
  unsigned n_put = 1 + random_next () % 12, n_cut = 0;
  unsigned back = random_next () % 200;
  unsigned at = back < length ? length - back : length;

  if (random_next () % 3 == 0 || length + n_put > TEXT_MAX)
    n_cut = random_next () % 20;
  if (n_cut > length - at)
    n_cut = length - at;
  if (length - n_cut + n_put > TEXT_MAX)
    {
      at = 0;
      n_cut = length < 60 ? length : 60;
    }
  change_note (at, n_cut, n_put);
  text_replace (at, n_cut, words + random_next () % 26, n_put);
}

static void
history_drop (void)
{
  while (last != NULL)
    {
      change *before = last->before;

      free (last->text);
      free (last);
      last = before;
    }
}

int
main (void)
{
  unsigned long sum = 0;

  for (unsigned document = 0; document < N_DOCUMENTS; document++)
    {
      length = 0;
      for (unsigned i = 0; i < N_CHANGES; i++)
        type ();
      for (const change *at = last; at != NULL; at = at->before)
        sum += at->n_cut > 0 ? (unsigned char) at->text[0] : at->at;
      sum = sum * 3 + (unsigned char) text[length / 2];
      history_drop ();
    }
  printf ("%lu\n", sum);
  return 0;
}
