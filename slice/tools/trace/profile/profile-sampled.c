/* profile-sampled.c - the whole program, estimated from a sampled trace
 *
 * Tools.  A sampled block stands for as many blocks of its size as its weight
 * says.  The analysis finds which free belongs to which block, as in a trace
 * with every event; its numbers are then replaced by weighted sums.  What
 * needs the order of all events stays empty: lanes, batches, owners.
 *
 * Design: section 13.12.
 *
 * SPDX-License-Identifier: MIT
 */
#include "profile-parts.h"
#include <math.h>
#include <stdlib.h>

/* The sums of a site, or of the program.  A variance is that of the sum before
 * it. */
typedef struct
{
  uint64_t samples;
  double calls, calls_var, bytes, bytes_var, frees;
  double size2, life, life2; /* lives in usec, of freed blocks */
  double live_n, live, live_var;
  double peak_n, peak, peak_var; /* when most bytes were live */
  uint64_t peak_event, peak_ticks;
} Sum;

typedef struct
{
  const Profile *profile;
  Sum whole;
  Sum *sites;            /* by the analysis' number */
  double *calls, *bytes; /* by node */
  double size_n[N_LOG2], size_bytes[N_LOG2];
  double life_n[N_LOG2], life_bytes[N_LOG2];
  double live_integral;
  uint64_t last_ticks;
} Estimate;

/* A block of 0 bytes is sampled as if it had 1. */
double
sli_sample_weight (uint32_t mean_bytes, uint64_t size)
{
  if (mean_bytes == 0)
    return 1;
  return 1 / -expm1 (-(double) (size == 0 ? 1 : size) / mean_bytes);
}

double
sli_profile_weight (const Profile *profile, uint64_t size)
{
  return sli_sample_weight (profile->sample_bytes, size);
}

/* --- sums ---------------------------------------------------------------- */

/* The part of one block in the variance of a count: (1 - p) / p^2, where the
 * weight is 1 / p. */
static double
variance_of (double weight)
{
  return weight * (weight - 1);
}

static void
sum_add (Sum *sum, double weight, double size, const Analysis *analysis)
{
  double variance = variance_of (weight);

  sum->samples++;
  sum->calls += weight;
  sum->calls_var += variance;
  sum->bytes += weight * size;
  sum->bytes_var += variance * size * size;
  sum->size2 += weight * size * size;
  sum->live_n += weight;
  sum->live += weight * size;
  sum->live_var += variance * size * size;
  if (sum->live <= sum->peak)
    return;
  sum->peak = sum->live;
  sum->peak_n = sum->live_n;
  sum->peak_var = sum->live_var;
  sum->peak_event = analysis->now;
  sum->peak_ticks = analysis->now_ticks;
}

static void
sum_free (Sum *sum, double weight, double size, double life_usec)
{
  sum->frees += weight;
  sum->live_n -= weight;
  sum->live -= weight * size;
  sum->live_var -= variance_of (weight) * size * size;
  sum->life += weight * life_usec;
  sum->life2 += weight * life_usec * life_usec;
}

static void
time_pass (Estimate *estimate, const Analysis *analysis)
{
  if (analysis->now_ticks > estimate->last_ticks)
    estimate->live_integral
        += estimate->whole.live
           * (double) (analysis->now_ticks - estimate->last_ticks);
  estimate->last_ticks = analysis->now_ticks;
}

static void
sample_allocated (void *user, const Analysis *analysis, LiveObject *object,
                  uint32_t site)
{
  Estimate *estimate = user;
  double size = (double) object->size;
  double weight = sli_profile_weight (estimate->profile, object->size);
  unsigned bits = log2_of (object->size);

  if (estimate->last_ticks == 0)
    estimate->last_ticks = analysis->now_ticks;
  time_pass (estimate, analysis);
  sum_add (&estimate->whole, weight, size, analysis);
  if (site != SITE_NONE)
    sum_add (&estimate->sites[site], weight, size, analysis);
  estimate->calls[object->node] += weight;
  estimate->bytes[object->node] += weight * size;
  estimate->size_n[bits] += weight;
  estimate->size_bytes[bits] += weight * size;
}

static void
sample_freed (void *user, const Analysis *analysis, const LiveObject *object,
              uint32_t site, unsigned op)
{
  Estimate *estimate = user;
  double size = (double) object->size;
  double weight = sli_profile_weight (estimate->profile, object->size);
  double usec
      = 1e6
        * sli_profile_seconds (estimate->profile,
                               analysis->now_ticks - object->alloc_ticks);
  unsigned bits = log2_of ((uint64_t) usec);

  (void) op;
  time_pass (estimate, analysis);
  sum_free (&estimate->whole, weight, size, usec);
  if (site != SITE_NONE)
    sum_free (&estimate->sites[site], weight, size, usec);
  estimate->life_n[bits] += weight;
  estimate->life_bytes[bits] += weight * size;
}

/* --- results ------------------------------------------------------------- */

static void
site_replace (SiteStats *stats, const Sum *sum)
{
  stats->allocs = rounded_count (sum->calls);
  stats->bytes = rounded_count (sum->bytes);
  stats->frees = rounded_count (sum->frees);
  stats->peak = stats->peak_bytes = rounded_count (sum->peak);
  stats->peak_n = stats->peak_bytes_n = rounded_count (sum->peak_n);
  stats->live = stats->live_bytes = rounded_count (sum->live);
  stats->live_n = rounded_count (sum->live_n);
  stats->sum_size2 = sum->size2;
  stats->sum_life = sum->life;
  stats->sum_life2 = sum->life2;
}

static void
totals_replace (Totals *totals, const Estimate *estimate)
{
  const Sum *sum = &estimate->whole;

  totals->n_allocs = rounded_count (sum->calls);
  totals->n_frees = rounded_count (sum->frees);
  totals->bytes = rounded_count (sum->bytes);
  totals->peak = rounded_count (sum->peak);
  totals->peak_n = rounded_count (sum->peak_n);
  totals->peak_event = sum->peak_event;
  totals->peak_ticks = sum->peak_ticks;
  totals->live = totals->end_live = rounded_count (sum->live);
  totals->live_n = totals->end_live_n = rounded_count (sum->live_n);
  totals->sum_size2 = sum->size2;
  totals->sum_life = sum->life;
  totals->sum_life2 = sum->life2;
  totals->live_integral = estimate->live_integral;
  for (int i = 0; i < N_LOG2; i++)
    {
      totals->size_n[i] = rounded_count (estimate->size_n[i]);
      totals->size_bytes[i] = rounded_count (estimate->size_bytes[i]);
      totals->life_n[i] = rounded_count (estimate->life_n[i]);
      totals->life_bytes[i] = rounded_count (estimate->life_bytes[i]);
    }
}

static SampleNotes
notes_of (const Sum *sum)
{
  return (SampleNotes){ .samples = sum->samples,
                        .calls_sd = sqrt (sum->calls_var),
                        .bytes_sd = sqrt (sum->bytes_var),
                        .peak_sd = sqrt (sum->peak_var) };
}

/* Nodes keep a call at least, since one without is no node of a site. */
static void
nodes_replace (Sites *sites, const Estimate *estimate, uint32_t n_nodes)
{
  for (uint32_t node = 0; node < n_nodes; node++)
    if (sites->allocs[node] > 0 && estimate->calls[node] > 0)
      {
        sites->allocs[node] = rounded_count (estimate->calls[node]);
        sites->bytes[node] = rounded_count (estimate->bytes[node]);
      }
}

Analysis *
sli_sampled_analyse (Profile *profile, const ProfileOptions *options,
                     const Level *level)
{
  const uint32_t *maps[1] = { level->map };
  uint32_t n_nodes = profile->reader->n_nodes;
  Analysis *analysis = sli_analysis_new (1, maps, &level->n);
  Estimate estimate = { .profile = profile,
                        .sites = sli_tool_zero ((level->n + 1) * sizeof (Sum)),
                        .calls = sli_tool_zero (n_nodes * sizeof (double)),
                        .bytes = sli_tool_zero (n_nodes * sizeof (double)) };
  Reading reading;
  const TraceEvent *event;

  analysis->observer = (Observer){ sample_allocated, sample_freed, &estimate };
  sli_reading_begin (&reading, profile, options, analysis, "estimates");
  while ((event = sli_reading_next (&reading)) != NULL)
    sli_analysis_event (analysis, event);
  sli_analysis_finish (analysis);
  totals_replace (&analysis->totals, &estimate);
  profile->sample = notes_of (&estimate.whole);
  profile->site_samples
      = sli_tool_alloc ((level->n + 1) * sizeof (SampleNotes));
  for (uint32_t i = 0; i < level->n; i++)
    {
      site_replace (&analysis->stats[0][i], &estimate.sites[i]);
      profile->site_samples[i] = notes_of (&estimate.sites[i]);
    }
  nodes_replace (profile->sites, &estimate, n_nodes);
  free (estimate.sites);
  free (estimate.calls);
  free (estimate.bytes);
  return analysis;
}
