/* table.c - runs the comparison and reckons with its figures
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/table/table.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each child's time.  Threads that run for less than about 20 ms don't
 * overlap on a busy machine. */
#define RUN_SECONDS 0.06
#define RUN_SECONDS_QUICK 0.03

/* --- what is run ----------------------------------------------------------
 */

static void
cell_add (Table *table, bool replay, WalkOrder order, uint32_t max_bytes,
          unsigned n_threads, bool literal)
{
  if (table->n_cells == CELLS_MAX)
    stress_fail (EXIT_FOUND, "the table has too many cells");
  table->cells[table->n_cells++] = (Cell){
    .replay = replay,
    .order = order,
    .max_bytes = max_bytes,
    .n_threads = n_threads,
    .literal = literal,
    .figures = stress_alloc ((size_t)table->n_rounds * table->n_columns,
                             sizeof (Figures)),
  };
}

static void
table_add_walks (Table *table, WalkOrder order, const unsigned *n_threads)
{
  static const uint32_t sizes[] = { 512, 1024 };

  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (const unsigned *n = n_threads; *n > 0; n++)
      cell_add (table, false, order, sizes[i], *n, false);
}

/* The announcement's comparison, then what goes beside it. */
static void
table_add_cells (Table *table)
{
  static const unsigned four[] = { 1, 2, 3, 4, 0 };
  static const unsigned some[] = { 1, 2, 4, 0 };
  static const unsigned few[] = { 1, 2, 0 };
  bool quick = table->options->quick;
  const unsigned *replays = quick ? few : some;

  table_add_walks (table, ORDER_ANNOUNCED, quick ? few : four);
  if (!quick)
    {
      table_add_walks (table, ORDER_RANDOM, some);
      cell_add (table, false, ORDER_ANNOUNCED, 512, 1, true);
      cell_add (table, false, ORDER_ANNOUNCED, 1024, 1, true);
    }
  for (; table->replay_path != NULL && *replays > 0; replays++)
    cell_add (table, true, ORDER_ANNOUNCED, 0, *replays, false);
}

/* The recording: the one asked for, or the one that was installed. */
static void
table_find_replay (Table *table)
{
  table->replay_path = table->options->replay_path;
  table->stream_fd = -1;
  if (table->replay_path == NULL && access (SLICE_TEST_RECORDING, R_OK) == 0)
    table->replay_path = SLICE_TEST_RECORDING;
  if (table->replay_path == NULL)
    return;
  if (!stream_read (&table->stream, table->replay_path,
                    table->options->with_arenas, table->options->header_bytes))
    exit (EXIT_FOUND);
  table->stream_fd = stream_to_file (&table->stream);
  if (table->stream_fd < 0)
    stress_fail (EXIT_FOUND, "the expanded recording can't be written");
}

/* --- running --------------------------------------------------------------
 */

/* The number of a key in a child's JSON; NAN if it is not there. */
static double
json_number (const char *json, const char *key)
{
  char quoted[48];
  const char *at;

  snprintf (quoted, sizeof quoted, "\"%s\": ", key);
  at = json == NULL ? NULL : strstr (json, quoted);
  return at == NULL ? NAN : strtod (at + strlen (quoted), NULL);
}

static void
child_args (const Table *table, const Cell *cell, const Column *column,
            ChildArgs *args)
{
  const Options *options = table->options;

  child_args_add (args, "--quiet");
  child_args_add (args, "--json");
  child_args_add (args, "--mode=%s", column->mode);
  child_args_add (args, "--threads=%u", cell->n_threads);
  child_args_add (args, "--seconds=%.3f", table->run_seconds);
  child_args_add (args, "--seed=%u", options->seed);
  if (cell->replay)
    child_args_add (args, "--expanded-fd=%d", table->stream_fd);
  else
    {
      child_args_add (args, "--max-size=%u", cell->max_bytes);
      child_args_add (args, "--blocks=%u", options->n_blocks);
      child_args_add (args, "--order=%s", order_name (cell->order));
    }
  if (cell->literal)
    child_args_add (args, "--literal-modulus");
  if (options->touch && !cell->literal && strcmp (column->mode, "loop") != 0)
    child_args_add (args, "--touch");
}

static Figures
child_measure (Table *table, const Cell *cell, const Column *column)
{
  Figures figures = { NAN, NAN, NAN, NAN };
  ChildArgs args = { 0 };
  ChildResult result;

  if (column->missing[0] != '\0')
    return figures;
  child_args (table, cell, column, &args);
  if (!child_run (&args, column->preload, &result))
    stress_fail (EXIT_FOUND, "a child could not be made");
  if (WIFEXITED (result.status) && WEXITSTATUS (result.status) == 0)
    {
      figures.cpu_nsec = json_number (result.out, "cpu_nsec_per_pair");
      figures.wall_nsec = json_number (result.out, "wall_nsec_per_pair");
      figures.first_nsec = json_number (result.out, "first_nsec_per_pair");
      figures.peak_rss_bytes = json_number (result.out, "peak_rss_bytes");
    }
  else
    {
      table->n_failed++;
      fprintf (stderr, "\nslice-test: a run of %s failed: %s", column->name,
               result.err != NULL ? result.err : "\n");
    }
  child_result_clear (&result);
  return figures;
}

static void
cell_name (const Cell *cell, const Column *column, char *name,
           size_t name_bytes)
{
  if (cell->replay)
    snprintf (name, name_bytes, "recording, %u thread%s, %s", cell->n_threads,
              cell->n_threads == 1 ? "" : "s", column->name);
  else
    snprintf (name, name_bytes, "%s order, %u bytes, %u thread%s, %s",
              order_name (cell->order), cell->max_bytes, cell->n_threads,
              cell->n_threads == 1 ? "" : "s", column->name);
}

/* Every round runs every cell by every column, and begins with another one
 * each time. */
static void
table_run_children (Table *table)
{
  unsigned n_runs = table->n_rounds * table->n_cells * table->n_columns;
  unsigned n_done = 0;
  char name[96];
  Progress progress;

  progress_begin (&progress, !table->options->quiet);
  for (unsigned round = 0; round < table->n_rounds; round++)
    for (unsigned c = 0; c < table->n_cells; c++)
      for (unsigned i = 0; i < table->n_columns; i++)
        {
          Cell *cell = &table->cells[c];
          unsigned index = (i + round) % table->n_columns;
          Column *column = &table->columns[index];

          cell_name (cell, column, name, sizeof name);
          progress_show (&progress, (double)n_done++ / n_runs, name);
          cell->figures[round * table->n_columns + index]
              = child_measure (table, cell, column);
        }
  progress_end (&progress);
}

/* --- reckoning ------------------------------------------------------------
 */

static int
double_compare (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Of the numbers there are; NAN if there is none. */
static double
median (double *values, unsigned n)
{
  unsigned n_real = 0;

  for (unsigned i = 0; i < n; i++)
    if (!isnan (values[i]))
      values[n_real++] = values[i];
  if (n_real == 0)
    return NAN;
  qsort (values, n_real, sizeof *values, double_compare);
  return n_real % 2 == 1 ? values[n_real / 2]
                         : (values[n_real / 2 - 1] + values[n_real / 2]) / 2;
}

static double
figure (const Table *table, const Cell *cell, unsigned round, unsigned column,
        FigureField field)
{
  const Figures *figures = &cell->figures[round * table->n_columns + column];
  double value;

  memcpy (&value, (const char *)figures + field, sizeof value);
  return value;
}

double
table_median (const Table *table, const Cell *cell, unsigned column,
              FigureField field)
{
  double values[1 << 7];

  for (unsigned round = 0; round < table->n_rounds; round++)
    values[round] = figure (table, cell, round, column, field);
  return median (values, table->n_rounds);
}

double
table_median_ratio (const Table *table, const Cell *cell, unsigned column,
                    unsigned to, FigureField field)
{
  double values[1 << 7];

  for (unsigned round = 0; round < table->n_rounds; round++)
    values[round] = figure (table, cell, round, column, field)
                    / figure (table, cell, round, to, field);
  return median (values, table->n_rounds);
}

double
table_median_to_best (const Table *table, const Cell *cell, unsigned column,
                      FigureField field)
{
  double values[1 << 7];

  for (unsigned round = 0; round < table->n_rounds; round++)
    {
      double best = NAN;

      for (unsigned i = 0; i < table->n_columns; i++)
        {
          double value = figure (table, cell, round, i, field);

          if (table->columns[i].is_peer && !isnan (value)
              && (isnan (best) || value < best))
            best = value;
        }
      values[round] = figure (table, cell, round, column, field) / best;
    }
  return median (values, table->n_rounds);
}

int
table_column (const Table *table, const char *name)
{
  for (unsigned i = 0; i < table->n_columns; i++)
    if (strcmp (table->columns[i].name, name) == 0
        && table->columns[i].missing[0] == '\0')
      return (int)i;
  return -1;
}

/* --- the whole ------------------------------------------------------------
 */

static void
table_destroy (Table *table)
{
  for (unsigned i = 0; i < table->n_cells; i++)
    free (table->cells[i].figures);
  if (table->stream_fd >= 0)
    close (table->stream_fd);
  stream_destroy (&table->stream);
  free (table);
}

int
table_run (const Options *options)
{
  Table *table = stress_alloc (1, sizeof *table);
  int code;

  /* An environment made for checking would slow GLib down unseen. */
  unsetenv ("G_SLICE");
  table->options = options;
  table->n_rounds = options->n_table_rounds;
  table->run_seconds = options->seconds > 0 ? options->seconds
                       : options->quick     ? RUN_SECONDS_QUICK
                                            : RUN_SECONDS;
  table_find_columns (table);
  table_find_replay (table);
  table_add_cells (table);
  table_run_children (table);
  if (options->json)
    report_print_json (table);
  else
    report_print (table);
  code = table->n_failed == 0 && table_column (table, "slice") >= 0
             ? EXIT_GOOD
             : EXIT_FOUND;
  table_destroy (table);
  return code;
}
