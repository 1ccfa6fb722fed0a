/* stage.h - the stages' files, read back
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMON_STAGE_H
#define SLI_TRACE_COMMON_STAGE_H

#include "json.h"
#include "tools/trace/profile/profile.h"

/* Ends the program if one of the files can't be read; called before long work
 * on the first. */
void sli_stage_inputs_check (int n, char *const *paths);
/* Loads a patterns file, or analyses a trace with the options; exits with a
 * message if it is neither. */
JsonValue *sli_stage_patterns (const char *path,
                               const ProfileOptions *options);
/* Returns true if these numbers are estimates from a sampled trace: only if the
 * options took such a trace. */
bool sli_stage_is_sampled (const JsonValue *patterns);
/* Loads a file of that format ("slice-trace replay 1"); NULL if path is
 * NULL. */
JsonValue *sli_stage_load (const char *path, const char *format);
/* The site with that key in "sites"; NULL if there is none. */
const JsonValue *sli_stage_site (const JsonValue *document, const char *key);
double sli_stage_site_nsec (const JsonValue *site);
/* "12.3 MB", "45 us", in a ring of buffers. */
const char *sli_human_bytes (double bytes);
const char *sli_human_nsec (double nsec);
const char *sli_human_count (double count);

#endif
