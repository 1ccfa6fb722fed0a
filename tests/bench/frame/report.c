/* report.c - figures with their spread, as lines to read or as JSON
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
double_compare (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* The quantile of sorted values, interpolated. */
static double
quantile (const double *sorted, unsigned n, double q)
{
  double place = q * (n - 1);
  unsigned below = (unsigned) place;
  unsigned above = below + 1 < n ? below + 1 : below;

  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

void
bench_add_laps (Run *run, const char *name, unsigned n, const double *laps,
                double first)
{
  static double sorted[LAPS_MAX];
  double sum = 0;
  double squares = 0;

  if (run->n_figures == FIGURES_MAX || n == 0 || n > LAPS_MAX)
    bench_die ("too many figures, or no laps");
  memcpy (sorted, laps, n * sizeof *laps);
  qsort (sorted, n, sizeof *sorted, double_compare);
  for (unsigned i = 0; i < n; i++)
    sum += laps[i];
  for (unsigned i = 0; i < n; i++)
    squares += (laps[i] - sum / n) * (laps[i] - sum / n);
  run->figures[run->n_figures++] = (Figure){
    .name = name,
    .n = n,
    .median = quantile (sorted, n, 0.5),
    .low_quartile = quantile (sorted, n, 0.25),
    .high_quartile = quantile (sorted, n, 0.75),
    .best = sorted[0],
    .mean = sum / n,
    .deviation = n > 1 ? sqrt (squares / (n - 1)) : 0,
    .first = first,
  };
}

void
bench_add_value (Run *run, const char *name, double value)
{
  bench_add_laps (run, name, 1, &value, value);
}

Series *
bench_add_series (Run *run, const char *name, const char *x_name,
                  const char *y_name, unsigned n_max)
{
  Series *series;
  double *places;

  if (run->n_series == SERIES_MAX)
    bench_die ("too many series");
  series = &run->series[run->n_series++];
  places = bench_map (2 * n_max * sizeof *places);
  *series = (Series){ name, x_name, y_name, 0, n_max, places, places + n_max };
  return series;
}

void
bench_add_point (Series *series, double x, double y)
{
  if (series->n == series->n_max)
    return;
  series->x[series->n] = x;
  series->y[series->n++] = y;
}

void
bench_report_line (const Run *run)
{
  for (unsigned i = 0; i < run->n_figures; i++)
    {
      const Figure *f = &run->figures[i];

      printf ("%-18s %-16s %-28s %14.6g", run->workload->name,
              bench_adaptor_name (), f->name, f->median);
      if (f->n > 1)
        printf ("  quartiles %.5g %.5g  best %.5g  deviation %.3g  first %.5g"
                "  n %u",
                f->low_quartile, f->high_quartile, f->best, f->deviation,
                f->first, f->n);
      putchar ('\n');
    }
  for (unsigned s = 0; s < run->n_series; s++)
    for (unsigned i = 0; i < run->series[s].n; i++)
      printf ("%-18s %-16s %s: %s %.6g %s %.6g\n", run->workload->name,
              bench_adaptor_name (), run->series[s].name,
              run->series[s].x_name, run->series[s].x[i],
              run->series[s].y_name, run->series[s].y[i]);
}

static void
json_figures (const Run *run)
{
  printf (",\n \"figures\": {");
  for (unsigned i = 0; i < run->n_figures; i++)
    {
      const Figure *f = &run->figures[i];

      printf ("%s\n  \"%s\": {\"n\": %u, \"median\": %.9g, "
              "\"quartiles\": [%.9g, %.9g], \"best\": %.9g, \"mean\": %.9g, "
              "\"deviation\": %.6g, \"first\": %.9g}",
              i ? "," : "", f->name, f->n, f->median, f->low_quartile,
              f->high_quartile, f->best, f->mean, f->deviation, f->first);
    }
  printf ("}");
}

static void
json_series (const Run *run)
{
  printf (",\n \"series\": {");
  for (unsigned s = 0; s < run->n_series; s++)
    {
      const Series *series = &run->series[s];

      printf ("%s\n  \"%s\": {\"x\": \"%s\", \"y\": \"%s\", \"points\": [",
              s ? "," : "", series->name, series->x_name, series->y_name);
      for (unsigned i = 0; i < series->n; i++)
        printf ("%s[%.9g, %.9g]", i ? ", " : "", series->x[i], series->y[i]);
      printf ("]}");
    }
  printf ("}");
}

void
bench_report_json (const Run *run)
{
  const Parameters *p = &run->parameters;

  printf ("{\"workload\": \"%s\", \"adaptor\": \"%s\", \"version\": \"%s\","
          "\n \"parameters\": {\"size_min\": %ju, \"size_max\": %ju, "
          "\"blocks\": %ju, \"batch\": %ju, \"operations\": %ju, "
          "\"threads\": %ju, \"laps\": %ju, \"bytes\": %ju, "
          "\"idle_msec\": %ju, \"seed\": %ju}",
          run->workload->name, bench_adaptor_name (), bench_adaptor_version (),
          (uintmax_t) p->size_min, (uintmax_t) p->size_max,
          (uintmax_t) p->n_blocks, (uintmax_t) p->batch,
          (uintmax_t) p->n_operations, (uintmax_t) p->n_threads,
          (uintmax_t) p->n_laps, (uintmax_t) p->bytes,
          (uintmax_t) p->idle_msec, (uintmax_t) p->seed);
  json_figures (run);
  json_series (run);
  printf ("}\n");
}
