/* stage.c - the stages' files, read back
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "stage.h"
#include "origin.h"
#include "tools/trace/profile/write/profile-json.h"
#include "tools/trace/common/tool.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool
is_trace (const char *path)
{
  char magic[8] = "";
  FILE *file = fopen (path, "re");
  size_t n;

  if (file == NULL)
    return false;
  n = fread (magic, 1, sizeof magic, file);
  fclose (file);
  return n == sizeof magic && memcmp (magic, TRACE_MAGIC, sizeof magic) == 0;
}

void
sli_stage_inputs_check (int n, char *const *paths)
{
  for (int i = 0; i < n; i++)
    if (access (paths[i], R_OK) != 0)
      sli_tool_exit (TOOL_BAD_INPUT, "%s: %s", paths[i], strerror (errno));
}

/* --- numbers ------------------------------------------------------------- */

#define NUMBER_MOST 0x1p63

/* What is measured less what the loop costs, so that noise can make it
 * negative. */
static bool
is_difference (const char *key)
{
  static const char *const keys[]
      = { "saved_nsec_low", "saved_nsec_high", "malloc_nsec",
          "new_nsec",       "visit_nsec",      "nsec",
          "nsec_per_op",    "replayed_nsec",   "allocator_nsec",
          "ratio_warm",     "ratio_cold",      "spread" };

  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp (key, keys[i]) == 0)
      return true;
  return false;
}

/* Ends the program if a number of the document can't be.
 *
 * key  of the value, or of the array that it is in
 * any  may be negative
 */
static void
numbers_check (const JsonValue *value, const char *key, bool any,
               const char *path)
{
  if (value->type == JSON_NUMBER
      && ((value->number < 0 && !any && !is_difference (key))
          || fabs (value->number) > NUMBER_MOST))
    sli_tool_exit (TOOL_BAD_INPUT, "%s: \"%s\" can't be %.6g", path, key,
                   value->number);
  for (size_t i = 0; i < value->n_items; i++)
    {
      const JsonValue *item = &value->items[i];
      const char *item_key = item->key == NULL ? key : item->key;

      numbers_check (item, item_key, any || strcmp (key, "numbers") == 0,
                     path);
    }
}

static bool
format_is (const JsonValue *document, const char *format)
{
  return strcmp (sli_json_string (document, "format"), format) == 0;
}

bool
sli_stage_is_sampled (const JsonValue *patterns)
{
  return format_is (patterns, FORMAT_SAMPLED);
}

/* other  a format that is as good; or NULL */
static JsonValue *
load_either (const char *path, const char *format, const char *other)
{
  char error[256];
  JsonValue *document = sli_json_load (path, error);

  if (document == NULL)
    sli_tool_exit (TOOL_BAD_INPUT, "%s: %s", path, error);
  if (sli_stage_is_sampled (document) && other == NULL)
    sli_tool_exit (TOOL_BAD_INPUT,
                   "%s: of a sampled trace (record --sample): "
                   "this needs one with every event",
                   path);
  if (!format_is (document, format)
      && (other == NULL || !format_is (document, other)))
    sli_tool_exit (TOOL_BAD_INPUT, "%s: not of the format \"%s\"", path,
                   format);
  numbers_check (document, "", false, path);
  return document;
}

JsonValue *
sli_stage_load (const char *path, const char *format)
{
  return path == NULL ? NULL : load_either (path, format, NULL);
}

/* Patterns of a damaged trace count as damaged, too. */
static void
damage_check (const JsonValue *patterns, const char *path)
{
  double n
      = sli_json_number (sli_json_get (patterns, "totals"), "damaged_blocks");

  if (n <= 0)
    return;
  sli_tool_say ("%s: of a trace in which %.0f block%s damaged", path, n,
                n == 1 ? " is" : "s are");
  sli_tool_bad_input ();
}

JsonValue *
sli_stage_patterns (const char *path, const ProfileOptions *options)
{
  char *text, error[256];
  size_t n;
  Profile *profile;
  FILE *file;
  JsonValue *document;

  if (!sli_file_is_plain (path))
    sli_tool_exit (TOOL_BAD_INPUT,
                   "%s: no file: a trace or patterns are read "
                   "more than once",
                   path);
  if (!is_trace (path))
    {
      JsonValue *made
          = load_either (path, FORMAT_PATTERNS,
                         options->takes_sampled ? FORMAT_SAMPLED : NULL);

      sli_origin_given_check (&(OriginFile){ made, path }, options->given);
      damage_check (made, path);
      return made;
    }
  profile = sli_profile_new (path, options);
  file = open_memstream (&text, &n);
  sli_profile_write (profile, file, NULL);
  fclose (file);
  sli_profile_free (profile);
  document = sli_json_parse (text, error);
  free (text);
  if (document == NULL)
    sli_tool_exit (TOOL_FAILED, "%s: %s", path, error);
  return document;
}

const JsonValue *
sli_stage_site (const JsonValue *document, const char *key)
{
  const JsonValue *sites = sli_json_get (document, "sites");

  for (size_t i = 0; sites != NULL && i < sites->n_items; i++)
    if (strcmp (sli_json_string (&sites->items[i], "key"), key) == 0)
      return &sites->items[i];
  return NULL;
}

double
sli_stage_site_nsec (const JsonValue *site)
{
  return sli_json_number (site, "alloc_nsec")
         + sli_json_number (site, "free_nsec");
}

static const char *
human (double value, double step, const char *const *units, int n_units)
{
  static char ring[16][32];
  static unsigned at;
  char *text = ring[at++ % 16];
  int unit = 0;

  while (fabs (value) >= step && unit + 1 < n_units)
    {
      value /= step;
      unit++;
    }
  snprintf (text, 32, fabs (value) >= 100 || unit == 0 ? "%.0f%s" : "%.3g%s",
            value, units[unit]);
  return text;
}

const char *
sli_human_bytes (double bytes)
{
  static const char *const units[] = { " B", " kB", " MB", " GB", " TB" };

  return human (bytes, 1000, units, 5);
}

const char *
sli_human_nsec (double nsec)
{
  static const char *const units[] = { " ns", " us", " ms", " s" };

  return human (nsec, 1000, units, 4);
}

const char *
sli_human_count (double count)
{
  static const char *const units[] = { "", " k", " M", " G" };

  return human (count, 1000, units, 4);
}
