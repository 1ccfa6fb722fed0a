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
  double calls[2], bytes[2], peak[2];
  const char *name;
  const char *class[2];
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
  double left_gap = fabs (left->bytes[1] - left->bytes[0]);
  double right_gap = fabs (right->bytes[1] - right->bytes[0]);

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
      Pair *pair;

      if (*number == 0)
        {
          *number = ++pairs->n;
          pairs->items
              = sli_tool_grow (pairs->items, pairs->n * sizeof (Pair));
          pairs->items[pairs->n - 1]
              = (Pair){ .chain = chain, .class = { "absent", "absent" } };
        }
      else
        free (chain);
      pair = &pairs->items[*number - 1];
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

static bool
totals_print (JsonValue *const documents[2])
{
  static const char *const keys[]
      = { "calls", "bytes", "peak", "end_bytes", "byte_seconds" };
  bool differs = false;

  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    {
      double values[2];

      for (int side = 0; side < 2; side++)
        values[side] = sli_json_number (
            sli_json_get (documents[side], "totals"), keys[i]);
      printf ("%-14s %14.0f %14.0f %+8.2f %%\n", keys[i], values[0], values[1],
              percent_of (values[1], values[0]));
      /* times always differ */
      differs |= i < 4 && fabs (percent_of (values[1], values[0])) > 1;
    }
  return differs;
}

int
sli_command_diff (int argc, char **argv)
{
  TraceOptions trace;
  uint32_t n_rows = 30;
  const ToolOption options[] = { { OPTION_COUNT, NULL, 'n', &n_rows, "N",
                                   "Lines (30)", 1, UINT32_MAX },
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
  bool differs;

  sli_trace_options_init (&trace, N_HOT_DEFAULT);
  sli_command_line (&line, &argc, &argv);
  sli_stage_inputs_check (argc, argv);
  for (int side = 0; side < 2; side++)
    documents[side] = sli_stage_patterns (argv[side], &trace.profile);
  sli_origin_options_check (&(OriginFile){ documents[0], argv[0] },
                            &(OriginFile){ documents[1], argv[1] });
  for (int side = 0; side < 2; side++)
    pairs_add (&pairs, documents[side], side);
  differs = totals_print (documents);
  sli_table_free (&pairs.by_chain);
  if (pairs.n > 0)
    qsort (pairs.items, pairs.n, sizeof (Pair), pair_compare);
  printf ("\n%10s %10s %11s %11s  %-23s %s\n", "calls", "after", "bytes",
          "after", "class", "site");
  for (size_t i = 0; i < pairs.n && i < n_rows; i++)
    {
      const Pair *pair = &pairs.items[i];
      bool same = strcmp (pair->class[0], pair -> class[1]) == 0;

      printf ("%10.0f %10.0f %11.0f %11.0f  %s%s%s  %.40s\n", pair->calls[0],
              pair->calls[1], pair->bytes[0], pair->bytes[1], pair->class[0],
              same ? "" : " -> ", same ? "" : pair->class[1], pair -> name);
      differs |= !same;
    }
  for (uint32_t i = 0; i < pairs.n; i++)
    free (pairs.items[i].chain);
  free (pairs.items);
  sli_json_free (documents[0]);
  sli_json_free (documents[1]);
  return differs ? TOOL_DIFFERS : TOOL_OK;
}
