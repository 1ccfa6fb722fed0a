/* mails.c - mails are read, shown, and closed: headers and parts within parts
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_MAILS 16000
#define N_OPEN 3000

typedef struct header
{
  struct header *next;
  char *name, *text;
} header;

typedef struct part
{
  struct part *inside, *next;
  header *headers;
  unsigned lines;
} part;

typedef struct mail
{
  part *whole;
  unsigned number;
} mail;

static unsigned state = 5;

static unsigned
random_next (void)
{
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

static void *
mail_alloc (mail *of, size_t size)
{
  void *made = malloc (size);

  (void) of;
  if (made == NULL)
    abort ();
  return made;
}

static char *
text_copy (mail *of, const char *text)
{
  size_t n = strlen (text) + 1;

  return memcpy (mail_alloc (of, n), text, n);
}

static header *
header_read (mail *of, header *next)
{
  static const char *const names[] = { "From", "To", "Subject", "Content-Type",
                                       "Message-Id", "Received", "X-Spam" };
  static const char *const words[]
      = { "one.example", "re: the meeting", "text/plain; charset=utf-8",
          "by mx.example with smtp id 4711", "base64", "no" };
  header *made = mail_alloc (of, sizeof *made);

  made->name = text_copy (of, names[random_next () % 7]);
  made->text = text_copy (of, words[random_next () % 6]);
  made->next = next;
  return made;
}

static part *
part_read (mail *of, int depth)
{
  part *made = mail_alloc (of, sizeof *made);

  *made = (part){ .lines = random_next () % 40 };
  for (unsigned n = 2 + random_next () % 5; n > 0; n--)
    made->headers = header_read (of, made->headers);
  if (depth > 0)
    for (unsigned n = 1 + random_next () % 3; n > 0; n--)
      {
        part *inside = part_read (of, depth - 1);

        inside->next = made->inside;
        made->inside = inside;
      }
  return made;
}

static unsigned long
part_show (const part *at, unsigned indent)
{
  unsigned long sum = at->lines * indent;

  for (const header *of = at->headers; of != NULL; of = of->next)
    if (of->name[0] == 'S' || of->name[0] == 'F')
      sum += strlen (of->text);
  for (at = at->inside; at != NULL; at = at->next)
    sum += part_show (at, indent + 2);
  return sum;
}

static void
part_close (part *old)
{
  while (old->headers != NULL)
    {
      header *next = old->headers->next;

      free (old->headers->name);
      free (old->headers->text);
      free (old->headers);
      old->headers = next;
    }
  while (old->inside != NULL)
    {
      part *next = old->inside->next;

      part_close (old->inside);
      old->inside = next;
    }
  free (old);
}

static mail *
mail_open (unsigned number)
{
  mail *made = malloc (sizeof *made);

  made->number = number;
  made->whole = part_read (made, 3);
  return made;
}

static void
mail_close (mail *old)
{
  part_close (old->whole);
  free (old);
}

int
main (void)
{
  mail *open[N_OPEN] = { NULL };
  unsigned long sum = 0;

  for (unsigned i = 0; i < N_MAILS; i++)
    {
      mail **slot = &open[i % N_OPEN];

      if (*slot != NULL)
        mail_close (*slot);
      *slot = mail_open (i);
      sum += part_show ((*slot)->whole, 0) ^ (*slot)->number;
    }
  for (int i = 0; i < N_OPEN; i++)
    mail_close (open[i]);
  printf ("%lu\n", sum);
  return 0;
}
