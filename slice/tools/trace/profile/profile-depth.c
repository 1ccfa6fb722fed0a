/* profile-depth.c - the depth of each site
 *
 * Tools.  A site that has no good class at depth 1 is analysed deeper, and
 * split at the shallowest depth where most of its allocations are in good
 * classes; children that have none are treated in the same way.  A site whose
 * classes do not improve stays whole.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "profile-parts.h"
#include <stdlib.h>
#include <string.h>

static const unsigned level_depths[N_LEVELS_MAX] = { 1, 2, 3, 4, 6, 8 };
#define SPLIT_GOOD_SHARE 0.80
#define SPLIT_ALLOCS_MIN 100
#define SPLIT_CLEAR_SHARE 0.25
#define SPLIT_PART_SHARE 0.05
#define SPLIT_PARTS_MAX 32

/* --- levels -------------------------------------------------------------- */

static void
level_finish (Level *level, const Sites *sites, uint32_t n_nodes)
{
  uint32_t *number = sli_tool_alloc (sites->n_sites * sizeof *number);
  uint32_t capacity = 0;

  for (uint32_t i = 0; i < sites->n_sites; i++)
    number[i] = SITE_NONE;
  level->sites = NULL;
  level->n = 0;
  for (uint32_t node = 0; node < n_nodes; node++)
    {
      uint32_t site = level->map[node];

      if (site == SITE_NONE)
        continue;
      if (number[site] == SITE_NONE)
        {
          if (level->n == capacity)
            {
              capacity = capacity * 2 + 64;
              level->sites
                  = sli_tool_grow (level->sites, capacity * sizeof (uint32_t));
            }
          level->sites[level->n] = site;
          number[site] = level->n++;
        }
      level->map[node] = number[site];
    }
  free (number);
}

void
sli_level_make (Level *level, Sites *sites, unsigned depth)
{
  const TraceReader *reader = sites->reader;

  level->map = sli_tool_alloc (reader->n_nodes * sizeof (uint32_t));
  for (uint32_t node = 0; node < reader->n_nodes; node++)
    level->map[node] = sites->allocs[node] > 0
                           ? sli_sites_of (sites, node, depth)
                           : SITE_NONE;
  level_finish (level, sites, reader->n_nodes);
}

static void
level_clear (Level *level)
{
  free (level->map);
  free (level->sites);
  memset (level, 0, sizeof *level);
}

Analysis *
sli_level_analyse (Profile *profile, const ProfileOptions *options,
                   const char *what, const Level *first,
                   const Level *const *levels, unsigned n_levels,
                   Sites *frames)
{
  const uint32_t *maps[N_LEVELS_MAX];
  uint32_t n_sites[N_LEVELS_MAX];
  Analysis *analysis;
  Reading reading;
  const TraceEvent *event;

  for (unsigned i = 0; i < n_levels; i++)
    {
      maps[i] = levels[i]->map;
      n_sites[i] = levels[i]->n;
    }
  analysis = sli_analysis_new (n_levels, maps, n_sites);
  analysis->sites = first->map;
  analysis->n_first_sites = first->n;
  analysis->frames = frames;
  analysis->empty_cost = profile->reader->head.empty_cost;
  sli_reading_begin (&reading, profile, options, analysis, what);
  while ((event = sli_reading_next (&reading)) != NULL)
    sli_analysis_event (analysis, event);
  sli_analysis_finish (analysis);
  return analysis;
}

/* --- depth --------------------------------------------------------------- */

double
sli_allocs_share (const SiteStats *stats, const Totals *totals)
{
  return totals->n_allocs == 0
             ? 0
             : (double) stats->allocs / (double) totals->n_allocs;
}

static bool
wants_split (SiteClass class)
{
  return class >= CLASS_LINEAR_FAIR;
}

/* Returns true by site of depth 1 if it should be analysed deeper; NULL if
 * none should. */
bool *
sli_split_wishes (const Analysis *analysis)
{
  bool any = false;
  bool *wanted = sli_tool_zero (analysis->n_sites[0] + 1);

  for (uint32_t i = 0; i < analysis->n_sites[0]; i++)
    {
      const SiteStats *stats = &analysis->stats[0][i];
      Verdict verdict;

      sli_classify (stats, sli_allocs_share (stats, &analysis->totals),
                    analysis->totals.peak, &verdict);
      wanted[i]
          = wants_split (verdict.class) && stats->allocs >= SPLIT_ALLOCS_MIN;
      any |= wanted[i];
    }
  if (any)
    return wanted;
  free (wanted);
  return NULL;
}

/* The sites that have no good class, at all depths.  A site that has one part
 * only at the next depth is not kept there: its numbers are those above.  So
 * a stack's numbers at a depth are those of the deepest level down to it that
 * has its node. */
typedef struct
{
  Sites *sites;
  Level levels[N_LEVELS_MAX];
  const SiteStats *stats[N_LEVELS_MAX];
  SiteClass *classes[N_LEVELS_MAX];
  uint8_t *split[N_LEVELS_MAX]; /* 0: stays; else the level of its parts */
  const Totals *totals;
  const SiteStats *first; /* of sites that were not analysed deeper */
  const bool *wanted;     /* by number at depth 1 */
} Depths;

static const SiteStats *
stats_of (const Depths *depths, unsigned level, uint32_t number)
{
  return level == 0 && !depths->wanted[number] ? &depths->first[number]
                                               : &depths->stats[level][number];
}

static unsigned
level_of (const Depths *depths, uint32_t node, unsigned deep)
{
  while (deep > 0 && depths->levels[deep].map[node] == SITE_NONE)
    deep--;
  return deep;
}

/* Counts, for each site above, its parts at this level (a map to sites yet),
 * and takes those out that are alone. */
static void
level_thin (Depths *depths, unsigned deep)
{
  Level *level = &depths->levels[deep];
  uint32_t n_nodes = depths->sites->reader->n_nodes;
  uint32_t *n_parts[N_LEVELS_MAX];
  bool *counted = sli_tool_zero (depths->sites->n_sites + 1);

  for (unsigned i = 0; i < deep; i++)
    n_parts[i] = sli_tool_zero ((depths->levels[i].n + 1) * sizeof (uint32_t));
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t node = 0; node < n_nodes; node++)
      {
        uint32_t site = level->map[node];
        unsigned above;
        uint32_t *n;

        if (site == SITE_NONE)
          continue;
        above = level_of (depths, node, deep - 1);
        n = &n_parts[above][depths->levels[above].map[node]];
        if (pass == 0 && !counted[site])
          ++*n;
        else if (pass == 1 && *n == 1)
          level->map[node] = SITE_NONE;
        counted[site] = true;
      }
  for (unsigned i = 0; i < deep; i++)
    free (n_parts[i]);
  free (counted);
}

static void
levels_make (Depths *depths, const bool *wanted)
{
  const TraceReader *reader = depths->sites->reader;

  for (unsigned deep = 1; deep < N_LEVELS_MAX; deep++)
    {
      Level *level = &depths->levels[deep];

      level->map = sli_tool_alloc (reader->n_nodes * sizeof (uint32_t));
      for (uint32_t node = 0; node < reader->n_nodes; node++)
        {
          uint32_t first = depths->levels[0].map[node];

          level->map[node]
              = first != SITE_NONE && wanted[first]
                    ? sli_sites_of (depths->sites, node, level_depths[deep])
                    : SITE_NONE;
        }
      level_thin (depths, deep);
      level_finish (level, depths->sites, reader->n_nodes);
    }
}

static void
classes_find (Depths *depths)
{
  for (unsigned level = 0; level < N_LEVELS_MAX; level++)
    {
      uint32_t n = depths->levels[level].n;

      depths->classes[level] = sli_tool_zero (n * sizeof (SiteClass));
      depths->split[level] = sli_tool_zero (n + 1);
      for (uint32_t i = 0; i < n; i++)
        {
          const SiteStats *stats = stats_of (depths, level, i);
          Verdict verdict;

          sli_classify (stats, sli_allocs_share (stats, depths->totals),
                        depths->totals->peak, &verdict);
          depths->classes[level][i] = verdict.class;
        }
    }
}

/* The sums over a site's parts at one level. */
typedef struct
{
  uint64_t better; /* allocs in parts of a better class than the whole's */
  uint64_t clear;  /* of these, in parts that are no small part of it */
  uint32_t n_parts;
} Parts;

static void
part_add (Parts *parts, const SiteStats *whole, SiteClass whole_class,
          const SiteStats *part, SiteClass class)
{
  parts->n_parts++;
  if (part->allocs < SPLIT_ALLOCS_MIN || class == CLASS_RARE
      || class >= whole_class)
    return;
  parts->better += part->allocs;
  if ((double) part->allocs >= SPLIT_PART_SHARE * (double) whole->allocs)
    parts->clear += part->allocs;
}

/* Returns true if a site should be split: if most of it gets a better class,
 * or if it is a wrapper with few callers, some of which have a clear pattern
 * of their own. */
static bool
parts_are_worth (const Parts *parts, uint64_t allocs)
{
  return (double) parts->better >= SPLIT_GOOD_SHARE * (double) allocs
         || (parts->n_parts <= SPLIT_PARTS_MAX
             && (double) parts->clear >= SPLIT_CLEAR_SHARE * (double) allocs);
}

/* For each part at level `deep` of each site at level `high`: allocations in
 * all and allocations in better classes, and with that the split. */
static void
splits_try (Depths *depths, unsigned high, unsigned deep)
{
  const Level *top = &depths->levels[high];
  Parts *parts = sli_tool_zero ((top->n + 1) * sizeof *parts);
  bool *counted[N_LEVELS_MAX];
  uint32_t n_nodes = depths->sites->reader->n_nodes;

  for (unsigned i = high + 1; i <= deep; i++)
    counted[i] = sli_tool_zero (depths->levels[i].n + 1);
  for (uint32_t node = 0; node < n_nodes; node++)
    {
      uint32_t whole = top->map[node];
      unsigned level = level_of (depths, node, deep);
      uint32_t part;

      if (whole == SITE_NONE || level <= high)
        continue;
      part = depths->levels[level].map[node];
      if (counted[level][part])
        continue;
      counted[level][part] = true;
      part_add (&parts[whole], stats_of (depths, high, whole),
                depths->classes[high][whole], stats_of (depths, level, part),
                depths->classes[level][part]);
    }
  for (uint32_t i = 0; i < top->n; i++)
    {
      uint64_t allocs = stats_of (depths, high, i)->allocs;

      if (depths->split[high][i] == 0 && allocs >= SPLIT_ALLOCS_MIN
          && wants_split (depths->classes[high][i])
          && parts_are_worth (&parts[i], allocs))
        depths->split[high][i] = (uint8_t) deep;
    }
  for (unsigned i = high + 1; i <= deep; i++)
    free (counted[i]);
  free (parts);
}

/* The final level, and its numbers: each node follows the splits down. */
static void
final_choose (const Depths *depths, Level *final, const SiteStats ***stats)
{
  uint32_t n_nodes = depths->sites->reader->n_nodes;
  uint8_t *chosen = sli_tool_zero (n_nodes + 1);

  final->map = sli_tool_alloc (n_nodes * sizeof (uint32_t));
  for (uint32_t node = 0; node < n_nodes; node++)
    {
      unsigned level = 0, split;

      final->map[node] = SITE_NONE;
      if (depths->levels[0].map[node] == SITE_NONE)
        continue;
      while ((split = depths->split[level][depths->levels[level].map[node]])
             != 0)
        level = level_of (depths, node, split);
      chosen[node] = (uint8_t) level;
      final->map[node]
          = depths->levels[level].sites[depths->levels[level].map[node]];
    }
  level_finish (final, depths->sites, n_nodes);
  *stats = sli_tool_alloc ((final->n + 1) * sizeof **stats);
  for (uint32_t node = 0; node < n_nodes; node++)
    if (final->map[node] != SITE_NONE)
      {
        const Level *level = &depths->levels[chosen[node]];

        (*stats)[final->map[node]]
            = stats_of (depths, chosen[node], level->map[node]);
      }
  free (chosen);
}

/* Makes the level of sites that can be owners: for a split site, its parts at
 * the shallowest depth, since a wrapper's blocks belong to many owners. */
static void
owners_make (Profile *profile, const Depths *depths, Level *owners)
{
  uint32_t n_nodes = depths->sites->reader->n_nodes, offsets[N_LEVELS_MAX];

  owners->n = 0;
  for (unsigned i = 0; i < N_LEVELS_MAX; i++)
    {
      offsets[i] = owners->n;
      owners->n += depths->levels[i].n;
    }
  owners->sites = sli_tool_alloc ((owners->n + 1) * sizeof (uint32_t));
  for (unsigned i = 0; i < N_LEVELS_MAX; i++)
    if (depths->levels[i].n > 0)
      memcpy (owners->sites + offsets[i], depths->levels[i].sites,
              depths->levels[i].n * sizeof (uint32_t));
  owners->map = sli_tool_alloc (n_nodes * sizeof (uint32_t));
  for (uint32_t node = 0; node < n_nodes; node++)
    {
      unsigned level = 1;
      uint32_t number;

      while (level < N_LEVELS_MAX
             && depths->levels[level].map[node] == SITE_NONE)
        level++;
      if (level == N_LEVELS_MAX)
        level = 0;
      number = depths->levels[level].map[node];
      owners->map[node]
          = number == SITE_NONE ? SITE_NONE : offsets[level] + number;
    }
  profile->deeper_sites = owners->sites;
}

static bool
any_parts (const Depths *depths)
{
  for (unsigned i = 1; i < N_LEVELS_MAX; i++)
    if (depths->levels[i].n > 0)
      return true;
  return false;
}

/* Reads the trace once more for the sites that are wanted deeper: as a whole,
 * for the functions in which they may live, and in parts.  Without functions
 * and parts it would give nothing new. */
static void
depths_read (Profile *profile, const ProfileOptions *options, Depths *depths)
{
  const Level *levels[N_LEVELS_MAX];
  uint32_t n_nodes = depths->sites->reader->n_nodes;
  Level owners, whole = depths->levels[0];
  unsigned n = 1;

  depths->stats[0] = depths->first;
  if (!any_parts (depths) && profile->reader->n_modules == 0)
    return;
  whole.map = sli_tool_alloc (n_nodes * sizeof (uint32_t));
  for (uint32_t node = 0; node < n_nodes; node++)
    {
      uint32_t number = depths->levels[0].map[node];

      whole.map[node]
          = number != SITE_NONE && depths->wanted[number] ? number : SITE_NONE;
    }
  owners_make (profile, depths, &owners);
  levels[0] = &whole;
  for (unsigned i = 1; i < N_LEVELS_MAX; i++)
    if (depths->levels[i].n > 0)
      levels[n++] = &depths->levels[i];
  profile->deeper = sli_level_analyse (profile, options, "depths", &owners,
                                       levels, n, profile->sites);
  for (unsigned i = N_LEVELS_MAX; i-- > 0;)
    if (i == 0 || depths->levels[i].n > 0)
      depths->stats[i] = profile->deeper->stats[--n];
  free (whole.map);
  free (owners.map);
}

void
sli_depths_find (Profile *profile, const ProfileOptions *options,
                 const Level *first, const bool *wanted, Level *final,
                 const SiteStats ***stats)
{
  Depths depths = { .sites = profile->sites,
                    .levels = { *first },
                    .first = profile->first->stats[0],
                    .wanted = wanted,
                    .totals = &profile->first->totals };

  levels_make (&depths, wanted);
  depths_read (profile, options, &depths);
  classes_find (&depths);
  for (unsigned high = 0; high < N_LEVELS_MAX; high++)
    for (unsigned deep = high + 1; deep < N_LEVELS_MAX; deep++)
      splits_try (&depths, high, deep);
  final_choose (&depths, final, stats);
  for (unsigned i = 0; i < N_LEVELS_MAX; i++)
    {
      if (i > 0)
        level_clear (&depths.levels[i]);
      free (depths.classes[i]);
      free (depths.split[i]);
    }
}
