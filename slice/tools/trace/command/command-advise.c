/* command-advise.c - slice-trace advise: what to change, and what it saves
 *
 * Tools.  Puts together the classes of one or more runs, the program's own
 * times and the replay.  What is saved at a site is its time in the program
 * times the part of it that the replay saves, from a warm cache to one as
 * cold as the program's.
 *
 * Nobody can save more than malloc takes, in the program or in the replay: that
 * is the most that is shown.
 * Advice is given where the whole range is a gain; the class of any other site
 * is shown with the reason.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "command-line.h"
#include "commands.h"
#include "tools/trace/common/origin.h"
#include "tools/trace/common/stage.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <string.h>

#define INPUTS_MAX 16

typedef struct
{
  JsonValue *inputs[INPUTS_MAX];
  size_t n_inputs;
  JsonValue *times, *replay;
  const char *output;
  bool text;
} Advise;

typedef struct
{
  const JsonValue *site, *replayed;
  const char *class;
  double nsec;              /* in the program, or in the replay of malloc */
  double low, high;         /* saved */
  double most;              /* that malloc takes, there or here */
  double warm, cold, visit; /* parts of that, by the program's own time */
  double memory_before, memory_after;
  bool stable;
  const char *verdict; /* "do", or why not */
} Advice;

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

/* The same site in another run: by its key; if that run was split otherwise,
 * by its innermost frame. */
static const JsonValue *
site_elsewhere (const JsonValue *document, const JsonValue *site)
{
  const JsonValue *found
      = sli_stage_site (document, sli_json_string (site, "key"));
  if (found != NULL)
    return found;
  const JsonValue *frames = sli_json_get (site, "frames");
  const JsonValue *sites = sli_json_items (document, "sites");
  if (frames == NULL || frames->n_items == 0)
    return NULL;
  const char *module = sli_json_string (&frames->items[0], "module");
  double offset = sli_json_number (&frames->items[0], "offset");
  for (size_t i = 0; sites != NULL && i < sites->n_items; i++)
    {
      const JsonValue *other = sli_json_get (&sites->items[i], "frames");
      if (other != NULL && other->n_items > 0
          && sli_json_number (&other->items[0], "offset") == offset
          && strcmp (sli_json_string (&other->items[0], "module"), module)
                 == 0)
        return &sites->items[i];
    }
  return NULL;
}

static bool
is_stable (const Advise *advise, const JsonValue *site)
{
  const char *class = sli_json_string (site, "class");
  for (size_t i = 1; i < advise->n_inputs; i++)
    {
      const JsonValue *other = site_elsewhere (advise->inputs[i], site);
      const char *other_class
          = other == NULL ? class : sli_json_string (other, "class");
      if (strcmp (other_class, "rare") != 0
          && strcmp (other_class, class) != 0)
        return false;
    }
  return true;
}

static double
least (double a, double b)
{
  return a < b ? a : b;
}

static void
saving_find (Advice *advice)
{
  double warm = 1 - sli_json_number (advice->replayed, "ratio_warm");
  double cold = 1 - sli_json_number (advice->replayed, "ratio_cold");
  double low = warm < cold ? warm : cold, high = warm < cold ? cold : warm;
  /* the clock hides calls of a few nanoseconds, the replay does not */
  advice->most = -least (-advice->nsec, -sli_json_number (advice->replayed,
                                                          "malloc_nsec"));
  advice->warm = advice->nsec * warm;
  advice->cold = advice->nsec * cold;
  advice->visit = sli_json_number (advice->replayed, "visit_nsec");
  advice->low = advice->nsec * low;
  advice->high = advice->nsec * high;
  /* A call of a few nanoseconds hides behind the clock that measures it: the
   * replay's own difference, but for its worst and best round, is the other
   * bound. */
  advice->low = least (advice->low,
                       sli_json_number (advice->replayed, "saved_nsec_low"));
  advice->high = -least (
      -advice->high, -sli_json_number (advice->replayed, "saved_nsec_high"));
  /* unless there is something else to do on the way */
  advice->high = least (advice->high + advice->visit, advice->most);
  advice->low = least (advice->low, advice->high);
  advice->memory_before = sli_json_number (advice->replayed, "malloc_rss");
  advice->memory_after = sli_json_number (advice->replayed, "new_rss");
  /* a pool must win 10 %; others must win at all */
  bool pool = strcmp (advice->class, "pool") == 0;
  bool wins = !pool || sli_json_number (advice->replayed, "win") != 0;
  bool smaller = advice->memory_after < 0.9 * advice->memory_before;
  advice->verdict = wins && advice->low > 0   ? "do"
                    : smaller                 ? "less memory, but no less time"
                    : wins && advice->high > 0 ? "perhaps no gain"
                                               : "no gain in the replay";
}

static Advice
advice_make (const Advise *advise, const JsonValue *site)
{
  Advice advice = { .site = site,
                    .class = sli_json_string (site, "class"),
                    .stable = is_stable (advise, site),
                    .verdict = "not replayed" };
  const JsonValue *timed
      = advise->times == NULL ? NULL : site_elsewhere (advise->times, site);
  advice.nsec = sli_stage_site_nsec (timed != NULL ? timed : site);
  advice.replayed
      = sli_stage_site (advise->replay, sli_json_string (site, "key"));
  if (advice.nsec <= 0 && advice.replayed != NULL)
    advice.nsec = sli_json_number (advice.replayed, "malloc_nsec");
  if (strcmp (advice.class, "general") == 0
      || strcmp (advice.class, "huge") == 0
      || strcmp (advice.class, "rare") == 0)
    advice.verdict = "stay with malloc";
  else if (sli_json_number (site, "temporary") != 0)
    advice.verdict = "a library's own: gone when it returns";
  else if (advice.replayed != NULL)
    saving_find (&advice);
  if (strcmp (advice.verdict, "do") == 0 && !advice.stable)
    advice.verdict = "unstable: other inputs behave otherwise";
  return advice;
}

static void
classes_write (JsonOut *out, const Advise *advise, const JsonValue *site)
{
  sli_json_begin (out, "classes", '[');
  for (size_t i = 0; i < advise->n_inputs; i++)
    {
      const JsonValue *other
          = i == 0 ? site : site_elsewhere (advise->inputs[i], site);
      sli_json_text (out, NULL,
                     other == NULL ? "absent"
                                   : sli_json_string (other, "class"));
    }
  sli_json_end (out, ']');
}

/* Arenas, stacks and pools are one thread's. */
static bool
is_for_each_thread (const Advice *advice)
{
  const JsonValue *numbers = sli_json_get (advice->site, "numbers");
  return sli_json_number (numbers, "T") > 1
         && strcmp (advice->class, "slice") != 0
         && strcmp (advice->class, "immortal") != 0
         && strcmp (advice->class, "owner") != 0;
}

/* How often an arena of its own would be reset: again and again, or not before
 * the program ends.  Text for free(). */
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

/* The place itself, without what has to be said of any. */
static char *
place_of (const Advice *advice)
{
  const char *owner = sli_json_string (advice->site, "owner");
  const char *scope = sli_json_string (advice->site, "scope");
  const char *common = sli_json_string (advice->site, "common");
  if (strcmp (advice->class, "owner") == 0)
    return sli_tool_text ("with each object of: %s", owner);
  if (strcmp (advice->class, "scope") != 0)
    return sli_tool_text ("in %s, which all calls come through, or further "
                          "out",
                          common);
  if (sli_json_number (advice->site, "scope_is_function") != 0)
    return sli_tool_text ("in each call of %s, or each round of a loop in it, "
                          "from its begin to its end",
                          scope);
  return sli_tool_text ("where the scope %s begins", scope);
}

/* Where the memory is to come from.  Text for free(). */
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
  sli_json_text (out, "where", where);
  free (where);
  const JsonValue *frees = sli_json_get (advice->site, "free_sites");
  sli_json_begin (out, "frees_to_rewrite", '[');
  for (size_t i = 0; frees != NULL && i < frees->n_items && i < 6; i++)
    {
      sli_json_begin (out, NULL, '{');
      sli_json_text (out, "function",
                     sli_json_string (&frees->items[i], "function"));
      sli_json_real (out, "percent",
                     sli_json_number (&frees->items[i], "percent"));
      sli_json_end (out, '}');
    }
  sli_json_end (out, ']');
}

static void
advice_write (JsonOut *out, const Advise *advise, const Advice *advice)
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

static int
advice_compare (const void *a, const void *b)
{
  const Advice *left = a, *right = b;
  bool left_do = strcmp (left->verdict, "do") == 0;
  bool right_do = strcmp (right->verdict, "do") == 0;
  if (left_do != right_do)
    return left_do ? -1 : 1;
  double left_mean = left->low + left->high;
  double right_mean = right->low + right->high;
  return left_mean > right_mean ? -1 : left_mean < right_mean;
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

/* All that is to be done, at once.  The replay's own difference is that of
 * the whole trace, where sites share malloc's lists and the cache; the program
 * may also visit the blocks before it frees them. */
static void
total_saving (const Advise *advise, const Advice *advices, size_t n,
              double *low, double *high)
{
  double warm = 0, cold = 0, visit = 0, most = 0;
  size_t n_done = 0;
  for (size_t i = 0; i < n; i++)
    if (strcmp (advices[i].verdict, "do") == 0)
      {
        n_done++;
        *low += advices[i].low;
        *high += advices[i].high;
        warm += advices[i].warm;
        cold += advices[i].cold;
        visit += advices[i].visit;
        most += advices[i].most;
      }
  const JsonValue *together = sli_json_get (advise->replay, "together");
  if (n_done == 0 || together == NULL)
    return;
  *low = least (least (warm, cold),
                sli_json_number (together, "saved_nsec_low"));
  *high = -least (-sli_json_number (together, "saved_nsec_high"),
                  least (-warm, -cold));
  *high = least (*high + visit + sli_json_number (together, "walk_nsec"),
                 most);
  *low = least (*low, *high);
}

static void
totals_write (JsonOut *out, const Advise *advise, const Advice *advices,
              size_t n)
{
  double nsec = 0, low = 0, high = 0;
  const JsonValue *timed
      = advise->times != NULL ? advise->times : advise->inputs[0];
  const JsonValue *sites = sli_json_items (timed, "sites");
  for (size_t i = 0; i < sites->n_items; i++)
    nsec += sli_stage_site_nsec (&sites->items[i]);
  total_saving (advise, advices, n, &low, &high);
  sli_json_begin (out, "totals", '{');
  sli_json_real (out, "allocator_nsec", nsec);
  sli_json_real (out, "saved_nsec_low", low);
  sli_json_real (out, "saved_nsec_high", high);
  sli_json_real (
      out, "rss_malloc",
      sli_json_number (whole_of (advise->replay, "malloc"), "rss_peak"));
  sli_json_real (
      out, "rss_advised",
      sli_json_number (whole_of (advise->replay, "advised"), "rss_peak"));
  sli_json_end (out, '}');
}

static void
text_print (const Advice *advices, size_t n)
{
  for (size_t i = 0; i < n && i < 30; i++)
    {
      const Advice *advice = &advices[i];
      printf ("%2zu. %.90s\n", i + 1, sli_json_string (advice->site, "name"));
      printf ("    %s: %s%s\n", sli_json_string (advice->site, "advice"),
              advice->verdict, advice->stable ? "" : " (unstable)");
      if (strcmp (advice->verdict, "do") != 0)
        continue;
      printf (
          "    saves %s to %s (malloc: %s in the program, %s in the "
          "replay); memory %s -> %s\n",
          sli_human_nsec (advice->low), sli_human_nsec (advice->high),
          sli_human_nsec (advice->nsec),
          sli_human_nsec (sli_json_number (advice->replayed, "malloc_nsec")),
          sli_human_bytes (advice->memory_before),
          sli_human_bytes (advice->memory_after));
      char *where = where_of (advice);
      printf ("    %s\n    %s\n", hint_of (advice->class), where);
      free (where);
    }
}

static int
advise_run (Advise *advise)
{
  const JsonValue *sites = sli_json_items (advise->inputs[0], "sites");
  size_t n = 0;
  Advice *advices = sli_tool_zero ((sites->n_items + 1) * sizeof (Advice));
  for (size_t i = 0; i < sites->n_items; i++)
    if (sli_json_get (&sites->items[i], "picture") != NULL)
      advices[n++] = advice_make (advise, &sites->items[i]);
  qsort (advices, n, sizeof *advices, advice_compare);
  if (advise->text)
    text_print (advices, n);
  bool good = true;
  if (advise->output != NULL || !advise->text)
    {
      const char *path = advise->output == NULL ? "-" : advise->output;
      FILE *file = sli_file_begin (path);
      JsonOut out = { .file = file };
      sli_json_begin (&out, NULL, '{');
      sli_json_text (&out, "format", "slice-trace advice 1");
      sli_origin_copy (&out, advise->inputs[0]);
      sli_json_uint (&out, "inputs", advise->n_inputs);
      totals_write (&out, advise, advices, n);
      sli_json_begin (&out, "sites", '[');
      for (size_t i = 0; i < n; i++)
        advice_write (&out, advise, &advices[i]);
      sli_json_end (&out, ']');
      sli_json_end (&out, '}');
      good = sli_file_end (file, path);
    }
  free (advices);
  return good ? TOOL_OK : TOOL_FAILED;
}

int
sli_command_advise (int argc, char **argv)
{
  Advise advise = { 0 };
  TraceOptions trace;
  const char *times = NULL, *replay = NULL;
  const ToolOption options[]
      = { OPTION (TEXT, NULL, 'o', &advise.output, "FILE", "The JSON"),
          OPTION (FLAG, "text", 0, &advise.text, NULL, "For people"),
          OPTION (TEXT, "times", 0, &times, "FILE",
                  "The program's own times: a timed trace or its patterns"),
          OPTION (TEXT, "replay", 0, &replay, "FILE", "Of replay"),
          { 0 } };
  const CommandLine line = { .words = "INPUT...",
                             .help = "What to change, and what it saves: of "
                                     "traces or patterns.",
                             .options = options,
                             .trace = &trace,
                             .least = 1,
                             .most = INPUTS_MAX };
  sli_trace_options_init (&trace, N_HOT_DEFAULT);
  sli_command_line (&line, &argc, &argv);
  if (advise.output != NULL)
    sli_file_check (advise.output);
  for (int i = 0; i < argc; i++)
    advise.inputs[advise.n_inputs++]
        = sli_stage_patterns (argv[i], &trace.profile);
  advise.times
      = times == NULL ? NULL : sli_stage_patterns (times, &trace.profile);
  advise.replay = sli_stage_load (replay, "slice-trace replay 1");
  /* other inputs and times are other recordings; the replay is of the first */
  OriginFile first = { advise.inputs[0], argv[0] };
  for (int i = 1; i < argc; i++)
    sli_origin_options_check (&first,
                              &(OriginFile){ advise.inputs[i], argv[i] });
  sli_origin_options_check (&first, &(OriginFile){ advise.times, times });
  sli_origin_check (&first, &(OriginFile){ advise.replay, replay });
  int code = advise_run (&advise);
  for (size_t i = 0; i < advise.n_inputs; i++)
    sli_json_free (advise.inputs[i]);
  sli_json_free (advise.times);
  sli_json_free (advise.replay);
  return code;
}
