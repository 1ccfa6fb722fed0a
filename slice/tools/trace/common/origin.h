/* origin.h - what a stage's file was made of: the recording and the options
 *
 * Tools.  Sites have the same keys where both are the same; files that are
 * put together must agree.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMON_ORIGIN_H
#define SLI_TRACE_COMMON_ORIGIN_H

#include "json.h"
#include "tools/trace/profile/profile.h"

typedef struct
{
  const JsonValue *document; /* NULL agrees with all */
  const char *path;
} OriginFile;

/* "recording" and "options". */
void sli_origin_write (JsonOut *out, const Profile *profile);
/* The same, of what was made of a document. */
void sli_origin_copy (JsonOut *out, const JsonValue *document);

/* These exit with a message; what an older file does not tell is taken. */
void sli_origin_options_check (const OriginFile *one, const OriginFile *other);
void sli_origin_check (const OriginFile *one, const OriginFile *other);
/* Options that are given now, for a file that was made before. */
void sli_origin_given_check (const OriginFile *file,
                             const char *const *given);

#endif
