/* table.h - the comparison: who ran what, and its figures
 *
 * A column is a contestant: a mode of slice-test, or its malloc mode with a
 * library preloaded.  A cell is a piece of work: a walk of one order and
 * size, or the recording, with a number of threads.  Every cell is run in
 * every round by every column, one child each, in turn, so that whatever else
 * the machine does falls on all of them alike; ratios are taken within a
 * round, and medians over the rounds.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STRESS_TABLE_H
#define STRESS_TABLE_H

#include <tests/stress/stress.h>

#define COLUMNS_MAX 12
#define CELLS_MAX 40

typedef struct
{
  const char *name;
  const char *mode;
  char preload[256]; /* "": nothing */
  char missing[160]; /* why it takes no part; "": it does */
  bool is_peer;      /* a malloc: the system's or a preloaded one */
} Column;

/* One child's figures, nanoseconds of a pair. */
typedef struct
{
  double cpu_nsec;
  double wall_nsec;
  double first_nsec; /* CPU, first lap, memory still cold */
  double peak_rss_bytes;
} Figures;

typedef struct
{
  bool replay;
  WalkOrder order;
  uint32_t max_bytes;
  unsigned n_threads;
  bool literal;
  Figures *figures; /* [n_rounds][n_columns] */
} Cell;

typedef struct
{
  const Options *options;
  const char *replay_path; /* NULL: no recording was found */
  Stream stream;
  int stream_fd;
  Column columns[COLUMNS_MAX];
  unsigned n_columns;
  Cell cells[CELLS_MAX];
  unsigned n_cells;
  unsigned n_rounds;
  double run_seconds; /* of each child */
  unsigned n_failed;
} Table;

/* A figure of Figures, by its offset in it. */
typedef size_t FigureField;

/* Median over the rounds; of ratios: to another column's in the same round.
 * 0 if there is none. */
double table_median (const Table *table, const Cell *cell, unsigned column,
                     FigureField field);
double table_median_ratio (const Table *table, const Cell *cell,
                           unsigned column, unsigned to, FigureField field);
/* The ratio of a column to the best malloc of that round. */
double table_median_to_best (const Table *table, const Cell *cell,
                             unsigned column, FigureField field);

/* The index of a column that takes part, or -1. */
int table_column (const Table *table, const char *name);

/* columns.c */
void table_find_columns (Table *table);

/* report.c */
void report_print (const Table *table);
void report_print_json (const Table *table);

#endif
