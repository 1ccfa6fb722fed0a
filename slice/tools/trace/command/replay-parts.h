/* replay-parts.h - what the parts of slice-trace replay share
 *
 * Tools.  command-replay.c is the command and what is measured of the whole
 * trace, replay-site.c what is of one site.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMAND_REPLAY_PARTS_H
#define SLI_TRACE_COMMAND_REPLAY_PARTS_H

#include "command-line.h"
#include "tools/trace/common/json.h"
#include "tools/trace/replay/replay.h"

typedef struct
{
  const char *output, *times;
  TextList preloads;
  uint32_t n_repeats;
  TraceOptions trace;
  bool litter;
  ReplayFile ops;
  unsigned pollute_lines;
} ReplayOptions;

typedef struct
{
  ReplayResult malloc, other, malloc_cold, other_cold, none, none_cold;
  BackendId backend;
  bool measured, win;
  double visit_nsec; /* what it takes to go to each block to free it */
  double saved_low, saved_high; /* of the rounds */
} SiteReplay;

/* The least time of some repeats, less what the loop itself takes. */
static inline double
net (const ReplayResult *result, const ReplayResult *none)
{
  double nsec = result->nsec - none->nsec;
  return nsec > 0 ? nsec : 0;
}

/* For qsort(). */
int sli_double_compare (const void *a, const void *b);

/* --- replay-site.c --- */

/* A site alone, on malloc and on what its class names; `site' was zeroed.
 * Nothing is measured of one whose class stays with malloc. */
void sli_replay_site (const ReplayOptions *options, const Profile *profile,
                      uint32_t index, SiteReplay *site);
void sli_replay_site_write (JsonOut *out, const ReplayOptions *options,
                            const Profile *profile, uint32_t index,
                            const SiteReplay *site, bool with_blocks);

#endif
