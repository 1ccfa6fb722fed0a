/* profile-json.h - a profile written as JSON
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_PROFILE_PROFILE_JSON_H
#define SLI_TRACE_PROFILE_PROFILE_JSON_H

#include "tools/trace/common/stage/json.h"
#include "tools/trace/profile/profile.h"

/* The formats of what is written: of all events, and of a sample. */
#define FORMAT_PATTERNS "slice-trace patterns 1"
#define FORMAT_SAMPLED "slice-trace sampled 1"

/* passes  an expression for the functions that count as consumers, or NULL */
void sli_profile_write (const Profile *profile, FILE *file,
                        const char *passes);
/* "function < its caller"; freed by the caller. */
char *sli_profile_site_name (const Profile *profile, uint32_t site);

/* Writes the key "flames": the bytes allocated, and live at the peak and at
 * the chosen moment, by stack. */
void sli_flames_write (JsonOut *out, const Profile *profile);

#endif
