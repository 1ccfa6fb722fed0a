/* report-html.c - the report as one self-contained page
 *
 * Tools.  The files of template/ are the page; this file has the helpers that
 * they name.  The page has no network access or font, and one script, which
 * sorts tables, as its content policy says; it is whole without.  Choices (the
 * time axis, a site's details) are made with radio buttons and <details>, by
 * mouse or keyboard.
 *
 * SPDX-License-Identifier: MIT
 */
#include "page.h"
#include "report.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double
number_of (const JsonValue *value)
{
  return value == NULL ? 0 : value->number;
}

static const JsonValue *
totals_of (const Page *page)
{
  return sli_json_get (sli_json_get (page->document, "patterns"), "totals");
}

/* --- numbers ------------------------------------------------------------- */

#define HELPER(name)                                                          \
 static void put_##name (const Page *page, const JsonValue *value,            \
                         const char *words __attribute__ ((unused)))

HELPER (count)
{
  fputs (sli_human_count (number_of (value)), page->file);
}

HELPER (bytes)
{
  fputs (sli_human_bytes (number_of (value)), page->file);
}

HELPER (nsec)
{
  fputs (sli_human_nsec (number_of (value)), page->file);
}

HELPER (seconds)
{
  fputs (sli_human_nsec (1e9 * number_of (value)), page->file);
}

HELPER (fixed)
{
  fprintf (page->file, "%.*f", atoi (words), number_of (value));
}

HELPER (percent)
{
  fprintf (page->file, "%.1f", 100 * number_of (value));
}

/* The standard error of an estimate that words names, in percent of it. */
HELPER (error)
{
  char *sd = sli_tool_text ("%s_sd", words);
  double estimate = sli_json_number (value, words);

  fprintf (page->file, "%.1f",
           estimate > 0 ? 100 * sli_json_number (value, sd) / estimate : 0);
  free (sd);
}

HELPER (usec)
{
  fputs (sli_human_nsec (1000 * number_of (value)), page->file);
}

HELPER (kib)
{
  fprintf (page->file, "%.0f", number_of (value) / 1024);
}

HELPER (hex)
{
  fprintf (page->file, "0x%llx", (unsigned long long) number_of (value));
}

HELPER (modulo)
{
  fprintf (page->file, "%.0f", fmod (number_of (value), atoi (words)));
}

HELPER (short)
{
  if (value != NULL)
    fprintf (page->file, value->number < 1000 ? "%.3g" : "%.0f",
             value->number);
}

/* The number of items of an array beyond the given number. */
HELPER (beyond)
{
  fprintf (page->file, "%zu",
           value == NULL ? 0 : value->n_items - (size_t) atoi (words));
}

HELPER (dropped)
{
  double dropped = sli_json_number (value, "dropped_nested")
                   + sli_json_number (value, "dropped_full");

  fputs (sli_human_count (dropped), page->file);
}

/* A site's time in the allocator, of the timed trace if there is one.  words:
 * "nsec" for the plain number. */
HELPER (time)
{
  const JsonValue *times = sli_json_get (page->document, "times");
  double nsec;

  if (times != NULL)
    value = sli_stage_site (times, sli_json_string (value, "key"));
  nsec = sli_stage_site_nsec (value);
  if (nsec > 0 && strcmp (words, "nsec") == 0)
    fprintf (page->file, "%.0f", nsec);
  else if (nsec > 0)
    fputs (sli_human_nsec (nsec), page->file);
}

/* --- the summary --------------------------------------------------------- */

HELPER (sentence)
{
  char *sentence = sli_report_sentence (value);

  sli_html_text (page->file, sentence, strlen (sentence));
  free (sentence);
}

HELPER (remedy)
{
  fputs (sli_report_remedy (value), page->file);
}

HELPER (watch)
{
  char *text = sli_report_watch (value);

  if (text != NULL)
    sli_html_text (page->file, text, strlen (text));
  free (text);
}

HELPER (certainty)
{
  char *certainty = sli_report_certainty (value);

  fputs (certainty, page->file);
  free (certainty);
}

HELPER (band)
{
  const JsonValue *patterns = sli_json_get (page->document, "patterns");

  fprintf (page->file, "%d",
           sli_report_band (patterns, sli_json_string (value, "name")));
}

/* --- pictures ------------------------------------------------------------ */

/* words: the total at the axis's right end. */
HELPER (series)
{
  const JsonValue *patterns = sli_json_get (page->document, "patterns");
  double end = sli_json_number (totals_of (page), words);
  bool by_time = strcmp (words, "seconds") == 0;

  sli_svg_series (page->file, value, by_time ? "time" : words,
                  sli_json_get (patterns, "rss"),
                  sli_json_number (totals_of (page), "peak"),
                  by_time                         ? sli_human_nsec (1e9 * end)
                  : strcmp (words, "events") == 0 ? sli_human_count (end)
                                                  : sli_human_bytes (end));
}

HELPER (bars)
{
  char *counts = sli_tool_text ("%s_log2", words);
  char *bytes = sli_tool_text ("%s_bytes_log2", words);
  bool is_usec = strcmp (words, "life_usec") == 0;
  char *title = sli_tool_text ("Histogram by %s: blocks and bytes",
                               is_usec ? "life in microseconds" : words);

  sli_svg_bars (page->file, sli_json_get (value, counts),
                sli_json_get (value, bytes), title);
  free (counts);
  free (bytes);
  free (title);
}

HELPER (frees)
{
  sli_svg_frees (page->file, sli_json_get (value, "picture"),
                 sli_json_string (value, "name"));
}

HELPER (offset)
{
  sli_svg_offset (page->file, sli_json_get (value, "picture"),
                  sli_json_string (value, "name"));
}

HELPER (flame)
{
  sli_svg_flame (page->file, value, words);
}

HELPER (curves)
{
  sli_svg_curves (page->file, value);
}

/* --- two runs ------------------------------------------------------------ */

/* What the second item of an array has more than the first. */
static double
change_of (const JsonValue *values)
{
  return values == NULL ? 0
                        : sli_json_item_number (values, 1)
                              - sli_json_item_number (values, 0);
}

HELPER (change)
{
  fprintf (page->file, "%.0f", change_of (value));
}

/* words: the unit, B or s. */
HELPER (signed)
{
  char *text = sli_report_signed (change_of (value), words);

  fputs (text, page->file);
  free (text);
}

HELPER (total_change)
{
  put_signed (page, sli_json_get (value, "values"),
              sli_json_string (value, "unit"));
}

HELPER (growth)
{
  double before = value == NULL ? 0 : sli_json_item_number (value, 0);

  if (before > 0)
    fprintf (page->file, "%+.1f", 100 * change_of (value) / before);
}

/* A bar from the middle, as long as the change; words: which. */
HELPER (bar)
{
  const JsonValue *changes = sli_json_get (page->document, "changes");
  double most = sli_json_number (sli_json_get (changes, "most"), words);
  double change = change_of (value);
  double length = most > 0 ? 50 * fabs (change) / most : 0;
  char *title = sli_report_signed (change, "B");

  sli_svg_begin (page->file, "delta", 100, 10, title, true);
  free (title);
  fprintf (page->file,
           "<path class=\"tick\" d=\"M50 0V10\"/><rect class=\"%s\" "
           "x=\"%.1f\" y=\"1\" width=\"%.1f\" height=\"8\"/></svg>",
           change > 0 ? "more" : "less", change > 0 ? 50 : 50 - length, length);
}

static void
runs_of (const JsonValue *document, const JsonValue *runs[2])
{
  runs[0] = sli_json_get (document, "before");
  runs[1] = sli_json_get (document, "after");
}

/* words: the total at the axis's right end. */
HELPER (runs)
{
  const JsonValue *runs[2];

  runs_of (value, runs);
  sli_svg_runs (page->file, runs,
                strcmp (words, "seconds") == 0 ? "time" : words, words);
}

HELPER (change_sentence)
{
  const JsonValue *runs[2];
  char *sentence;

  runs_of (value, runs);
  sentence = sli_report_change (runs);
  sli_html_text (page->file, sentence, strlen (sentence));
  free (sentence);
}

const PageHelper sli_page_helpers[] = {
  { "text", sli_page_text },
  { "count", put_count },
  { "bytes", put_bytes },
  { "nsec", put_nsec },
  { "seconds", put_seconds },
  { "fixed", put_fixed },
  { "percent", put_percent },
  { "error", put_error },
  { "usec", put_usec },
  { "kib", put_kib },
  { "hex", put_hex },
  { "modulo", put_modulo },
  { "short", put_short },
  { "beyond", put_beyond },
  { "dropped", put_dropped },
  { "time", put_time },
  { "sentence", put_sentence },
  { "watch", put_watch },
  { "certainty", put_certainty },
  { "remedy", put_remedy },
  { "band", put_band },
  { "series", put_series },
  { "bars", put_bars },
  { "frees", put_frees },
  { "offset", put_offset },
  { "flame", put_flame },
  { "curves", put_curves },
  { "change", put_change },
  { "signed", put_signed },
  { "total-change", put_total_change },
  { "growth", put_growth },
  { "bar", put_bar },
  { "runs", put_runs },
  { "change-sentence", put_change_sentence },
  { 0 },
};

void
sli_report_html (const Report *report, FILE *file)
{
  static const char *const names[]
      = { "patterns", "advice", "replay", "times" };
  const JsonValue *documents[]
      = { report->patterns, report->advice, report->replay, report->times };
  JsonValue items[4], whole = { .type = JSON_OBJECT, .items = items };

  for (size_t i = 0; i < 4; i++)
    if (documents[i] != NULL)
      {
        items[whole.n_items] = *documents[i];
        items[whole.n_items++].key = (char *) names[i];
      }
  sli_page_write (&(Page){ file, &whole }, "page.html");
}
