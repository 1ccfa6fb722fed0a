/* requests.c - a server's work: parses requests, and writes their answers
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Header
{
  struct Header *next;
  const char *name, *value;
  unsigned n_name, n_value;
} Header;

static char request[4096], answer[8192];

static void
request_make (unsigned number)
{
  char *out = request;

  out += sprintf (out, "GET /page/%u HTTP/1.1\n", number);
  for (unsigned i = 0; i < 18 + number % 9; i++)
    out += sprintf (out, "X-Header-%u: value-%u-of-%u\n", i * 7 % 23, i,
                    number);
  strcpy (out, "\n");
}

static Header *
header_new (const char *line, Header *next)
{
  Header *header = malloc (sizeof *header);
  const char *colon = strchr (line, ':');

  if (header == NULL || colon == NULL)
    abort ();
  header->next = next;
  header->name = line;
  header->n_name = (unsigned) (colon - line);
  header->value = colon + 2;
  header->n_value = (unsigned) strcspn (colon + 2, "\n");
  return header;
}

static const Header *
header_find (const Header *headers, const char *name)
{
  unsigned n = (unsigned) strlen (name);

  for (; headers != NULL; headers = headers->next)
    if (headers->n_name == n && memcmp (headers->name, name, n) == 0)
      return headers;
  return NULL;
}

static unsigned
request_serve (void)
{
  Header *headers = NULL, *next;
  const char *line = strchr (request, '\n') + 1;
  char *out = answer;
  const Header *found;
  unsigned result;

  for (; *line != '\n'; line = strchr (line, '\n') + 1)
    headers = header_new (line, headers);
  for (const Header *header = headers; header != NULL; header = header->next)
    {
      memcpy (out, header->value, header->n_value);
      out += header->n_value;
    }
  found = header_find (headers, "X-Header-21");
  result = (unsigned) (out - answer) + (found != NULL ? found->n_value : 0);
  for (; headers != NULL; headers = next)
    {
      next = headers->next;
      free (headers);
    }
  return result;
}

int
main (void)
{
  unsigned long sum = 0;

  for (unsigned i = 0; i < 2000; i++)
    {
      request_make (i);
      for (int k = 0; k < 60; k++)
        sum += request_serve ();
    }
  printf ("%lu\n", sum);
  return 0;
}
