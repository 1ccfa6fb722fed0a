/* export-folded.c - frames and symbols of stacks, and stacks folded
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#include "export.h"
#include <inttypes.h>

static void
put_folded (FILE *file, const char *name)
{
  for (; *name != '\0'; name++)
    fputc (*name == ';' || *name == '\n' ? ':' : *name, file);
}

void
sli_export_folded (const Profile *profile, FILE *file, bool by_count)
{
  uint32_t frames[PROFILE_FRAMES_MAX];

  for (uint32_t node = 0; node < profile->reader->n_nodes; node++)
    {
      uint64_t value = by_count ? profile->sites->allocs[node]
                                : profile->sites->bytes[node];
      uint32_t n;

      if (profile->sites->allocs[node] == 0)
        continue;
      n = sli_profile_frames (profile, node, frames);
      if (n == 0)
        fputs ("(unknown)", file);
      for (uint32_t i = n; i-- > 0;)
        {
          put_folded (file, sli_profile_symbol (profile, frames[i])->function);
          if (i > 0)
            fputc (';', file);
        }
      fprintf (file, " %" PRIu64 "\n", value);
    }
}
