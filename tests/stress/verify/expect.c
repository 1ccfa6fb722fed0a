/* expect.c - runs lying children and expects that each is caught
 *
 * Caught means: the child told its lie, was ended by abort(), and the
 * allocator's message has a number that belongs to that lie.  A child that
 * tells the truth in the same mode must end well, or everything would count
 * as caught.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/stress.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Laps of each child: a lie comes every 20000 steps or so, a lap has 5000. */
#define LIAR_LAPS 400
#define TRUTH_LAPS 10

typedef struct
{
  unsigned n_told, n_caught;
} Score;

static bool
child_of (const Options *options, LieKind kind, unsigned trial,
          ChildResult *result)
{
  ChildArgs args = { 0 };
  /* Every second trial with a thread more; but another thread could be handed
   * a block between its two frees, and then nothing is wrong with the second.
   */
  unsigned n_threads = kind == LIE_TWICE || kind == LIE_TWICE_LATER
                           ? 1
                           : options->n_threads + trial % 2;

  child_args_add (&args, "--quiet");
  child_args_add (&args, "--mode=%s", options->contestant->name);
  child_args_add (&args, "--max-size=%u", options->max_bytes);
  child_args_add (&args, "--threads=%u", n_threads);
  child_args_add (&args, "--seed=%u", options->seed + trial);
  child_args_add (&args, "--rounds=%d",
                  kind == LIE_NONE ? TRUTH_LAPS : LIAR_LAPS);
  if (kind == LIE_NONE)
    child_args_add (&args, "--check");
  else
    child_args_add (&args, "--lie=%s", lie_name (kind));
  return child_run (&args, NULL, result);
}

/* The number in the allocator's message; 0: there is none. */
static int
error_number (const char *text)
{
  static const char start[] = "slice: error ";
  const char *message = text == NULL ? NULL : strstr (text, start);

  return message == NULL ? 0 : atoi (message + sizeof start - 1);
}

/* Traced, ended by abort(), and named. */
static bool
child_was_caught (const ChildResult *result, LieKind kind)
{
  return result->err != NULL && strstr (result->err, "telling the lie") != NULL
         && WIFSIGNALED (result->status)
         && WTERMSIG (result->status) == SIGABRT
         && lie_is_named (kind, error_number (result->err));
}

static void
child_print (const ChildResult *result)
{
  if (WIFSIGNALED (result->status))
    fprintf (stderr, "  the child was ended by signal %d",
             WTERMSIG (result->status));
  else
    fprintf (stderr, "  the child ended with code %d",
             WEXITSTATUS (result->status));
  fprintf (stderr, ", having said:\n%s",
           result->err != NULL ? result->err : "");
}

static void
lie_try (const Options *options, LieKind kind, Score *score, bool explain)
{
  Score own = { 0, 0 };
  char example[160] = "";

  for (unsigned trial = 0; trial < options->n_expect; trial++)
    {
      ChildResult result;
      const char *message;

      if (!child_of (options, kind, trial, &result))
        stress_fail (EXIT_FOUND, "a child could not be made");
      own.n_told++;
      message
          = result.err != NULL ? strstr (result.err, "slice: error") : NULL;
      if (message != NULL)
        snprintf (example, sizeof example, "%.*s",
                  (int)strcspn (message, "\n"), message);
      if (child_was_caught (&result, kind))
        own.n_caught++;
      else
        child_print (&result);
      child_result_clear (&result);
    }
  if (explain)
    printf ("  %-12s caught %u of %u  %s\n", lie_name (kind), own.n_caught,
            own.n_told, example);
  score->n_told += own.n_told;
  score->n_caught += own.n_caught;
}

/* Does a child that does not lie, in the same mode, end well? */
static bool
truth_passes (const Options *options)
{
  ChildResult result;
  bool good;

  if (setenv ("SLICE_OPTIONS", "checked", 1) != 0
      || !child_of (options, LIE_NONE, 1, &result))
    stress_fail (EXIT_FOUND, "a child could not be made");
  unsetenv ("SLICE_OPTIONS");
  good = WIFEXITED (result.status) && WEXITSTATUS (result.status) == 0;
  if (!good)
    {
      fprintf (stderr, "slice-test: a child that told no lie failed\n");
      child_print (&result);
    }
  child_result_clear (&result);
  return good;
}

int
expect_caught (const Options *options)
{
  Score score = { 0, 0 };
  bool one = options->lie != LIE_NONE && options->lie != LIE_ANY;

  if (!truth_passes (options))
    return EXIT_FOUND;
  for (LieKind kind = LIE_NONE + 1; kind < LIE_ANY; kind++)
    if (!one || kind == options->lie)
      lie_try (options, kind, &score, !options->json);
  if (options->json)
    printf ("{\"program\": \"slice-test\", \"told\": %u, \"caught\": %u}\n",
            score.n_told, score.n_caught);
  else
    printf ("slice-test: caught %u of %u lies, and a child that told none"
            " passed\n",
            score.n_caught, score.n_told);
  return score.n_caught == score.n_told ? EXIT_GOOD : EXIT_FOUND;
}
