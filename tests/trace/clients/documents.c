/* documents.c - texts parsed into trees, the last few of which are kept
 *
 * Tests: a program to be recorded, and to be changed as it is advised
 * (-DADVISED: numbers are of a pool), or as it is not (-DCONTEXTS: what else a
 * document holds is in a context of its own).  A document is parsed into
 * values and strings; it takes the place of one of those that are kept, which
 * is freed value by value.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/pool.h>
#include <slice/ralloc.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "random.h"

#define N_KEPT 48
#define N_DOCUMENTS 12000
#define TEXT_BYTES 65536

enum kind
{
  NUMBER,
  STRING,
  LIST
};

struct value
{
  enum kind kind;
  double number;
  char *string;
  struct value *first, *next;
};

struct document
{
  struct value *root;
#ifdef CONTEXTS
  void *context;
#endif
};

#ifdef ADVISED
static SlicePool *numbers;
#endif
#ifdef CONTEXTS
static void *context; /* of the document that is parsed */
#endif
static struct document kept[N_KEPT];
static char text[TEXT_BYTES];
static size_t n_text;

/* --- a text to parse ----------------------------------------------------- */

static void
text_string (void)
{
  unsigned n = 4 + below (40);
  text[n_text++] = '"';
  for (unsigned i = 0; i < n; i++)
    text[n_text++] = (char)('a' + below (26));
  text[n_text++] = '"';
}

static void
text_value (unsigned depth)
{
  unsigned what = below (8);
  if (what < 3 || n_text > TEXT_BYTES - 4096)
    n_text += (size_t)sprintf (&text[n_text], "%u", below (100000));
  else if (what < 5 || depth == 0)
    text_string ();
  else
    {
      unsigned n = 1 + below (10);
      text[n_text++] = '[';
      for (unsigned i = 0; i < n; i++)
        {
          if (i > 0)
            text[n_text++] = ',';
          text_value (depth - 1);
        }
      text[n_text++] = ']';
    }
}

static void
text_make (void)
{
  n_text = 0;
  text[n_text++] = '[';
  for (unsigned i = 0; i < 12; i++)
    {
      if (i > 0)
        text[n_text++] = ',';
      text_value (4);
    }
  text[n_text++] = ']';
  text[n_text] = '\0';
}

/* --- documents ----------------------------------------------------------- */

static struct value *
value_new (enum kind kind)
{
  struct value *value;
#ifdef ADVISED
  if (kind == NUMBER)
    value = slice_pool_alloc (numbers);
  else
#endif
#ifdef CONTEXTS
  if (kind != NUMBER)
    value = ralloc_size (context, sizeof *value);
  else
#endif
    value = malloc (sizeof *value);
  value->kind = kind;
  value->string = NULL;
  value->first = value->next = NULL;
  return value;
}

static char *
string_new (const char *from, size_t n)
{
#ifdef CONTEXTS
  char *string = ralloc_size (context, n + 1);
#else
  char *string = malloc (n + 1);
#endif
  memcpy (string, from, n);
  string[n] = '\0';
  return string;
}

static struct value *
parse (const char **at)
{
  struct value *value;
  if (**at == '[')
    {
      value = value_new (LIST);
      struct value **end = &value->first;
      do
        {
          ++*at;
          *end = parse (at);
          end = &(*end)->next;
        }
      while (**at == ',');
      ++*at;
    }
  else if (**at == '"')
    {
      const char *close = strchr (*at + 1, '"');
      value = value_new (STRING);
      value->string = string_new (*at + 1, (size_t)(close - *at - 1));
      *at = close + 1;
    }
  else
    {
      value = value_new (NUMBER);
      value->number = 0;
      for (; isdigit ((unsigned char)**at); ++*at)
        value->number = value->number * 10 + (**at - '0');
    }
  return value;
}

static void
value_free (struct value *value)
{
  for (struct value *at = value->first, *next; at != NULL; at = next)
    {
      next = at->next;
      value_free (at);
    }
#ifdef CONTEXTS
  if (value->kind == NUMBER)
    free (value);
#else
  free (value->string);
# ifdef ADVISED
  if (value->kind == NUMBER)
    slice_pool_free (numbers, value);
  else
# endif
    free (value);
#endif
}

static double
value_sum (const struct value *value)
{
  double sum = value->kind == NUMBER   ? value->number
               : value->kind == STRING ? (double)value->string[0]
                                       : 0;
  for (const struct value *at = value->first; at != NULL; at = at->next)
    sum += value_sum (at);
  return sum;
}

static void
document_replace (struct document *document)
{
  const char *at = text;
  if (document->root != NULL)
    value_free (document->root);
#ifdef CONTEXTS
  ralloc_free (document->context);
  context = document->context = ralloc_context (NULL);
#endif
  document->root = parse (&at);
}

int
main (void)
{
  random_state = 7;
  double sum = 0;
#ifdef ADVISED
  numbers = slice_pool_new_plain (sizeof (struct value));
#endif
  for (unsigned i = 0; i < N_DOCUMENTS; i++)
    {
      text_make ();
      document_replace (&kept[below (N_KEPT)]);
      const struct document *document = &kept[below (N_KEPT)];
      if (document->root != NULL)
        sum += value_sum (document->root);
    }
  printf ("%.0f\n", sum);
  return 0;
}
