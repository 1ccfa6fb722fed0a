/* advice.c - finds what to change at each site, and what that saves
 *
 * Tools.  Combines the classes of one or more runs, the program's own times
 * and the replay.  The time saved at a site is its time in the program times
 * the part that the replay saves, with a warm cache and with one as cold as
 * the program's.
 *
 * No change can save more time than malloc takes, in the program or in the
 * replay, so this is the most that is shown.  A site gets advice if the whole
 * range is a gain; for other sites the class is shown with the reason.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "advice.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include <math.h>
#include <string.h>

const JsonValue *
sli_site_elsewhere (const JsonValue *document, const JsonValue *site)
{
  const JsonValue *found
      = sli_stage_site (document, sli_json_string (site, "key"));
  const JsonValue *frames;
  const JsonValue *sites;
  const char *module;
  double offset;

  if (found != NULL)
    return found;
  frames = sli_json_get (site, "frames");
  sites = sli_json_items (document, "sites");
  if (frames == NULL || frames->n_items == 0)
    return NULL;
  module = sli_json_string (&frames->items[0], "module");
  offset = sli_json_number (&frames->items[0], "offset");
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
      const JsonValue *other = sli_site_elsewhere (advise->inputs[i], site);
      const char *other_class
          = other == NULL ? class : sli_json_string (other, "class");

      if (strcmp (other_class, "rare") != 0
          && strcmp (other_class, class) != 0)
        return false;
    }
  return true;
}

static void
saving_find (Advice *advice)
{
  const JsonValue *replayed = advice->replayed;
  double warm = 1 - sli_json_number (replayed, "ratio_warm");
  double cold = 1 - sli_json_number (replayed, "ratio_cold");
  bool pool;
  bool wins;
  bool smaller;

  advice->most
      = fmax (advice->nsec, sli_json_number (replayed, "malloc_nsec"));
  advice->warm = advice->nsec * warm;
  advice->cold = advice->nsec * cold;
  advice->visit = sli_json_number (replayed, "visit_nsec");
  /* The clock can't measure a call of a few nanoseconds.  So the replay's own
   * difference, without its worst and best round, is the other bound. */
  advice->low = fmin (fmin (advice->warm, advice->cold),
                      sli_json_number (replayed, "saved_nsec_low"));
  advice->high = fmax (fmax (advice->warm, advice->cold),
                       sli_json_number (replayed, "saved_nsec_high"));
  /* unless the program has other work on the way */
  advice->high = fmin (advice->high + advice->visit, advice->most);
  advice->low = fmin (advice->low, advice->high);
  advice->memory_before = sli_json_number (replayed, "malloc_rss");
  advice->memory_after = sli_json_number (replayed, "new_rss");
  /* a pool must win 10 %; others must win at all */
  pool = strcmp (advice->class, "pool") == 0;
  wins = !pool || sli_json_number (advice->replayed, "win") != 0;
  smaller = advice->memory_after < 0.9 * advice->memory_before;
  advice->verdict = wins && advice->low > 0   ? "do"
                    : smaller                 ? "less memory, but no less time"
                    : wins && advice->high > 0 ? "perhaps no gain"
                                               : "no gain in the replay";
}

Advice
sli_advice_make (const Advise *advise, const JsonValue *site)
{
  Advice advice = { .site = site,
                    .class = sli_json_string (site, "class"),
                    .stable = is_stable (advise, site),
                    .verdict = "not replayed" };
  const JsonValue *timed
      = advise->times == NULL ? NULL : sli_site_elsewhere (advise->times, site);

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

/* The range that all advice saves together.  The replay's own difference is
 * that of the whole trace, where sites share malloc's lists and the cache; the
 * program may also visit the blocks before it frees them. */
void
sli_advice_total (const Advise *advise, const Advice *advices, size_t n,
                  double *low, double *high)
{
  double warm = 0, cold = 0, visit = 0, most = 0;
  size_t n_done = 0;
  const JsonValue *together;

  *low = *high = 0;
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
  together = sli_json_get (advise->replay, "together");
  if (n_done == 0 || together == NULL)
    return;
  *low = fmin (fmin (warm, cold),
               sli_json_number (together, "saved_nsec_low"));
  *high = fmax (fmax (warm, cold),
                sli_json_number (together, "saved_nsec_high"));
  *high = fmin (*high + visit + sli_json_number (together, "walk_nsec"), most);
  *low = fmin (*low, *high);
}
