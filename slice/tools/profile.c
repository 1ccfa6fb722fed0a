/* profile.c - a trace read through: sites at their depth, with their classes
 *
 * Tools.  A site that has no good class at depth 1 is looked at deeper, and
 * split at the shallowest depth where most of its births fall into good
 * classes; children that have none are treated the same again.  Depth must
 * be paid for: a site whose classes do not gain stays whole.
 *
 * Theory: section 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "profile.h"
#include "tool.h"
#include <regex.h>
#include <stdlib.h>
#include <string.h>

static const unsigned level_depths[N_LEVELS_MAX] = { 1, 2, 3, 4, 6, 8 };
#define SPLIT_GOOD_SHARE 0.80
#define SPLIT_BIRTHS_MIN 100
/* Free sites are kept for hotlines: pairs of site and freeing node. */
#define FREE_PAIR_SLOTS 65536

/* The sites of one depth, numbered densely. */
typedef struct
{
  uint32_t *map;   /* node to number */
  uint32_t *sites; /* number to site */
  uint32_t n;
} Level;

#define QUEUE_EVENTS 64 /* a power of two */
#define EXPECT_EVENTS 16 /* between the steps of sli_analysis_expect() */

/* One reading of the trace.  Events wait in a queue while what they need is
 * fetched into the cache: most of an analysis' time is misses. */
typedef struct
{
  Profile *profile;
  const ProfileOptions *options;
  const Analysis *analysis; /* may be NULL */
  Progress progress;
  uint64_t n;
  uint32_t first, n_queue;
  bool ended;
  TraceEvent queue[QUEUE_EVENTS];
} Reading;

typedef struct
{
  uint64_t key; /* result << 32 | node, plus 1; 0: free */
  uint64_t n, bytes;
} FreePair;

typedef struct
{
  Profile *profile;
  const Analysis *analysis;
  uint64_t n_events, bytes, first_ticks, last_ticks; /* of the whole */
  uint64_t bytes_now;
  uint64_t site_live[N_SERIES], live_before[N_SERIES], total_before;
  uint8_t *series_of; /* by result */
  uint32_t column[N_AXES];
  uint64_t peak_event, chosen_ticks;
  bool chosen_done;
  uint32_t death_node;
} Detail;

static FreePair *free_pairs; /* of the one profile that a program makes */

static bool
in_window (const TraceReader *reader, const ProfileOptions *options,
           const TraceEvent *event)
{
  if (options->to_time <= 0)
    return true;
  double at = ((double)event->ticks - (double)reader->head.start_ticks)
              / (double)reader->head.ticks_per_sec;
  return at >= options->from_time && at <= options->to_time;
}

static void
reading_begin (Reading *reading, Profile *profile,
               const ProfileOptions *options, const Analysis *analysis,
               const char *what)
{
  *reading = (Reading){ .profile = profile,
                        .options = options,
                        .analysis = analysis };
  sli_trace_rewind (profile->reader);
  sli_progress_begin (&reading->progress, what, profile->reader->n_map);
}

static TraceEvent *
queue_at (Reading *reading, uint32_t place)
{
  return &reading->queue[(reading->first + place) & (QUEUE_EVENTS - 1)];
}

static void
queue_expect (Reading *reading)
{
  for (unsigned step = 0; step < 3; step++)
    if (reading->n_queue > step * EXPECT_EVENTS)
      sli_analysis_expect (
          reading->analysis,
          queue_at (reading, reading->n_queue - 1 - step * EXPECT_EVENTS),
          step);
}

static bool
queue_fill (Reading *reading)
{
  const TraceReader *reader = reading->profile->reader;
  TraceEvent *event = queue_at (reading, reading->n_queue);
  do
    {
      if (!sli_trace_next (reading->profile->reader, event))
        return false;
      if ((++reading->n & 0xffff) == 0)
        sli_progress_step (&reading->progress, sli_trace_position (reader),
                           reading->n);
    }
  while (!in_window (reader, reading->options, event));
  reading->n_queue++;
  if (reading->analysis != NULL)
    queue_expect (reading);
  return true;
}

/* The next event, good until the next call; NULL at the end. */
static const TraceEvent *
reading_next (Reading *reading)
{
  while (!reading->ended && reading->n_queue < QUEUE_EVENTS - 1)
    reading->ended = !queue_fill (reading);
  if (reading->n_queue == 0)
    {
      sli_progress_end (&reading->progress);
      return NULL;
    }
  const TraceEvent *event = queue_at (reading, 0);
  reading->first++;
  reading->n_queue--;
  return event;
}

/* --- levels -------------------------------------------------------------- */

static void
level_finish (Level *level, const Sites *sites, uint32_t n_nodes)
{
  uint32_t *number = sli_tool_alloc (sites->n_sites * sizeof *number);
  for (uint32_t i = 0; i < sites->n_sites; i++)
    number[i] = SITE_NONE;
  level->sites = NULL;
  level->n = 0;
  uint32_t room = 0;
  for (uint32_t node = 0; node < n_nodes; node++)
    {
      uint32_t site = level->map[node];
      if (site == SITE_NONE)
        continue;
      if (number[site] == SITE_NONE)
        {
          if (level->n == room)
            {
              room = room * 2 + 64;
              level->sites
                  = sli_tool_grow (level->sites, room * sizeof (uint32_t));
            }
          level->sites[level->n] = site;
          number[site] = level->n++;
        }
      level->map[node] = number[site];
    }
  free (number);
}

static void
level_make (Level *level, Sites *sites, unsigned depth)
{
  const TraceReader *reader = sites->reader;
  level->map = sli_tool_alloc (reader->n_nodes * sizeof (uint32_t));
  for (uint32_t node = 0; node < reader->n_nodes; node++)
    level->map[node] = sites->births[node] > 0
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

static Analysis *
analysis_run (Profile *profile, const ProfileOptions *options,
              const char *what, const Level *first,
              const Level *const *levels, unsigned n_levels)
{
  const uint32_t *maps[N_LEVELS_MAX];
  uint32_t n_sites[N_LEVELS_MAX];
  for (unsigned i = 0; i < n_levels; i++)
    {
      maps[i] = levels[i]->map;
      n_sites[i] = levels[i]->n;
    }
  Analysis *analysis = sli_analysis_new (n_levels, maps, n_sites);
  analysis->sites = first->map;
  analysis->n_first_sites = first->n;
  analysis->cost_floor = profile->reader->head.empty_cost;
  Reading reading;
  const TraceEvent *event;
  reading_begin (&reading, profile, options, analysis, what);
  while ((event = reading_next (&reading)) != NULL)
    sli_analysis_event (analysis, event);
  sli_analysis_finish (analysis);
  return analysis;
}

/* --- depth --------------------------------------------------------------- */

static double
share_of (const SiteStats *stats, const Totals *totals)
{
  return totals->n_births == 0
             ? 0
             : (double)stats->births / (double)totals->n_births;
}

static bool
wants_split (SiteClass class)
{
  return class >= CLASS_POOL;
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
} Depths;

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
        if (site == SITE_NONE)
          continue;
        unsigned above = level_of (depths, node, deep - 1);
        uint32_t *n = &n_parts[above][depths->levels[above].map[node]];
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
          const SiteStats *stats = &depths->stats[level][i];
          Verdict verdict;
          sli_classify (stats, share_of (stats, depths->totals),
                        depths->totals->peak, &verdict);
          depths->classes[level][i] = verdict.class;
        }
    }
}

/* For each part at level `deep` of each site at level `high`: births in all
 * and births in good classes, and with that the split. */
static void
splits_try (Depths *depths, unsigned high, unsigned deep)
{
  const Level *top = &depths->levels[high];
  uint64_t *good = sli_tool_zero ((top->n + 1) * sizeof *good);
  bool *counted[N_LEVELS_MAX];
  uint32_t n_nodes = depths->sites->reader->n_nodes;
  for (unsigned i = high + 1; i <= deep; i++)
    counted[i] = sli_tool_zero (depths->levels[i].n + 1);
  for (uint32_t node = 0; node < n_nodes; node++)
    {
      uint32_t whole = top->map[node];
      unsigned level = level_of (depths, node, deep);
      if (whole == SITE_NONE || level <= high)
        continue;
      uint32_t part = depths->levels[level].map[node];
      if (counted[level][part])
        continue;
      counted[level][part] = true;
      const SiteStats *stats = &depths->stats[level][part];
      if (stats->births >= SPLIT_BIRTHS_MIN
          && sli_class_is_good (depths->classes[level][part]))
        good[whole] += stats->births;
    }
  for (uint32_t i = 0; i < top->n; i++)
    {
      uint64_t births = depths->stats[high][i].births;
      if (depths->split[high][i] == 0 && births >= SPLIT_BIRTHS_MIN
          && wants_split (depths->classes[high][i])
          && (double)good[i] >= SPLIT_GOOD_SHARE * (double)births)
        depths->split[high][i] = (uint8_t)deep;
    }
  for (unsigned i = high + 1; i <= deep; i++)
    free (counted[i]);
  free (good);
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
      while ((split
              = depths->split[level][depths->levels[level].map[node]])
             != 0)
        level = level_of (depths, node, split);
      chosen[node] = (uint8_t)level;
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
            = &depths->stats[chosen[node]][level->map[node]];
      }
  free (chosen);
}

/* Reads the trace once more for the sites that are wanted deeper, if there
 * are any that have several parts there. */
static void
depths_read (Profile *profile, const ProfileOptions *options, Depths *depths)
{
  const Level *levels[N_LEVELS_MAX];
  unsigned n = 0;
  for (unsigned i = 1; i < N_LEVELS_MAX; i++)
    if (depths->levels[i].n > 0)
      levels[n++] = &depths->levels[i];
  if (n == 0)
    return;
  profile->deeper = analysis_run (profile, options, "depths",
                                  &depths->levels[0], levels, n);
  for (unsigned i = N_LEVELS_MAX - 1; i > 0; i--)
    if (depths->levels[i].n > 0)
      depths->stats[i] = profile->deeper->stats[--n];
}

static void
depths_find (Profile *profile, const ProfileOptions *options,
             const Level *first, const bool *wanted, Level *final,
             const SiteStats ***stats)
{
  Depths depths = { .sites = profile->sites,
                    .levels = { *first },
                    .stats = { profile->first->stats[0] },
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

/* --- pictures ------------------------------------------------------------ */

static unsigned
scaled (uint64_t value, uint64_t most, unsigned n)
{
  if (most == 0)
    return 0;
  uint64_t at = (uint64_t)((double)value / (double)most * n);
  return at >= n ? n - 1 : (unsigned)at;
}

static void
picture_offset (Picture *picture, unsigned column)
{
  if (picture->offset_high[column] == 0
      || picture->offset < picture->offset_low[column])
    picture->offset_low[column] = picture->offset;
  if (picture->offset > picture->offset_high[column])
    picture->offset_high[column] = picture->offset;
  if (picture->live > picture->live_high[column])
    picture->live_high[column] = picture->live;
  if (picture->offset > picture->offset_most)
    picture->offset_most = picture->offset;
}

static void
series_step (Detail *detail, const Analysis *analysis)
{
  double positions[N_AXES];
  double ticks = (double)(detail->last_ticks - detail->first_ticks);
  positions[AXIS_TIME]
      = ticks <= 0
            ? 0
            : (double)(analysis->now_ticks - detail->first_ticks) / ticks;
  positions[AXIS_EVENTS]
      = (double)analysis->now / (double)(detail->n_events + 1);
  positions[AXIS_BYTES]
      = (double)detail->bytes_now / (double)(detail->bytes + 1);
  for (int axis = 0; axis < N_AXES; axis++)
    {
      Series *series = &detail->profile->series[axis];
      int column = (int)(positions[axis] * SERIES_COLUMNS);
      if (column < 0)
        column = 0;
      if (column >= SERIES_COLUMNS)
        column = SERIES_COLUMNS - 1;
      /* a column begins with what was alive before this event */
      while ((int)detail->column[axis] < column)
        {
          uint32_t at = ++detail->column[axis];
          series->total[at] = detail->total_before;
          memcpy (series->live[at], detail->live_before,
                  sizeof series->live[at]);
        }
      if (analysis->totals.live >= series->total[column])
        {
          series->total[column] = analysis->totals.live;
          memcpy (series->live[column], detail->site_live,
                  sizeof detail->site_live);
        }
      series->n = SERIES_COLUMNS;
    }
  detail->total_before = analysis->totals.live;
  memcpy (detail->live_before, detail->site_live, sizeof detail->site_live);
}

static uint32_t
result_of (const Detail *detail, const LiveObject *object)
{
  return detail->profile->final_map[object->node];
}

static void
detail_birth (void *user, const Analysis *analysis, LiveObject *object,
              uint32_t site)
{
  Detail *detail = user;
  uint32_t result = result_of (detail, object);
  (void)site;
  detail->bytes_now += object->size;
  if (result == SITE_NONE)
    return;
  detail->site_live[detail->series_of[result]] += object->size;
  Picture *picture = detail->profile->results[result].picture;
  if (picture == NULL)
    return;
  uint64_t rounded = rounded_size (object->size);
  picture->live_n++;
  picture->live += rounded;
  picture->offset += rounded;
  picture->size_n[log2_of (object->size)]++;
  picture_offset (picture,
                  scaled (analysis->now, detail->n_events, PICTURE_COLUMNS));
}

static void
cell_mark (Detail *detail, Picture *picture, uint64_t birth, uint64_t death)
{
  uint8_t *cell
      = &picture->cells[scaled (death, detail->n_events, PICTURE_ROWS)]
                       [scaled (birth, detail->n_events, PICTURE_COLUMNS)];
  if (*cell < 255)
    ++*cell;
}

static FreePair *
free_pair (uint32_t result, uint32_t node)
{
  uint64_t key = ((uint64_t)result << 32 | node) + 1;
  size_t at = (size_t)((key * UINT64_C (0x9E3779B97F4A7C15)) >> 48)
              & (FREE_PAIR_SLOTS - 1);
  for (unsigned tries = 0; tries < 64; tries++)
    {
      FreePair *pair = &free_pairs[(at + tries) & (FREE_PAIR_SLOTS - 1)];
      if (pair->key == key)
        return pair;
      if (pair->key == 0)
        {
          pair->key = key;
          return pair;
        }
    }
  return NULL;
}

static void
detail_death (void *user, const Analysis *analysis, const LiveObject *object,
              uint32_t site, unsigned op)
{
  Detail *detail = user;
  uint32_t result = result_of (detail, object);
  (void)site;
  (void)op;
  if (result == SITE_NONE)
    return;
  detail->site_live[detail->series_of[result]] -= object->size;
  Picture *picture = detail->profile->results[result].picture;
  if (picture == NULL)
    return;
  FreePair *pair = free_pair (result, detail->death_node);
  if (pair != NULL)
    {
      pair->n++;
      pair->bytes += object->size;
    }
  picture->live_n--;
  picture->live -= rounded_size (object->size);
  picture->life_n[log2_of (analysis->now - object->birth)]++;
  cell_mark (detail, picture, object->birth, analysis->now);
  if (picture->live_n == 0)
    {
      picture->offset = 0;
      picture_offset (
          picture, scaled (analysis->now, detail->n_events, PICTURE_COLUMNS));
    }
}

/* Bytes by node, then counts by node. */
typedef struct
{
  uint64_t *values;
  uint32_t n_nodes;
} LiveNote;

static void
live_note (void *user, const LiveObject *object)
{
  LiveNote *note = user;
  note->values[object->node] += object->size;
  note->values[note->n_nodes + object->node]++;
}

static void
detail_event (Detail *detail, Analysis *analysis, const TraceEvent *event)
{
  detail->death_node = event->node;
  if (detail->profile->chosen_live != NULL && !detail->chosen_done
      && event->ticks >= detail->chosen_ticks)
    {
      detail->chosen_done = true;
      LiveNote note
          = { detail->profile->chosen_live, detail->profile->reader->n_nodes };
      sli_analysis_each_live (analysis, live_note, &note);
    }
  sli_analysis_event (analysis, event);
  series_step (detail, analysis);
  LiveNote note
      = { detail->profile->peak_live, detail->profile->reader->n_nodes };
  if (analysis->now == detail->peak_event)
    sli_analysis_each_live (analysis, live_note, &note);
}

/* The sites that held most at their own peaks get bands of their own. */
static void
series_choose (Detail *detail, const Profile *profile)
{
  const SiteResult *results = profile->results;
  uint32_t n = profile->n_results;
  detail->series_of = sli_tool_alloc (n + 1);
  memset (detail->series_of, N_SERIES - 1, n);
  for (int band = 0; band < N_SERIES - 1; band++)
    {
      uint32_t best = SITE_NONE;
      for (uint32_t i = 0; i < n; i++)
        if (detail->series_of[i] == N_SERIES - 1
            && (best == SITE_NONE
                || results[i].stats->peak > results[best].stats->peak))
          best = i;
      if (best != SITE_NONE)
        detail->series_of[best] = (uint8_t)band;
    }
}

/* --- results ------------------------------------------------------------- */

static const SiteResult *ranking;

static int
rank_compare (const void *a, const void *b)
{
  const SiteStats *left = ranking[*(const uint32_t *)a].stats;
  const SiteStats *right = ranking[*(const uint32_t *)b].stats;
  uint64_t left_cost = left->cost + left->death_cost;
  uint64_t right_cost = right->cost + right->death_cost;
  if (left_cost != right_cost)
    return left_cost < right_cost ? 1 : -1;
  if (left->births != right->births)
    return left->births < right->births ? 1 : -1;
  if (left->bytes != right->bytes)
    return left->bytes < right->bytes ? 1 : -1;
  return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static void
results_rank (Profile *profile, uint32_t n_hot)
{
  uint32_t n = profile->n_results;
  profile->ranked = sli_tool_alloc ((n + 1) * sizeof (uint32_t));
  for (uint32_t i = 0; i < n; i++)
    profile->ranked[i] = i;
  ranking = profile->results;
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

static void
verdicts_find (Profile *profile)
{
  uint64_t cost = 0;
  for (uint32_t i = 0; i < profile->n_results; i++)
    cost += profile->results[i].stats->cost
            + profile->results[i].stats->death_cost;
  for (uint32_t i = 0; i < profile->n_results; i++)
    {
      SiteResult *result = &profile->results[i];
      const SiteStats *stats = result->stats;
      double share
          = cost > 0 ? (double)(stats->cost + stats->death_cost) / (double)cost
                     : share_of (stats, &profile->totals);
      sli_classify (stats, share, profile->totals.peak, &result->verdict);
    }
}

/* The reading for pictures, series, what is alive at the peak; the numbers
 * are known. */
static void
detail_run (Profile *profile, const ProfileOptions *options)
{
  const Totals *totals = &profile->totals;
  Analysis *analysis = sli_analysis_new (0, NULL, NULL);
  analysis->sites = profile->final_map;
  Detail detail = { .profile = profile,
                    .n_events = totals->n_events,
                    .bytes = totals->bytes,
                    .first_ticks = totals->first_ticks,
                    .last_ticks = totals->last_ticks,
                    .peak_event = totals->peak_event };
  const TraceReader *reader = profile->reader;
  series_choose (&detail, profile);
  profile->peak_live
      = sli_tool_zero (2 * (size_t)reader->n_nodes * sizeof (uint64_t));
  profile->chosen_time = options->chosen_time;
  if (options->chosen_time >= 0)
    {
      profile->chosen_live
          = sli_tool_zero (2 * (size_t)reader->n_nodes * sizeof (uint64_t));
      detail.chosen_ticks = reader->head.start_ticks
                            + (uint64_t)(options->chosen_time
                                         * (double)reader->head.ticks_per_sec);
    }
  free_pairs = sli_tool_zero (FREE_PAIR_SLOTS * sizeof (FreePair));
  analysis->observer = (Observer){ detail_birth, detail_death, &detail };
  Reading reading;
  const TraceEvent *event;
  reading_begin (&reading, profile, options, analysis, "pictures");
  while ((event = reading_next (&reading)) != NULL)
    detail_event (&detail, analysis, event);
  sli_analysis_free (analysis);
  free (detail.series_of);
}

static void
sites_count (Profile *profile, const ProfileOptions *options)
{
  Reading reading;
  const TraceEvent *event;
  reading_begin (&reading, profile, options, NULL, "sites");
  while ((event = reading_next (&reading)) != NULL)
    sli_sites_count (profile->sites, event);
  for (size_t i = 0; options->wrappers != NULL && options->wrappers[i]; i++)
    sli_sites_wrapper (profile->sites, options->wrappers[i]);
  sli_sites_settle (profile->sites);
}

/* Whether some site of depth 1 should be looked at deeper. */
static bool *
split_wishes (const Analysis *analysis)
{
  bool any = false;
  bool *wanted = sli_tool_zero (analysis->n_sites[0] + 1);
  for (uint32_t i = 0; i < analysis->n_sites[0]; i++)
    {
      const SiteStats *stats = &analysis->stats[0][i];
      Verdict verdict;
      sli_classify (stats, share_of (stats, &analysis->totals),
                    analysis->totals.peak, &verdict);
      wanted[i]
          = wants_split (verdict.class) && stats->births >= SPLIT_BIRTHS_MIN;
      any |= wanted[i];
    }
  if (any)
    return wanted;
  free (wanted);
  return NULL;
}

Profile *
sli_profile_new (const char *path, const ProfileOptions *options)
{
  char error[512];
  Profile *profile = sli_tool_zero (sizeof *profile);
  profile->reader = sli_trace_open (path, error);
  if (profile->reader == NULL)
    sli_tool_die (TOOL_BAD_INPUT, "%s", error);
  profile->symbols = sli_symbols_new (profile->reader);
  profile->sites = sli_sites_new (profile->reader, profile->symbols);
  sites_count (profile, options);

  Level first = { 0 }, final = { 0 };
  const Level *firsts[1] = { &first };
  unsigned depth = options->fixed_depth > 0 ? options->fixed_depth : 1;
  level_make (&first, profile->sites, depth);
  profile->first
      = analysis_run (profile, options, "patterns", &first, firsts, 1);
  profile->totals = profile->first->totals;
  bool *wanted
      = options->fixed_depth > 0 ? NULL : split_wishes (profile->first);
  const SiteStats **stats = NULL;
  if (wanted != NULL)
    depths_find (profile, options, &first, wanted, &final, &stats);
  free (wanted);

  profile->final_map = stats == NULL ? first.map : final.map;
  profile->first_sites = first.sites;
  profile->n_results = stats == NULL ? first.n : final.n;
  profile->results
      = sli_tool_zero ((profile->n_results + 1) * sizeof (SiteResult));
  for (uint32_t i = 0; i < profile->n_results; i++)
    {
      profile->results[i].site = stats == NULL ? first.sites[i]
                                               : final.sites[i];
      profile->results[i].stats
          = stats == NULL ? &profile->first->stats[0][i] : stats[i];
    }
  /* the ranking decides who gets a picture, so it comes before */
  results_rank (profile, options->n_hot);
  verdicts_find (profile);
  detail_run (profile, options);
  free (stats);
  free (final.sites);
  if (profile->final_map != first.map)
    free (first.map);
  if (profile->reader->n_damaged > 0)
    sli_tool_say ("%s: %u damaged, left out: %s", path,
                  profile->reader->n_damaged, profile->reader->damage);
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
  free (profile->peak_live);
  free (profile->chosen_live);
  free (free_pairs);
  free_pairs = NULL;
  free (profile);
}

double
sli_profile_seconds (const Profile *profile, uint64_t ticks)
{
  return (double)ticks / (double)profile->reader->head.ticks_per_sec;
}

/* --- callers ------------------------------------------------------------- */

static int
caller_compare (const void *a, const void *b)
{
  const Caller *left = a, *right = b;
  if (left->births != right->births)
    return left->births < right->births ? 1 : -1;
  return strcmp (left->function, right->function);
}

typedef struct
{
  Caller *callers;
  size_t n, n_room;
} CallerList;

static void
caller_add (CallerList *list, const char *function, uint64_t births,
            uint64_t bytes)
{
  for (size_t i = 0; i < list->n; i++)
    if (strcmp (list->callers[i].function, function) == 0)
      {
        list->callers[i].births += births;
        list->callers[i].bytes += bytes;
        return;
      }
  if (list->n + 1 >= list->n_room)
    {
      list->n_room = list->n_room * 2 + 16;
      list->callers
          = sli_tool_grow (list->callers, list->n_room * sizeof (Caller));
    }
  list->callers[list->n++] = (Caller){ function, births, bytes };
}

static Caller *
callers_end (CallerList *list)
{
  if (list->callers == NULL)
    list->callers = sli_tool_alloc (sizeof (Caller));
  qsort (list->callers, list->n, sizeof (Caller), caller_compare);
  list->callers[list->n] = (Caller){ 0 };
  return list->callers;
}

static const char *
frame_function (const Profile *profile, uint32_t node)
{
  if (node < TRACE_N_FIXED_NODES)
    return node == TRACE_NODE_CUT ? "(deeper than recorded)"
                                  : "(start of the thread)";
  return sli_symbols_find (profile->symbols, profile->reader->pcs[node])
      ->function;
}

/* The frame just outside of the site's own, or the first that matches. */
static const char *
consumer_of (const Profile *profile, uint32_t node, uint32_t depth,
             const regex_t *expression)
{
  const TraceReader *reader = profile->reader;
  uint32_t at = profile->sites->start[node];
  if (expression == NULL)
    {
      for (uint32_t i = 0; i < depth && at >= TRACE_N_FIXED_NODES; i++)
        at = reader->parents[at];
      return frame_function (profile, at);
    }
  for (; at >= TRACE_N_FIXED_NODES; at = reader->parents[at])
    {
      const char *function = frame_function (profile, at);
      if (regexec (expression, function, 0, NULL, 0) == 0)
        return function;
    }
  return "(none)";
}

Caller *
sli_profile_callers (const Profile *profile, uint32_t result,
                     const char *expression)
{
  CallerList list = { 0 };
  regex_t compiled;
  if (expression != NULL
      && regcomp (&compiled, expression, REG_EXTENDED | REG_NOSUB) != 0)
    sli_tool_die (TOOL_USAGE, "%s is no regular expression", expression);
  uint32_t depth = profile->sites->sites[profile->results[result].site].depth;
  for (uint32_t node = 0; node < profile->reader->n_nodes; node++)
    if (profile->final_map[node] == result)
      caller_add (&list,
                  consumer_of (profile, node, depth,
                               expression == NULL ? NULL : &compiled),
                  profile->sites->births[node], profile->sites->bytes[node]);
  if (expression != NULL)
    regfree (&compiled);
  return callers_end (&list);
}

/* The innermost frame that all of a site's stacks share: an arena for it must
 * be made there or further out. */
const char *
sli_profile_common (const Profile *profile, uint32_t result)
{
  const TraceReader *reader = profile->reader;
  uint32_t common = UINT32_MAX;
  for (uint32_t node = 0; node < reader->n_nodes; node++)
    {
      if (profile->final_map[node] != result)
        continue;
      uint32_t other = profile->sites->start[node];
      if (common == UINT32_MAX)
        common = other;
      /* parents have smaller numbers than their children */
      while (common != other)
        if (common > other)
          common = reader->parents[common];
        else
          other = reader->parents[other];
    }
  return common == UINT32_MAX ? "" : frame_function (profile, common);
}

Caller *
sli_profile_free_sites (const Profile *profile, uint32_t result)
{
  CallerList list = { 0 };
  for (size_t i = 0; i < FREE_PAIR_SLOTS; i++)
    if (free_pairs[i].key != 0 && (free_pairs[i].key - 1) >> 32 == result)
      {
        uint32_t node = (uint32_t)(free_pairs[i].key - 1);
        caller_add (&list, frame_function (profile, node), free_pairs[i].n,
                    free_pairs[i].bytes);
      }
  return callers_end (&list);
}
