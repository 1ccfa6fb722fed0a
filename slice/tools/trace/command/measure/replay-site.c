/* replay-site.c - one site's operations, on malloc and on its class's
 * allocator
 *
 * Tools.  Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#include "replay-parts.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/profile/write/profile-json.h"
#include <stdlib.h>

#define N_BLOCK_SIZES 7 /* 1 to 64 KiB */
/* A pool must win this much, in time or in memory. */
#define POOL_WIN 0.90
/* The rounds in which a site's measurements take turns. */
#define N_ROUNDS_MAX 5
#define N_COLD_ROUNDS 2

typedef struct
{
  ReplayResult *result;
  BackendId backend;
  bool cold;
  ReplayFrees frees;
} SiteTurn;

#define N_SITE_TURNS 8
#define TURN_MALLOC 1
#define TURN_OTHER 2

/* Returns true for classes that free all blocks at once, so that the program
 * need not visit the blocks to free them. */
static bool
is_freed_whole (SiteClass class)
{
  return class == CLASS_LINEAR || class == CLASS_LINEAR_FAIR
         || class == CLASS_SCOPE || class == CLASS_OWNER;
}

static unsigned
rounds_of (const ReplayOptions *options)
{
  return options->n_repeats < N_ROUNDS_MAX ? options->n_repeats : N_ROUNDS_MAX;
}

static ReplayResult
turn_measure (const ReplayOptions *options, uint32_t index, SiteClass class,
              const SiteTurn *turn)
{
  ReplayTask task = { .ops_path = options->ops.path,
                      .backend = turn->backend,
                      /* groups exist only if the advice is taken */
                      .advised = turn->backend == sli_backend_of_class (class),
                      .only_site = index,
                      .frees = turn->frees,
                      .n_repeats = options->n_repeats / rounds_of (options),
                      .pollute_lines = turn->cold ? options->pollute_lines : 0,
                      .litter = options->litter };

  return sli_replay_measure (&task);
}

/* Measures each allocator in turn, several times, so that other work of the
 * machine falls on one turn and not on all of one allocator. */
static void
turns_measure (const ReplayOptions *options, uint32_t index, SiteReplay *site,
               SiteClass class, const SiteTurn turns[N_SITE_TURNS])
{
  double saved[N_ROUNDS_MAX];
  unsigned n = rounds_of (options);

  for (unsigned round = 0; round < n; round++)
    {
      double nsec[N_SITE_TURNS];

      for (int i = 0; i < N_SITE_TURNS; i++)
        {
          ReplayResult result;

          if ((turns[i].cold && round >= N_COLD_ROUNDS)
              || (turns[i].frees != FREES_CALLED && !is_freed_whole (class)))
            continue;
          result = turn_measure (options, index, class, &turns[i]);
          nsec[i] = result.nsec;
          if (round == 0
              || (result.good && result.nsec < turns[i].result->nsec))
            *turns[i].result = result;
        }
      saved[round] = nsec[TURN_MALLOC] - nsec[TURN_OTHER];
    }
  /* leave out one round at each end */
  qsort (saved, n, sizeof *saved, sli_double_compare);
  site->saved_low = saved[n > 3 ? 1 : 0];
  site->saved_high = saved[n > 3 ? n - 2 : n - 1];
}

void
sli_replay_site (const ReplayOptions *options, const Profile *profile,
                 uint32_t index, SiteReplay *site)
{
  SiteClass class = profile->results[index].verdict.class;
  BackendId backend = sli_backend_of_class (class);
  ReplayResult visits = { 0 }, allocs = { 0 };
  const SiteTurn turns[] = {
    { &site->none, BACKEND_NONE, false, FREES_CALLED },
    { &site->malloc, BACKEND_MALLOC, false, FREES_CALLED },
    { &site->other, backend, false, FREES_CALLED },
    { &visits, BACKEND_NONE, false, FREES_VISIT },
    { &allocs, BACKEND_NONE, false, FREES_NONE },
    { &site->none_cold, BACKEND_NONE, true, FREES_CALLED },
    { &site->malloc_cold, BACKEND_MALLOC, true, FREES_CALLED },
    { &site->other_cold, backend, true, FREES_CALLED },
  };
  double before, after;

  site->backend = backend;
  if (backend == BACKEND_MALLOC)
    return;
  turns_measure (options, index, site, class, turns);
  site->measured = site->malloc.good && site->other.good
                   && site->malloc_cold.good && site->other_cold.good;
  if (is_freed_whole (class) && visits.good && allocs.good)
    site->visit_nsec = net (&visits, &allocs);
  before = net (&site->malloc, &site->none);
  after = net (&site->other, &site->none);
  site->win = site->measured
              && (after < POOL_WIN * before
                  || (double) site->other.rss_peak
                         < POOL_WIN * (double) site->malloc.rss_peak);
}

static double
ratio_of (const ReplayResult *after, const ReplayResult *before,
          const ReplayResult *none)
{
  double old = net (before, none);

  return old > 0 ? net (after, none) / old : 1;
}

static void
blocks_write (JsonOut *out, const ReplayOptions *options, uint32_t index,
              const SiteReplay *site)
{
  size_t best = 0;
  double best_score = 1e300;

  sli_json_begin (out, "blocks", '[');
  for (size_t i = 0; i < N_BLOCK_SIZES; i++)
    {
      size_t bytes = (size_t) 1024 << i;
      ReplayTask task = { .ops_path = options->ops.path,
                          .backend = site->backend,
                          .only_site = index,
                          .n_repeats = options->n_repeats,
                          .block_bytes = bytes,
                          .litter = options->litter };
      ReplayResult result = sli_replay_measure (&task);
      double score;

      if (!result.good)
        continue;
      sli_json_begin (out, NULL, '{');
      sli_json_uint (out, "bytes", bytes);
      sli_json_real (out, "nsec", net (&result, &site->none));
      sli_json_uint (out, "rss_peak", result.rss_peak);
      sli_json_end (out, '}');
      /* a larger block must be worth it: 3 % */
      score = (net (&result, &site->none) + 1) * (1 + 0.03 * (double) i);
      if (score < best_score)
        {
          best_score = score;
          best = bytes;
        }
    }
  sli_json_end (out, ']');
  sli_json_uint (out, "best_block", best);
}

void
sli_replay_site_write (JsonOut *out, const ReplayOptions *options,
                       const Profile *profile, uint32_t index,
                       const SiteReplay *site, bool with_blocks)
{
  const SiteResult *result = &profile->results[index];
  char key[24], *name;

  snprintf (key, sizeof key, "%016llx",
            (unsigned long long) sli_sites_key (profile->sites, result->site));
  sli_json_begin (out, NULL, '{');
  sli_json_text (out, "key", key);
  name = sli_profile_site_name (profile, result->site);
  sli_json_text (out, "name", name);
  free (name);
  sli_json_text (out, "class", sli_class_name (result->verdict.class));
  sli_json_text (out, "backend", sli_backend_name (site->backend));
  sli_json_bool (out, "win", site->win);
  sli_json_real (out, "malloc_nsec", net (&site->malloc, &site->none));
  sli_json_real (out, "new_nsec", net (&site->other, &site->none));
  sli_json_real (out, "ratio_warm",
                 ratio_of (&site->other, &site->malloc, &site->none));
  sli_json_real (
      out, "ratio_cold",
      ratio_of (&site->other_cold, &site->malloc_cold, &site->none_cold));
  sli_json_real (out, "visit_nsec", site->visit_nsec);
  sli_json_real (out, "saved_nsec_low", site->saved_low);
  sli_json_real (out, "saved_nsec_high", site->saved_high);
  sli_json_uint (out, "malloc_rss", site->malloc.rss_peak);
  sli_json_uint (out, "new_rss", site->other.rss_peak);
  if (with_blocks
      && (site->backend == BACKEND_LINEAR || site->backend == BACKEND_STACK))
    blocks_write (out, options, index, site);
  sli_json_end (out, '}');
}
