/* export-massif.c - massif's text
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#include "export.h"
#include <inttypes.h>

#define MASSIF_SNAPSHOTS 60
#define MASSIF_SHARE_MIN 0.01
#define MASSIF_DEPTH_MAX 30

static void
massif_tree (FILE *file, const CallNode *node, int depth, double least)
{
  unsigned n_large = 0, n_small = 0;
  uint64_t small = 0;

  for (const CallNode *at = node->children; at != NULL; at = at->next)
    if ((double)at->value >= least && depth < MASSIF_DEPTH_MAX)
      n_large++;
    else
      {
        n_small++;
        small += at->value;
      }
  fprintf (file, "%*sn%u: %" PRIu64 " ", depth, "", n_large + (n_small > 0),
           node->value);
  if (node->symbol == NULL)
    fputs ("(heap allocation functions) malloc/new/new[], --alloc-fns, "
           "etc.\n",
           file);
  else if (node->symbol->file != NULL)
    fprintf (file, "0x%llX: %s (%s:%u)\n",
             (unsigned long long)node->symbol->offset, node->symbol->function,
             node->symbol->file, node->symbol->line);
  else
    fprintf (file, "0x%llX: %s (in %s)\n",
             (unsigned long long)node->symbol->offset, node->symbol->function,
             node->symbol->module);
  for (const CallNode *at = node->children; at != NULL; at = at->next)
    if ((double)at->value >= least && depth < MASSIF_DEPTH_MAX)
      massif_tree (file, at, depth + 1, least);
  if (n_small > 0)
    fprintf (file,
             "%*sn0: %" PRIu64 " in %u place%s, below massif's threshold "
             "(1.00%%)\n",
             depth + 1, "", small, n_small, n_small == 1 ? "" : "s, all");
}

static void
massif_peak (const Profile *profile, FILE *file)
{
  CallNode root = sli_call_tree_make (profile, profile->peak_live,
                                      TREE_OF_CALLERS, MASSIF_DEPTH_MAX);

  massif_tree (file, &root, 0, MASSIF_SHARE_MIN * (double)root.value);
  sli_call_tree_free (&root);
}

static void
massif_snapshot (FILE *file, unsigned number, double msec, uint64_t bytes)
{
  fprintf (file,
           "#-----------\nsnapshot=%u\n#-----------\ntime=%.0f\n"
           "mem_heap_B=%" PRIu64 "\nmem_heap_extra_B=0\nmem_stacks_B=0\n",
           number, msec, bytes);
}

void
sli_export_massif (const Profile *profile, FILE *file)
{
  const Series *series = &profile->series[AXIS_TIME];
  const Totals *totals = &profile->totals;
  double span = 1000
                * sli_profile_seconds (profile, totals->last_ticks
                                                    - totals->first_ticks);
  double peak = 1000
                * sli_profile_seconds (profile, totals->peak_ticks
                                                    - totals->first_ticks);
  bool peak_done = false;
  unsigned number = 0;

  fprintf (file, "desc: slice-trace\ncmd: %s\ntime_unit: ms\n",
           profile->reader->command);
  for (uint32_t i = 0; i < series->n; i += SERIES_COLUMNS / MASSIF_SNAPSHOTS)
    {
      double msec = span * i / SERIES_COLUMNS;

      if (!peak_done && (msec > peak || i + 10 >= series->n))
        {
          massif_snapshot (file, number++, peak, totals->peak);
          fputs ("heap_tree=peak\n", file);
          massif_peak (profile, file);
          peak_done = true;
        }
      if (msec < peak || peak_done)
        {
          massif_snapshot (file, number++,
                           msec > peak || !peak_done ? msec : peak,
                           series->total[i]);
          fputs ("heap_tree=empty\n", file);
        }
    }
}
