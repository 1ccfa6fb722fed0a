/* trial-site.c - chooses the site of a trial
 *
 * Tools.  Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#include "trial.h"
#include "tools/trace/apply/apply.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/profile/write/profile-json.h"
#include <slice/slice.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The sites that were looked for. */
typedef struct
{
  uint32_t n, n_rare;
} SiteCounts;

/* The arena that a class is tried on; NULL: none. */
static const char *
arena_of (SiteClass class)
{
  switch (class)
    {
    case CLASS_IMMORTAL:
    case CLASS_LINEAR:
    case CLASS_LINEAR_FAIR:
      return "linear";
    case CLASS_STACK:
    case CLASS_STACK_LAZY:
      return "stack";
    case CLASS_OWNER:
      return "context";
    case CLASS_POOL:
      return "pool";
    case CLASS_SLICE:
      return "slice";
    default:
      return NULL;
    }
}

static bool
has_one_thread (const Verdict *verdict)
{
  return verdict->numbers[NUMBER_T] <= 1 && verdict->numbers[NUMBER_X] <= 0;
}

/* Whether a name has the text: at its beginning if that begins with ^, at its
 * end if that ends with $. */
static bool
text_suits (const char *name, const char *text)
{
  bool at_start = *text == '^';
  size_t n = strlen (text += at_start), n_name = strlen (name);
  bool at_end = n > 0 && text[n - 1] == '$';

  n -= at_end;
  if (!at_start && !at_end)
    return strstr (name, text) != NULL;
  return n_name >= n && (!at_start || strncmp (name, text, n) == 0)
         && (!at_end || strncmp (name + n_name - n, text, n) == 0)
         && (!at_start || !at_end || n == n_name);
}

static bool
is_named (const Profile *profile, const SiteResult *result,
          const char *const *wanted)
{
  bool found = false;
  char *name = sli_profile_site_name (profile, result->site);

  for (; *wanted != NULL; wanted++)
    found |= text_suits (name, *wanted);
  free (name);
  return found;
}

/* Returns true if a site belongs to the hottest that suits: the compiler makes
 * several sites of a function that it inlines. */
static bool
is_like (const Profile *profile, const SiteResult *result,
         const SiteResult *first)
{
  const char *arena = arena_of (result->verdict.class);
  char *name;
  char *wanted;
  bool same;

  if (first == NULL || arena == NULL)
    return arena != NULL;
  name = sli_profile_site_name (profile, result->site);
  wanted = sli_profile_site_name (profile, first->site);
  same = strcmp (name, wanted) == 0
         && strcmp (arena, arena_of (first->verdict.class)) == 0;
  free (wanted);
  free (name);
  return same;
}

/* Exits, because no site was chosen. */
static void
none_say (const char *const *wanted, const SiteCounts *counts)
{
  if (wanted != NULL && counts->n == 0)
    sli_tool_exit (TOOL_NO_EVENTS, "no site has that name");
  if (counts->n > 0 && counts->n_rare == counts->n)
    sli_tool_exit (TOOL_NO_EVENTS, "the sites of that name allocate too "
                                   "rarely");
  if (counts->n > 0)
    sli_tool_exit (TOOL_NO_EVENTS, "several threads have the blocks of the "
                                   "site, and a trial is for one thread");
  sli_tool_exit (TOOL_NO_EVENTS, "no site has a class that has an arena: "
                                 "choose a site (--site) and one (--as)");
}

/* Chooses, by result, what the arena is to have; returns the hottest of
 * them. */
static const SiteResult *
sites_choose (const Profile *profile, const char *const *wanted, bool *only)
{
  const SiteResult *first = NULL;
  SiteCounts counts = { 0 };

  for (uint32_t rank = 0; rank < profile->n_results; rank++)
    {
      uint32_t number = profile->ranked[rank];
      const SiteResult *result = &profile->results[number];
      SiteClass class = result->verdict.class;
      bool suits = wanted == NULL ? is_like (profile, result, first)
                                  : is_named (profile, result, wanted);

      counts.n += suits;
      counts.n_rare += suits && class == CLASS_RARE;
      if (!suits || class == CLASS_RARE || !has_one_thread (&result->verdict))
        continue;
      only[number] = true;
      if (first == NULL)
        first = result;
    }
  if (first == NULL)
    none_say (wanted, &counts);
  return first;
}

/* Sums up the sites, and names the arena. */
static TrialSite
sites_sum (const Profile *profile, const ApplySite *sites, const bool *only,
           const SiteResult *first, const char *arena)
{
  TrialSite sum = { .count.n_served = -1 };
  uint64_t largest = 0;
  char *name;

  for (uint32_t i = 0; i < profile->n_results; i++)
    if (only[i])
      {
        sum.n_sites++;
        sum.n_allocs += (double) profile->results[i].stats->allocs;
        sum.n_frees += (double) profile->results[i].stats->frees;
        largest = sites[i].largest > largest ? sites[i].largest : largest;
      }
  name = sli_profile_site_name (profile, first->site);
  snprintf (sum.name, sizeof sum.name, "%s", name);
  free (name);
  snprintf (sum.class, sizeof sum.class, "%s",
            sli_class_title (first->verdict.class));
  if (arena == NULL)
    arena = arena_of (first->verdict.class);
  if (arena == NULL)
    sli_tool_exit (TOOL_NO_EVENTS,
                   "%s: its class (%s) has no arena that can be tried, only "
                   "immortal, linear, linear-fair, stack, stack-lazy, owner, "
                   "pool and slice have: choose one (--as)",
                   sum.name, sum.class);
  if (strcmp (arena, "slice") == 0 && largest > SLICE_SIZE_MAX)
    sli_tool_exit (TOOL_NO_EVENTS,
                   "%s: a block has %llu bytes, and a slice at most %d",
                   sum.name, (unsigned long long) largest, SLICE_SIZE_MAX);
  if (strcmp (arena, "pool") != 0)
    snprintf (sum.arena, sizeof sum.arena, "%s", arena);
  else
    snprintf (sum.arena, sizeof sum.arena, "pool %llu",
              (unsigned long long) largest);
  return sum;
}

/* Writes the advice for the sites to the file. */
static void
advice_write (Profile *profile, const ApplySite *sites,
              const uint64_t *by_node, const bool *only, int fd)
{
  Paths paths = { 0 };
  FILE *file = fdopen (dup (fd), "w");

  if (file == NULL)
    sli_tool_exit (TOOL_FAILED, "the advice can't be written");
  sli_apply_paths (&paths, profile, by_node);
  if (sli_apply_write (profile, sites, &paths,
                       (ApplyChoice){ .all = true, .only = only }, file)
      == 0)
    sli_tool_exit (TOOL_NO_EVENTS,
                   "the calls of that site can't be found in the unchanged "
                   "program");
  if (fclose (file) != 0)
    sli_tool_exit (TOOL_FAILED, "the advice can't be written");
  free (paths.nodes);
  sli_table_free (&paths.by_key);
}

TrialSite
sli_trial_site (Profile *profile, const ProfileOptions *options,
                const char *const *wanted, const char *arena,
                TrialFiles files)
{
  bool *only = sli_tool_zero (profile->n_results + 1);
  const SiteResult *first = sites_choose (profile, wanted, only);
  uint64_t *by_node;
  ApplySite *sites = sli_apply_regions (profile, options, &by_node);
  TrialSite sum = sites_sum (profile, sites, only, first, arena);

  advice_write (profile, sites, by_node, only, files.advice);
  if (strcmp (sum.arena, "context") == 0)
    sum.owners = sli_trial_owners (profile, options, only, files.owners);
  free (by_node);
  free (sites);
  free (only);
  return sum;
}
