/* command-diff.c - slice-trace diff: two runs' sites side by side
 *
 * Tools.  Sites are paired by their functions, since addresses and lines
 * change with every build.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tools/trace/command/command-line.h"
#include "tools/trace/command/commands.h"
#include "tools/trace/common/stage/origin.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/table.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/report/report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The library's function that a site calls, if any, its own functions and
 * those inlined there, innermost first. */
static char *
chain_of (const JsonValue *site)
{
  const JsonValue *frames = sli_json_get (site, "frames");
  const JsonValue *through = sli_json_get (site, "through");
  char *chain = sli_tool_text ("%s", through == NULL ? "" : through->text);
  char *caller = strstr (chain, " called from ");

  if (caller != NULL)
    *caller = '\0'; /* its line changes with every build */
  for (size_t i = 0; frames != NULL && i < frames->n_items; i++)
    {
      const JsonValue *frame = &frames->items[i];
      const char *function = sli_json_string (frame, "function");
      /* an unnamed place: its offset changes, its module does not */
      char *longer = sli_tool_text ("%s|%s|%s", chain,
                                    strstr (function, "+0x") != NULL
                                        ? sli_json_string (frame, "module")
                                        : function,
                                    sli_json_string (frame, "inlined"));

      free (chain);
      chain = longer;
    }
  return chain;
}

typedef struct
{
  char *chain;
  SitePair sites;
} Pair;

typedef struct
{
  Pair *items;
  uint32_t n;
  Table by_chain; /* a pair's index plus 1 */
} Pairs;

static int
pair_compare (const void *a, const void *b)
{
  const Pair *left = a, *right = b;
  double left_gap = fabs (left->sites.bytes[1] - left->sites.bytes[0]);
  double right_gap = fabs (right->sites.bytes[1] - right->sites.bytes[0]);

  return left_gap > right_gap ? -1 : left_gap < right_gap;
}

/* Sites of one chain (several calls of one function in another) are added
 * up. */
static void
pairs_add (Pairs *pairs, const JsonValue *document, int side)
{
  const JsonValue *sites = sli_json_items (document, "sites");

  for (size_t i = 0; i < sites->n_items; i++)
    {
      const JsonValue *site = &sites->items[i];
      char *chain = chain_of (site);
      uint32_t *number = sli_table_add_text (&pairs->by_chain, chain,
                                             pairs->items, sizeof (Pair));
      SitePair *pair;

      if (*number == 0)
        {
          *number = ++pairs->n;
          pairs->items
              = sli_tool_grow (pairs->items, pairs->n * sizeof (Pair));
          pairs->items[pairs->n - 1]
              = (Pair){ chain, { .class = { "absent", "absent" } } };
        }
      else
        free (chain);
      pair = &pairs->items[*number - 1].sites;
      pair->name = sli_json_string (site, "name");
      if (pair->calls[side] == 0)
        pair->class[side] = sli_json_string (site, "class");
      pair->calls[side] += sli_json_number (site, "calls");
      pair->bytes[side] += sli_json_number (site, "bytes");
      pair->peak[side] += sli_json_number (site, "peak");
    }
}

static double
percent_of (double after, double before)
{
  return before > 0 ? 100 * (after / before - 1) : after > 0 ? 100 : 0;
}

static const char *const total_keys[]
    = { "calls", "bytes", "peak", "end_bytes", "byte_seconds" };
#define N_TOTALS (sizeof total_keys / sizeof *total_keys)
/* Times always differ. */
#define FIRST_OF_TIME 4

static double
total_of (const JsonValue *document, size_t key)
{
  return sli_json_number (sli_json_get (document, "totals"), total_keys[key]);
}

static bool
totals_differ (JsonValue *const documents[2])
{
  for (size_t i = 0; i < FIRST_OF_TIME; i++)
    if (fabs (percent_of (total_of (documents[1], i),
                          total_of (documents[0], i)))
        > 1)
      return true;
  return false;
}

static void
totals_print (JsonValue *const documents[2])
{
  for (size_t i = 0; i < N_TOTALS; i++)
    {
      double before = total_of (documents[0], i);
      double after = total_of (documents[1], i);

      printf ("%-14s %14.0f %14.0f %+8.2f %%\n", total_keys[i], before, after,
              percent_of (after, before));
    }
}

/* Returns true if a site has another class. */
static bool
classes_differ (const Pairs *pairs, size_t n_rows)
{
  for (size_t i = 0; i < pairs->n && i < n_rows; i++)
    {
      const SitePair *pair = &pairs->items[i].sites;

      if (strcmp (pair->class[0], pair->class[1]) != 0)
        return true;
    }
  return false;
}

static void
pairs_print (const Pairs *pairs, size_t n_rows)
{
  printf ("\n%10s %10s %11s %11s  %-23s %s\n", "calls", "after", "bytes",
          "after", "class", "site");
  for (size_t i = 0; i < pairs->n && i < n_rows; i++)
    {
      const SitePair *pair = &pairs->items[i].sites;
      bool same = strcmp (pair->class[0], pair->class[1]) == 0;

      printf ("%10.0f %10.0f %11.0f %11.0f  %s%s%s  %.40s\n", pair->calls[0],
              pair->calls[1], pair->bytes[0], pair->bytes[1], pair->class[0],
              same ? "" : " -> ", same ? "" : pair->class[1], pair->name);
    }
}

static bool
page_write (const char *path, JsonValue *const documents[2],
            const Pairs *pairs, size_t n_rows)
{
  const JsonValue *runs[2] = { documents[0], documents[1] };
  SitePair *sites = sli_tool_alloc ((pairs->n + 1) * sizeof *sites);
  FILE *file = sli_file_begin (path);

  for (uint32_t i = 0; i < pairs->n; i++)
    sites[i] = pairs->items[i].sites;
  sli_report_diff (runs, sites, pairs->n, n_rows, file);
  free (sites);
  return sli_file_end (file, path);
}

static void
pairs_make (Pairs *pairs, JsonValue *const documents[2])
{
  for (int side = 0; side < 2; side++)
    pairs_add (pairs, documents[side], side);
  sli_table_free (&pairs->by_chain);
  if (pairs->n > 0)
    qsort (pairs->items, pairs->n, sizeof (Pair), pair_compare);
}

static void
pairs_free (Pairs *pairs)
{
  for (uint32_t i = 0; i < pairs->n; i++)
    free (pairs->items[i].chain);
  free (pairs->items);
}

int
sli_command_diff (int argc, char **argv)
{
  TraceOptions trace;
  uint32_t n_rows = 30;
  const char *path = NULL;
  const ToolOption options[]
      = { { OPTION_COUNT, NULL, 'n', &n_rows, "N", "Lines (30)", 1,
            UINT32_MAX },
          OPTION (OUTPUT, NULL, 'o', &path, "FILE",
                  "Writes a page with pictures instead"),
          { 0 } };
  const CommandLine line = { .words = "BEFORE AFTER",
                             .help = "Shows the sites of two traces or "
                                     "patterns side by side.",
                             .options = options,
                             .trace = &trace,
                             .least = 2,
                             .most = 2 };
  Pairs pairs = { 0 };
  JsonValue *documents[2];
  bool differs, good = true;

  sli_trace_options_init (&trace, N_HOT_DEFAULT);
  sli_command_line (&line, &argc, &argv);
  if (path != NULL)
    sli_file_check (path);
  sli_stage_inputs_check (argc, argv);
  for (int side = 0; side < 2; side++)
    documents[side] = sli_stage_patterns (argv[side], &trace.profile);
  sli_origin_options_check (&(OriginFile){ documents[0], argv[0] },
                            &(OriginFile){ documents[1], argv[1] });
  pairs_make (&pairs, documents);
  differs = totals_differ (documents) || classes_differ (&pairs, n_rows);
  if (path != NULL)
    good = page_write (path, documents, &pairs, n_rows);
  else
    {
      totals_print (documents);
      pairs_print (&pairs, n_rows);
    }
  pairs_free (&pairs);
  sli_json_free (documents[0]);
  sli_json_free (documents[1]);
  return !good ? TOOL_FAILED : differs ? TOOL_DIFFERS : TOOL_OK;
}
