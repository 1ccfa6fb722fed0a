/* profile-reading.c - the events of a trace, one after the other
 *
 * Tools.  Events outside the window of time are left out, and the data that an
 * analysis will need for the next events is fetched.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "profile-parts.h"

#define EXPECT_EVENTS 16 /* between the steps of sli_analysis_expect() */

static bool
in_window (const TraceReader *reader, const ProfileOptions *options,
           const TraceEvent *event)
{
  double at;

  if (options->to_time <= 0)
    return true;
  at = ((double) event->ticks - (double) reader->head.start_ticks)
       / (double) reader->head.ticks_per_sec;
  return at >= options->from_time && at <= options->to_time;
}

void
sli_reading_begin (Reading *reading, Profile *profile,
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

/* The next event, valid until the next call; NULL at the end. */
const TraceEvent *
sli_reading_next (Reading *reading)
{
  const TraceEvent *event;

  while (!reading->ended && reading->n_queue < QUEUE_EVENTS - 1)
    reading->ended = !queue_fill (reading);
  if (reading->n_queue == 0)
    {
      sli_progress_end (&reading->progress);
      return NULL;
    }
  event = queue_at (reading, 0);
  reading->first++;
  reading->n_queue--;
  return event;
}
