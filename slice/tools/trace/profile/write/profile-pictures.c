/* profile-pictures.c - the pictures of a report, from one more reading
 *
 * Tools.  For each hotline, when and from where its blocks were allocated and
 * freed; for the whole trace, the bytes over time and the live blocks at the
 * peak.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tools/trace/profile/profile-parts.h"
#include <stdlib.h>
#include <string.h>

typedef struct
{
  Profile *profile;
  const Analysis *analysis;
  uint64_t n_events, bytes, first_ticks, last_ticks; /* of the whole */
  uint64_t bytes_now, live_now;
  uint64_t site_live[N_SERIES], live_before[N_SERIES], total_before;
  uint8_t *series_of; /* by result */
  uint32_t column[N_AXES];
  uint64_t peak_event, chosen_ticks;
  bool chosen_done;
  uint32_t free_node;
} Detail;

static unsigned
scaled (uint64_t value, uint64_t most, unsigned n)
{
  uint64_t at;

  if (most == 0)
    return 0;
  at = (uint64_t) ((double) value / (double) most * n);
  return at >= n ? n - 1 : (unsigned) at;
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
  double ticks = (double) (detail->last_ticks - detail->first_ticks);

  positions[AXIS_TIME]
      = ticks <= 0
            ? 0
            : (double) (analysis->now_ticks - detail->first_ticks) / ticks;
  positions[AXIS_EVENTS]
      = (double) analysis->now / (double) (detail->n_events + 1);
  positions[AXIS_BYTES]
      = (double) detail->bytes_now / (double) (detail->bytes + 1);
  for (int axis = 0; axis < N_AXES; axis++)
    {
      Series *series = &detail->profile->series[axis];
      int column = (int) (positions[axis] * SERIES_COLUMNS);

      if (column < 0)
        column = 0;
      if (column >= SERIES_COLUMNS)
        column = SERIES_COLUMNS - 1;
      /* a column starts with the bytes that were live before this event */
      while ((int) detail->column[axis] < column)
        {
          uint32_t at = ++detail->column[axis];

          series->total[at] = detail->total_before;
          memcpy (series->live[at], detail->live_before,
                  sizeof series->live[at]);
        }
      if (detail->live_now >= series->total[column])
        {
          series->total[column] = detail->live_now;
          memcpy (series->live[column], detail->site_live,
                  sizeof detail->site_live);
        }
      series->n = SERIES_COLUMNS;
    }
  detail->total_before = detail->live_now;
  memcpy (detail->live_before, detail->site_live, sizeof detail->site_live);
}

static uint32_t
result_of (const Detail *detail, const LiveObject *object)
{
  return detail->profile->final_map[object->node];
}

/* The bytes that an object stands for. */
static uint64_t
bytes_of (const Detail *detail, uint64_t size)
{
  double weight;

  if (detail->profile->sample_bytes == 0)
    return size;
  weight = sli_profile_weight (detail->profile, size);
  return rounded_count ((double) size * weight);
}

static void
detail_allocated (void *user, const Analysis *analysis, LiveObject *object,
                  uint32_t site)
{
  Detail *detail = user;
  uint32_t result = result_of (detail, object);
  uint64_t bytes = bytes_of (detail, object->size);
  Picture *picture;
  uint64_t rounded;

  (void) site;
  detail->bytes_now += bytes;
  detail->live_now += bytes;
  if (result == SITE_NONE)
    return;
  detail->site_live[detail->series_of[result]] += bytes;
  picture = detail->profile->results[result].picture;
  if (picture == NULL)
    return;
  rounded = rounded_size (object->size);
  picture->live_n++;
  picture->live += rounded;
  picture->offset += rounded;
  picture->size_n[log2_of (object->size)]++;
  picture_offset (picture,
                  scaled (analysis->now, detail->n_events, PICTURE_COLUMNS));
}

static void
cell_mark (Detail *detail, Picture *picture, uint64_t allocated,
           uint64_t freed)
{
  uint8_t *cell
      = &picture->cells[scaled (freed, detail->n_events, PICTURE_ROWS)]
                       [scaled (allocated, detail->n_events, PICTURE_COLUMNS)];

  if (*cell < 255)
    ++*cell;
}

static FreePair *
free_pair (Profile *profile, uint32_t result, uint32_t node)
{
  const uint64_t key = (uint64_t) result << 32 | node;
  uint32_t *number;

  if (profile->n_free_pairs == FREE_PAIRS_MOST
      && table_get (&profile->free_pair_of, key) == 0)
    return NULL;
  number = sli_table_add (&profile->free_pair_of, key);
  if (*number == 0)
    {
      *number = ++profile->n_free_pairs;
      profile->free_pairs[*number - 1]
          = (FreePair){ .result = result, .node = node };
    }
  return &profile->free_pairs[*number - 1];
}

static void
detail_freed (void *user, const Analysis *analysis, const LiveObject *object,
              uint32_t site, unsigned op)
{
  Detail *detail = user;
  uint32_t result = result_of (detail, object);
  uint64_t bytes = bytes_of (detail, object->size);
  Picture *picture;
  FreePair *pair;

  (void) site;
  (void) op;
  detail->live_now -= bytes;
  if (result == SITE_NONE)
    return;
  detail->site_live[detail->series_of[result]] -= bytes;
  picture = detail->profile->results[result].picture;
  if (picture == NULL)
    return;
  pair = free_pair (detail->profile, result, detail->free_node);
  if (pair != NULL)
    {
      pair->n += sli_profile_weight (detail->profile, object->size);
      pair->bytes += (double) bytes;
    }
  picture->live_n--;
  picture->live -= rounded_size (object->size);
  picture->life_n[log2_of (analysis->now - object->allocated)]++;
  cell_mark (detail, picture, object->allocated, analysis->now);
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
  const Profile *profile;
  double *values;
  uint32_t n_nodes;
} LiveNote;

static void
live_note (void *user, const LiveObject *object)
{
  LiveNote *note = user;
  double weight = sli_profile_weight (note->profile, object->size);

  note->values[object->node] += weight * (double) object->size;
  note->values[note->n_nodes + object->node] += weight;
}

/* Notes what is live now, as whole numbers. */
static void
live_read (const Profile *profile, const Analysis *analysis, uint64_t *values)
{
  uint32_t n = profile->reader->n_nodes;
  LiveNote note
      = { profile, sli_tool_zero (2 * (size_t) n * sizeof (double)), n };

  sli_analysis_each_live (analysis, live_note, &note);
  for (size_t i = 0; i < 2 * (size_t) n; i++)
    values[i] = rounded_count (note.values[i]);
  free (note.values);
}

static void
detail_event (Detail *detail, Analysis *analysis, const TraceEvent *event)
{
  detail->free_node = event->node;
  if (detail->profile->chosen_live != NULL && !detail->chosen_done
      && event->ticks >= detail->chosen_ticks)
    {
      detail->chosen_done = true;
      live_read (detail->profile, analysis, detail->profile->chosen_live);
    }
  sli_analysis_event (analysis, event);
  series_step (detail, analysis);
  if (analysis->now == detail->peak_event)
    live_read (detail->profile, analysis, detail->profile->peak_live);
}

/* Gives bands of their own to the sites that had most bytes at their own
 * peaks. */
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
        detail->series_of[best] = (uint8_t) band;
    }
}

/* Reads the trace for pictures, series and the live blocks at the peak; the
 * numbers are known. */
void
sli_detail_read (Profile *profile, const ProfileOptions *options)
{
  const Totals *totals = &profile->totals;
  Analysis *analysis = sli_analysis_new (0, NULL, NULL);
  Detail detail;
  const TraceReader *reader;
  Reading reading;
  const TraceEvent *event;

  analysis->sites = profile->final_map;
  detail = (Detail){ .profile = profile,
                     .n_events = totals->n_events,
                     .bytes = totals->bytes,
                     .first_ticks = totals->first_ticks,
                     .last_ticks = totals->last_ticks,
                     .peak_event = totals->peak_event };
  reader = profile->reader;
  series_choose (&detail, profile);
  profile->peak_live
      = sli_tool_zero (2 * (size_t) reader->n_nodes * sizeof (uint64_t));
  profile->chosen_time = options->chosen_time;
  if (options->chosen_time >= 0)
    {
      profile->chosen_live
          = sli_tool_zero (2 * (size_t) reader->n_nodes * sizeof (uint64_t));
      detail.chosen_ticks
          = reader->head.start_ticks
            + (uint64_t) (options->chosen_time
                          * (double) reader->head.ticks_per_sec);
    }
  profile->free_pairs = sli_tool_zero (FREE_PAIRS_MOST * sizeof (FreePair));
  analysis->observer = (Observer){ detail_allocated, detail_freed, &detail };
  sli_reading_begin (&reading, profile, options, analysis, "pictures");
  while ((event = sli_reading_next (&reading)) != NULL)
    detail_event (&detail, analysis, event);
  sli_analysis_free (analysis);
  free (detail.series_of);
}
