/* sessions.c - visitors of a site: a session each, which ends when it is quiet
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define N_BUCKETS 65536
#define N_REQUESTS 1000000
#define QUIET 300000

typedef struct session
{
  struct session *chain;           /* of the bucket */
  struct session *older, *younger; /* by the last request */
  unsigned visitor, last, n;
  char page[20];
} session;

static session *buckets[N_BUCKETS];
static session ends = { .older = &ends, .younger = &ends };
static unsigned state = 2;

static unsigned
random_next (void)
{
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

static session *
session_find (unsigned visitor)
{
  session *at = buckets[visitor % N_BUCKETS];

  while (at != NULL && at->visitor != visitor)
    at = at->chain;
  return at;
}

static void
session_touch (session *at, unsigned now)
{
  if (at->older != NULL)
    {
      at->older->younger = at->younger;
      at->younger->older = at->older;
    }
  at->older = ends.older;
  at->younger = &ends;
  ends.older->younger = at;
  ends.older = at;
  at->last = now;
  at->n++;
}

static session *
session_new (unsigned visitor)
{
  session *made = malloc (sizeof *made);

  *made = (session){ .visitor = visitor,
                     .chain = buckets[visitor % N_BUCKETS] };
  buckets[visitor % N_BUCKETS] = made;
  return made;
}

static void
session_end (session *old)
{
  session **at = &buckets[old->visitor % N_BUCKETS];

  while (*at != old)
    at = &(*at)->chain;
  *at = old->chain;
  old->older->younger = old->younger;
  old->younger->older = old->older;
  free (old);
}

int
main (void)
{
  unsigned long sum = 0;

  for (unsigned now = 0; now < N_REQUESTS; now++)
    {
      /* some come often, most once */
      unsigned visitor = random_next () % 8 == 0 ? random_next () % 3000
                                                 : 3000 + now;
      session *of = session_find (visitor);

      if (of == NULL)
        of = session_new (visitor);
      session_touch (of, now);
      of->page[of->n % sizeof of->page]++;
      while (ends.younger != &ends && now - ends.younger->last > QUIET)
        {
          sum += ends.younger->n * (ends.younger->visitor & 15);
          session_end (ends.younger);
        }
      if (now % 5 == 0 && ends.older != &ends)
        session_end (ends.older); /* logs out */
    }
  while (ends.younger != &ends)
    session_end (ends.younger);
  printf ("%lu\n", sum);
  return 0;
}
