/* origin.h - the origin of a stage's file: the recording and the options
 *
 * Tools.  Sites have the same keys if both are the same, so files that are
 * combined must agree.
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
/* Of a watch: which process, and when its recorder woke. */
void sli_origin_watch (JsonOut *out, const Profile *profile);
/* The same for a file that was made from a document. */
void sli_origin_copy (JsonOut *out, const JsonValue *document);

/* These exit with a message if the origins differ; they accept what an older
 * file does not have. */
void sli_origin_options_check (const OriginFile *one, const OriginFile *other);
void sli_origin_check (const OriginFile *one, const OriginFile *other);
/* Checks the options that are given now against a file that was made
 * before. */
void sli_origin_given_check (const OriginFile *file,
                             const char *const *given);

#endif
