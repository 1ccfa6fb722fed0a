/* advice-write.c - writes the advice as JSON and as text
 *
 * Tools.  Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#include "advice.h"
#include "tools/trace/common/stage/origin.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <string.h>

#define PRINTED_MAX 30 /* sites */
#define FREES_MAX 6    /* places that free a site's blocks */

static const struct
{
  const char *class;
  const char *hint;
} hints[] = {
  { "immortal", "SliceLinear *arena = slice_linear_new (NULL); at the "
                "start; slice_linear_alloc (arena, size); nothing is freed" },
  { "scratch", "a buffer of the caller's, or slice_stack_alloc (stack, size) "
               "... slice_stack_release (stack, block)" },
  { "linear", "SliceLinear *arena = slice_linear_new (NULL); "
              "slice_linear_alloc (arena, size); instead of the frees one "
              "slice_linear_reset (arena, SLICE_KEEP_ALL)" },
  { "stack", "SliceStack *stack = slice_stack_new (NULL); "
             "slice_stack_alloc (stack, size) ... "
             "slice_stack_release (stack, block)" },
  { "owner", "void *owner_context = ralloc_context (parent); "
             "ralloc_size (owner_context, size); the owner's end is one "
             "ralloc_free (owner_context); or a SliceLinear per owner" },
  { "scope",
    "an arena made where the scope begins and destroyed where it "
    "ends: slice_linear_new (NULL) ... slice_linear_destroy (arena)" },
  { "linear-fair", "SliceLinear as for good sites, where the waste (W) is "
                   "no matter" },
  { "stack-lazy", "SliceStack, with a flag for blocks freed out of order" },
  { "pool", "SlicePool *pool = slice_pool_new_plain (sizeof (Type)); "
            "slice_pool_alloc (pool) ... slice_pool_free (pool, object)" },
  { "slice", "slice_alloc (sizeof *p) ... slice_free1 (sizeof *p, p)" },
};

static const char *
hint_of (const char *class)
{
  for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
    if (strcmp (hints[i].class, class) == 0)
      return hints[i].hint;
  return "";
}

static void
classes_write (JsonOut *out, const Advise *advise, const JsonValue *site)
{
  sli_json_begin (out, "classes", '[');
  for (size_t i = 0; i < advise->n_inputs; i++)
    {
      const JsonValue *other
          = i == 0 ? site : sli_site_elsewhere (advise->inputs[i], site);

      sli_json_text (out, NULL,
                     other == NULL ? "absent"
                                   : sli_json_string (other, "class"));
    }
  sli_json_end (out, ']');
}

/* Returns true for arenas, stacks and pools, which belong to one thread. */
static bool
is_for_each_thread (const Advice *advice)
{
  const JsonValue *numbers = sli_json_get (advice->site, "numbers");

  return sli_json_number (numbers, "T") > 1
         && strcmp (advice->class, "slice") != 0
         && strcmp (advice->class, "immortal") != 0
         && strcmp (advice->class, "owner") != 0;
}

/* Text that says how often the site's own arena would be reset: often, or not
 * before the program ends.  The caller frees it. */
static char *
resets_of (const Advice *advice)
{
  double n = sli_json_number (sli_json_get (advice->site, "numbers"),
                              "resets");

  if (strcmp (advice->class, "linear") != 0
      && strcmp (advice->class, "linear-fair") != 0)
    return sli_tool_text ("%s", "");
  if (n < 2)
    return sli_tool_text ("; destroyed at the end, and never reset: before "
                          "it some block is always left");
  return sli_tool_text ("; reset at each of the %.0f moments at which none of "
                        "them is left",
                        n);
}

/* "f (file.c:12)", or the function alone.  The caller frees it. */
static char *
function_text (const char *function, const char *file, double line)
{
  return file == NULL || *file == '\0'
             ? sli_tool_text ("%s", function)
             : sli_tool_text ("%s (%s:%.0f)", function, file, line);
}

static char *
common_of (const JsonValue *site)
{
  char *place = function_text (sli_json_string (site, "common"),
                               sli_json_string (site, "common_file"),
                               sli_json_number (site, "common_line"));
  char *text = sli_tool_text (
      "in %s, which all calls come through, or further out", place);

  free (place);
  return text;
}

/* The name of the place, without details. */
static char *
place_of (const Advice *advice)
{
  const char *owner = sli_json_string (advice->site, "owner");
  const char *scope = sli_json_string (advice->site, "scope");

  if (strcmp (advice->class, "owner") == 0)
    return sli_tool_text ("with each object of: %s", owner);
  if (strcmp (advice->class, "scope") != 0)
    return common_of (advice->site);
  if (sli_json_number (advice->site, "scope_is_function") != 0)
    return sli_tool_text ("in each call of %s, or each round of a loop in it, "
                          "from its begin to its end",
                          scope);
  return sli_tool_text ("where the scope %s begins", scope);
}

/* Text that says where the memory should come from.  The caller frees it. */
static char *
where_of (const Advice *advice)
{
  const char *through = sli_json_string (advice->site, "through");
  char *place = place_of (advice), *resets = resets_of (advice);
  char *where = sli_tool_text (
      "%s%s%s%s%s", place, is_for_each_thread (advice) ? "; one a thread" : "",
      resets, through[0] == '\0' ? "" : "; in place of ", through);

  free (resets);
  free (place);
  return where;
}

static void
where_write (JsonOut *out, const Advice *advice)
{
  char *where = where_of (advice);
  const JsonValue *frees;

  sli_json_text (out, "where", where);
  free (where);
  frees = sli_json_get (advice->site, "free_sites");
  sli_json_begin (out, "frees_to_rewrite", '[');
  for (size_t i = 0; frees != NULL && i < frees->n_items && i < FREES_MAX;
       i++)
    {
      sli_json_begin (out, NULL, '{');
      sli_json_text (out, "function",
                     sli_json_string (&frees->items[i], "function"));
      if (sli_json_get (&frees->items[i], "file") != NULL)
        {
          sli_json_text (out, "file",
                         sli_json_string (&frees->items[i], "file"));
          sli_json_uint (
              out, "line",
              (uint64_t) sli_json_number (&frees->items[i], "line"));
        }
      sli_json_real (out, "percent",
                     sli_json_number (&frees->items[i], "percent"));
      sli_json_end (out, '}');
    }
  sli_json_end (out, ']');
}

static void
one_write (JsonOut *out, const Advise *advise, const Advice *advice)
{
  sli_json_begin (out, NULL, '{');
  sli_json_text (out, "key", sli_json_string (advice->site, "key"));
  sli_json_text (out, "name", sli_json_string (advice->site, "name"));
  sli_json_text (out, "class", advice->class);
  sli_json_text (out, "advice", sli_json_string (advice->site, "advice"));
  sli_json_text (out, "verdict", advice->verdict);
  sli_json_bool (out, "stable", advice->stable);
  classes_write (out, advise, advice->site);
  sli_json_real (out, "nsec", advice->nsec);
  sli_json_real (out, "replayed_nsec",
                 sli_json_number (advice->replayed, "malloc_nsec"));
  sli_json_real (out, "saved_nsec_low", advice->low);
  sli_json_real (out, "saved_nsec_high", advice->high);
  sli_json_real (out, "memory_before", advice->memory_before);
  sli_json_real (out, "memory_after", advice->memory_after);
  sli_json_real (out, "best_block",
                 sli_json_number (advice->replayed, "best_block"));
  where_write (out, advice);
  sli_json_text (out, "hint", hint_of (advice->class));
  sli_json_end (out, '}');
}

static const JsonValue *
whole_of (const JsonValue *replay, const char *backend)
{
  const JsonValue *whole = sli_json_get (replay, "whole");

  for (size_t i = 0; whole != NULL && i < whole->n_items; i++)
    if (strcmp (sli_json_string (&whole->items[i], "backend"), backend) == 0)
      return &whole->items[i];
  return NULL;
}

/* The time that the program spends in the allocator. */
static double
allocator_nsec (const Advise *advise)
{
  double nsec = 0;
  const JsonValue *timed
      = advise->times != NULL ? advise->times : advise->inputs[0];
  const JsonValue *sites = sli_json_items (timed, "sites");

  for (size_t i = 0; i < sites->n_items; i++)
    nsec += sli_stage_site_nsec (&sites->items[i]);
  return nsec;
}

static void
totals_write (JsonOut *out, const Advise *advise, const Advice *advices,
              size_t n)
{
  double nsec = allocator_nsec (advise), low = 0, high = 0;
  char *summary = sli_advice_summary (advise, advices, n, nsec);

  sli_advice_total (advise, advices, n, &low, &high);
  sli_json_begin (out, "totals", '{');
  sli_json_real (out, "allocator_nsec", nsec);
  sli_json_real (out, "process_nsec", sli_advice_process_nsec (advise));
  sli_json_text (out, "summary", summary);
  sli_json_real (out, "saved_nsec_low", low);
  sli_json_real (out, "saved_nsec_high", high);
  sli_json_real (
      out, "rss_malloc",
      sli_json_number (whole_of (advise->replay, "malloc"), "rss_peak"));
  sli_json_real (
      out, "rss_advised",
      sli_json_number (whole_of (advise->replay, "advised"), "rss_peak"));
  sli_json_end (out, '}');
  free (summary);
}

void
sli_advice_write (JsonOut *out, const Advise *advise, const Advice *advices,
                  size_t n)
{
  sli_json_begin (out, NULL, '{');
  sli_json_text (out, "format", "slice-trace advice 1");
  sli_origin_copy (out, advise->inputs[0]);
  sli_json_uint (out, "inputs", advise->n_inputs);
  totals_write (out, advise, advices, n);
  sli_json_begin (out, "sites", '[');
  for (size_t i = 0; i < n; i++)
    one_write (out, advise, &advices[i]);
  sli_json_end (out, ']');
  sli_json_end (out, '}');
}

/* What goes, or becomes another call. */
static void
frees_print (const JsonValue *frees)
{
  for (size_t i = 0; frees != NULL && i < frees->n_items && i < FREES_MAX;
       i++)
    {
      const JsonValue *at = &frees->items[i];
      char *place = function_text (sli_json_string (at, "function"),
                                   sli_json_string (at, "file"),
                                   sli_json_number (at, "line"));

      printf ("    freed in %s: %.1f %%\n", place,
              sli_json_number (at, "percent"));
      free (place);
    }
}

static void
one_print (size_t number, const Advice *advice)
{
  bool stays;
  char *where;

  printf ("%2zu. %.90s\n", number, sli_json_string (advice->site, "name"));
  /* such a class says so itself */
  stays = strcmp (advice->verdict, "stay with malloc") == 0;
  printf ("    %s%s%s%s\n", sli_json_string (advice->site, "advice"),
          stays ? "" : ": ", stays ? "" : advice->verdict,
          advice->stable ? "" : " (unstable)");
  if (strcmp (advice->verdict, "do") != 0)
    return;
  printf ("    saves %s to %s (malloc: %s in the program, %s in the "
          "replay); memory %s -> %s\n",
          sli_human_nsec (advice->low), sli_human_nsec (advice->high),
          sli_human_nsec (advice->nsec),
          sli_human_nsec (sli_json_number (advice->replayed, "malloc_nsec")),
          sli_human_bytes (advice->memory_before),
          sli_human_bytes (advice->memory_after));
  where = where_of (advice);
  printf ("    %s\n    %s\n", hint_of (advice->class), where);
  free (where);
  frees_print (sli_json_get (advice->site, "free_sites"));
}

void
sli_advice_print (const Advise *advise, const Advice *advices, size_t n)
{
  bool advised = false;
  char *summary
      = sli_advice_summary (advise, advices, n, allocator_nsec (advise));

  for (size_t i = 0; i < n && i < PRINTED_MAX; i++)
    {
      one_print (i + 1, &advices[i]);
      advised |= strcmp (advices[i].verdict, "do") == 0;
    }
  if (*summary != '\0')
    puts (summary);
  free (summary);
  if (advised)
    puts ("These ranges are from a replay.  slice-trace predict --site SITE "
          "TRACE \"COMMAND\"\ntries a site's arena in the program itself, "
          "and tells its saving to within 25 %.");
}
