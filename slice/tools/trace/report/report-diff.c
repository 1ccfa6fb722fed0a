/* report-diff.c - the page of two runs
 *
 * Tools.  The document that template/diff.html shows has the patterns of both
 * runs and the changes between them.
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

/* Below this share of the value before, it is the same for a reader. */
#define SHARE_SAME 0.005

typedef struct
{
  const char *key, *words, *unit; /* key: in the patterns' totals */
} Quantity;

static const Quantity quantities[] = {
  { "calls", "allocations", "" },
  { "bytes", "requested", "B" },
  { "peak", "peak alive", "B" },
  { "end_bytes", "alive at the end", "B" },
  { "seconds", "from first to last", "s" },
};

static double
total_of (const JsonValue *run, const char *key)
{
  return sli_json_number (sli_json_get (run, "totals"), key);
}

/* --- in words ------------------------------------------------------------ */

char *
sli_report_signed (double difference, const char *unit)
{
  double size = fabs (difference);
  const char *text = strcmp (unit, "B") == 0   ? sli_human_bytes (size)
                     : strcmp (unit, "s") == 0 ? sli_human_nsec (1e9 * size)
                                               : sli_human_count (size);

  return sli_tool_text ("%s%s",
                        difference > 0   ? "+"
                        : difference < 0 ? "\xe2\x88\x92"
                                         : "",
                        text);
}

/* "12.3 % more than", "as much as" */
static char *
share_text (double before, double after, const char *more, const char *same)
{
  double share = before > 0 ? after / before - 1 : 0;

  if (before <= 0 || fabs (share) < SHARE_SAME)
    return sli_tool_text ("%s", before <= 0 && after > 0 ? more : same);
  if (share >= 1)
    return sli_tool_text ("%.1f times as %s as", after / before,
                          strcmp (more, "more than") == 0 ? "much" : "many");
  return sli_tool_text ("%.1f %% %s", 100 * fabs (share),
                        share > 0                         ? more
                        : strcmp (more, "more than") == 0 ? "less than"
                                                          : "fewer than");
}

char *
sli_report_change (const JsonValue *const runs[2])
{
  double peaks[2], calls[2];
  char *peak, *before, *after, *n, *sentence;

  for (int i = 0; i < 2; i++)
    {
      peaks[i] = total_of (runs[i], "peak");
      calls[i] = total_of (runs[i], "calls");
    }
  peak = share_text (peaks[0], peaks[1], "more than", "as much as");
  before = sli_tool_text ("%s", sli_human_bytes (peaks[0]));
  after = sli_tool_text ("%s", sli_human_bytes (peaks[1]));
  n = share_text (calls[0], calls[1], "more", "as many");
  sentence = sli_tool_text (
      "The heap grows to %s, %s the %s before, and the program makes %s "
      "allocations (%s; %s before).",
      after, peak, before, n, sli_human_count (calls[1]),
      sli_human_count (calls[0]));
  free (n);
  free (after);
  free (before);
  free (peak);
  return sentence;
}

/* --- the document -------------------------------------------------------- */

static void
two_write (JsonOut *out, const char *key, const double values[2])
{
  sli_json_begin (out, key, '[');
  for (int i = 0; i < 2; i++)
    sli_json_uint (out, NULL, (uint64_t) values[i]);
  sli_json_end (out, ']');
}

static void
quantity_write (JsonOut *out, const Quantity *quantity,
                const JsonValue *const runs[2])
{
  sli_json_begin (out, quantity->key, '{');
  sli_json_text (out, "words", quantity->words);
  sli_json_text (out, "unit", quantity->unit);
  sli_json_begin (out, "values", '[');
  for (int i = 0; i < 2; i++)
    sli_json_real (out, NULL, total_of (runs[i], quantity->key));
  sli_json_end (out, ']');
  sli_json_end (out, '}');
}

static void
pair_write (JsonOut *out, const SitePair *pair)
{
  sli_json_begin (out, NULL, '{');
  sli_json_text (out, "name", pair->name);
  sli_json_begin (out, "class", '[');
  for (int i = 0; i < 2; i++)
    sli_json_text (out, NULL, pair->class[i]);
  sli_json_end (out, ']');
  sli_json_bool (out, "reclassed",
                 strcmp (pair->class[0], pair->class[1]) != 0);
  two_write (out, "calls", pair->calls);
  two_write (out, "bytes", pair->bytes);
  two_write (out, "peak", pair->peak);
  sli_json_end (out, '}');
}

static double
most_of (const SitePair *pairs, size_t n, bool by_peak)
{
  double most = 0;

  for (size_t i = 0; i < n; i++)
    {
      const double *values = by_peak ? pairs[i].peak : pairs[i].bytes;

      most = fmax (most, fabs (values[1] - values[0]));
    }
  return most;
}

static JsonValue *
changes_make (const JsonValue *const runs[2], const SitePair *pairs,
              size_t n_pairs, size_t n_rows)
{
  char *text = NULL, error[256];
  size_t n_bytes = 0;
  JsonOut out = { .file = open_memstream (&text, &n_bytes) };
  JsonValue *changes;

  if (out.file == NULL)
    sli_tool_exit (TOOL_FAILED, "out of memory");
  sli_json_begin (&out, NULL, '{');
  for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++)
    quantity_write (&out, &quantities[i], runs);
  sli_json_begin (&out, "most", '{');
  sli_json_uint (&out, "bytes", (uint64_t) most_of (pairs, n_rows, false));
  sli_json_uint (&out, "peak", (uint64_t) most_of (pairs, n_rows, true));
  sli_json_end (&out, '}');
  sli_json_begin (&out, "sites", '[');
  for (size_t i = 0; i < n_rows; i++)
    pair_write (&out, &pairs[i]);
  sli_json_end (&out, ']');
  sli_json_uint (&out, "more", n_pairs - n_rows);
  sli_json_bool (&out, "several", n_pairs - n_rows > 1);
  sli_json_end (&out, '}');
  fclose (out.file);
  changes = sli_json_parse (text, error);
  free (text);
  if (changes == NULL)
    sli_tool_exit (TOOL_FAILED, "%s", error);
  return changes;
}

void
sli_report_diff (const JsonValue *const runs[2], const SitePair *pairs,
                 size_t n_pairs, size_t n_rows, FILE *file)
{
  static const char *const names[3] = { "before", "after", "changes" };
  size_t n_shown = n_rows < n_pairs ? n_rows : n_pairs;
  JsonValue *changes = changes_make (runs, pairs, n_pairs, n_shown);
  JsonValue items[3] = { *runs[0], *runs[1], *changes };
  JsonValue whole = { .type = JSON_OBJECT, .items = items, .n_items = 3 };

  for (int i = 0; i < 3; i++)
    items[i].key = (char *) names[i];
  sli_page_write (&(Page){ file, &whole }, "diff.html");
  sli_json_free (changes);
}
