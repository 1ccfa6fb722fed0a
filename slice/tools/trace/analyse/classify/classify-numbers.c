/* classify-numbers.c - computes the numbers of a site that are classified
 *
 * Tools.  Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#include "classify-numbers.h"
#include "tools/trace/common/tool.h"
#include <math.h>
#include <stdlib.h>

static double
ratio (uint64_t part, uint64_t whole)
{
  return whole == 0 ? 0 : (double) part / (double) whole;
}

static double
least (double a, double b)
{
  return a < b ? a : b;
}

static double
most (double a, double b)
{
  return a > b ? a : b;
}

static int
size_compare (const void *a, const void *b)
{
  const SizeCount *left = a, *right = b;

  return left->size < right->size ? -1 : left->size > right->size;
}

/* Finds the median, the two most frequent and the largest of the rounded
 * sizes. */
static void
sizes_read (const SiteStats *stats, double *numbers)
{
  size_t n;
  SizeCount *sorted = sli_sizes_sorted (stats, &n);
  const SizeCount none = { 0 };
  const SizeCount first = n > 0 ? sorted[0] : none;
  const SizeCount second = n > 1 ? sorted[1] : none;
  uint64_t passed = 0;

  qsort (sorted, n, sizeof *sorted, size_compare);
  for (size_t i = 0; i < n && 2 * passed < stats->allocs; i++)
    {
      passed += sorted[i].count;
      numbers[NUMBER_MEDIAN] = (double) sorted[i].size;
    }
  numbers[NUMBER_LARGEST] = n == 0 ? 0 : (double) sorted[n - 1].size;
  numbers[NUMBER_P2] = ratio (first.count + second.count, stats->allocs);
  numbers[NUMBER_PW] = ratio (
      stats->peak_n * (first.size > second.size ? first.size : second.size),
      stats->peak);
  free (sorted);
}

static void
owner_read (const SiteStats *stats, Verdict *verdict)
{
  const Owner *best = &stats->owners[0];

  for (int i = 1; i < N_OWNERS_MAX; i++)
    if (stats->owners[i].bytes > best->bytes)
      best = &stats->owners[i];
  verdict->owner = best->site;
  verdict->owner_share = least (1, ratio (best->bytes, stats->burst_rounded));
  /* one parent site, or several that each take whole bursts with them */
  verdict->numbers[NUMBER_O]
      = most (verdict->owner_share,
              least (1, ratio (stats->owned_rounded, stats->burst_rounded)));
}

static uint64_t
peaks_sum (const SiteStats *stats)
{
  uint64_t peak = stats->past_peak + stats->lane.peak;

  for (uint32_t i = 0; i < stats->n_lanes; i++)
    peak += stats->lanes[i].peak;
  return peak;
}

/* The sums of all threads for one function. */
typedef struct
{
  uint64_t function, pc, height, n_contained, contained;
  bool mixed;
} LifeSum;

static LifeSum
life_sum (const SiteStats *stats, unsigned k)
{
  LifeSum sum = { 0 };

  for (uint32_t i = 0; i <= stats->n_lanes; i++)
    {
      const Lane *lane = i == 0 ? &stats->lane : &stats->lanes[i - 1];
      const Life *life = lane->lives == NULL ? NULL : &lane->lives[k];

      /* the first lane may belong to another thread now that has not
       * allocated */
      if (life == NULL || (life->function == 0 && life->mixed == false))
        {
          sum.mixed |= life == NULL && lane->peak > 0;
          continue;
        }
      if (sum.function == 0)
        {
          sum.function = life->function;
          sum.pc = life->pc;
        }
      sum.mixed |= life->mixed || life->function != sum.function;
      sum.height += life->height_most + life->past_height;
      sum.n_contained += life->n_contained;
      sum.contained += life->contained;
    }
  return sum;
}

/* Finds the innermost function that could be a scope. */
static void
lives_read (const SiteStats *stats, Verdict *verdict)
{
  double *numbers = verdict->numbers;

  for (unsigned k = 0; k < N_LIVES; k++)
    {
      LifeSum sum = life_sum (stats, k);
      double contained = least (ratio (sum.n_contained, stats->allocs),
                                ratio (sum.contained, stats->rounded));
      double waste = ratio (sum.height, peaks_sum (stats));

      if (sum.function == 0 || sum.mixed
          || contained < sli_threshold_contained ()
          || waste > sli_threshold_waste ())
        continue;
      numbers[NUMBER_C] = contained;
      numbers[NUMBER_WF] = waste;
      verdict->scope_pc = sum.pc;
      verdict->scope_life = k;
      return;
    }
}

/* Finds the scope with the least waste among those that contain enough. */
static void
scope_read (const SiteStats *stats, Verdict *verdict)
{
  double *numbers = verdict->numbers;

  numbers[NUMBER_C] = 0;
  numbers[NUMBER_WF] = INFINITY;
  for (uint32_t i = 0; i < stats->n_scopes; i++)
    {
      const ScopeSum *scope = &stats->scopes[i];
      double contained
          = least (ratio (scope->n_contained, stats->allocs),
                   ratio (scope->bytes_contained, stats->rounded));
      double waste = ratio (scope->sum_bump, scope->sum_peak);
      bool enough = contained >= sli_threshold_contained ();
      bool had_enough = numbers[NUMBER_C] >= sli_threshold_contained ();

      if ((enough && (!had_enough || waste < numbers[NUMBER_WF]))
          || (!had_enough && contained > numbers[NUMBER_C]))
        {
          numbers[NUMBER_C] = contained;
          numbers[NUMBER_WF] = waste;
          verdict->scope = scope->name;
        }
    }
}

/* W and SW are for an arena, or a stack, in each thread: the sum of their
 * sizes over the sum of the peaks. */
static void
lanes_read (const SiteStats *stats, double *numbers)
{
  uint64_t peak = peaks_sum (stats), epoch = stats->past_epoch;
  uint64_t height = stats->past_height, peak_n = stats->past_peak_n;

  for (uint32_t i = 0; i <= stats->n_lanes; i++)
    {
      const Lane *lane = i == 0 ? &stats->lane : &stats->lanes[i - 1];

      epoch += lane->epoch_most;
      height += lane->height_most;
      if (lane->peak_n > peak_n)
        peak_n = lane->peak_n;
    }
  numbers[NUMBER_W] = ratio (epoch, peak);
  numbers[NUMBER_SW] = ratio (height, peak);
  numbers[NUMBER_WASTE] = (double) epoch - (double) peak;
  numbers[NUMBER_N1] = (double) peak_n;
  numbers[NUMBER_T] = (double) stats->n_threads;
  numbers[NUMBER_RESETS] = (double) stats->resets;
}

void
sli_numbers_read (const SiteStats *stats, double share, Verdict *verdict)
{
  double *numbers = verdict->numbers;

  numbers[NUMBER_ALLOCS] = (double) stats->allocs;
  numbers[NUMBER_SHARE] = share;
  numbers[NUMBER_N] = (double) stats->peak_n;
  numbers[NUMBER_P] = (double) stats->peak;
  lanes_read (stats, numbers);
  numbers[NUMBER_L]
      = least (ratio (stats->youngest_frees, stats->frees),
               ratio (stats->youngest_rounded, stats->dead_rounded));
  numbers[NUMBER_B] = ratio (stats->burst_rounded, stats->dead_rounded);
  numbers[NUMBER_R] = ratio (stats->allocs, stats->peak_n);
  numbers[NUMBER_Q] = most (ratio (stats->resized, stats->allocs),
                            ratio (stats->resized_rounded, stats->rounded));
  numbers[NUMBER_X]
      = most (ratio (stats->other_thread, stats->allocs),
              ratio (stats->other_thread_rounded, stats->rounded));
  numbers[NUMBER_V] = least (1 - ratio (stats->frees, stats->allocs),
                             1 - ratio (stats->dead_rounded, stats->rounded));
  numbers[NUMBER_Z]
      = stats->one_size ? 1 : ratio (stats->sized_frees, stats->frees);
  sizes_read (stats, numbers);
  numbers[NUMBER_KNOWN] = most (numbers[NUMBER_P2], numbers[NUMBER_Z]);
  owner_read (stats, verdict);
  scope_read (stats, verdict);
  if (numbers[NUMBER_C] < sli_threshold_contained ()
      || numbers[NUMBER_WF] > sli_threshold_waste ())
    lives_read (stats, verdict);
}
