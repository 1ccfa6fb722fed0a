/* report-svg.c - the report's pictures, without those of report-series.c
 *
 * Tools.  Colours are classes of the page's style sheet, so that one picture
 * serves the light and the dark page.
 *
 * SPDX-License-Identifier: MIT
 */
#include "report.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
character_put (FILE *file, const char *text, size_t n_bytes)
{
  const char *entity = n_bytes == 0      ? "\xef\xbf\xbd"
                       : text[0] == '<'  ? "&lt;"
                       : text[0] == '>'  ? "&gt;"
                       : text[0] == '&'  ? "&amp;"
                       : text[0] == '"'  ? "&quot;"
                       : text[0] == '\'' ? "&#39;"
                       : n_bytes == 1 && (text[0] < 0x20 || text[0] == 0x7f)
                           ? " "
                           : NULL;

  if (entity != NULL)
    fputs (entity, file);
  else
    fwrite (text, 1, n_bytes, file);
}

/* most  characters that are shown; an ellipsis stands for the rest */
void
sli_html_text (FILE *file, const char *text, size_t most)
{
  for (size_t i = 0; i < most && *text != '\0'; i++)
    {
      size_t n_bytes = sli_utf8_length (text);

      character_put (file, text, n_bytes);
      text += n_bytes == 0 ? 1 : n_bytes;
    }
  if (*text != '\0')
    fputs ("\xe2\x80\xa6", file);
}

void
sli_svg_begin (FILE *file, const char *class, int width, int height,
               const char *title, bool stretch)
{
  fprintf (file,
           "<svg class=\"%s\" viewBox=\"0 0 %d %d\" role=\"img\""
           "%s aria-label=\"",
           class, width, height,
           stretch ? " preserveAspectRatio=\"none\"" : "");
  sli_html_text (file, title, 200);
  fputs ("\"><title>", file);
  sli_html_text (file, title, 200);
  fputs ("</title>", file);
}

/* --- histograms ---------------------------------------------------------- */

#define BARS_MIN 20

void
sli_svg_bars (FILE *file, const JsonValue *counts, const JsonValue *bytes,
              const char *title)
{
  size_t n = counts == NULL ? 0 : counts->n_items;
  double most = 1, most_bytes = 1;
  int width;

  for (size_t i = 0; i < n; i++)
    {
      most = fmax (most, sli_json_item_number (counts, i));
      most_bytes = fmax (most_bytes, sli_json_item_number (bytes, i));
    }
  /* few bars are as large as many */
  width = (int) (n > BARS_MIN ? n : BARS_MIN) * 22 + 16;
  sli_svg_begin (file, "bars", width, 132, title, false);
  for (size_t i = 0; i < n; i++)
    {
      double height = 100 * sli_json_item_number (counts, i) / most;
      double height_bytes = 100 * sli_json_item_number (bytes, i) / most_bytes;

      fprintf (file,
               "<rect class=\"b0\" x=\"%zu\" y=\"%.1f\" width=\"9\" "
               "height=\"%.1f\"><title>",
               i * 22 + 1, 110 - height, height);
      fprintf (file, "below 2^%zu: %.0f</title></rect>", i,
               sli_json_item_number (counts, i));
      if (bytes != NULL)
        fprintf (file,
                 "<rect class=\"b1\" x=\"%zu\" y=\"%.1f\" width=\"9\" "
                 "height=\"%.1f\"><title>below 2^%zu: %s</title></rect>",
                 i * 22 + 11, 110 - height_bytes, height_bytes, i,
                 sli_human_bytes (sli_json_item_number (bytes, i)));
      if (i % 2 == 0)
        fprintf (file, "<text%s x=\"%zu\" y=\"126\">2^%zu</text>",
                 i % 4 == 0 ? "" : " class=\"odd\"", i * 22, i);
    }
  fputs ("</svg>", file);
}

/* --- a site's pictures --------------------------------------------------- */

void
sli_svg_frees (FILE *file, const JsonValue *picture, const char *name)
{
  const JsonValue *rows = sli_json_get (picture, "frees");
  char *title = sli_tool_text ("Free against allocation of %.80s", name);
  static const char *const levels[3] = { "d1", "d2", "d3" };

  sli_svg_begin (file, "pic", 240, 60, title, true);
  free (title);
  for (int level = 0; level < 3; level++)
    {
      bool any = false;

      for (size_t y = 0; rows != NULL && y < rows->n_items; y++)
        {
          const char *row = sli_json_item_text (rows, y);
          size_t n = strlen (row);

          for (size_t x = 0; x < n; x++)
            {
              int value = row[x] == ' ' ? -1 : (row[x] - '1') / 3;
              size_t end;

              if (value > 2)
                value = 2;
              if (value != level)
                continue;
              end = x + 1;
              while (end < n && row[end] != ' '
                     && ((row[end] - '1') / 3 > 2 ? 2 : (row[end] - '1') / 3)
                            == level)
                end++;
              if (!any)
                fprintf (file, "<path class=\"%s\" d=\"", levels[level]);
              any = true;
              fprintf (file, "M%zu %zu.5h%zu", x, 59 - y, end - x);
              x = end - 1;
            }
        }
      if (any)
        fputs ("\"/>", file);
    }
  fputs ("</svg>", file);
}

void
sli_svg_offset (FILE *file, const JsonValue *picture, const char *name)
{
  const JsonValue *offset = sli_json_get (picture, "offset");
  double most = sli_json_number (picture, "offset_most");
  char *title = sli_tool_text ("Offset of a simulated arena for %.80s, up "
                               "to %s",
                               name, sli_human_bytes (most));

  sli_svg_begin (file, "pic", 240, 60, title, true);
  free (title);
  fputs ("<path class=\"b0\" d=\"", file);
  for (size_t x = 0; offset != NULL && 2 * x + 1 < offset->n_items; x++)
    {
      double high = sli_json_item_number (offset, 2 * x + 1);

      if (high > 0 && most > 0)
        fprintf (file, "M%zu 60v-%.1fh1v%.1fz", x, 60 * high / most,
                 60 * high / most);
    }
  fputs ("\"/></svg>", file);
}

/* --- flame graphs -------------------------------------------------------- */

#define FLAME_ROW 17

static int
flame_depth (const JsonValue *node)
{
  int most = 0;

  for (size_t i = 2; i < node->n_items; i++)
    {
      int depth = flame_depth (&node->items[i]);

      most = depth > most ? depth : most;
    }
  return most + 1;
}

static void
flame_draw (FILE *file, const JsonValue *node, double x, double width, int row,
            int n_rows, double whole)
{
  const char *name = sli_json_item_text (node, 0);
  double value = sli_json_item_number (node, 1);
  int y = (n_rows - 1 - row) * FLAME_ROW;
  unsigned tint = 0;
  double at;

  for (const char *letter = name; *letter != '\0'; letter++)
    tint = tint * 31 + (unsigned char) *letter;
  fprintf (file,
           "<g><rect class=\"f%u\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
           "height=\"16\"/><title>",
           tint % 4, x, y, width > 0.4 ? width - 0.3 : width);
  sli_html_text (file, name, 160);
  fprintf (file, ": %s, %.1f %%</title>", sli_human_bytes (value),
           100 * value / whole);
  if (width > 30)
    {
      fprintf (file, "<text x=\"%.1f\" y=\"%d\">", x + 2, y + 12);
      sli_html_text (file, name, (size_t)(width / 6.4));
      fputs ("</text>", file);
    }
  fputs ("</g>", file);
  at = x;
  for (size_t i = 2; i < node->n_items; i++)
    {
      double part = width * sli_json_item_number (&node->items[i], 1) / value;

      if (part >= 1)
        flame_draw (file, &node->items[i], at, part, row + 1, n_rows, whole);
      at += part;
    }
}

void
sli_svg_flame (FILE *file, const JsonValue *root, const char *title)
{
  int n_rows;

  if (root == NULL || root->n_items < 2 || sli_json_item_number (root, 1) <= 0)
    return;
  n_rows = flame_depth (root);
  fputs ("<div class=\"scroll\">", file);
  sli_svg_begin (file, "flame", 1000, n_rows * FLAME_ROW, title, false);
  flame_draw (file, root, 0, 1000, 0, n_rows, sli_json_item_number (root, 1));
  fputs ("</svg></div>", file);
}

/* --- the replay's curves ------------------------------------------------- */

void
sli_svg_curves (FILE *file, const JsonValue *whole)
{
  double most = 1;

  for (size_t i = 0; i < whole->n_items; i++)
    most = fmax (most, sli_json_number (&whole->items[i], "rss_peak"));
  sli_svg_begin (file, "wide", 630, 200,
             "Resident memory over the replayed operations, by allocator",
             true);
  for (size_t i = 0; i < whole->n_items; i++)
    {
      const JsonValue *curve = sli_json_get (&whole->items[i], "curve");

      if (curve == NULL || curve->n_items == 0)
        continue;
      fprintf (file, "<path class=\"c%zu\" d=\"", i % 9);
      for (size_t x = 0; x < curve->n_items; x++)
        fprintf (file, "%c%zu %.1f", x == 0 ? 'M' : 'L', x * 10,
                 200 - 198 * sli_json_item_number (curve, x) / most);
      fputs ("\"/>", file);
    }
  fputs ("</svg>", file);
}
