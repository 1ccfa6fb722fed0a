/* report-series.c - memory over time, of one run and of two
 *
 * Tools.  The pictures are stretched to the page's width; names of ticks are
 * not in them, or they would be stretched as well.
 *
 * SPDX-License-Identifier: MIT
 */
#include "report.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SERIES_HEIGHT 220
#define SERIES_WIDTH 600

static double
rss_most (const JsonValue *rss)
{
  double most = 0;

  for (size_t i = 0; rss != NULL && i < rss->n_items; i++)
    most = fmax (most, sli_json_item_number (&rss->items[i], 1));
  return most;
}

static double
total_most (const JsonValue *total)
{
  double most = 0;

  for (size_t i = 0; total != NULL && i < total->n_items; i++)
    most = fmax (most, total->items[i].number);
  return most;
}

/* The bytes at the upper edge.  A resident curve far above the live bytes
 * leaves the picture, or they would be too small to see. */
static double
series_most (const JsonValue *total, const JsonValue *rss, double peak)
{
  double most = fmax (peak, total_most (total));

  most = fmax (most, fmin (rss_most (rss), 2 * most));
  return most > 0 ? most : 1;
}

/* The distance of the lines that mark bytes: 1, 2 or 5 times a power of ten,
 * so that there are two to five. */
static double
ticks_distance (double most)
{
  double power = pow (10, floor (log10 (most)));
  double lead = most / power;

  return power * (lead < 2 ? 0.5 : lead < 5 ? 1 : 2);
}

static void
ticks_draw (FILE *file, double most)
{
  double step = ticks_distance (most);

  for (double at = step; at < most; at += step)
    fprintf (file, "<path class=\"tick\" d=\"M0 %.1fH%d\"/>",
             SERIES_HEIGHT * (1 - at / most), SERIES_WIDTH);
}

/* Their names: not in the picture, which is stretched. */
static void
ticks_name (FILE *file, double most)
{
  double step = ticks_distance (most);

  for (double at = step; at < most; at += step)
    fprintf (file, "<span class=\"tick\" style=\"top:%.1f%%\">%s</span>",
             100 * (1 - at / most), sli_human_bytes (at));
}

/* Bands stand on each other, the first at the bottom. */
static void
bands_draw (FILE *file, const JsonValue *bands, double most)
{
  size_t n = bands->n_items == 0 ? 0 : bands->items[0].n_items;
  double *low = sli_tool_zero ((n + 1) * sizeof *low);

  for (size_t band = 0; band < bands->n_items; band++)
    {
      const JsonValue *values = &bands->items[band];
      double sum = 0;

      for (size_t i = 0; i < n; i++)
        sum += sli_json_item_number (values, i);
      if (sum <= 0)
        continue;
      fprintf (file, "<path class=\"b%zu\" d=\"M0 %.0f", band,
               SERIES_HEIGHT * (1 - low[0] / most));
      for (size_t i = 0; i < n; i++)
        fprintf (
            file, "L%zu %.0f", i,
            SERIES_HEIGHT
                * (1 - (low[i] + sli_json_item_number (values, i)) / most));
      for (size_t i = n; i-- > 0;)
        {
          fprintf (file, "L%zu %.0f", i, SERIES_HEIGHT * (1 - low[i] / most));
          low[i] += sli_json_item_number (values, i);
        }
      fputs ("Z\"/>", file);
    }
  free (low);
}

static void
rss_draw (FILE *file, const JsonValue *rss, double most)
{
  fputs ("<path class=\"rss\" d=\"", file);
  for (size_t i = 0; i < rss->n_items; i++)
    fprintf (file, "%c%.0f %.0f", i == 0 ? 'M' : 'L',
             SERIES_WIDTH * sli_json_item_number (&rss->items[i], 0),
             SERIES_HEIGHT
                 * (1 - sli_json_item_number (&rss->items[i], 1) / most));
  fputs ("\"/>", file);
}

void
sli_svg_series (FILE *file, const JsonValue *series, const char *axis,
                const JsonValue *rss, double peak, const char *end)
{
  const JsonValue *total = sli_json_get (series, "total");
  const JsonValue *bands = sli_json_get (series, "bands");
  bool by_time = strcmp (axis, "time") == 0;
  double most = series_most (total, by_time ? rss : NULL, peak);
  char *title = sli_tool_text ("Live bytes over %s, at most %s", axis,
                               sli_human_bytes (peak));
  size_t n;
  size_t peak_at = 0;

  fputs ("<div class=\"plot\">", file);
  sli_svg_begin (file, "wide", SERIES_WIDTH, SERIES_HEIGHT, title, true);
  free (title);
  n = total == NULL ? 0 : total->n_items;
  if (bands != NULL)
    bands_draw (file, bands, most);
  ticks_draw (file, most);
  fputs ("<path class=\"line\" d=\"", file);
  for (size_t i = 0; i < n; i++)
    {
      if (sli_json_item_number (total, i)
          > sli_json_item_number (total, peak_at))
        peak_at = i;
      fprintf (file, "%c%zu %.1f", i == 0 ? 'M' : 'L', i,
               SERIES_HEIGHT * (1 - sli_json_item_number (total, i) / most));
    }
  fprintf (file, "\"/><path class=\"cursor\" d=\"M%zu 0V%d\"/>", peak_at,
           SERIES_HEIGHT);
  if (by_time && rss != NULL && rss->n_items > 1)
    rss_draw (file, rss, most);
  fputs ("</svg>", file);
  ticks_name (file, most);
  fprintf (file,
           "</div><div class=\"scale ends\"><span>0</span><span>%s</span>"
           "</div>",
           end);
  fprintf (file, "<p class=\"scale\">The dotted line is the peak, %s",
           sli_human_bytes (peak));
  if (by_time && rss != NULL && rss->n_items > 1)
    fprintf (file,
             "; dashed: the process's own resident memory, at most %s",
             sli_human_bytes (rss_most (rss)));
  fputs ("</p>", file);
}

/* --- two runs ------------------------------------------------------------ */

/* A name of the axis's tick, which lets a reader find the place. */
static const char *
place_name (const char *axis, double at)
{
  return strcmp (axis, "seconds") == 0  ? sli_human_nsec (1e9 * at)
         : strcmp (axis, "events") == 0 ? sli_human_count (at)
                                        : sli_human_bytes (at);
}

static void
places_draw (FILE *file, double end)
{
  double step = ticks_distance (end);

  for (double at = step; at < end; at += step)
    fprintf (file, "<path class=\"tick\" d=\"M%.1f 0V%d\"/>",
             SERIES_WIDTH * at / end, SERIES_HEIGHT);
}

/* A name at the right edge would leave the page. */
#define PLACE_MOST 0.93

static void
places_name (FILE *file, const char *axis, double end)
{
  double step = ticks_distance (end);

  fputs ("<div class=\"scale places\"><span class=\"first\">0</span>", file);
  for (double at = step; at < PLACE_MOST * end; at += step)
    fprintf (file, "<span style=\"left:%.1f%%\">%s</span>", 100 * at / end,
             place_name (axis, at));
  fputs ("</div>", file);
}

/* part  of the picture's width that the run takes */
static void
run_draw (FILE *file, const JsonValue *total, int number, double part,
          double most)
{
  size_t n = total == NULL ? 0 : total->n_items;

  fprintf (file, "<path class=\"c%d\" d=\"", number);
  for (size_t i = 0; i < n; i++)
    fprintf (file, "%c%.1f %.1f", i == 0 ? 'M' : 'L',
             SERIES_WIDTH * part * (double) (i + 1) / (double) n,
             SERIES_HEIGHT * (1 - sli_json_item_number (total, i) / most));
  fputs ("\"/>", file);
}

void
sli_svg_runs (FILE *file, const JsonValue *const runs[2], const char *series,
              const char *axis)
{
  const JsonValue *totals[2];
  double ends[2], most = 0, end = 0;
  char *title;

  for (int i = 0; i < 2; i++)
    {
      const JsonValue *axes = sli_json_get (runs[i], "series");

      totals[i] = sli_json_get (sli_json_get (axes, series), "total");
      ends[i] = sli_json_number (sli_json_get (runs[i], "totals"), axis);
      end = fmax (end, ends[i]);
      most = fmax (most, total_most (totals[i]));
    }
  end = end > 0 ? end : 1;
  most = most > 0 ? most : 1;
  fputs ("<div class=\"plot\">", file);
  title = sli_tool_text ("Live bytes of both runs over %s, at most %s", series,
                         sli_human_bytes (most));
  sli_svg_begin (file, "wide", SERIES_WIDTH, SERIES_HEIGHT, title, true);
  free (title);
  ticks_draw (file, most);
  places_draw (file, end);
  for (int i = 0; i < 2; i++)
    run_draw (file, totals[i], i, ends[i] / end, most);
  fputs ("</svg>", file);
  ticks_name (file, most);
  fputs ("</div>", file);
  places_name (file, axis, end);
}
