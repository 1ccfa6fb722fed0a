/* page.c - fills the report's files with the values of a document
 *
 * Tools.  The marks are described in page.h.  The files are part of the
 * program and trusted; the document is not: any value may be missing, or of
 * another type than the page expects.
 *
 * SPDX-License-Identifier: MIT
 */
#include "page.h"
#include "report.h"
#include "tools/trace/common/stage/stage.h"
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum
{
  TEXT_MOST = 400,
  MARK_MOST = 128 /* bytes of a mark's inside */
};

typedef struct
{
  const JsonValue *value;
  JsonValue index; /* of value in its array */
} Scope;

/* --- values -------------------------------------------------------------- */

static const JsonValue *
part_find (const JsonValue *at, const Scope *scope, const char *part)
{
  size_t i;

  if (strcmp (part, "@site") == 0)
    return sli_stage_site (at, sli_json_string (scope->value, "key"));
  if (!isdigit ((unsigned char) *part))
    return sli_json_get (at, part);
  i = strtoul (part, NULL, 10);
  return at != NULL && i < at->n_items ? &at->items[i] : NULL;
}

/* path is cut up. */
static const JsonValue *
value_find (const Page *page, const Scope *scope, char *path)
{
  const JsonValue *at = *path == '/' ? page->document : scope->value;
  char *rest;

  if (strcmp (path, "@") == 0)
    return &scope->index;
  for (char *part = strtok_r (path, "./", &rest); part != NULL;
       part = strtok_r (NULL, "./", &rest))
    at = part_find (at, scope, part);
  return at;
}

static bool
is_set (const JsonValue *value)
{
  return value != NULL
         && (value->number != 0 || value->n_items > 0
             || (value->text != NULL && value->text[0] != '\0'));
}

static bool
is_true (const Page *page, const Scope *scope, char *condition)
{
  char *words = condition + strcspn (condition, "=<");
  char sign = *words;
  const JsonValue *value;

  if (sign != '\0')
    *words++ = '\0';
  value = value_find (page, scope, condition);
  if (sign == '<')
    return value != NULL && value->number < atoi (words);
  if (sign == '=')
    return value != NULL && value->text != NULL
           && strcmp (value->text, words) == 0;
  return is_set (value);
}

/* --- marks --------------------------------------------------------------- */

static const char *text_fill (const Page *page, const char *at,
                              const Scope *scope, bool shown);

static void
value_put (const Page *page, const Scope *scope, char *mark)
{
  char *helper = mark + strcspn (mark, "|");
  char *words;
  const JsonValue *value;
  const PageHelper *found;

  if (*helper != '\0')
    *helper++ = '\0';
  words = helper + strcspn (helper, ":");
  if (*words != '\0')
    *words++ = '\0';
  value = value_find (page, scope, mark);
  if (*helper == '\0')
    {
      sli_page_text (page, value, words);
      return;
    }
  found = sli_page_helpers;
  while (found->name != NULL && strcmp (found->name, helper) != 0)
    found++;
  assert (found->name != NULL);
  found->put (page, value, words);
}

static void
file_put (const Page *page, const Scope *scope, char *mark)
{
  char *path = mark + strcspn (mark, " ");
  Scope inner = *scope;
  const PageFile *found;

  if (*path != '\0')
    {
      *path++ = '\0';
      inner.value = value_find (page, scope, path);
    }
  found = sli_page_files;
  while (found->name != NULL && strcmp (found->name, mark) != 0)
    found++;
  assert (found->name != NULL);
  text_fill (page, found->text, &inner, true);
}

/* Returns what follows the section's end. */
static const char *
items_put (const Page *page, const Scope *scope, char *mark, const char *at)
{
  char *words = mark + strcspn (mark, " ");
  size_t most = *words == '\0' ? SIZE_MAX : strtoul (words, NULL, 10);
  const JsonValue *value;
  Scope item;
  const char *end = NULL;

  *words = '\0';
  value = value_find (page, scope, mark);
  if (value != NULL && value->type == JSON_OBJECT)
    return text_fill (page, at, &(Scope){ .value = value }, true);
  item = (Scope){ .index = { .type = JSON_NUMBER } };
  for (size_t i = 0; value != NULL && i < value->n_items && i < most; i++)
    {
      item.value = &value->items[i];
      item.index.number = (double) i;
      end = text_fill (page, at, &item, true);
    }
  return end == NULL ? text_fill (page, at, &item, false) : end;
}

/* Returns what follows the mark, or the section that it begins. */
static const char *
mark_fill (const Page *page, char *mark, const char *at, const Scope *scope,
           bool shown)
{
  switch (*mark)
    {
    case '?':
    case '^':
      if (shown)
        shown = is_true (page, scope, mark + 1) == (*mark == '?');
      return text_fill (page, at, scope, shown);
    case '#':
      if (shown)
        return items_put (page, scope, mark + 1, at);
      return text_fill (page, at, scope, false);
    case '>':
      if (shown)
        file_put (page, scope, mark + 1);
      return at;
    default:
      if (shown)
        value_put (page, scope, mark);
      return at;
    }
}

/* Up to the end of the section or of the text; returns what follows. */
static const char *
text_fill (const Page *page, const char *at, const Scope *scope, bool shown)
{
  const char *begin;

  while ((begin = strstr (at, "{{")) != NULL)
    {
      const char *end;
      char mark[MARK_MOST];

      if (shown)
        fwrite (at, 1, (size_t) (begin - at), page->file);
      end = strstr (begin, "}}");
      assert (end != NULL && end - begin < MARK_MOST);
      snprintf (mark, sizeof mark, "%.*s", (int) (end - begin - 2), begin + 2);
      at = end + 2;
      if (*mark == '/' && mark[1] == '\0')
        return at;
      at = mark_fill (page, mark, at, scope, shown);
    }
  if (shown)
    fputs (at, page->file);
  return at + strlen (at);
}

void
sli_page_text (const Page *page, const JsonValue *value, const char *words)
{
  size_t most = *words == '\0' ? TEXT_MOST : strtoul (words, NULL, 10);

  if (value != NULL && value->type == JSON_NUMBER)
    fprintf (page->file, "%.0f", value->number);
  else if (value != NULL && value->text != NULL)
    sli_html_text (page->file, value->text, most);
}

void
sli_page_write (const Page *page, const char *name)
{
  char mark[MARK_MOST];

  snprintf (mark, sizeof mark, "%s", name);
  file_put (page, &(Scope){ .value = page->document }, mark);
}
