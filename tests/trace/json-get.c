/* json-get.c - values of a JSON file, for the scripts
 *
 *   json-get FILE PATH [KEY...]
 *
 * Tests.  Prints each value that PATH names, a line each; with KEYs these
 * members of it, a tab between them, as a table.  A PATH is made of names and
 * of numbers from 0 in an array, with dots between; * are all items.  true is
 * true; an array or object is how many items it has; what is not there is
 * empty.  Fails if the file is no JSON, or if there is no value at PATH.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tools/trace/common/stage/json.h"

#include <stdlib.h>
#include <string.h>

typedef struct
{
  char **keys;
  int n_keys;
  int n_found;
} Wanted;

static void
value_print (const JsonValue *value)
{
  switch (value == NULL ? JSON_NULL : value->type)
    {
    case JSON_NULL:
      break;
    case JSON_BOOL:
      fputs (value->number != 0 ? "true" : "false", stdout);
      break;
    case JSON_NUMBER:
      printf ("%.15g", value->number);
      break;
    case JSON_TEXT:
      fputs (value->text, stdout);
      break;
    case JSON_ARRAY:
    case JSON_OBJECT:
      printf ("%zu", value->n_items);
      break;
    }
}

static void
row_print (Wanted *wanted, const JsonValue *value)
{
  wanted->n_found++;
  if (wanted->n_keys == 0)
    value_print (value);
  for (int i = 0; i < wanted->n_keys; i++)
    {
      if (i > 0)
        putchar ('\t');
      value_print (sli_json_get (value, wanted->keys[i]));
    }
  putchar ('\n');
}

static bool
item_is (const JsonValue *value, size_t i, const char *step, size_t length)
{
  char number[24];
  const char *name = number;

  if (length == 1 && *step == '*')
    return true;
  snprintf (number, sizeof number, "%zu", i);
  if (value->type == JSON_OBJECT)
    name = value->items[i].key;
  return strlen (name) == length && strncmp (name, step, length) == 0;
}

static void
path_follow (Wanted *wanted, const JsonValue *value, const char *path)
{
  size_t length = strcspn (path, ".");
  const char *rest = path + length + (path[length] == '.');

  if (length == 0)
    {
      row_print (wanted, value);
      return;
    }
  if (value->type != JSON_ARRAY && value->type != JSON_OBJECT)
    return;
  for (size_t i = 0; i < value->n_items; i++)
    if (item_is (value, i, path, length))
      path_follow (wanted, &value->items[i], rest);
}

int
main (int argc, char **argv)
{
  char error[256] = "";
  JsonValue *value;
  Wanted wanted = { .n_found = 0 };

  if (argc < 3)
    {
      fputs ("usage: json-get FILE PATH [KEY...]\n", stderr);
      return 2;
    }
  value = sli_json_load (argv[1], error);
  if (value == NULL)
    {
      fprintf (stderr, "json-get: %s: %s\n", argv[1], error);
      return 2;
    }
  wanted.keys = argv + 3;
  wanted.n_keys = argc - 3;
  path_follow (&wanted, value, argv[2]);
  sli_json_free (value);
  return wanted.n_found > 0 ? 0 : 1;
}
