/* report.c - prints the comparison
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/table/table.h>

#include <slice/version.h>

#include <math.h>
#include <string.h>

#define MIB (1024.0 * 1024.0)

/* How many times slower malloc was than slices in the announcement. */
#define ANNOUNCED_512 2.8
#define ANNOUNCED_1024 6.0

#define CPU offsetof (Figures, cpu_nsec)
#define WALL offsetof (Figures, wall_nsec)
#define FIRST offsetof (Figures, first_nsec)
#define RSS offsetof (Figures, peak_rss_bytes)

/* --- lines of the table ---------------------------------------------------
 */

static void
print_value (double value, double unit, int decimals)
{
  if (isnan (value))
    printf (" %9s", "-");
  else
    printf (" %9.*f", decimals, value / unit);
}

static void
print_names (const Table *table, const char *label)
{
  printf ("%-10s", label);
  for (unsigned i = 0; i < table->n_columns; i++)
    if (table->columns[i].missing[0] == '\0')
      printf (" %9s", table->columns[i].name);
  printf ("\n");
}

/* A line of medians. */
static void
print_medians (const Table *table, const Cell *cell, const char *label,
               FigureField field, double unit)
{
  printf ("%-10s", label);
  for (unsigned i = 0; i < table->n_columns; i++)
    if (table->columns[i].missing[0] == '\0')
      print_value (table_median (table, cell, i, field), unit, 2);
  printf ("\n");
}

/* A line of ratios to slice. */
static void
print_ratios (const Table *table, const Cell *cell, FigureField field)
{
  int slice = table_column (table, "slice");

  if (slice < 0)
    return;
  printf ("%-10s", "  to slice");
  for (unsigned i = 0; i < table->n_columns; i++)
    if (table->columns[i].missing[0] == '\0')
      print_value (table_median_ratio (table, cell, i, (unsigned)slice, field),
                   1, 2);
  printf ("\n");
}

static void
print_cell (const Table *table, const Cell *cell)
{
  char label[16];
  FigureField field = table->options->wall ? WALL : CPU;

  snprintf (label, sizeof label, "%u thread%s", cell->n_threads,
            cell->n_threads == 1 ? "" : "s");
  print_medians (table, cell, label, field, 1);
  print_ratios (table, cell, field);
}

/* Do two cells stand under one heading? */
static bool
cells_are_alike (const Cell *a, const Cell *b)
{
  return a->replay == b->replay && a->order == b->order
         && a->max_bytes == b->max_bytes && a->literal == b->literal;
}

static void
print_heading (const Table *table, const Cell *cell)
{
  static const char *const orders[N_ORDERS] = {
    [ORDER_ANNOUNCED] = "free every second block, fill the gaps",
    [ORDER_RANDOM] = "replace one random block at a time",
    [ORDER_ROWS] = "rows of one size",
  };

  if (cell->replay)
    printf ("\nThe recording %s as plain blocks: %llu allocations, at most %u"
            " alive\n",
            table->replay_path, (unsigned long long)table->stream.n_pairs,
            table->stream.n_slots);
  else
    printf ("\nRandom sizes up to %u, %u blocks a thread; %s%s\n",
            cell->max_bytes, table->options->n_blocks, orders[cell->order],
            cell->literal ? " (division by a global, as announced)" : "");
  print_names (table, "");
}

/* What only the first thread of a recording has: cold memory, and how much of
 * it. */
static void
print_replay_extra (const Table *table, const Cell *cell)
{
  print_medians (table, cell, "cold, 1 th", FIRST, 1);
  print_ratios (table, cell, FIRST);
  print_medians (table, cell, "peak, MiB", RSS, MIB);
}

static void
print_cells (const Table *table)
{
  for (unsigned i = 0; i < table->n_cells; i++)
    {
      const Cell *cell = &table->cells[i];

      if (i == 0 || !cells_are_alike (cell, &table->cells[i - 1]))
        print_heading (table, cell);
      print_cell (table, cell);
      if (cell->replay && cell->n_threads == 1)
        print_replay_extra (table, cell);
    }
}

/* --- the verdict ----------------------------------------------------------
 */

/* The malloc with the least median in a cell; NULL if there is none. */
static const char *
best_peer (const Table *table, const Cell *cell, FigureField field)
{
  const char *name = NULL;
  double best = INFINITY;

  for (unsigned i = 0; i < table->n_columns; i++)
    {
      double value = table->columns[i].is_peer
                         ? table_median (table, cell, i, field)
                         : NAN;

      if (value < best)
        {
          best = value;
          name = table->columns[i].name;
        }
    }
  return name;
}

static double
announced (const Cell *cell)
{
  if (cell->replay || cell->order != ORDER_ANNOUNCED)
    return NAN;
  return cell->max_bytes == 512 ? ANNOUNCED_512 : ANNOUNCED_1024;
}

static void
print_cell_name (const Cell *cell)
{
  char name[48];

  if (cell->replay)
    snprintf (name, sizeof name, "recording, %u thr.", cell->n_threads);
  else
    snprintf (name, sizeof name, "%s %u, %u thr.%s", order_name (cell->order),
              cell->max_bytes, cell->n_threads,
              cell->literal ? " literal" : "");
  printf ("%-33s", name);
}

static void
print_verdict (const Table *table, const Cell *cell)
{
  FigureField field = table->options->wall ? WALL : CPU;
  int slice = table_column (table, "slice");
  int gslice = table_column (table, "gslice");
  int limit = table_column (table, "limit");
  int system = table_column (table, "malloc");
  const char *best = best_peer (table, cell, field);

  if (slice < 0)
    return;
  print_cell_name (cell);
  printf ("%6.2f %-13s",
          table_median_to_best (table, cell, (unsigned)slice, field),
          best != NULL ? best : "-");
  if (gslice >= 0)
    printf ("%9.2f", table_median_ratio (table, cell, (unsigned)slice,
                                         (unsigned)gslice, field));
  else
    printf ("%9s", "-");
  if (limit >= 0)
    printf ("%9.2f", table_median_ratio (table, cell, (unsigned)slice,
                                         (unsigned)limit, field));
  else
    printf ("%9s", "-");
  if (system >= 0)
    printf ("%16.1f", table_median_ratio (table, cell, (unsigned)system,
                                          (unsigned)slice, field));
  if (!isnan (announced (cell)))
    printf ("  (%.1f)", announced (cell));
  printf ("\n");
}

static void
print_verdicts (const Table *table)
{
  printf ("\n%-33s%-20s%9s%9s%16s\n", "Ratios", "slice / best malloc",
          "/ GSlice", "/ limit", "malloc / slice");
  printf ("%-33s%-20s%9s%9s%16s\n", "", "", "", "", "(announced)");
  for (unsigned i = 0; i < table->n_cells; i++)
    print_verdict (table, &table->cells[i]);
}

static void
print_missing (const Table *table)
{
  for (unsigned i = 0; i < table->n_columns; i++)
    if (table->columns[i].missing[0] != '\0')
      printf ("Not in the table: %s: %s\n", table->columns[i].name,
              table->columns[i].missing);
  if (table->replay_path == NULL)
    printf ("Not in the table: a recording (--replay=FILE): none at %s\n",
            SLICE_TEST_RECORDING);
}

void
report_print (const Table *table)
{
  printf ("slice-test %s: %s time of one allocation and its free, in"
          " nanoseconds, and its ratio to slice\n",
          SLICE_VERSION_STRING, table->options->wall ? "wall" : "CPU");
  printf ("Medians of %u interleaved rounds, %.0f ms each run, seed %u."
          "  slice: inline; calls: the library's\nfunctions; slab: magazines"
          " bypassed; gslice: GLib's; limit: bare free lists; loop: the test's"
          " own part.\n",
          table->n_rounds, table->run_seconds * 1000, table->options->seed);
#ifndef __OPTIMIZE__
  printf ("Built WITHOUT optimisation: these figures mean nothing.\n");
#endif
  print_cells (table);
  print_verdicts (table);
  print_missing (table);
}

/* --- JSON -----------------------------------------------------------------
 */

static void
json_figure (double value)
{
  if (isnan (value))
    printf ("null");
  else
    printf ("%.4f", value);
}

/* One array over the rounds. */
static void
json_rounds (const Table *table, const Cell *cell, unsigned column,
             const char *name, FigureField field)
{
  printf (", \"%s\": [", name);
  for (unsigned round = 0; round < table->n_rounds; round++)
    {
      double value;

      memcpy (&value,
              (const char *)&cell->figures[round * table->n_columns + column]
                  + field,
              sizeof value);
      printf (round > 0 ? ", " : "");
      json_figure (value);
    }
  printf ("]");
}

static void
json_run (const Table *table, const Cell *cell, unsigned column)
{
  int slice = table_column (table, "slice");

  printf ("%s\n      {\"column\": \"%s\"", column > 0 ? "," : "",
          table->columns[column].name);
  json_rounds (table, cell, column, "cpu_nsec_per_pair", CPU);
  json_rounds (table, cell, column, "wall_nsec_per_pair", WALL);
  json_rounds (table, cell, column, "first_nsec_per_pair", FIRST);
  json_rounds (table, cell, column, "peak_rss_bytes", RSS);
  printf (", \"median_cpu_nsec\": ");
  json_figure (table_median (table, cell, column, CPU));
  printf (", \"median_cpu_ratio_to_slice\": ");
  json_figure (slice < 0 ? NAN
                         : table_median_ratio (table, cell, column,
                                               (unsigned)slice, CPU));
  printf ("}");
}

static void
json_cell (const Table *table, const Cell *cell)
{
  printf ("    {\"stream\": \"%s\", \"max_bytes\": %u, \"threads\": %u, "
          "\"literal_modulus\": %s, \"runs\": [",
          cell->replay ? "recording" : order_name (cell->order),
          cell->max_bytes, cell->n_threads, cell->literal ? "true" : "false");
  for (unsigned i = 0; i < table->n_columns; i++)
    json_run (table, cell, i);
  printf ("\n    ]}");
}

void
report_print_json (const Table *table)
{
  printf ("{\"program\": \"slice-test\", \"version\": \"%s\", "
          "\"rounds\": %u, \"run_sec\": %.3f,\n  \"columns\": [",
          SLICE_VERSION_STRING, table->n_rounds, table->run_seconds);
  for (unsigned i = 0; i < table->n_columns; i++)
    printf ("%s\n    {\"name\": \"%s\", \"mode\": \"%s\", \"preload\":"
            " \"%s\", \"missing\": \"%s\"}",
            i > 0 ? "," : "", table->columns[i].name, table->columns[i].mode,
            table->columns[i].preload, table->columns[i].missing);
  printf ("\n  ],\n  \"cells\": [\n");
  for (unsigned i = 0; i < table->n_cells; i++)
    {
      json_cell (table, &table->cells[i]);
      printf (i + 1 < table->n_cells ? ",\n" : "\n");
    }
  printf ("  ]}\n");
}
