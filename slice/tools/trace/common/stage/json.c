/* json.c - reads and writes JSON, as far as the stages need it
 *
 * Tools.  RFC 8259.  SPDX-License-Identifier: MIT
 */
#include "json.h"
#include "tools/trace/common/tool.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64

/* The bytes of the UTF-8 character at text, 0 if there is none, since paths
 * and arguments may have any bytes. */
size_t
sli_utf8_length (const char *string)
{
  const unsigned char *text = (const unsigned char *) string;
  size_t n;

  if (text[0] < 0x80)
    return 1;
  n = text[0] >= 0xf0 && text[0] < 0xf5   ? 4
      : text[0] >= 0xe0                   ? 3
      : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
                                          : 0;
  if (text[0] >= 0xf5)
    return 0;
  for (size_t i = 1; i < n; i++)
    if ((text[i] & 0xc0) != 0x80)
      return 0;
  /* overlong forms and surrogates */
  if ((text[0] == 0xe0 && text[1] < 0xa0)
      || (text[0] == 0xed && text[1] >= 0xa0)
      || (text[0] == 0xf0 && text[1] < 0x90)
      || (text[0] == 0xf4 && text[1] >= 0x90))
    return 0;
  return n;
}

static void
put_string (FILE *file, const char *text)
{
  const unsigned char *at = (const unsigned char *) text;

  fputc ('"', file);
  while (*at != '\0')
    {
      size_t n = sli_utf8_length ((const char *) at);

      if (n == 0)
        {
          fputs ("\\ufffd", file);
          n = 1;
        }
      else if (*at == '"' || *at == '\\')
        fprintf (file, "\\%c", *at);
      else if (*at < 0x20)
        fprintf (file, "\\u%04x", *at);
      else
        fwrite (at, 1, n, file);
      at += n;
    }
  fputc ('"', file);
}

static void
put_key (JsonOut *out, const char *key)
{
  if (out->comma)
    fputc (',', out->file);
  if (out->depth > 0 && out->depth < 4)
    fprintf (out->file, "\n%*s", out->depth, "");
  if (key != NULL)
    {
      put_string (out->file, key);
      fputc (':', out->file);
    }
  out->comma = true;
}

void
sli_json_begin (JsonOut *out, const char *key, char bracket)
{
  put_key (out, key);
  fputc (bracket, out->file);
  out->depth++;
  out->comma = false;
}

void
sli_json_end (JsonOut *out, char bracket)
{
  fputc (bracket, out->file);
  out->depth--;
  out->comma = true;
  if (out->depth == 0)
    fputc ('\n', out->file);
}

void
sli_json_text (JsonOut *out, const char *key, const char *text)
{
  put_key (out, key);
  put_string (out->file, text == NULL ? "" : text);
}

void
sli_json_uint (JsonOut *out, const char *key, uint64_t value)
{
  put_key (out, key);
  fprintf (out->file, "%llu", (unsigned long long) value);
}

void
sli_json_real (JsonOut *out, const char *key, double value)
{
  put_key (out, key);
  if (isfinite (value))
    fprintf (out->file, "%.6g", value);
  else
    fputs ("null", out->file);
}

void
sli_json_bool (JsonOut *out, const char *key, bool value)
{
  put_key (out, key);
  fputs (value ? "true" : "false", out->file);
}

/* --- reading ------------------------------------------------------------- */

/* No function reads beyond the byte 0 at the end: take() does not pass it. */
typedef struct
{
  const char *start, *at;
  int depth;
  const char *problem;
} Parser;

static bool parse_value (Parser *parser, JsonValue *value);

static bool
take (Parser *parser, char wanted)
{
  if (*parser->at != wanted)
    return false;
  parser->at++;
  return true;
}

static void
skip_space (Parser *parser)
{
  while (*parser->at == ' ' || *parser->at == '\n' || *parser->at == '\t'
         || *parser->at == '\r')
    parser->at++;
}

static bool
fail (Parser *parser, const char *problem)
{
  if (parser->problem == NULL)
    parser->problem = problem;
  return false;
}

static char *
put_utf8 (char *end, unsigned long code)
{
  if (code < 0x80)
    *end++ = (char) code;
  else if (code < 0x800)
    {
      *end++ = (char) (0xc0 | code >> 6);
      *end++ = (char) (0x80 | (code & 0x3f));
    }
  else
    {
      if (code < 0x10000)
        *end++ = (char) (0xe0 | code >> 12);
      else
        {
          *end++ = (char) (0xf0 | code >> 18);
          *end++ = (char) (0x80 | (code >> 12 & 0x3f));
        }
      *end++ = (char) (0x80 | (code >> 6 & 0x3f));
      *end++ = (char) (0x80 | (code & 0x3f));
    }
  return end;
}

/* Four hexadecimal digits. */
static bool
parse_code (Parser *parser, unsigned long *code)
{
  char digits[5] = "";

  for (int i = 0; i < 4; i++)
    {
      if (!isxdigit ((unsigned char) *parser->at))
        return false;
      digits[i] = *parser->at++;
    }
  *code = strtoul (digits, NULL, 16);
  return true;
}

/* Parses what follows \u; a character beyond 16 bits has two parts. */
static char *
parse_unicode (Parser *parser, char *end)
{
  unsigned long code, low;

  if (!parse_code (parser, &code) || code == 0)
    return NULL;
  if (code < 0xd800 || code >= 0xe000)
    return put_utf8 (end, code);
  if (code >= 0xdc00 || !take (parser, '\\') || !take (parser, 'u')
      || !parse_code (parser, &low) || low < 0xdc00 || low >= 0xe000)
    return NULL;
  return put_utf8 (end, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
}

static char *
parse_escape (Parser *parser, char *end)
{
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char *found;

  if (take (parser, 'u'))
    return parse_unicode (parser, end);
  found = *parser->at == '\0' ? NULL : strchr (from, *parser->at);
  if (found == NULL)
    return NULL;
  parser->at++;
  *end++ = to[found - from];
  return end;
}

static char *
parse_string (Parser *parser)
{
  const char *close;
  char *text, *end;

  if (!take (parser, '"'))
    return NULL;
  close = parser->at;
  while (*close != '"' && *close != '\0')
    close += *close == '\\' && close[1] != '\0' ? 2 : 1;
  text = sli_tool_alloc ((size_t) (close - parser->at) + 4);
  end = text;
  while (end != NULL && *parser->at != '"' && *parser->at != '\0')
    if (take (parser, '\\'))
      end = parse_escape (parser, end);
    else
      *end++ = *parser->at++;
  if (end == NULL || !take (parser, '"'))
    {
      free (text);
      return NULL;
    }
  *end = '\0';
  return text;
}

static JsonValue *
item_add (JsonValue *parent)
{
  JsonValue *item;

  if (parent->n_items == parent->capacity)
    {
      parent->capacity = parent->capacity * 2 + 4;
      parent->items = sli_tool_grow (parent->items,
                                     parent->capacity * sizeof (JsonValue));
    }
  item = &parent->items[parent->n_items++];
  memset (item, 0, sizeof *item);
  return item;
}

static bool
parse_items (Parser *parser, JsonValue *value, char close)
{
  parser->at++;
  skip_space (parser);
  if (take (parser, close))
    return true;
  for (;;)
    {
      JsonValue *item = item_add (value);

      skip_space (parser);
      if (close == '}')
        {
          item->key = parse_string (parser);
          skip_space (parser);
          if (item->key == NULL || !take (parser, ':'))
            return fail (parser, "a key is wrong");
        }
      if (!parse_value (parser, item))
        return false;
      skip_space (parser);
      if (take (parser, close))
        return true;
      if (!take (parser, ','))
        return fail (parser, "a comma or a bracket is missing");
    }
}

static bool
parse_word (Parser *parser, JsonValue *value)
{
  static const struct
  {
    const char *word;
    JsonType type;
    double number;
  } words[] = { { "true", JSON_BOOL, 1 },
                { "false", JSON_BOOL, 0 },
                { "null", JSON_NULL, 0 } };
  const char *digits;
  char *end;

  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    {
      size_t n = strlen (words[i].word);

      if (strncmp (parser->at, words[i].word, n) == 0)
        {
          value->type = words[i].type;
          value->number = words[i].number;
          parser->at += n;
          return true;
        }
    }
  /* strtod() also takes inf, 0x1 and so on, which are no JSON */
  digits = parser->at + (*parser->at == '-');
  if (!isdigit ((unsigned char) digits[0]) || digits[1] == 'x'
      || digits[1] == 'X')
    return fail (parser, "a value is wrong");
  value->type = JSON_NUMBER;
  value->number = strtod (parser->at, &end);
  parser->at = end;
  return isfinite (value->number) || fail (parser, "a number is too large");
}

static bool
parse_value (Parser *parser, JsonValue *value)
{
  bool good;

  skip_space (parser);
  if (++parser->depth > DEPTH_MAX)
    return fail (parser, "it is too deep");
  switch (*parser->at)
    {
    case '{':
      value->type = JSON_OBJECT;
      good = parse_items (parser, value, '}');
      break;
    case '[':
      value->type = JSON_ARRAY;
      good = parse_items (parser, value, ']');
      break;
    case '"':
      value->type = JSON_TEXT;
      value->text = parse_string (parser);
      good = value->text != NULL || fail (parser, "a string is wrong");
      break;
    default:
      good = parse_word (parser, value);
    }
  parser->depth--;
  return good;
}

static void
value_clear (JsonValue *value)
{
  for (size_t i = 0; i < value->n_items; i++)
    value_clear (&value->items[i]);
  free (value->items);
  free (value->key);
  free (value->text);
}

void
sli_json_free (JsonValue *value)
{
  if (value == NULL)
    return;
  value_clear (value);
  free (value);
}

JsonValue *
sli_json_parse (const char *text, char *error)
{
  Parser parser = { .start = text, .at = text };
  JsonValue *value = sli_tool_zero (sizeof *value);
  bool good = parse_value (&parser, value);

  if (good)
    {
      skip_space (&parser);
      good = *parser.at == '\0' || fail (&parser, "something follows it");
    }
  if (good)
    return value;
  snprintf (error, 256, "at byte %zu: %s", (size_t) (parser.at - parser.start),
            parser.problem);
  sli_json_free (value);
  return NULL;
}

JsonValue *
sli_json_load (const char *path, char *error)
{
  size_t n;
  char *text = sli_file_read (path, &n);
  JsonValue *value = NULL;

  if (text == NULL)
    {
      snprintf (error, 256, "%s", strerror (errno));
      return NULL;
    }
  if (strlen (text) == n)
    value = sli_json_parse (text, error);
  else
    snprintf (error, 256, "at byte %zu: a zero byte", strlen (text));
  free (text);
  return value;
}

const JsonValue *
sli_json_get (const JsonValue *object, const char *key)
{
  for (size_t i = 0; object != NULL && i < object->n_items; i++)
    if (object->items[i].key != NULL
        && strcmp (object->items[i].key, key) == 0)
      return &object->items[i];
  return NULL;
}

const JsonValue *
sli_json_items (const JsonValue *object, const char *key)
{
  static const JsonValue nothing = { .type = JSON_NULL };
  const JsonValue *found = sli_json_get (object, key);

  return found == NULL ? &nothing : found;
}

double
sli_json_item_number (const JsonValue *array, size_t i)
{
  return array != NULL && i < array->n_items ? array->items[i].number : 0;
}

const char *
sli_json_item_text (const JsonValue *array, size_t i)
{
  const char *text
      = array != NULL && i < array->n_items ? array->items[i].text : NULL;

  return text == NULL ? "" : text;
}

double
sli_json_number (const JsonValue *object, const char *key)
{
  const JsonValue *found = sli_json_get (object, key);

  return found == NULL ? 0 : found->number;
}

const char *
sli_json_string (const JsonValue *object, const char *key)
{
  const JsonValue *found = sli_json_get (object, key);

  return found == NULL || found->text == NULL ? "" : found->text;
}
