/* json.h - reads and writes JSON, as far as the stages need it
 *
 * Tools.  The writer puts commas and indents itself; strings are escaped, and
 * bytes that are no UTF-8 become U+FFFD.  The reader keeps the whole document
 * as a tree and refuses documents deeper than 64 levels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMON_JSON_H
#define SLI_TRACE_COMMON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct
{
  FILE *file;
  int depth;
  bool comma;
  bool after_key;
} JsonOut;

void sli_json_begin (JsonOut *out, const char *key, char bracket);
void sli_json_end (JsonOut *out, char bracket);
void sli_json_text (JsonOut *out, const char *key, const char *text);
void sli_json_uint (JsonOut *out, const char *key, uint64_t value);
void sli_json_real (JsonOut *out, const char *key, double value);
size_t sli_utf8_length (const char *string);
void sli_json_bool (JsonOut *out, const char *key, bool value);

typedef enum
{
  JSON_NULL,
  JSON_BOOL,
  JSON_NUMBER,
  JSON_TEXT,
  JSON_ARRAY,
  JSON_OBJECT
} JsonType;

typedef struct JsonValue
{
  JsonType type;
  char *key; /* in an object */
  char *text;
  double number;
  struct JsonValue *items; /* of arrays and objects */
  size_t n_items, capacity;
} JsonValue;

/* NULL with a line in error (of at least 256 bytes) if it is no JSON. */
JsonValue *sli_json_parse (const char *text, char *error);
JsonValue *sli_json_load (const char *path, char *error);
void sli_json_free (JsonValue *value);
/* NULL if the key is missing or the object is NULL. */
const JsonValue *sli_json_get (const JsonValue *object, const char *key);
/* The same, but a value without items if the key is missing. */
const JsonValue *sli_json_items (const JsonValue *object, const char *key);
/* An item of an array; 0 or "" if there is none. */
double sli_json_item_number (const JsonValue *array, size_t i);
const char *sli_json_item_text (const JsonValue *array, size_t i);
double sli_json_number (const JsonValue *object, const char *key);
const char *sli_json_string (const JsonValue *object, const char *key);

#endif
