/* page.h - the report's embedded HTML and CSS files, and the marks in them
 *
 * Tools.  A file is text with marks:
 *
 *   {{PATH}}                text made safe for HTML, at most 400 characters
 *   {{PATH|HELPER:WORDS}}   what the helper writes of the value
 *   {{#PATH 40}} ... {{/}}  for each item of an array (at most 40), or once
 *                           with an object as the current value
 *   {{?PATH}} ... {{/}}     if the value is not 0, empty or missing
 *   {{^PATH}} ... {{/}}     if it is
 *   {{?PATH=TEXT}}          if the value is that text
 *   {{?@<40}}               if the index in the innermost array is below 40
 *   {{>FILE PATH}}          another file, with that current value
 *
 * A path is names and array indices with dots between; it starts at the
 * current value, or at the whole document after "/".  "." is the current value
 * itself, "@" its index; "document.@site" is the site of that document with
 * the current site's key.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_REPORT_PAGE_H
#define SLI_TRACE_REPORT_PAGE_H

#include "tools/trace/common/stage/json.h"
#include <stdio.h>

typedef struct
{
  const char *name, *text;
} PageFile;

/* Made from the files at build time; the last has no name. */
extern const PageFile sli_page_files[];

typedef struct
{
  FILE *file;
  const JsonValue *document;
} Page;

/* value may be NULL; words are "" if the mark has none. */
typedef struct
{
  const char *name;
  void (*put) (const Page *page, const JsonValue *value, const char *words);
} PageHelper;

/* report-html.c; the last has no name. */
extern const PageHelper sli_page_helpers[];

/* The helper "text"; a number is written whole. */
void sli_page_text (const Page *page, const JsonValue *value,
                    const char *words);
void sli_page_write (const Page *page, const char *name);

#endif
