/* advice-worth.c - does not advise changes that save next to nothing
 *
 * Tools.  A change that saves less than a hundredth of the process's time is
 * lost in what other work, or where a function lies in its cache lines, makes
 * of that time.  One that saves less memory than the library's own pages take
 * saves none.  Without the process's time nothing is too small.
 *
 * Design: chapter 13.8.  SPDX-License-Identifier: MIT
 */
#include "advice.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the process's CPU time, and of the peak of live bytes. */
#define WORTH_SHARE 0.01
/* The library's own pages (command-predict.c). */
#define WORTH_BYTES (256 * 1024)

static const char next_to_nothing[] = "saves next to nothing";

double
sli_advice_process_nsec (const Advise *advise)
{
  return sli_json_number (sli_json_get (advise->times, "totals"),
                          "plain_nsec");
}

static bool
is_done (const Advice *advice)
{
  return strcmp (advice->verdict, "do") == 0;
}

/* The compiler makes several sites of a function that it inlines, and one
 * change is for all of them. */
static bool
is_same_change (const Advice *left, const Advice *right)
{
  return strcmp (left->class, right->class) == 0
         && strcmp (sli_json_string (left->site, "name"),
                    sli_json_string (right->site, "name"))
                == 0;
}

void
sli_advice_settle (const Advise *advise, Advice *advices, size_t n)
{
  double process = sli_advice_process_nsec (advise);
  double peak = sli_json_number (sli_json_get (advise->inputs[0], "totals"),
                                 "peak");
  bool *small = sli_tool_zero (n + 1);

  for (size_t i = 0; i < n && process > 0; i++)
    {
      double nsec = 0, bytes = 0;

      for (size_t j = 0; j < n; j++)
        if (is_done (&advices[j]) && is_same_change (&advices[i], &advices[j]))
          {
            nsec += (advices[j].low + advices[j].high) / 2;
            bytes += advices[j].memory_before - advices[j].memory_after;
          }
      small[i] = nsec < WORTH_SHARE * process
                 && bytes < fmax (WORTH_SHARE * peak, WORTH_BYTES);
    }
  for (size_t i = 0; i < n; i++)
    if (small[i] && is_done (&advices[i]))
      advices[i].verdict = next_to_nothing;
  free (small);
}

char *
sli_advice_summary (const Advise *advise, const Advice *advices, size_t n,
                    double allocator_nsec)
{
  size_t n_done = 0, n_small = 0;
  const char *process;

  for (size_t i = 0; i < n; i++)
    {
      n_done += is_done (&advices[i]);
      n_small += advices[i].verdict == next_to_nothing;
    }
  process = sli_human_nsec (sli_advice_process_nsec (advise));
  if (n_done > 0 && n_small == 0)
    return sli_tool_text ("%s", "");
  if (n_done > 0)
    return sli_tool_text (
        "%zu other site%s would save less than 1 %% of the process's time "
        "(%s) and of its memory, and %s not advised.",
        n_small, n_small == 1 ? "" : "s", process,
        n_small == 1 ? "is" : "are");
  if (n_small > 0)
    return sli_tool_text (
        "No change pays: none would save 1 %% of the process's time or of its "
        "memory. The allocator takes %s of %s.",
        sli_human_nsec (allocator_nsec), process);
  if (sli_advice_process_nsec (advise) > 0)
    return sli_tool_text ("No change is sure to pay. The allocator takes %s "
                          "of the %s of the process.",
                          sli_human_nsec (allocator_nsec), process);
  return sli_tool_text ("No change is sure to pay.");
}
