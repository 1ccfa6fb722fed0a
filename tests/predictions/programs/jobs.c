/* jobs.c - a queue of jobs by priority, a pairing heap whose nodes come and go
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define N_WAITING 150000
#define N_JOBS 450000

typedef struct job
{
  struct job *child, *sibling;
  unsigned due, client, cost;
} job;

static job *first;
static unsigned state = 17;

static unsigned
random_next (void)
{
  state = state * 1103515245u + 12345u;
  return state >> 4;
}

static job *
meld (job *a, job *b)
{
  if (a == NULL)
    return b;
  if (b == NULL)
    return a;
  if (b->due < a->due)
    {
      job *other = a;

      a = b;
      b = other;
    }
  b->sibling = a->child;
  a->child = b;
  return a;
}

static void
job_add (unsigned due)
{
  job *made = malloc (sizeof *made);

  made->child = NULL;
  made->sibling = NULL;
  made->due = due;
  made->client = random_next () % 97;
  made->cost = 1 + random_next () % 50;
  first = meld (first, made);
}

/* The children of the first become pairs, and the pairs one heap. */
static job *
pairs_meld (job *child)
{
  job *pairs = NULL, *whole = NULL;

  while (child != NULL)
    {
      job *a = child, *b = a->sibling, *pair;

      child = b == NULL ? NULL : b->sibling;
      a->sibling = NULL;
      if (b != NULL)
        b->sibling = NULL;
      pair = meld (a, b);
      pair->sibling = pairs;
      pairs = pair;
    }
  while (pairs != NULL)
    {
      job *next = pairs->sibling;

      pairs->sibling = NULL;
      whole = meld (whole, pairs);
      pairs = next;
    }
  return whole;
}

static unsigned
job_do (void)
{
  job *done = first;
  unsigned sum = done->cost * 3 + done->client;

  first = pairs_meld (done->child);
  free (done);
  return sum;
}

int
main (void)
{
  unsigned long sum = 0;
  unsigned now = 0;

  for (unsigned i = 0; i < N_WAITING; i++)
    job_add (random_next () % 100000);
  for (unsigned i = 0; i < N_JOBS; i++)
    {
      now = first->due;
      sum += job_do ();
      /* most new jobs are soon due */
      job_add (now + random_next () % (i % 8 == 0 ? 100000 : 60));
    }
  while (first != NULL)
    sum += job_do ();
  printf ("%lu %u\n", sum, now);
  return 0;
}
