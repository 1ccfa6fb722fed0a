/* report-text.c - the report as text, at most 100 columns
 *
 * Tools.  The same numbers as on the page, from the same JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#include "report.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <string.h>

#define N_ROWS 60
#define N_ADVICE 20
#define COLUMNS_MAX 100
/* The columns that the table's numbers leave for a name. */
#define NAME_COLUMNS 22

static const char *
text_of (const JsonValue *object, const char *key)
{
  return sli_json_string (object, key);
}

/* Cut between characters; each counts for a column. */
static void
put_cut (FILE *file, const char *text, size_t columns)
{
  size_t at = 0, n_bytes;

  for (; columns > 0 && text[at] != '\0'; columns--)
    {
      n_bytes = sli_utf8_length (text + at);
      if (n_bytes <= 1)
        fputc ((unsigned char)text[at] < 0x20 ? ' ' : text[at], file);
      else
        fwrite (text + at, 1, n_bytes, file);
      at += n_bytes == 0 ? 1 : n_bytes;
    }
  fputc ('\n', file);
}

static double
error_of (const JsonValue *object, const char *key, const char *sd_key)
{
  double estimate = sli_json_number (object, key);

  return estimate > 0 ? 100 * sli_json_number (object, sd_key) / estimate : 0;
}

static void
sample_put (const Report *report, FILE *file)
{
  const JsonValue *totals = sli_json_get (report->patterns, "totals");

  fprintf (file,
           "Estimated from %.0f samples, one in %.0f bytes; standard errors:\n"
           "%.1f %% of the allocations, %.1f %% of the bytes, %.1f %% of the "
           "peak.\n",
           sli_json_number (totals, "samples"),
           sli_json_number (report->patterns, "sample_bytes"),
           error_of (totals, "calls", "calls_sd"),
           error_of (totals, "bytes", "bytes_sd"),
           error_of (totals, "peak", "peak_sd"));
}

/* Broken at spaces; freed. */
static void
sentence_put (char *sentence, FILE *file)
{
  char *rest = sentence;

  while (strlen (rest) >= COLUMNS_MAX)
    {
      char *space = rest + COLUMNS_MAX - 1;

      while (space > rest && *space != ' ')
        space--;
      if (space == rest)
        break;
      *space = '\0';
      put_cut (file, rest, COLUMNS_MAX - 1);
      rest = space + 1;
    }
  put_cut (file, rest, COLUMNS_MAX - 1);
  free (sentence);
}

/* What all changes save, by the totals of the advice. */
static void
saved_put (const JsonValue *totals, FILE *file)
{
  double allocator = sli_json_number (totals, "allocator_nsec");
  double high = sli_json_number (totals, "saved_nsec_high");

  if (allocator > 0 && high > 0)
    fprintf (file, "%s in the allocator; %s to %s to be saved, by estimate\n",
             sli_human_nsec (allocator),
             sli_human_nsec (sli_json_number (totals, "saved_nsec_low")),
             sli_human_nsec (high));
  if (*text_of (totals, "summary") != '\0')
    sentence_put (sli_tool_text ("%s", text_of (totals, "summary")), file);
}

static void
totals_put (const Report *report, FILE *file)
{
  const JsonValue *totals = sli_json_get (report->patterns, "totals");
  char *watch = sli_report_watch (report->patterns);

  put_cut (file, text_of (report->patterns, "command"), COLUMNS_MAX - 1);
  if (watch != NULL)
    sentence_put (watch, file);
  sentence_put (sli_report_sentence (report->patterns), file);
  fprintf (file,
           "%.0f allocations, %.0f frees, %.0f bytes, peak %.0f bytes, "
           "%.3f s\n",
           sli_json_number (totals, "calls"),
           sli_json_number (totals, "frees"),
           sli_json_number (totals, "bytes"), sli_json_number (totals, "peak"),
           sli_json_number (totals, "seconds"));
  if (sli_stage_is_sampled (report->patterns))
    sample_put (report, file);
  saved_put (sli_json_get (report->advice, "totals"), file);
  if (sli_json_number (totals, "cut") != 0)
    fputs ("The trace is cut.\n", file);
  if (sli_json_number (totals, "damaged_blocks") > 0)
    fprintf (file, "%.0f damaged blocks of the trace are left out.\n",
             sli_json_number (totals, "damaged_blocks"));
  if (strcmp (text_of (report->patterns, "unwinder"), "libgcc") == 0)
    fputs ("libgcc walked the stacks, not libunwind, and the program took "
           "longer.\n",
           file);
}

static void
sampled_site_put (const JsonValue *site, FILE *file)
{
  fprintf (file, "%10.0f %6.1f %13.0f %6.1f %12.0f %6.1f %8.0f  ",
           sli_json_number (site, "calls"),
           error_of (site, "calls", "calls_sd"),
           sli_json_number (site, "bytes"),
           error_of (site, "bytes", "bytes_sd"),
           sli_json_number (site, "peak"), error_of (site, "peak", "peak_sd"),
           sli_json_number (site, "samples"));
  put_cut (file, text_of (site, "name"), NAME_COLUMNS);
}

/* A name that is too long for the rest of the line has one of its own. */
static void
site_put (const JsonValue *site, FILE *file)
{
  const JsonValue *numbers = sli_json_get (site, "numbers");
  const char *name = text_of (site, "name");

  fprintf (file, "%9.0f %11.0f %10.0f %-11s %6.3g %5.2f %5.2f %5.2f %5.2f",
           sli_json_number (site, "calls"), sli_json_number (site, "bytes"),
           sli_json_number (site, "peak"), text_of (site, "class"),
           sli_json_number (numbers, "W"), sli_json_number (numbers, "L"),
           sli_json_number (numbers, "B"), sli_json_number (numbers, "P2"),
           sli_json_number (numbers, "Q"));
  if (strlen (name) > NAME_COLUMNS)
    fprintf (file, "\n%8s", "");
  fputs ("  ", file);
  put_cut (file, name,
           strlen (name) > NAME_COLUMNS ? COLUMNS_MAX - 10 : NAME_COLUMNS);
}

static void
advice_put (const JsonValue *advice, FILE *file)
{
  const JsonValue *sites = sli_json_items (advice, "sites");

  for (size_t i = 0; sites != NULL && i < sites->n_items && i < N_ADVICE; i++)
    {
      const JsonValue *site = &sites->items[i];

      if (strcmp (text_of (site, "verdict"), "do") != 0)
        return;
      if (i == 0)
        fputs ("\nadvice, the best first\n", file);
      fprintf (file, "%2zu. ", i + 1);
      put_cut (file, text_of (site, "name"), COLUMNS_MAX - 4);
      fprintf (file, "    %s: saves %s to %s, ", text_of (site, "advice"),
               sli_human_nsec (sli_json_number (site, "saved_nsec_low")),
               sli_human_nsec (sli_json_number (site, "saved_nsec_high")));
      fprintf (file, "memory %s to %s\n",
               sli_human_bytes (sli_json_number (site, "memory_before")),
               sli_human_bytes (sli_json_number (site, "memory_after")));
    }
}

static void
replays_put (const JsonValue *whole, FILE *file)
{
  for (size_t i = 0; whole != NULL && i < whole->n_items; i++)
    {
      if (i == 0)
        fprintf (file, "\n%-24s %10s %12s\n", "replayed on", "ns/op",
                 "resident");
      fprintf (file, "%-24.24s %10.1f %12.0f\n",
               text_of (&whole->items[i], "backend"),
               sli_json_number (&whole->items[i], "nsec_per_op"),
               sli_json_number (&whole->items[i], "rss_peak"));
    }
}

void
sli_report_text (const Report *report, FILE *file)
{
  const JsonValue *sites = sli_json_items (report->patterns, "sites");

  totals_put (report, file);
  if (sli_stage_is_sampled (report->patterns))
    {
      fprintf (file, "\n%10s %6s %13s %6s %12s %6s %8s  %s\n", "calls", "+- %",
               "bytes", "+- %", "peak", "+- %", "samples", "site");
      for (size_t i = 0; i < sites->n_items && i < N_ROWS; i++)
        sampled_site_put (&sites->items[i], file);
      return;
    }
  fprintf (file, "\n%9s %11s %10s %-11s %6s %5s %5s %5s %5s  %s\n", "calls",
           "bytes", "peak", "class", "W", "L", "B", "P2", "Q", "site");
  for (size_t i = 0; i < sites->n_items && i < N_ROWS; i++)
    site_put (&sites->items[i], file);
  advice_put (report->advice, file);
  replays_put (sli_json_get (report->replay, "whole"), file);
}
