/* nfa.c - patterns become states of an automaton, which runs over texts
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct State
{
  struct State *made_before; /* for the end */
  struct State *next, *other;
  int letter; /* 0: the end; 1: a fork */
  unsigned seen;
} State;

static State *last_made;
static unsigned serial;

static State *
state_new (int letter, State *next, State *other)
{
  State *state = malloc (sizeof *state);

  if (state == NULL)
    abort ();
  *state = (State){ last_made, next, other, letter, 0 };
  last_made = state;
  return state;
}

/* A sequence of letters, of which each may have a star or a question mark. */
static State *
pattern_compile (const char *pattern)
{
  State *rest = state_new (0, NULL, NULL);

  for (size_t i = strlen (pattern); i-- > 0;)
    {
      char mark = pattern[i] == '*' || pattern[i] == '?' ? pattern[i--] : 0;

      if (mark == 0)
        rest = state_new (pattern[i], rest, NULL);
      else
        {
          State *fork = state_new (1, NULL, rest);

          fork->next
              = state_new (pattern[i], mark == '*' ? fork : rest, NULL);
          rest = fork;
        }
    }
  return rest;
}

static void
state_add (State **set, unsigned *n, State *state)
{
  if (state->seen == serial)
    return;
  state->seen = serial;
  if (state->letter == 1)
    {
      state_add (set, n, state->next);
      state_add (set, n, state->other);
    }
  else
    set[(*n)++] = state;
}

static int
matches (State *start, const char *text)
{
  State *sets[2][128];
  unsigned n = 0, n_next, which = 0;

  serial++;
  state_add (sets[0], &n, start);
  for (; *text != '\0' && n > 0; text++, which ^= 1, n = n_next)
    {
      n_next = 0;
      serial++;
      for (unsigned i = 0; i < n; i++)
        if (sets[which][i]->letter == *text)
          state_add (sets[which ^ 1], &n_next, sets[which][i]->next);
    }
  for (unsigned i = 0; i < n; i++)
    if (sets[which][i]->letter == 0)
      return 1;
  return 0;
}

int
main (void)
{
  uint64_t random = 17;
  unsigned n = 0;

  for (unsigned i = 0; i < 60000; i++)
    {
      char pattern[64], text[32], *out = pattern;
      State *start;
      State *before;

      for (unsigned k = 0; k < 24; k++)
        {
          random = random * 6364136223846793005u + 1442695040888963407u;
          *out++ = (char) ('a' + (random >> 60) % 4);
          if ((random >> 50) % 2 == 0)
            *out++ = "*?"[(random >> 40) % 2];
          text[k] = (char) ('a' + (random >> 33) % 4);
        }
      *out = text[24] = '\0';
      start = pattern_compile (pattern);

      n += (unsigned) matches (start, text);
      for (; last_made != NULL; last_made = before)
        {
          before = last_made->made_before;
          free (last_made);
        }
    }
  printf ("%u\n", n);
  return 0;
}
