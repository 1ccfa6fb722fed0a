/* pins-draw.c - the address space over time, as a picture
 *
 * Tools.  Time goes to the right, addresses go up; address space that was
 * never resident is left out.  A cell is a region at a sample; its colour
 * shows the live share of its resident pages.
 *
 *   +--------------------+
 *   |    ____====        |   dark: full of live blocks
 *   |____========........|   light: resident, and nearly empty
 *   +--------------------+
 *
 * See pins.h.  SPDX-License-Identifier: MIT
 */
#include "pins.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/report/report.h"
#include <stdlib.h>

#define PICTURE_LEVELS 5
#define CELL_WIDTH 4
#define ROWS_MAX 150 /* regions share a row if there are more */
#define MARGIN 8
#define CAPTION_HEIGHT 44

/* The regions of all samples by address, each once. */
typedef struct
{
  uint64_t *numbers;
  size_t n;
  size_t per_row;
} Rows;

/* By row and sample: 0, or a level plus 1. */
typedef uint8_t (*Grid)[PINS_SAMPLES];

static int
number_compare (const void *a, const void *b)
{
  const uint64_t *one = a, *other = b;

  return (*one > *other) - (*one < *other);
}

static Rows
rows_make (const Pins *pins)
{
  Rows rows = { 0 };
  size_t n_cells = 0;

  for (unsigned i = 0; i < PINS_SAMPLES; i++)
    n_cells += pins->samples[i].n_cells;
  rows.numbers = sli_tool_alloc ((n_cells + 1) * sizeof *rows.numbers);
  n_cells = 0;
  for (unsigned i = 0; i < PINS_SAMPLES; i++)
    for (uint32_t cell = 0; cell < pins->samples[i].n_cells; cell++)
      rows.numbers[n_cells++] = pins->samples[i].cells[cell].number;
  if (n_cells > 0)
    qsort (rows.numbers, n_cells, sizeof *rows.numbers, number_compare);
  for (size_t i = 0; i < n_cells; i++)
    if (rows.n == 0 || rows.numbers[rows.n - 1] != rows.numbers[i])
      rows.numbers[rows.n++] = rows.numbers[i];
  rows.per_row = (rows.n + ROWS_MAX - 1) / ROWS_MAX;
  if (rows.per_row == 0)
    rows.per_row = 1;
  return rows;
}

static size_t
row_of (const Rows *rows, uint64_t number)
{
  const uint64_t *at = bsearch (&number, rows->numbers, rows->n,
                                sizeof *rows->numbers, number_compare);

  return (size_t)(at - rows->numbers) / rows->per_row;
}

/* 0: nearly empty. */
static unsigned
level_of (const Pins *pins, const PinsCell *cell)
{
  double resident = (double)((uint64_t)cell->resident_pages
                             << pins->page_shift);
  unsigned level
      = (unsigned)((double)cell->live_bytes / resident * PICTURE_LEVELS);

  return level < PICTURE_LEVELS ? level : PICTURE_LEVELS - 1;
}

/* Marks a sample's column of the grid. */
static void
sample_mark (const Pins *pins, const Rows *rows, unsigned sample, Grid grid)
{
  const PinsSample *at = &pins->samples[sample];

  for (uint32_t i = 0; i < at->n_cells;)
    {
      size_t row = row_of (rows, at->cells[i].number);
      PinsCell sum = { 0 };

      for (; i < at->n_cells && row_of (rows, at->cells[i].number) == row; i++)
        {
          sum.resident_pages += at->cells[i].resident_pages;
          sum.live_bytes += at->cells[i].live_bytes;
        }
      grid[row][sample] = (uint8_t)(level_of (pins, &sum) + 1);
    }
}

/* Samples with the same level side by side are one rectangle. */
static void
row_draw (const uint8_t levels[PINS_SAMPLES], int y, int height, FILE *file)
{
  for (unsigned from = 0, to; from < PINS_SAMPLES; from = to)
    {
      for (to = from + 1; to < PINS_SAMPLES && levels[to] == levels[from];)
        to++;
      if (levels[from] > 0)
        fprintf (file,
                 "<rect class=\"l%u\" x=\"%u\" y=\"%d\" width=\"%u\" "
                 "height=\"%d\"/>\n",
                 levels[from] - 1u, MARGIN + from * CELL_WIDTH, y,
                 (to - from) * CELL_WIDTH, height);
    }
}

static void
grid_draw (const Pins *pins, const Rows *rows, int bottom, int height,
           FILE *file)
{
  Grid grid = sli_tool_zero ((rows->n + 1) * sizeof *grid);

  for (unsigned i = 0; i < PINS_SAMPLES; i++)
    sample_mark (pins, rows, i, grid);
  for (size_t row = 0; row * rows->per_row < rows->n; row++)
    row_draw (grid[row], bottom - (int)(row + 1) * height, height, file);
  free (grid);
}

static void
style_draw (FILE *file)
{
  fputs ("<style>\n"
         "text{font:13px system-ui,sans-serif;fill:#1c1c1a}\n"
         ".paper{fill:#fdfdfb}.moment{stroke:#1c1c1a;stroke-dasharray:4 3}\n"
         ".l0{fill:#e8743b}.l1{fill:#f0b27a}.l2{fill:#c9c9a8}"
         ".l3{fill:#7fb0c9}.l4{fill:#2f6db3}\n"
         "@media(prefers-color-scheme:dark){text{fill:#e6e6df}"
         ".paper{fill:#161714}.moment{stroke:#e6e6df}}\n"
         "</style>\n",
         file);
}

static void
legend_draw (FILE *file, int x, int y)
{
  for (unsigned level = 0; level < PICTURE_LEVELS; level++)
    fprintf (file,
             "<rect class=\"l%u\" x=\"%u\" y=\"%d\" width=\"22\" "
             "height=\"10\"/>\n",
             level, (unsigned)x + 110 + level * 22, y - 9);
  fprintf (file,
           "<text x=\"%d\" y=\"%d\">nearly empty</text>"
           "<text x=\"%d\" y=\"%d\">full of live blocks</text>\n",
           x, y, x + 110 + PICTURE_LEVELS * 22 + 8, y);
}

void
sli_pins_draw (const Pins *pins, FILE *file)
{
  Rows rows = rows_make (pins);
  size_t n_rows = (rows.n + rows.per_row - 1) / rows.per_row;
  int cell_height = n_rows > 60 ? 3 : n_rows > 20 ? 6 : 16;
  int width = 2 * MARGIN + PINS_SAMPLES * CELL_WIDTH;
  int bottom = CAPTION_HEIGHT + (int)n_rows * cell_height;
  double moment = pins->end_seconds > 0
                      ? pins->at_seconds / pins->end_seconds
                      : 0;

  fprintf (file,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
           "role=\"img\">\n<title>Resident address space over time of ",
           width, bottom + 24);
  sli_html_text (file, pins->profile->reader->command, 200);
  fputs ("</title>\n", file);
  style_draw (file);
  fprintf (file,
           "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n"
           "<text x=\"%d\" y=\"16\">At %.2f s: %s resident, %s live</text>\n",
           width, bottom + 24, MARGIN, pins->at_seconds,
           sli_human_bytes ((double)pins->resident_bytes),
           sli_human_bytes ((double)pins->live_bytes));
  legend_draw (file, MARGIN, 34);
  grid_draw (pins, &rows, bottom, cell_height, file);
  fprintf (file,
           "<path class=\"moment\" d=\"M%.1f %dV%d\"/>\n"
           "<text x=\"%d\" y=\"%d\">0</text>"
           "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.2f s</text>\n"
           "</svg>\n",
           MARGIN + moment * PINS_SAMPLES * CELL_WIDTH, CAPTION_HEIGHT, bottom,
           MARGIN, bottom + 16, width - MARGIN, bottom + 16,
           pins->end_seconds);
  free (rows.numbers);
}
