/* report.h - one page, or one text, from the stages' files
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_REPORT_REPORT_H
#define SLI_TRACE_REPORT_REPORT_H

#include "tools/trace/common/stage/json.h"
#include <stdio.h>

typedef struct
{
  const JsonValue *patterns; /* never NULL; the others may be */
  const JsonValue *advice, *replay, *times;
} Report;

void sli_report_html (const Report *report, FILE *file);
void sli_report_text (const Report *report, FILE *file);

/* Sites of two runs with the same functions, added up. */
typedef struct
{
  const char *name;
  const char *class[2]; /* "absent": the run has none */
  double calls[2], bytes[2], peak[2];
} SitePair;

/* report-diff.c: the page of `diff'.
 *
 * runs   the patterns before and after
 * pairs  in the table's order
 */
void sli_report_diff (const JsonValue *const runs[2], const SitePair *pairs,
                      size_t n_pairs, size_t n_rows, FILE *file);
/* What the second run's heap is, beside the first's, in one sentence. */
char *sli_report_change (const JsonValue *const runs[2]);
/* A difference in bytes or in plain numbers, with its sign. */
char *sli_report_signed (double difference, const char *unit);

/* report-summary.c; the texts are freed by the caller. */
/* The heap in one sentence. */
char *sli_report_sentence (const JsonValue *patterns);
/* Of a watch: which process, since when, and what was not seen.  NULL: all of
 * the process's life was recorded. */
char *sli_report_watch (const JsonValue *patterns);
/* What a site's advice is, as the beginning of a sentence ("A pool"). */
const char *sli_report_remedy (const JsonValue *site);
/* How sure the saving of a site's advice is. */
char *sli_report_certainty (const JsonValue *site);
/* The colour of a site in the picture of memory over time. */
#define REPORT_BAND_OTHERS 8
int sli_report_band (const JsonValue *patterns, const char *name);

/* report-series.c, report-svg.c: each writes one <svg> with title and role. */
/* end  the axis's right end, in words */
void sli_svg_series (FILE *file, const JsonValue *series, const char *axis,
                     const JsonValue *rss, double peak, const char *end);
/* series  of the patterns
 * axis    its name in the patterns' totals */
void sli_svg_runs (FILE *file, const JsonValue *const runs[2],
                   const char *series, const char *axis);
void sli_svg_begin (FILE *file, const char *class, int width, int height,
                    const char *title, bool stretch);
void sli_svg_bars (FILE *file, const JsonValue *counts, const JsonValue *bytes,
                   const char *title);
void sli_svg_frees (FILE *file, const JsonValue *picture, const char *name);
void sli_svg_offset (FILE *file, const JsonValue *picture, const char *name);
void sli_svg_flame (FILE *file, const JsonValue *root, const char *title);
void sli_svg_curves (FILE *file, const JsonValue *whole);
/* Text made safe for HTML, at most so many characters. */
void sli_html_text (FILE *file, const char *text, size_t most);

#endif
