/* replay-parts.h - shared by the parts of slice-trace replay
 *
 * Tools.  command-replay.c is the command and measures the whole trace,
 * replay-site.c measures one site.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMAND_REPLAY_PARTS_H
#define SLI_TRACE_COMMAND_REPLAY_PARTS_H

#include "tools/trace/command/command-line.h"
#include "tools/trace/common/stage/json.h"
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
  double visit_nsec; /* the time to visit each block to free it */
  double saved_low, saved_high; /* of the rounds */
} SiteReplay;

/* The least time of some repeats, without the time of the loop itself. */
static inline double
net (const ReplayResult *result, const ReplayResult *none)
{
  double nsec = result->nsec - none->nsec;

  return nsec > 0 ? nsec : 0;
}

/* For qsort(). */
int sli_double_compare (const void *a, const void *b);

/* --- replay-site.c --- */

/* Measures a site alone, on malloc and on the allocator of its class; `site'
 * was zeroed.  Measures nothing if the class stays with malloc. */
void sli_replay_site (const ReplayOptions *options, const Profile *profile,
                      uint32_t index, SiteReplay *site);
void sli_replay_site_write (JsonOut *out, const ReplayOptions *options,
                            const Profile *profile, uint32_t index,
                            const SiteReplay *site, bool with_blocks);

#endif
