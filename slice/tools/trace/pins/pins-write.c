/* pins-write.c - the sites that pin the heap, as lines and as JSON
 *
 * Tools.  See pins.h.  SPDX-License-Identifier: MIT
 */
#include "pins.h"
#include "tools/trace/common/stage/stage.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/profile/write/profile-json.h"
#include <stdlib.h>

/* The name of a site; the caller frees it. */
static char *
site_name (const Pins *pins, const PinsSite *site)
{
  const Profile *profile = pins->profile;

  if (site->result == profile->n_results)
    return sli_tool_text ("(freed blocks in malloc's bins)");
  return sli_profile_site_name (profile, profile->results[site->result].site);
}

static uint64_t
pinned_bytes (const Pins *pins)
{
  return pins->resident_bytes > pins->live_bytes
             ? pins->resident_bytes - pins->live_bytes
             : 0;
}

static void
trims_print (const Pins *pins, FILE *file)
{
  uint64_t mallocs = pins->empty_bytes - pins->slices_empty_bytes;

  if (pins->policy != HEAP_GLIBC)
    return;
  if (mallocs > 0)
    fprintf (file, "malloc_trim (0) would return %s.\n",
             sli_human_bytes ((double)mallocs));
  if (pins->slices_empty_bytes > 0)
    fprintf (file, "slice_trim (0) would return %s.\n",
             sli_human_bytes ((double)pins->slices_empty_bytes));
}

static void
moment_print (const Pins *pins, FILE *file)
{
  fprintf (file, "At %.3f of %.3f seconds, %s:\n", pins->at_seconds,
           pins->end_seconds,
           pins->policy == HEAP_GLIBC
               ? "as glibc's malloc returns memory"
               : "for a malloc that returns every page without a block");
  fprintf (file, "  live      %10s in %llu blocks\n",
           sli_human_bytes ((double)pins->live_bytes),
           (unsigned long long)pins->n_blocks);
  fprintf (file, "  resident  %10s in the pages that these keep\n",
           sli_human_bytes ((double)pins->resident_bytes));
  fprintf (file, "  pinned    %10s, of which %s in pages without a block\n",
           sli_human_bytes ((double)pinned_bytes (pins)),
           sli_human_bytes ((double)pins->empty_bytes));
  if (pins->process_bytes > 0)
    fprintf (file, "  process   %10s resident, with code and stacks\n",
             sli_human_bytes ((double)pins->process_bytes));
  trims_print (pins, file);
}

void
sli_pins_print (const Pins *pins, FILE *file, uint32_t n_rows)
{
  moment_print (pins, file);
  fprintf (file, "\n%10s %10s %9s %8s %10s %10s  %s\n", "pinned", "live",
           "blocks", "pages", "alone", "together", "site");
  for (uint32_t i = 0; i < pins->n_sites && i < n_rows; i++)
    {
      const PinsSite *site = &pins->sites[i];
      char *name = site_name (pins, site);

      fprintf (file, "%10s %10s %9llu %8llu ",
               sli_human_bytes ((double)site->pinned_bytes),
               sli_human_bytes ((double)site->live_bytes),
               (unsigned long long)site->n_blocks,
               (unsigned long long)site->n_pages);
      if (site->is_predicted && site->result < pins->profile->n_results)
        fprintf (file, "%10s %10s", sli_human_bytes ((double)site->alone_bytes),
                 sli_human_bytes ((double)site->together_bytes));
      else
        fprintf (file, "%10s %10s", "-", "-");
      fprintf (file, "  %s\n", name);
      free (name);
    }
}

/* --- JSON ---------------------------------------------------------------- */

static void
site_write (const Pins *pins, const PinsSite *site, JsonOut *out)
{
  const Profile *profile = pins->profile;
  char *name = site_name (pins, site);

  sli_json_begin (out, NULL, '{');
  if (site->result < profile->n_results)
    {
      char key[20];

      snprintf (key, sizeof key, "%016llx",
                (unsigned long long)sli_sites_key (
                    profile->sites, profile->results[site->result].site));
      sli_json_text (out, "key", key);
    }
  sli_json_text (out, "name", name);
  sli_json_uint (out, "pinned_bytes", site->pinned_bytes);
  sli_json_uint (out, "live_bytes", site->live_bytes);
  sli_json_uint (out, "blocks", site->n_blocks);
  sli_json_uint (out, "pages", site->n_pages);
  if (site->is_predicted)
    {
      sli_json_uint (out, "returns_alone_bytes", site->alone_bytes);
      sli_json_uint (out, "returns_together_bytes", site->together_bytes);
    }
  sli_json_end (out, '}');
  free (name);
}

static void
samples_write (const Pins *pins, JsonOut *out)
{
  sli_json_begin (out, "samples", '[');
  for (unsigned i = 0; i < PINS_SAMPLES; i++)
    {
      const PinsSample *sample = &pins->samples[i];

      sli_json_begin (out, NULL, '[');
      sli_json_real (out, NULL,
                     sli_profile_seconds (
                         pins->profile,
                         sample->ticks
                             - pins->profile->reader->head.start_ticks));
      sli_json_uint (out, NULL, sample->live_bytes);
      sli_json_uint (out, NULL, sample->resident_bytes);
      sli_json_end (out, ']');
    }
  sli_json_end (out, ']');
}

void
sli_pins_write (const Pins *pins, FILE *file)
{
  JsonOut out = { .file = file };

  sli_json_begin (&out, NULL, '{');
  sli_json_text (&out, "format", "slice-trace pins 1");
  sli_json_text (&out, "command", pins->profile->reader->command);
  sli_json_text (&out, "malloc",
                 pins->policy == HEAP_GLIBC ? "glibc" : "purging");
  sli_json_real (&out, "at_seconds", pins->at_seconds);
  sli_json_real (&out, "end_seconds", pins->end_seconds);
  sli_json_uint (&out, "live_bytes", pins->live_bytes);
  sli_json_uint (&out, "blocks", pins->n_blocks);
  sli_json_uint (&out, "resident_bytes", pins->resident_bytes);
  sli_json_uint (&out, "pinned_bytes", pinned_bytes (pins));
  sli_json_uint (&out, "empty_bytes", pins->empty_bytes);
  sli_json_uint (&out, "slices_empty_bytes", pins->slices_empty_bytes);
  sli_json_uint (&out, "unassigned_bytes", pins->unassigned_bytes);
  sli_json_uint (&out, "process_bytes", pins->process_bytes);
  sli_json_begin (&out, "sites", '[');
  for (uint32_t i = 0; i < pins->n_sites; i++)
    site_write (pins, &pins->sites[i], &out);
  sli_json_end (&out, ']');
  samples_write (pins, &out);
  sli_json_end (&out, '}');
  fputc ('\n', file);
}
