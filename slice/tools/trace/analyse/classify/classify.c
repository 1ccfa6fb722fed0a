/* classify.c - the decision list, which finds a site's class by its numbers
 *
 * Tools.  One table of thresholds, one table of rules; the first rule whose
 * tests all hold gives the class.  Shares are taken by count and by bytes,
 * and the less favourable one counts.
 *
 * 1.25 and 2.0 are the waste of an arena in which 20 % and 50 % of the bytes
 * are freed early, 1 / (1 - E).
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/slice.h>

#include "tools/trace/common/tool.h"
#include "classify-numbers.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The waste up to which an arena keeps its class: bytes, or a share of the
 * program's peak if that is more. */
#define WASTE_BYTES_MAX (64 * 1024)
#define WASTE_SHARE_MAX 0.01

typedef enum
{
  T_RARE_ALLOCS,
  T_RARE_SHARE,
  T_HUGE,
  T_V,
  T_SCRATCH_N,
  T_L_GOOD,
  T_L_LAZY,
  T_W_GOOD,
  T_W_FAIR,
  T_SW_GOOD,
  T_SW_LAZY,
  T_Q_LINEAR,
  T_Q_POOL,
  T_B,
  T_O,
  T_C,
  T_X,
  T_P2,
  T_R,
  T_PW,
  T_SLICE,
  N_THRESHOLDS
} Threshold;

static struct
{
  const char *name;
  double value;
} thresholds[N_THRESHOLDS] = {
  [T_RARE_ALLOCS] = { "rare-allocs", 100 },
  [T_RARE_SHARE] = { "rare-share", 0.001 },
  [T_HUGE] = { "huge-bytes", 128 * 1024 },
  [T_V] = { "V", 0.99 },
  [T_SCRATCH_N] = { "scratch-N", 4 },
  [T_L_GOOD] = { "L-good", 0.99 },
  [T_L_LAZY] = { "L-lazy", 0.90 },
  [T_W_GOOD] = { "W-good", 1.25 },
  [T_W_FAIR] = { "W-fair", 2.0 },
  [T_SW_GOOD] = { "SW-good", 1.25 },
  [T_SW_LAZY] = { "SW-lazy", 1.5 },
  [T_Q_LINEAR] = { "Q-linear", 0.05 },
  [T_Q_POOL] = { "Q-pool", 0.01 },
  [T_B] = { "B", 0.80 },
  [T_O] = { "O", 0.90 },
  [T_C] = { "C", 0.99 },
  [T_X] = { "X", 0 },
  [T_P2] = { "P2", 0.95 },
  [T_R] = { "R", 4 },
  [T_PW] = { "PW", 1.5 },
  [T_SLICE] = { "slice-bytes", SLICE_SIZE_MAX },
};

typedef struct
{
  uint8_t number;
  enum
  {
    LESS,
    MOST,
    LEAST
  } how; /* < threshold, <= it, >= it */
  uint8_t threshold;
} Test;

typedef struct
{
  SiteClass class;
  unsigned n_tests;
  Test tests[5];
} Rule;

/* X forbids a pool, which belongs to one thread, and everything that depends
 * on the order of one thread's frees.  One block is enough: when its thread
 * resets an arena, the other thread loses its block.  Any thread may free a
 * slice. */
static const Rule rules[] = {
  { CLASS_RARE,
    2,
    { { NUMBER_ALLOCS, LESS, T_RARE_ALLOCS },
      { NUMBER_SHARE, LESS, T_RARE_SHARE } } },
  { CLASS_HUGE, 1, { { NUMBER_MEDIAN, LEAST, T_HUGE } } },
  { CLASS_IMMORTAL, 1, { { NUMBER_V, LEAST, T_V } } },
  { CLASS_SCRATCH,
    4,
    { { NUMBER_N1, MOST, T_SCRATCH_N },
      { NUMBER_L, LEAST, T_L_GOOD },
      { NUMBER_W, MOST, T_W_GOOD },
      { NUMBER_X, MOST, T_X } } },
  { CLASS_LINEAR,
    3,
    { { NUMBER_W, MOST, T_W_GOOD },
      { NUMBER_Q, MOST, T_Q_LINEAR },
      { NUMBER_X, MOST, T_X } } },
  { CLASS_STACK,
    3,
    { { NUMBER_L, LEAST, T_L_GOOD },
      { NUMBER_SW, MOST, T_SW_GOOD },
      { NUMBER_X, MOST, T_X } } },
  { CLASS_OWNER,
    3,
    { { NUMBER_B, LEAST, T_B },
      { NUMBER_O, LEAST, T_O },
      { NUMBER_X, MOST, T_X } } },
  { CLASS_SCOPE,
    3,
    { { NUMBER_C, LEAST, T_C },
      { NUMBER_WF, MOST, T_W_GOOD },
      { NUMBER_X, MOST, T_X } } },
  { CLASS_LINEAR_FAIR,
    2,
    { { NUMBER_W, MOST, T_W_FAIR }, { NUMBER_X, MOST, T_X } } },
  { CLASS_STACK_LAZY,
    3,
    { { NUMBER_L, LEAST, T_L_LAZY },
      { NUMBER_SW, MOST, T_SW_LAZY },
      { NUMBER_X, MOST, T_X } } },
  { CLASS_POOL,
    5,
    { { NUMBER_P2, LEAST, T_P2 },
      { NUMBER_X, MOST, T_X },
      { NUMBER_R, LEAST, T_R },
      { NUMBER_Q, MOST, T_Q_POOL },
      { NUMBER_PW, MOST, T_PW } } },
  { CLASS_SLICE,
    3,
    { { NUMBER_KNOWN, LEAST, T_P2 },
      { NUMBER_LARGEST, MOST, T_SLICE },
      { NUMBER_Q, MOST, T_Q_POOL } } },
};

static const struct
{
  const char *name;
  const char *title;
} class_names[N_SITE_CLASSES] = {
  [CLASS_RARE] = { "rare", "rare: no advice" },
  [CLASS_HUGE] = { "huge", "large: leave to malloc" },
  [CLASS_IMMORTAL] = { "immortal", "Linear good (never freed)" },
  [CLASS_SCRATCH] = { "scratch", "scratch: Stack or a caller's buffer" },
  [CLASS_LINEAR] = { "linear", "Linear good" },
  [CLASS_STACK] = { "stack", "Stack" },
  [CLASS_OWNER] = { "owner", "context, or linear per owner" },
  [CLASS_SCOPE] = { "scope", "Linear in a scope" },
  [CLASS_LINEAR_FAIR] = { "linear-fair", "Linear satisfactory" },
  [CLASS_STACK_LAZY] = { "stack-lazy", "Stack with lazy pop" },
  [CLASS_POOL] = { "pool", "Pool" },
  [CLASS_SLICE] = { "slice", "Slice" },
  [CLASS_GENERAL] = { "general", "Linear bad: stay with malloc" },
};

static const char *const number_names[N_NUMBERS]
    = { "allocs", "share", "median",  "N",     "P",  "W", "L",     "SW", "B",
        "R",      "P2",    "PW",      "Q",     "X",  "V", "Z",     "O",  "C",
        "WF",     "known", "largest", "waste", "N1", "T", "resets" };

const char *
sli_class_name (SiteClass class)
{
  return class_names[class].name;
}

const char *
sli_class_title (SiteClass class)
{
  return class_names[class].title;
}

const char *
sli_number_name (SiteNumber number)
{
  return number_names[number];
}

bool
sli_class_is_good (SiteClass class)
{
  return class >= CLASS_IMMORTAL && class <= CLASS_STACK_LAZY;
}

bool
sli_threshold_set (const char *assignment)
{
  const char *equals = strchr (assignment, '=');
  size_t n = equals == NULL ? 0 : (size_t) (equals - assignment);

  for (int i = 0; i < N_THRESHOLDS && n > 0; i++)
    if (strncmp (thresholds[i].name, assignment, n) == 0
        && thresholds[i].name[n] == '\0')
      {
        thresholds[i].value = atof (equals + 1);
        return true;
      }
  return false;
}

static const char *
sign_of (const Test *test)
{
  return test->how == LESS ? "<" : test->how == MOST ? "<=" : ">=";
}

void
sli_thresholds_print (FILE *file)
{
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    {
      fprintf (file, "%2zu  %-12s", i, sli_class_name (rules[i].class));
      for (unsigned t = 0; t < rules[i].n_tests; t++)
        {
          const Test *test = &rules[i].tests[t];

          fprintf (file, "  %s %s %g (%s)", number_names[test->number],
                   sign_of (test), thresholds[test->threshold].value,
                   thresholds[test->threshold].name);
        }
      fputc ('\n', file);
    }
  fprintf (file, "%2zu  %-12s  else\n", sizeof rules / sizeof *rules,
           sli_class_name (CLASS_GENERAL));
}

double
sli_threshold_contained (void)
{
  return thresholds[T_C].value;
}

double
sli_threshold_waste (void)
{
  return thresholds[T_W_GOOD].value;
}

/* --- the list ------------------------------------------------------------ */

static bool
test_holds (const Test *test, const double *numbers)
{
  double value = numbers[test->number];
  double threshold = thresholds[test->threshold].value;

  return test->how == LESS   ? value < threshold
         : test->how == MOST ? value <= threshold
                             : value >= threshold;
}

/* The distance of the value from the threshold, as a share of it. */
static double
test_distance (const Test *test, const double *numbers)
{
  double threshold = thresholds[test->threshold].value;
  double scale = fabs (threshold) < 0.01 ? 0.01 : fabs (threshold);

  return fabs (numbers[test->number] - threshold) / scale;
}

static void
test_print (char *text, size_t size, const Test *test, const double *numbers)
{
  snprintf (text, size, "%s %.4g %s %g", number_names[test->number],
            numbers[test->number], sign_of (test),
            thresholds[test->threshold].value);
}

static double
most (double a, double b)
{
  return a > b ? a : b;
}

/* Returns true if an arena wastes so many bytes that it falls by a class. */
static bool
wastes_too_much (const Rule *rule, const double *numbers, uint64_t peak)
{
  bool arena = rule->class == CLASS_LINEAR || rule->class == CLASS_LINEAR_FAIR;
  double allowed = most (WASTE_BYTES_MAX, WASTE_SHARE_MAX * (double) peak);

  return arena && numbers[NUMBER_WASTE] > allowed;
}

static bool
rule_holds (const Rule *rule, const double *numbers)
{
  for (unsigned i = 0; i < rule->n_tests; i++)
    if (!test_holds (&rule->tests[i], numbers))
      return false;
  return true;
}

static void
holds_explain (const Rule *rule, Verdict *verdict)
{
  const Test *nearest = &rule->tests[0];

  /* the absence of X is no near miss */
  for (unsigned i = 1; i < rule->n_tests; i++)
    if (test_distance (&rule->tests[i], verdict->numbers)
            < test_distance (nearest, verdict->numbers)
        && verdict->numbers[rule->tests[i].number] != 0)
      nearest = &rule->tests[i];
  test_print (verdict->holds, sizeof verdict->holds, nearest,
              verdict->numbers);
}

/* Describes the earlier rule whose worst failing test came nearest to
 * holding. */
static void
missed_explain (size_t n_rules, Verdict *verdict)
{
  double best = INFINITY;

  /* no site comes nearer to "rare" or "huge" */
  for (size_t i = 2; i < n_rules; i++)
    {
      const Rule *rule = &rules[i];
      const Test *worst = NULL;
      double distance;
      char text[96];

      for (unsigned t = 0; t < rule->n_tests; t++)
        if (!test_holds (&rule->tests[t], verdict->numbers)
            && (worst == NULL
                || test_distance (&rule->tests[t], verdict->numbers)
                       > test_distance (worst, verdict->numbers)))
          worst = &rule->tests[t];
      distance
          = worst == NULL ? INFINITY : test_distance (worst, verdict->numbers);
      if (distance >= best)
        continue;
      best = distance;
      test_print (text, sizeof text, worst, verdict->numbers);
      snprintf (verdict->missed, sizeof verdict->missed, "%s: needs %s",
                sli_class_name (rule->class), text);
    }
}

enum
{
  N_RULES = sizeof rules / sizeof *rules
};

/* Finds the first rule that holds, and sets the class; N_RULES: none does.  An
 * arena that wastes too much falls by one class, once: *is_lowered. */
static size_t
rule_find (uint64_t peak, Verdict *verdict, bool *is_lowered)
{
  *is_lowered = false;
  verdict->class = CLASS_GENERAL;
  for (size_t at = 0; at < N_RULES; at++)
    {
      const Rule *rule = &rules[at];

      if (!rule_holds (rule, verdict->numbers))
        continue;
      if (*is_lowered || !wastes_too_much (rule, verdict->numbers, peak))
        {
          verdict->class = rule->class;
          return at;
        }
      *is_lowered = true;
      if (rule->class == CLASS_LINEAR)
        {
          verdict->class = CLASS_LINEAR_FAIR;
          return at;
        }
    }
  return N_RULES;
}

void
sli_classify (const SiteStats *stats, double share, uint64_t peak,
              Verdict *verdict)
{
  bool is_lowered;
  size_t at;

  memset (verdict, 0, sizeof *verdict);
  sli_numbers_read (stats, share, verdict);
  at = rule_find (peak, verdict, &is_lowered);
  if (at < N_RULES)
    holds_explain (&rules[at], verdict);
  else
    snprintf (verdict->holds, sizeof verdict->holds, "no rule holds");
  if (is_lowered)
    snprintf (verdict->holds, sizeof verdict->holds,
              "a class down: %.0f kB of waste",
              verdict->numbers[NUMBER_WASTE] / 1000);
  missed_explain (at, verdict);
  verdict->burst_unknown
      = verdict->class != CLASS_OWNER
        && verdict->numbers[NUMBER_B] >= thresholds[T_B].value
        && verdict->numbers[NUMBER_O] < thresholds[T_O].value
        && (verdict->class >= CLASS_LINEAR_FAIR);
}
