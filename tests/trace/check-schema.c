/* check-schema.c - whether JSON files are as a JSON schema says
 *
 * Tests.  As much of JSON Schema as docs/slice-trace.schema.json uses: $ref
 * into $defs, type, const, enum, required, properties, additionalProperties,
 * items, minimum, maximum, oneOf.  Any other word is an error, so that a
 * schema can't ask what is not looked at.
 *
 *   check-schema SCHEMA FILE...
 *
 * SPDX-License-Identifier: MIT
 */
#include "tools/trace/common/stage/json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  const JsonValue *root;
  char path[512]; /* of what is looked at */
  char why[768];  /* of the first thing wrong; "" if there is none */
} Check;

static bool value_check (Check *check, const JsonValue *schema,
                         const JsonValue *value);

static bool
wrong (Check *check, const char *what)
{
  if (check->why[0] == '\0')
    snprintf (check->why, sizeof check->why, "%s: %s",
              check->path[0] == '\0' ? "/" : check->path, what);
  return false;
}

static bool
type_is (const char *name, const JsonValue *value)
{
  static const char *const names[]
      = { "null", "boolean", "number", "string", "array", "object" };

  if (strcmp (name, "integer") == 0)
    return value->type == JSON_NUMBER && value->number == floor (value->number);
  return strcmp (name, names[value->type]) == 0;
}

static bool
type_check (Check *check, const JsonValue *wanted, const JsonValue *value)
{
  if (wanted->type == JSON_TEXT)
    return type_is (wanted->text, value) || wrong (check, wanted->text);
  for (size_t i = 0; i < wanted->n_items; i++)
    if (type_is (wanted->items[i].text, value))
      return true;
  return wrong (check, "of no type that is allowed");
}

static bool
text_is (const JsonValue *wanted, const JsonValue *value)
{
  return value->type == JSON_TEXT && wanted->type == JSON_TEXT
         && strcmp (wanted->text, value->text) == 0;
}

static bool
enum_check (Check *check, const JsonValue *wanted, const JsonValue *value)
{
  for (size_t i = 0; i < wanted->n_items; i++)
    if (text_is (&wanted->items[i], value))
      return true;
  return wrong (check, "not in the list");
}

static bool
number_check (Check *check, const char *word, const JsonValue *wanted,
              const JsonValue *value)
{
  bool good;

  if (value->type != JSON_NUMBER)
    return true;
  good = strcmp (word, "minimum") == 0 ? value->number >= wanted->number
                                       : value->number <= wanted->number;
  return good || wrong (check, word);
}

static bool
required_check (Check *check, const JsonValue *names, const JsonValue *value)
{
  for (size_t i = 0; value->type == JSON_OBJECT && i < names->n_items; i++)
    if (sli_json_get (value, names->items[i].text) == NULL)
      {
        char what[128];

        snprintf (what, sizeof what, "no \"%.100s\"", names->items[i].text);
        return wrong (check, what);
      }
  return true;
}

/* A part of value, at a longer path. */
static bool
part_check (Check *check, const JsonValue *schema, const JsonValue *part,
            size_t place)
{
  size_t end = strlen (check->path);
  bool good;

  if (part->key != NULL)
    snprintf (check->path + end, sizeof check->path - end, "/%s", part->key);
  else
    snprintf (check->path + end, sizeof check->path - end, "/%zu", place);
  good = value_check (check, schema, part);
  check->path[end] = '\0';
  return good;
}

static bool
items_check (Check *check, const JsonValue *schema, const JsonValue *value)
{
  bool good = true;

  if (value->type == JSON_ARRAY)
    for (size_t i = 0; good && i < value->n_items; i++)
      good = part_check (check, schema, &value->items[i], i);
  return good;
}

static bool
properties_check (Check *check, const JsonValue *schema,
                  const JsonValue *value)
{
  const JsonValue *known = sli_json_get (schema, "properties");
  const JsonValue *rest = sli_json_get (schema, "additionalProperties");

  for (size_t i = 0; value->type == JSON_OBJECT && i < value->n_items; i++)
    {
      const JsonValue *part = &value->items[i];
      const JsonValue *own = sli_json_get (known, part->key);

      if (own == NULL && (rest == NULL || rest->type == JSON_BOOL))
        {
          char what[128];

          if (rest == NULL || rest->number != 0)
            continue;
          snprintf (what, sizeof what, "\"%.100s\" is not known", part->key);
          return wrong (check, what);
        }
      if (!part_check (check, own != NULL ? own : rest, part, i))
        return false;
    }
  return true;
}

static bool
one_check (Check *check, const JsonValue *schemas, const JsonValue *value)
{
  size_t n_good = 0;
  /* of those that do not fit the one that got furthest tells most */
  char furthest[sizeof check->why] = "";

  for (size_t i = 0; i < schemas->n_items; i++)
    {
      Check trial = *check;

      trial.why[0] = '\0';
      n_good += value_check (&trial, &schemas->items[i], value);
      if (strcspn (trial.why, ":") > strcspn (furthest, ":"))
        strcpy (furthest, trial.why);
    }
  if (n_good == 1)
    return true;
  if (n_good > 1)
    return wrong (check, "fits more than one");
  strcpy (check->why, furthest);
  return false;
}

static bool
ref_check (Check *check, const char *name, const JsonValue *value)
{
  static const char prefix[] = "#/$defs/";
  const JsonValue *found
      = strncmp (name, prefix, sizeof prefix - 1) != 0
            ? NULL
            : sli_json_get (sli_json_get (check->root, "$defs"),
                            name + sizeof prefix - 1);

  return found == NULL ? wrong (check, "the schema names what it has not")
                       : value_check (check, found, value);
}

static bool
word_check (Check *check, const JsonValue *schema, const JsonValue *word,
            const JsonValue *value)
{
  const char *name = word->key;

  if (strcmp (name, "type") == 0)
    return type_check (check, word, value);
  if (strcmp (name, "const") == 0)
    return text_is (word, value) || wrong (check, "another text");
  if (strcmp (name, "enum") == 0)
    return enum_check (check, word, value);
  if (strcmp (name, "minimum") == 0 || strcmp (name, "maximum") == 0)
    return number_check (check, name, word, value);
  if (strcmp (name, "required") == 0)
    return required_check (check, word, value);
  if (strcmp (name, "items") == 0)
    return items_check (check, word, value);
  if (strcmp (name, "additionalProperties") == 0)
    return properties_check (check, schema, value);
  if (strcmp (name, "oneOf") == 0)
    return one_check (check, word, value);
  if (strcmp (name, "$ref") == 0)
    return ref_check (check, word->text, value);
  return strcmp (name, "properties") == 0 || strcmp (name, "$schema") == 0
         || strcmp (name, "$defs") == 0 || strcmp (name, "title") == 0
         || wrong (check, name);
}

static bool
value_check (Check *check, const JsonValue *schema, const JsonValue *value)
{
  for (size_t i = 0; i < schema->n_items; i++)
    if (!word_check (check, schema, &schema->items[i], value))
      return false;
  return true;
}

int
main (int argc, char **argv)
{
  char error[256];
  JsonValue *schema = argc < 3 ? NULL : sli_json_load (argv[1], error);
  int status = 0;

  if (schema == NULL)
    {
      fprintf (stderr, "check-schema: %s\n",
               argc < 3 ? "SCHEMA FILE..." : error);
      return 2;
    }
  for (int i = 2; i < argc; i++)
    {
      Check check = { .root = schema };
      JsonValue *document = sli_json_load (argv[i], error);

      if (document == NULL || !value_check (&check, schema, document))
        {
          status = 1;
          printf ("%s: %s\n", argv[i], document == NULL ? error : check.why);
        }
      sli_json_free (document);
    }
  sli_json_free (schema);
  return status;
}
