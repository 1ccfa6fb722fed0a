/* export-dhat.c - DHAT's JSON
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#include "export.h"
#include "tools/trace/common/stage/json.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>

/* Analyses the trace with each stack as a site of its own, as in DHAT. */
static Analysis *
by_stack (const Profile *profile)
{
  uint32_t n = profile->reader->n_nodes;
  uint32_t *map = sli_tool_alloc (n * sizeof *map);
  const uint32_t *maps[1] = { map };
  Analysis *analysis;
  TraceEvent event;

  for (uint32_t node = 0; node < n; node++)
    map[node] = profile->sites->allocs[node] > 0 ? node : SITE_NONE;
  analysis = sli_analysis_new (1, maps, &n);
  sli_trace_rewind (profile->reader);
  while (sli_trace_next (profile->reader, &event))
    sli_analysis_event (analysis, &event);
  sli_analysis_finish (analysis);
  free (map);
  return analysis;
}

static void
dhat_point (JsonOut *out, const Profile *profile, const SiteStats *stats,
            uint32_t node, uint64_t end)
{
  uint32_t frames[PROFILE_FRAMES_MAX];
  uint32_t n_nodes = profile->reader->n_nodes;
  uint32_t n = sli_profile_frames (profile, node, frames);
  double alive = (double) stats->live_n * (double) end / 2;

  sli_json_begin (out, NULL, '{');
  sli_json_uint (out, "tb", stats->bytes);
  sli_json_uint (out, "tbk", stats->allocs);
  sli_json_uint (out, "tl", (uint64_t) (stats->sum_life + alive));
  sli_json_uint (out, "mb", stats->peak_bytes);
  sli_json_uint (out, "mbk", stats->peak_bytes_n);
  sli_json_uint (out, "gb", profile->peak_live[node]);
  sli_json_uint (out, "gbk", profile->peak_live[n_nodes + node]);
  sli_json_uint (out, "eb", stats->bytes - stats->dead_bytes);
  sli_json_uint (out, "ebk", stats->allocs - stats->frees);
  sli_json_begin (out, "fs", '[');
  for (uint32_t i = 0; i < n; i++)
    sli_json_uint (out, NULL, frames[i]);
  sli_json_end (out, ']');
  sli_json_end (out, '}');
}

/* The table of frames that the points refer to. */
static void
dhat_frames (JsonOut *out, const Profile *profile)
{
  sli_json_begin (out, "ftbl", '[');
  for (uint32_t node = 0; node < profile->reader->n_nodes; node++)
    {
      const Symbol *symbol;
      char *text;

      if (node < TRACE_N_FIXED_NODES)
        {
          sli_json_text (out, NULL, "[root]");
          continue;
        }
      symbol = sli_profile_symbol (profile, node);
      text = symbol->file != NULL
                 ? sli_tool_text ("0x%llx: %s (%s:%u)",
                                  (unsigned long long) symbol->offset,
                                  symbol->function, symbol->file, symbol->line)
                 : sli_tool_text ("0x%llx: %s (in %s)",
                                  (unsigned long long) symbol->offset,
                                  symbol->function, symbol->module);
      sli_json_text (out, NULL, text);
      free (text);
    }
  sli_json_end (out, ']');
}

void
sli_export_dhat (const Profile *profile, FILE *file)
{
  JsonOut out = { .file = file };
  const TraceReader *reader = profile->reader;
  Analysis *analysis = by_stack (profile);
  uint64_t end = profile->totals.n_events;

  sli_json_begin (&out, NULL, '{');
  sli_json_uint (&out, "dhatFileVersion", 2);
  sli_json_text (&out, "mode", "heap");
  sli_json_text (&out, "verb", "Allocated");
  sli_json_bool (&out, "bklt", true);
  sli_json_bool (&out, "bkacc", false);
  sli_json_text (&out, "tu", "operations");
  sli_json_text (&out, "Mtu", "Mop");
  sli_json_uint (&out, "tuth", 10);
  sli_json_text (&out, "cmd", reader->command);
  sli_json_uint (&out, "pid", reader->head.pid);
  sli_json_uint (&out, "te", end);
  sli_json_uint (&out, "tg", profile->totals.peak_event);
  sli_json_begin (&out, "pps", '[');
  for (uint32_t node = 0; node < reader->n_nodes; node++)
    if (profile->sites->allocs[node] > 0)
      dhat_point (&out, profile, &analysis->stats[0][node], node, end);
  sli_json_end (&out, ']');
  dhat_frames (&out, profile);
  sli_json_end (&out, '}');
  sli_analysis_free (analysis);
}
