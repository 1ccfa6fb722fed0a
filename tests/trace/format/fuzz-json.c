/* fuzz-json.c - the reader of JSON and the reports, on whatever a file holds
 *
 * libFuzzer's target (make fuzz-json).  What is JSON goes on to the reports,
 * as patterns and as all the rest, under the name of the format that they
 * want: they read what other programs may have written.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "tools/trace/report/report.h"
#include "tools/trace/common/stage/stage.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n);

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n)
{
  char error[256];
  char *text = malloc (n + 1);
  JsonValue *value;
  static FILE *null;
  JsonValue *parts[4];

  memcpy (text, bytes, n);
  text[n] = '\0';
  value = sli_json_parse (text, error);
  free (text);
  if (value == NULL)
    return 0;
  if (null == NULL)
    null = fopen ("/dev/null", "we");
  for (int i = 0; i < 4; i++)
    {
      static const char *const names[]
          = { "patterns", "advice", "replay", "times" };

      parts[i] = (JsonValue *)sli_json_get (value, names[i]);
    }
  if (parts[0] != NULL)
    {
      Report report = { parts[0], parts[1], parts[2], parts[3] };

      sli_report_text (&report, null);
      sli_report_html (&report, null);
    }
  sli_json_free (value);
  return 0;
}
