/* profile.c - a trace read through: sites at their depth, with their classes
 *
 * Tools.  It makes the readings in their order, finds the verdicts, and ranks
 * the sites.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "profile-parts.h"
#include <math.h>
#include <stdlib.h>

static const SiteResult *ranking;
static bool ranking_by_bytes; /* what a sample shows best */

static int
rank_compare (const void *a, const void *b)
{
  const SiteStats *left = ranking[*(const uint32_t *) a].stats;
  const SiteStats *right = ranking[*(const uint32_t *) b].stats;
  uint64_t left_cost, right_cost;

  if (ranking_by_bytes && left->bytes != right->bytes)
    return left->bytes < right->bytes ? 1 : -1;
  left_cost = left->cost + left->free_cost;
  right_cost = right->cost + right->free_cost;
  if (left_cost != right_cost)
    return left_cost < right_cost ? 1 : -1;
  if (left->allocs != right->allocs)
    return left->allocs < right->allocs ? 1 : -1;
  if (left->bytes != right->bytes)
    return left->bytes < right->bytes ? 1 : -1;
  return *(const uint32_t *) a < *(const uint32_t *) b ? -1 : 1;
}

static void
results_rank (Profile *profile, uint32_t n_hot)
{
  uint32_t n = profile->n_results;

  profile->ranked = sli_tool_alloc ((n + 1) * sizeof (uint32_t));
  for (uint32_t i = 0; i < n; i++)
    profile->ranked[i] = i;
  ranking = profile->results;
  ranking_by_bytes = profile->sample_bytes > 0;
  qsort (profile->ranked, n, sizeof (uint32_t), rank_compare);
  profile->n_hot = n < n_hot ? n : n_hot;
  for (uint32_t rank = 0; rank < n; rank++)
    {
      SiteResult *result = &profile->results[profile->ranked[rank]];

      result->rank = rank;
      free (result->picture);
      result->picture
          = rank < profile->n_hot ? sli_tool_zero (sizeof (Picture)) : NULL;
    }
}

/* The nanoseconds of a tick of the measured calls.  A program can't spend more
 * time in malloc than it takes in all.  If the recorder has made the calls so
 * much slower, all of them count for less. */
static double
cost_nsec_per_tick (const Profile *profile, uint64_t cost)
{
  double nsec = 1e9 / (double) profile->reader->head.ticks_per_sec;
  double plain = (double) profile->reader->summary.plain_nsec;

  return plain > 0 && nsec * (double) cost > plain ? plain / (double) cost
                                                   : nsec;
}

static void
verdicts_find (Profile *profile)
{
  uint64_t cost = 0;

  for (uint32_t i = 0; i < profile->n_results; i++)
    cost += profile->results[i].stats->cost
            + profile->results[i].stats->free_cost;
  profile->cost_nsec_per_tick = cost_nsec_per_tick (profile, cost);
  for (uint32_t i = 0; i < profile->n_results; i++)
    {
      SiteResult *result = &profile->results[i];
      const SiteStats *stats = result->stats;
      double share = cost > 0 ? (double) (stats->cost + stats->free_cost)
                                    / (double) cost
                              : sli_allocs_share (stats, &profile->totals);

      sli_classify (stats, share, profile->totals.peak, &result->verdict);
    }
}

static void
sites_count (Profile *profile, const ProfileOptions *options)
{
  Reading reading;
  const TraceEvent *event;

  sli_reading_begin (&reading, profile, options, NULL, "sites");
  while ((event = sli_reading_next (&reading)) != NULL)
    sli_sites_count (profile->sites, event);
  for (size_t i = 0; options->wrappers != NULL && options->wrappers[i]; i++)
    sli_sites_wrapper (profile->sites, options->wrappers[i]);
  sli_sites_settle (profile->sites);
}

/* Makes a profile with the names in the trace, without reading the events. */
static Profile *
profile_open (const char *path, const ProfileOptions *options)
{
  char error[512];
  Profile *profile = sli_tool_zero (sizeof *profile);

  profile->given = options->given;
  profile->reader = options->takes_sampled ? sli_trace_open_any (path, error)
                                           : sli_trace_open (path, error);
  if (profile->reader == NULL)
    sli_tool_exit (TOOL_BAD_INPUT, "%s", error);
  if (trace_is_sampled (profile->reader))
    profile->sample_bytes = profile->reader->head.sample_bytes;
  profile->symbols = sli_symbols_new (profile->reader);
  for (size_t i = 0; options->own != NULL && options->own[i] != NULL; i++)
    sli_symbols_own (profile->symbols, options->own[i]);
  profile->sites = sli_sites_new (profile->reader, profile->symbols);
  return profile;
}

/* Makes a result for each site of the final level.  stats: the numbers of each
 * if that is not the first level, or NULL. */
static void
results_make (Profile *profile, const Level *first, const Level *final,
              const SiteStats **stats)
{
  const SiteStats *first_stats = profile->first->stats[0];

  profile->n_results = final->n;
  profile->results
      = sli_tool_zero ((profile->n_results + 1) * sizeof (SiteResult));
  for (uint32_t i = 0; i < profile->n_results; i++)
    {
      SiteResult *result = &profile->results[i];
      bool is_first;

      result->site = final->sites[i];
      result->stats = stats == NULL ? &first_stats[i] : stats[i];
      is_first = result->stats >= first_stats
                 && result->stats < first_stats + first->n;
      result->owner_sites
          = is_first ? profile->first_sites : profile->deeper_sites;
    }
}

/* Estimates the numbers of a sampled trace's sites. */
static void
sampled_make (Profile *profile, const ProfileOptions *options,
              const Level *level)
{
  profile->first = sli_sampled_analyse (profile, options, level);
  profile->totals = profile->first->totals;
  profile->final_map = level->map;
  profile->first_sites = level->sites;
  results_make (profile, level, level, NULL);
  results_rank (profile, options->n_hot);
  sli_detail_read (profile, options);
}

/* Finds the sites' numbers, depths and classes. */
static void
exact_make (Profile *profile, const ProfileOptions *options, Level first)
{
  Level final = { 0 };
  const Level *firsts[1] = { &first };
  bool *wanted;
  const SiteStats **stats = NULL;

  profile->first = sli_level_analyse (profile, options, "patterns", &first,
                                      firsts, 1, NULL);
  profile->totals = profile->first->totals;
  wanted = options->fixed_depth > 0 ? NULL : sli_split_wishes (profile->first);
  if (wanted != NULL)
    sli_depths_find (profile, options, &first, wanted, &final, &stats);
  free (wanted);

  profile->final_map = stats == NULL ? first.map : final.map;
  profile->first_sites = first.sites;
  results_make (profile, &first, stats == NULL ? &first : &final, stats);
  /* the ranking decides which sites get a picture, so it is made first */
  results_rank (profile, options->n_hot);
  verdicts_find (profile);
  sli_detail_read (profile, options);
  free (stats);
  free (final.sites);
  if (profile->final_map != first.map)
    free (first.map);
}

Profile *
sli_profile_new (const char *path, const ProfileOptions *options)
{
  Profile *profile = profile_open (path, options);
  Level first = { 0 };

  sites_count (profile, options);
  sli_level_make (&first, profile->sites,
                  options->fixed_depth > 0 ? options->fixed_depth : 1);
  if (profile->sample_bytes > 0)
    sampled_make (profile, options, &first);
  else
    exact_make (profile, options, first);
  sli_trace_is_whole (profile->reader);
  return profile;
}

Profile *
sli_profile_some (const char *path, const ProfileOptions *options)
{
  Profile *profile = sli_profile_new (path, options);
  bool all = options->from_time <= 0
             && (options->to_time <= 0 || isinf (options->to_time));

  if (profile->totals.n_allocs == 0)
    sli_tool_exit (TOOL_NO_EVENTS, "%s: no %sallocations in %s", path,
                   profile->sample_bytes > 0 ? "sampled " : "",
                   all ? "it" : "that time (--from, --to)");
  return profile;
}

void
sli_profile_free (Profile *profile)
{
  for (uint32_t i = 0; i < profile->n_results; i++)
    free (profile->results[i].picture);
  sli_analysis_free (profile->first);
  if (profile->deeper != NULL)
    sli_analysis_free (profile->deeper);
  sli_sites_free (profile->sites);
  sli_symbols_free (profile->symbols);
  sli_trace_close (profile->reader);
  free (profile->results);
  free (profile->ranked);
  free (profile->final_map);
  free (profile->first_sites);
  free (profile->deeper_sites);
  free (profile->peak_live);
  free (profile->chosen_live);
  free (profile->free_pairs);
  free (profile->site_samples);
  sli_table_free (&profile->free_pair_of);
  free (profile);
}

double
sli_profile_seconds (const Profile *profile, uint64_t ticks)
{
  return (double) ticks / (double) profile->reader->head.ticks_per_sec;
}
