/* origin.c - the origin of a stage's file: the recording and the options
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#include "origin.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

void
sli_origin_watch (JsonOut *out, const Profile *profile)
{
  const TraceFileHead *head = &profile->reader->head;
  time_t began = (time_t) (head->start_unix_nsec / 1000000000u);
  char text[64];
  struct tm date;

  if ((head->flags & TRACE_FLAG_WATCHED) == 0)
    return;
  strftime (text, sizeof text, "%Y-%m-%d %H:%M:%S UTC",
            gmtime_r (&began, &date));
  sli_json_begin (out, "watch", '{');
  sli_json_uint (out, "pid", head->pid);
  sli_json_text (out, "began", text);
  sli_json_end (out, '}');
}

void
sli_origin_write (JsonOut *out, const Profile *profile)
{
  const TraceFileHead *head = &profile->reader->head;
  char *recording = sli_tool_text (
      "%llu.%u", (unsigned long long) head->start_unix_nsec, head->pid);

  sli_json_text (out, "recording", recording);
  free (recording);
  sli_json_begin (out, "options", '[');
  for (const char *const *at = profile->given; at != NULL && *at != NULL; at++)
    sli_json_text (out, NULL, *at);
  sli_json_end (out, ']');
}

void
sli_origin_copy (JsonOut *out, const JsonValue *document)
{
  const JsonValue *options = sli_json_items (document, "options");

  sli_json_text (out, "recording", sli_json_string (document, "recording"));
  sli_json_begin (out, "options", '[');
  for (size_t i = 0; i < options->n_items; i++)
    sli_json_text (out, NULL, sli_json_item_text (options, i));
  sli_json_end (out, ']');
}

/* The options in one line; NULL if the file does not have them. */
static char *
options_text (const JsonValue *document)
{
  const JsonValue *options = sli_json_get (document, "options");
  char *text;

  if (options == NULL || options->type != JSON_ARRAY)
    return NULL;
  text = sli_tool_text ("%s", "");
  for (size_t i = 0; i < options->n_items; i++)
    {
      char *longer = sli_tool_text ("%s%s%s", text, i == 0 ? "" : " ",
                                    sli_json_item_text (options, i));

      free (text);
      text = longer;
    }
  return text;
}

static const char *
or_none (const char *text)
{
  return text[0] == '\0' ? "no options" : text;
}

void
sli_origin_options_check (const OriginFile *one, const OriginFile *other)
{
  char *left = options_text (one->document);
  char *right = options_text (other->document);

  if (left != NULL && right != NULL && strcmp (left, right) != 0)
    sli_tool_exit (TOOL_BAD_INPUT,
                   "%s was made with %s, %s with %s: their sites are not the "
                   "same ones; make both with the same options",
                   one->path, or_none (left), other->path, or_none (right));
  free (left);
  free (right);
}

void
sli_origin_check (const OriginFile *one, const OriginFile *other)
{
  const char *left = sli_json_string (one->document, "recording");
  const char *right = sli_json_string (other->document, "recording");

  if (left[0] != '\0' && right[0] != '\0' && strcmp (left, right) != 0)
    sli_tool_exit (TOOL_BAD_INPUT,
                   "%s and %s are of two recordings: make both of one",
                   one->path, other->path);
  sli_origin_options_check (one, other);
}

void
sli_origin_given_check (const OriginFile *file, const char *const *given)
{
  const JsonValue *options = sli_json_get (file->document, "options");
  size_t n = 0;
  char *text;

  if (given == NULL || given[0] == NULL || options == NULL)
    return;
  while (given[n] != NULL && n < options->n_items
         && strcmp (given[n], sli_json_item_text (options, n)) == 0)
    n++;
  if (given[n] == NULL && n == options->n_items)
    return;
  text = options_text (file->document);
  sli_tool_exit (TOOL_BAD_INPUT,
                 "%s was made with %s: %s does not change it any more; give "
                 "its trace, or make it again",
                 file->path, or_none (text == NULL ? "" : text),
                 given[n] != NULL ? given[n] : given[0]);
}
