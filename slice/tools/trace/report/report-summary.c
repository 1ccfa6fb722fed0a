/* report-summary.c - what a reader with a minute needs: the heap in a sentence
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#include "report.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A longer name is cut where its arguments begin. */
#define NAME_MOST 48
/* What is alive at the end, as a share of the peak: nearly all, or nothing. */
#define SHARE_ALL 0.95
#define SHARE_NONE 0.005

/* The site with the highest peak; NULL: there is none. */
static const JsonValue *
largest_find (const JsonValue *sites)
{
  const JsonValue *largest = NULL;

  for (size_t i = 0; sites != NULL && i < sites->n_items; i++)
    if (largest == NULL
        || sli_json_number (&sites->items[i], "peak")
               > sli_json_number (largest, "peak"))
      largest = &sites->items[i];
  return largest;
}

static char *
name_short (const JsonValue *site)
{
  const char *name = sli_json_string (site, "name");
  size_t n = name == NULL ? 0 : strlen (name);

  if (n > NAME_MOST)
    n = strcspn (name, "(");
  return n == 0 ? sli_tool_text ("one site")
                : sli_tool_text ("%.*s", (int) n, name);
}

static char *
end_text (double end, double peak)
{
  if (end > SHARE_ALL * peak)
    return sli_tool_text ("nearly all of it is still alive at the end");
  if (end < SHARE_NONE * peak)
    return sli_tool_text ("hardly anything is alive at the end");
  return sli_tool_text ("%s are alive at the end", sli_human_bytes (end));
}

char *
sli_report_sentence (const JsonValue *patterns)
{
  const JsonValue *totals = sli_json_get (patterns, "totals");
  const JsonValue *site = largest_find (sli_json_get (patterns, "sites"));
  double peak = sli_json_number (totals, "peak");
  double calls = sli_json_number (totals, "calls");
  char *name;
  char *end;
  char *most;
  char *mean;
  char *of_site;
  char *sentence;

  if (site == NULL || calls < 1)
    return sli_tool_text ("The program allocated nothing.");
  name = name_short (site);
  end = end_text (sli_json_number (totals, "end_bytes"), peak);
  most = sli_tool_text ("%s", sli_human_bytes (peak));
  mean = sli_tool_text (
      "%s", sli_human_bytes (sli_json_number (totals, "bytes") / calls));
  of_site
      = sli_tool_text ("%s", sli_human_bytes (sli_json_number (site, "peak")));
  sentence = sli_tool_text ("The heap grows to %s, of which up to %s are from "
                            "%s; the %s blocks have "
                            "%s on average, and %s.",
                            most, of_site, name, sli_human_count (calls), mean,
                            end);
  free (of_site);
  free (mean);
  free (most);
  free (end);
  free (name);
  return sentence;
}

/* What the sentence says of blocks from before the watch. */
static char *
before_text (double n_freed)
{
  if (n_freed == 0)
    return sli_tool_text ("none of them was freed meanwhile");
  return sli_tool_text (n_freed == 1 ? "%s of them was freed meanwhile"
                                     : "%s of them were freed meanwhile",
                        sli_human_count (n_freed));
}

char *
sli_report_watch (const JsonValue *patterns)
{
  const JsonValue *watch = sli_json_get (patterns, "watch");
  const JsonValue *totals = sli_json_get (patterns, "totals");
  char *before;
  char *text;

  if (watch == NULL)
    return NULL;
  before = before_text (sli_json_number (totals, "unknown_frees"));
  text = sli_tool_text (
      "A watch of process %.0f, from %s, for %.1f s. The blocks that the "
      "process had allocated before are not seen: they are in no number here, "
      "and %s. What lives at the end of the watch counts as never freed. "
      "Slices, contexts and arenas are not seen either.",
      sli_json_number (watch, "pid"), sli_json_string (watch, "began"),
      sli_json_number (totals, "seconds"), before);
  free (before);
  return text;
}

const char *
sli_report_remedy (const JsonValue *site)
{
  static const char *const remedies[][2] = {
    { "immortal", "A linear arena" },
    { "scratch", "A stack, or a buffer of the caller's," },
    { "linear", "A linear arena" },
    { "stack", "A stack" },
    { "owner", "A context, or a linear arena for each owner," },
    { "scope", "A linear arena for each scope" },
    { "linear-fair", "A linear arena" },
    { "stack-lazy", "A stack with lazy releases" },
    { "pool", "A pool" },
    { "slice", "Slices" },
  };
  const char *class = sli_json_string (site, "class");

  for (size_t i = 0; class != NULL && i < sizeof remedies / sizeof *remedies;
       i++)
    if (strcmp (class, remedies[i][0]) == 0)
      return remedies[i][1];
  return "Another allocator";
}

char *
sli_report_certainty (const JsonValue *site)
{
  double low = sli_json_number (site, "saved_nsec_low");
  double high = sli_json_number (site, "saved_nsec_high");
  double share = high + low > 0 ? (high - low) / (high + low) : 1;
  const char *word = share <= 0.25  ? "a good estimate"
                     : share <= 0.6 ? "a fair estimate"
                                    : "a rough estimate";

  return sli_tool_text ("%s, %.0f %% either way", word, ceil (100 * share));
}

int
sli_report_band (const JsonValue *patterns, const char *name)
{
  const JsonValue *bands = sli_json_get (patterns, "bands");

  for (size_t i = 0; bands != NULL && name != NULL && i < bands->n_items; i++)
    if (bands->items[i].text != NULL
        && strcmp (bands->items[i].text, name) == 0)
      return (int) i;
  return REPORT_BAND_OTHERS;
}
