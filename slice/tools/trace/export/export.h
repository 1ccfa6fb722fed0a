/* export.h - a profile in the formats of other tools
 *
 * Tools.  Each has totals that equal the trace's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_EXPORT_EXPORT_H
#define SLI_TRACE_EXPORT_EXPORT_H

#include "tools/trace/profile/write/call-tree.h"
#include "tools/trace/profile/profile.h"
#include <stdio.h>

/* Folded stacks, by bytes or by calls. */
void sli_export_folded (const Profile *profile, FILE *file, bool by_count);
/* profile.proto, gzipped; ends the program if it can't be written. */
void sli_export_pprof (const Profile *profile, const char *path);
/* DHAT's JSON, version 2. */
void sli_export_dhat (const Profile *profile, FILE *file);
/* massif's text, with the tree at the peak. */
void sli_export_massif (const Profile *profile, FILE *file);

#endif
