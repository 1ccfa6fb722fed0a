/* projects.c - a build server's projects: rules are read again when they change
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_PROJECTS 160
#define N_CHANGES 500
#define N_RULES 400

typedef struct need
{
  struct need *next;
  struct rule *of;
} need;

typedef struct rule
{
  struct rule *next;
  need *needs;
  char *target, *command;
  unsigned newest, seen;
} rule;

typedef struct project
{
  rule *rules;
  unsigned n;
} project;

static unsigned state = 41;

static unsigned
random_next (void)
{
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

static char *
text_new (project *of, const char *before, unsigned number, const char *after)
{
  char text[64];
  size_t n = (size_t) snprintf (text, sizeof text, "%s%u%s", before, number,
                                after) + 1;
  char *made = malloc (n);

  (void) of;
  return memcpy (made, text, n);
}

static rule *
rule_read (project *of, rule **known)
{
  rule *made = malloc (sizeof *made);

  made->needs = NULL;
  made->target = text_new (of, "out/part", of->n, ".o");
  made->command = text_new (of, "cc -O2 -c source/part", of->n, ".c");
  made->newest = random_next () % 1000;
  made->seen = 0;
  for (unsigned n = of->n == 0 ? 0 : random_next () % 9; n > 0; n--)
    {
      need *of_rule = malloc (sizeof *of_rule);

      of_rule->of = known[random_next () % of->n];
      of_rule->next = made->needs;
      made->needs = of_rule;
    }
  made->next = of->rules;
  known[of->n++] = made;
  return of->rules = made;
}

static project *
project_read (void)
{
  static rule *known[N_RULES];
  project *made = malloc (sizeof *made);

  made->rules = NULL;
  made->n = 0;
  for (int i = 0; i < N_RULES; i++)
    rule_read (made, known);
  return made;
}

/* When the newest source of a target was changed. */
static unsigned
rule_newest (rule *of, unsigned round)
{
  if (of->seen == round)
    return of->newest;
  of->seen = round;
  for (const need *at = of->needs; at != NULL; at = at->next)
    {
      unsigned newest = rule_newest (at->of, round);

      of->newest = newest > of->newest ? newest : of->newest;
    }
  return of->newest;
}

static void
project_free (project *old)
{
  while (old->rules != NULL)
    {
      rule *next = old->rules->next;

      while (old->rules->needs != NULL)
        {
          need *after = old->rules->needs->next;

          free (old->rules->needs);
          old->rules->needs = after;
        }
      free (old->rules->target);
      free (old->rules->command);
      free (old->rules);
      old->rules = next;
    }
  free (old);
}

int
main (void)
{
  project *projects[N_PROJECTS] = { NULL };
  unsigned long sum = 0;

  for (unsigned i = 0; i < N_CHANGES; i++)
    {
      unsigned which = i < N_PROJECTS ? i : random_next () % N_PROJECTS;

      if (projects[which] != NULL)
        project_free (projects[which]);
      projects[which] = project_read ();
      for (rule *at = projects[which]->rules; at != NULL; at = at->next)
        sum += rule_newest (at, i + 1) + (unsigned char) at->target[8];
    }
  for (int i = 0; i < N_PROJECTS; i++)
    project_free (projects[i]);
  printf ("%lu\n", sum);
  return 0;
}
