/* apply.c - chooses the sites that get advice, and writes it
 *
 * Tools.  A site gets a region if that takes hardly more memory than malloc,
 * by the replay of apply-regions.c; else slices, if its class is one of fixed
 * sizes.
 *
 * Design: chapter 15, which has the format.  SPDX-License-Identifier: MIT
 */
#include "apply.h"
#include "tools/trace/profile/write/profile-json.h"
#include "tools/trace/sites/frames.h"
#include <stdlib.h>
#include <string.h>

#define BLOCKS_MIN 1000
#define BLOCKS_SHARE 0.001
#define WASTE_SHARE 1.125
#define WASTE_BYTES 65536
#define PIN_BYTES_MIN 1048576
#define SLICE_BYTES_MAX 2048

typedef enum
{
  KIND_NONE,
  KIND_LINEAR,
  KIND_SLICE
} Kind;

typedef struct
{
  Profile *profile;
  const ApplySite *sites;
  const Paths *paths;
  Kind *kinds; /* by result */
  const ReadModule *modules[APPLY_MODULES_MAX];
  uint32_t n_modules, n_frames;
  FILE *file;
} Apply;

/* A frame of a path, from the innermost. */
typedef struct
{
  uint64_t pc, at;
  uint32_t module;
} Frame;

#define PATH_FRAMES_MAX 64

/* --- choosing ------------------------------------------------------------ */

static Kind
kind_choose (const Profile *profile, const ApplySite *site, SiteClass class)
{
  uint64_t most = (uint64_t) (WASTE_SHARE * (double) site->malloc_peak);
  double share = BLOCKS_SHARE * (double) profile->totals.n_allocs;

  if (site->n_blocks < BLOCKS_MIN || (double) site->n_blocks < share)
    return KIND_NONE;
  /* malloc's cache of the thread serves a few blocks as fast */
  if (class == CLASS_SCRATCH)
    return KIND_NONE;
  if (site->region_peak <= most + WASTE_BYTES)
    return KIND_LINEAR;
  if ((class == CLASS_POOL || class == CLASS_SLICE)
      && site->largest <= SLICE_BYTES_MAX)
    return KIND_SLICE;
  return KIND_NONE;
}

static uint64_t
pin_bytes (const ApplySite *site)
{
  uint64_t bytes = site->malloc_peak / 2;

  return bytes < PIN_BYTES_MIN ? PIN_BYTES_MIN : bytes;
}

/* --- paths --------------------------------------------------------------- */

/* The module's number; it is added if it is new.  False: it has no build id,
 * or there are too many. */
static bool
module_number (Apply *apply, uint64_t pc, uint32_t *number)
{
  const ReadModule *module
      = sli_symbols_module (apply->profile->symbols, pc);
  const char *slash;

  if (module == NULL || module->n_build_id == 0 || module->n_build_id > 32)
    return false;
  for (uint32_t i = 0; i < apply->n_modules; i++)
    if (apply->modules[i]->n_build_id == module->n_build_id
        && memcmp (apply->modules[i]->build_id, module->build_id,
                   module->n_build_id) == 0)
      {
        *number = i;
        return true;
      }
  if (apply->n_modules == APPLY_MODULES_MAX)
    return false;
  slash = strrchr (module->path, '/');
  apply->modules[apply->n_modules] = module;
  fputs ("module ", apply->file);
  for (uint32_t i = 0; i < module->n_build_id; i++)
    fprintf (apply->file, "%02x", module->build_id[i]);
  fprintf (apply->file, " %s\n", slash != NULL ? slash + 1 : module->path);
  *number = apply->n_modules++;
  return true;
}

/* Fills the frames of the path that ends at a node, and returns their number;
 * 0: some frame can't be found when the program runs. */
static uint32_t
path_frames (Apply *apply, uint32_t node, Frame frames[PATH_FRAMES_MAX])
{
  const PathNode *nodes = apply->paths->nodes;
  uint32_t n = 0;
  uint64_t pointer = 0; /* the stack pointer, from that of malloc's caller */

  for (uint32_t at = node; at != 0; at = nodes[at].parent)
    n++;
  if (n > PATH_FRAMES_MAX)
    return 0;
  for (uint32_t at = node, i = n; at != 0; at = nodes[at].parent)
    frames[--i] = (Frame){ .pc = nodes[at].pc };
  for (uint32_t i = 0; i < n; i++)
    {
      uint64_t bytes;
      int64_t end;

      if (!module_number (apply, frames[i].pc, &frames[i].module))
        return 0;
      if (i + 1 == n)
        break;
      if (!sli_frame_find (apply->profile->symbols, frames[i].pc, &bytes,
                           &end))
        return 0;
      pointer += bytes;
      frames[i + 1].at = pointer + (uint64_t) end;
    }
  return n;
}

static void
path_write (Apply *apply, const Frame *frames, uint32_t n)
{
  fputs ("path\n", apply->file);
  for (uint32_t i = 0; i < n; i++)
    {
      const Symbol *symbol
          = sli_symbols_find (apply->profile->symbols, frames[i].pc);

      fprintf (apply->file, "frame %u 0x%llx %llu %s\n", frames[i].module,
               (unsigned long long) symbol->offset,
               (unsigned long long) frames[i].at, symbol->function);
    }
  apply->n_frames += n;
}

/* --- sites --------------------------------------------------------------- */

static void
site_head_write (Apply *apply, uint32_t result)
{
  const ApplySite *site = &apply->sites[result];
  const SiteResult *found = &apply->profile->results[result];
  char *name = sli_profile_site_name (apply->profile, found->site);

  fprintf (apply->file,
           "# %s: %llu bytes, at most %llu at once with malloc, %llu with "
           "this\n",
           sli_class_title (found->verdict.class),
           (unsigned long long) site->bytes,
           (unsigned long long) site->malloc_peak,
           (unsigned long long) site->region_peak);
  fprintf (apply->file, "site %s pin %llu blocks %llu %s\n",
           apply->kinds[result] == KIND_LINEAR ? "linear" : "slice",
           (unsigned long long) pin_bytes (site),
           (unsigned long long) site->n_blocks, name);
  free (name);
}

/* Writes a site with those of its paths that can be found; false: it has
 * none. */
static bool
site_write (Apply *apply, uint32_t result)
{
  Frame frames[PATH_FRAMES_MAX];
  bool any = false;

  for (uint32_t i = 1; i < apply->paths->n; i++)
    {
      const PathNode *node = &apply->paths->nodes[i];
      uint32_t n;

      if (!node->ends || node->result != result)
        continue;
      n = path_frames (apply, i, frames);
      if (n == 0 || apply->n_frames + n > APPLY_FRAMES_MAX)
        continue;
      if (!any)
        site_head_write (apply, result);
      any = true;
      path_write (apply, frames, n);
    }
  return any;
}

uint32_t
sli_apply_write (Profile *profile, const ApplySite *sites, const Paths *paths,
                 ApplyChoice choice, FILE *file)
{
  Apply apply = { .profile = profile,
                  .sites = sites,
                  .paths = paths,
                  .file = file };
  uint32_t n = 0;

  apply.kinds = sli_tool_zero ((profile->n_results + 1) * sizeof (Kind));
  fprintf (file, "slice-advice 1\n# %s\n", profile->reader->command);
  for (uint32_t rank = 0; rank < profile->n_results; rank++)
    {
      uint32_t result = profile->ranked[rank];
      SiteClass class = profile->results[result].verdict.class;

      if (choice.only != NULL && !choice.only[result])
        continue;
      apply.kinds[result] = !choice.all
                                ? kind_choose (profile, &sites[result], class)
                            : sites[result].n_blocks > 0 ? KIND_LINEAR
                                                         : KIND_NONE;
      if (apply.kinds[result] != KIND_NONE && n < APPLY_SITES_MAX)
        n += site_write (&apply, result);
    }
  free (apply.kinds);
  return n;
}
