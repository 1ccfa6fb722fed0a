/* zones.c - a name server's zones, which are loaded again when they change
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ZONES 40
#define N_LOADS 150
#define N_NAMES 1500
#define N_QUESTIONS 6000

typedef struct record
{
  struct record *next;
  unsigned short kind, n;
  unsigned char data[];
} record;

typedef struct name
{
  struct name *before, *after; /* a tree by the label */
  record *records;
  char label[12];
} name;

typedef struct zone
{
  name *names;
  unsigned serial;
} zone;

static unsigned state = 31;

static unsigned
random_next (void)
{
  state = state * 1103515245u + 12345u;
  return state >> 9;
}

static name **
name_find (zone *in, const char *label)
{
  name **at = &in->names;

  while (*at != NULL)
    {
      int order = strcmp (label, (*at)->label);

      if (order == 0)
        break;
      at = order < 0 ? &(*at)->before : &(*at)->after;
    }
  return at;
}

static void
record_add (zone *in, name *to)
{
  static const unsigned short sizes[] = { 4, 4, 4, 16, 20, 33 };
  unsigned kind = random_next () % 6;
  record *made = malloc (sizeof *made + sizes[kind]);

  (void) in;
  made->kind = (unsigned short) kind;
  made->n = sizes[kind];
  memset (made->data, (int) (random_next () & 255), made->n);
  made->next = to->records;
  to->records = made;
}

static name *
name_add (zone *in, const char *label)
{
  name **at = name_find (in, label);

  if (*at == NULL)
    {
      name *made = malloc (sizeof *made);

      *made = (name){ NULL };
      strcpy (made->label, label);
      *at = made;
    }
  return *at;
}

static zone *
zone_load (unsigned serial)
{
  zone *made = malloc (sizeof *made);
  char label[12];

  made->names = NULL;
  made->serial = serial;
  for (int i = 0; i < N_NAMES; i++)
    {
      name *to;

      snprintf (label, sizeof label, "h%u", random_next () % 100000);
      to = name_add (made, label);

      for (unsigned n = 1 + random_next () % 6; n > 0; n--)
        record_add (made, to);
    }
  return made;
}

static unsigned long
zone_ask (zone *in, unsigned host)
{
  char label[12];
  unsigned long sum = 0;
  const name *found;

  snprintf (label, sizeof label, "h%u", host % 100000);
  found = *name_find (in, label);

  for (const record *at = found == NULL ? NULL : found->records; at != NULL;
       at = at->next)
    sum += at->data[0] + at->kind;
  return sum;
}

static void
name_free (name *old)
{
  if (old == NULL)
    return;
  name_free (old->before);
  name_free (old->after);
  while (old->records != NULL)
    {
      record *next = old->records->next;

      free (old->records);
      old->records = next;
    }
  free (old);
}

static void
zone_free (zone *old)
{
  name_free (old->names);
  free (old);
}

int
main (void)
{
  zone *zones[N_ZONES] = { NULL };
  unsigned long sum = 0;

  for (unsigned i = 0; i < N_LOADS; i++)
    {
      zone **slot = &zones[i < N_ZONES ? i : random_next () % N_ZONES];

      if (*slot != NULL)
        zone_free (*slot);
      *slot = zone_load (i);
      for (unsigned n = 0; n < N_QUESTIONS / N_ZONES; n++)
        sum += zone_ask (*slot, random_next ());
    }
  for (int i = 0; i < N_ZONES; i++)
    zone_free (zones[i]);
  printf ("%lu\n", sum);
  return 0;
}
