/* ralloc-flips.c - what a flipped byte in a live node's header leads to
 *
 * Each trial, in a process of its own, builds a tree, flips one byte of one
 * node's links (parent, next or pprev), and goes on as a program would: some
 * allocations, steals and frees, then the whole tree is freed.  It is caught
 * if the program ends by abort(), as after a numbered line; what a fault (a
 * signal of the machine) ends is counted apart; what nothing noticed is
 * missed, unless the word was written again before anyone read it (a younger
 * sibling came, the node got another parent): that does no harm.
 *
 * usage: ralloc-flips [trials]; prints the table, by link, as comments of TAP.
 * Failed if less than 99 of 100 were stopped.
 *
 * SPDX-License-Identifier: MIT
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slice/ralloc.h>

enum
{
  N_NODES = 200,
  N_LINKS = 3,
  N_STEPS = 50
};

typedef enum
{
  CAUGHT,
  FAULTED,
  HEALED,
  MISSED,
  N_ENDS
} End;

static const char *const link_names[N_LINKS] = { "parent", "next", "pprev" };
static const size_t link_words[N_LINKS] = { 0, 2, 3 };
static uint64_t state = 1;

static unsigned
random_below (unsigned n)
{
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (unsigned) ((state * UINT64_C (0x2545f4914f6cdd1d)) >> 33) % n;
}

/* True: the flipped byte had been written again before the tree was freed. */
static bool
trial (unsigned link)
{
  bool healed;
  char flipped;
  char *nodes[N_NODES];
  char *at;
  unsigned victim;

  nodes[0] = ralloc_context (NULL);
  for (unsigned i = 1; i < N_NODES; i++)
    nodes[i] = ralloc_size (nodes[random_below (i)], random_below (200));
  victim = random_below (N_NODES);
  at = nodes[victim] - sizeof (RallocHeaderV1)
       + link_words[link] * sizeof (void *) + random_below (sizeof (void *));
  flipped = *at ^= (char) (1 + random_below (255));
  for (unsigned i = 0; i < N_STEPS; i++)
    {
      unsigned k = 1 + random_below (N_NODES - 1);

      ralloc_size (nodes[k], 40);
      if (ralloc_parent (nodes[k]) != NULL)
        ralloc_steal (nodes[0], nodes[k]);
    }
  healed = *at != flipped;
  ralloc_free (nodes[0]);
  return healed;
}

static End
run (unsigned link)
{
  int status = 0;
  pid_t child = fork ();

  if (child == 0)
    {
      if (freopen ("/dev/null", "w", stderr) == NULL)
        _exit (2);
      _exit (trial (link) ? HEALED : MISSED);
    }
  if (child < 0 || waitpid (child, &status, 0) != child)
    abort ();
  if (WIFSIGNALED (status))
    return WTERMSIG (status) == SIGABRT ? CAUGHT : FAULTED;
  return (End) WEXITSTATUS (status);
}

int
main (int argc, char **argv)
{
  /* (Tests are called with --tap.) */
  unsigned n_trials = argc > 1 && argv[1][0] != '-'
                          ? (unsigned) atoi (argv[1]) : 600;
  unsigned counts[N_LINKS][N_ENDS] = { { 0 } };
  unsigned n_missed = 0;
  unsigned n_harmful = n_trials;
  void *probe = slice_alloc (64);

  puts ("1..1");
  if (!slice_is_ours (probe))
    {
      puts ("ok 1 # SKIP slices are mallocs, headers lie elsewhere");
      return 0;
    }

  for (unsigned i = 0; i < n_trials; i++)
    {
      unsigned link = i % N_LINKS;
      End end;

      random_below (1); /* the child's random numbers die with it */
      end = run (link);
      counts[link][end]++;
      n_missed += end == MISSED;
    }
  for (unsigned link = 0; link < N_LINKS; link++)
    {
      printf ("# %-7s caught %5u  fault %5u  healed %5u  missed %5u\n",
              link_names[link], counts[link][CAUGHT], counts[link][FAULTED],
              counts[link][HEALED], counts[link][MISSED]);
      n_harmful -= counts[link][HEALED];
    }
  printf ("# stopped: %.2f %% of %u that lasted\n",
          100.0 * (n_harmful - n_missed) / n_harmful, n_harmful);
  printf ("%s 1 - flipped bytes are found\n",
          n_missed * 100 > n_harmful ? "not ok" : "ok");
  return n_missed * 100 > n_harmful;
}
