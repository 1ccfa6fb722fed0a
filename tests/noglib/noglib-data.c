/* noglib-data.c - GLib's strings and containers, without GLib
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <glib.h>
#include <stdarg.h>
#include <sys/stat.h>

/* --- memory --- */

void *
g_malloc (size_t bytes)
{
  void *block = malloc (bytes);

  g_assert_true (block != NULL || bytes == 0);
  return block;
}

void *
g_malloc0 (size_t bytes)
{
  void *block = calloc (1, bytes);

  g_assert_true (block != NULL || bytes == 0);
  return block;
}

/* --- strings --- */

char *
g_strdup (const char *text)
{
  return text == NULL ? NULL : strcpy (g_malloc (strlen (text) + 1), text);
}

static char *
text_printed (const char *format, va_list arguments)
{
  char *text = NULL;

  g_assert_cmpint (vasprintf (&text, format, arguments), >=, 0);
  return text;
}

char *
g_strdup_printf (const char *format, ...)
{
  va_list arguments;
  char *text;

  va_start (arguments, format);
  text = text_printed (format, arguments);
  va_end (arguments);
  return text;
}

char *
g_strconcat (const char *first, ...)
{
  GString *text = g_string_new (NULL);
  va_list arguments;

  va_start (arguments, first);
  for (const char *part = first; part != NULL;
       part = va_arg (arguments, const char *))
    g_string_append (text, part);
  va_end (arguments);
  return g_string_free (text, FALSE);
}

size_t
g_strlcpy (char *target, const char *source, size_t bytes)
{
  size_t length = strlen (source);

  if (bytes != 0)
    {
      size_t n = MIN (length, bytes - 1);

      memcpy (target, source, n);
      target[n] = '\0';
    }
  return length;
}

char **
g_strsplit (const char *text, const char *separator, int most)
{
  char **parts = g_new0 (char *, strlen (text) + 2);
  unsigned n = 0;
  const char *end;

  if (*text == '\0')
    return parts;
  while ((end = strstr (text, separator)) != NULL
         && (most <= 0 || n + 1 < (unsigned) most))
    {
      parts[n++] = strndup (text, (size_t) (end - text));
      text = end + strlen (separator);
    }
  parts[n] = g_strdup (text);
  return parts;
}

unsigned
g_strv_length (char **strings)
{
  unsigned n = 0;

  while (strings[n] != NULL)
    n++;
  return n;
}

void
g_strfreev (char **strings)
{
  for (unsigned i = 0; strings != NULL && strings[i] != NULL; i++)
    free (strings[i]);
  free (strings);
}

gboolean
g_str_has_prefix (const char *text, const char *prefix)
{
  return strncmp (text, prefix, strlen (prefix)) == 0;
}

gboolean
g_str_has_suffix (const char *text, const char *suffix)
{
  size_t length = strlen (text), n = strlen (suffix);

  return length >= n && strcmp (text + length - n, suffix) == 0;
}

gboolean
g_pattern_match_simple (const char *pattern, const char *text)
{
  const char *star = NULL, *again = NULL;

  while (*text != '\0')
    if (*pattern == '*')
      {
        star = pattern++;
        again = text;
      }
    else if (*pattern == '?' || *pattern == *text)
      {
        pattern++;
        text++;
      }
    else if (star != NULL)
      {
        pattern = star + 1;
        text = ++again;
      }
    else
      return FALSE;
  while (*pattern == '*')
    pattern++;
  return *pattern == '\0';
}

GString *
g_string_new (const char *text)
{
  GString *string = g_new0 (GString, 1);

  return g_string_append (string, text != NULL ? text : "");
}

char *
g_string_free (GString *string, gboolean with_text)
{
  char *text = string->str;

  if (with_text)
    {
      free (text);
      text = NULL;
    }
  free (string);
  return text;
}

GString *
g_string_append_len (GString *string, const char *text, ssize_t bytes)
{
  size_t n = bytes < 0 ? strlen (text) : (size_t) bytes;

  if (string->str == NULL || string->len + n >= string->allocated_len)
    {
      string->allocated_len = (string->len + n + 1) * 2;
      string->str = realloc (string->str, string->allocated_len);
      g_assert_nonnull (string->str);
    }
  memcpy (string->str + string->len, text, n);
  string->len += n;
  string->str[string->len] = '\0';
  return string;
}

GString *
g_string_append (GString *string, const char *text)
{
  return g_string_append_len (string, text, -1);
}

GString *
g_string_append_c (GString *string, char c)
{
  return g_string_append_len (string, &c, 1);
}

GString *
g_string_truncate (GString *string, size_t bytes)
{
  string->len = MIN (string->len, bytes);
  string->str[string->len] = '\0';
  return string;
}

void
g_string_append_printf (GString *string, const char *format, ...)
{
  va_list arguments;
  char *text;

  va_start (arguments, format);
  text = text_printed (format, arguments);
  va_end (arguments);
  g_string_append (string, text);
  free (text);
}

/* --- files --- */

gboolean
g_file_get_contents (const char *path, char **text, size_t *bytes, void *error)
{
  FILE *file = fopen (path, "r");
  GString *string;
  char part[4096];
  size_t n;

  (void) error;
  if (file == NULL)
    return FALSE;
  string = g_string_new (NULL);
  while ((n = fread (part, 1, sizeof part, file)) != 0)
    g_string_append_len (string, part, (ssize_t) n);
  fclose (file);
  if (bytes != NULL)
    *bytes = string->len;
  *text = g_string_free (string, FALSE);
  return TRUE;
}

gboolean
g_file_test (const char *path, GFileTest test)
{
  struct stat found;

  return stat (path, &found) == 0
         && (test == G_FILE_TEST_EXISTS || S_ISDIR (found.st_mode));
}

/* --- arrays --- */

GArray *
noglib_array_new (unsigned element_bytes)
{
  GArray *array = g_new0 (GArray, 1);

  array->element_bytes = element_bytes;
  return array;
}

char *
g_array_free (GArray *array, gboolean with_data)
{
  char *data = array->data;

  if (with_data)
    {
      free (data);
      data = NULL;
    }
  free (array);
  return data;
}

GArray *
g_array_set_size (GArray *array, unsigned n)
{
  if (n > array->n_allocated)
    {
      array->n_allocated = n * 2;
      array->data
          = realloc (array->data,
                     (size_t) array->n_allocated * array->element_bytes);
      g_assert_nonnull (array->data);
    }
  array->len = n;
  return array;
}

void
noglib_array_insert (GArray *array, unsigned at, const void *element)
{
  size_t bytes = array->element_bytes;
  char *place;

  g_array_set_size (array, array->len + 1);
  place = array->data + at * bytes;
  memmove (place + bytes, place, (array->len - 1 - at) * bytes);
  memcpy (place, element, bytes);
}

GArray *
g_array_remove_index (GArray *array, unsigned at)
{
  size_t bytes = array->element_bytes;
  char *place = array->data + at * bytes;

  g_assert_cmpuint (at, <, array->len);
  memmove (place, place + bytes, (array->len - 1 - at) * bytes);
  array->len--;
  return array;
}

GArray *
g_array_remove_index_fast (GArray *array, unsigned at)
{
  size_t bytes = array->element_bytes;

  g_assert_cmpuint (at, <, array->len);
  array->len--;
  if (at != array->len)
    memcpy (array->data + at * bytes, array->data + array->len * bytes, bytes);
  return array;
}

/* --- tables: open addressing, a removed entry leaves its place taken --- */

typedef enum
{
  PLACE_FREE,
  PLACE_REMOVED,
  PLACE_TAKEN
} PlaceState;

typedef struct
{
  PlaceState state;
  gpointer key, value;
} Place;

struct NoglibTable
{
  Place *places;
  size_t n_places; /* a power of two */
  size_t n_used;   /* with the removed ones */
  unsigned n_keys;
};

/* The key's place, or the free one where it would be. */
static Place *
table_place (const GHashTable *table, gconstpointer key)
{
  size_t i
      = (size_t) (((uint64_t) (uintptr_t) key * 0x9e3779b97f4a7c15u) >> 32);

  for (;; i++)
    {
      Place *place = &table->places[i & (table->n_places - 1)];

      if (place->state == PLACE_FREE
          || (place->state == PLACE_TAKEN && place->key == key))
        return place;
    }
}

static void
table_grow (GHashTable *table)
{
  GHashTable old = *table;

  table->n_places = (table->n_keys + 8) * 2;
  while ((table->n_places & (table->n_places - 1)) != 0)
    table->n_places += table->n_places & -table->n_places;
  table->n_places *= 2;
  table->places = g_new0 (Place, table->n_places);
  table->n_used = table->n_keys;
  for (size_t i = 0; i < old.n_places; i++)
    if (old.places[i].state == PLACE_TAKEN)
      *table_place (table, old.places[i].key) = old.places[i];
  free (old.places);
}

GHashTable *
noglib_table_new (void)
{
  GHashTable *table = g_new0 (GHashTable, 1);

  table_grow (table);
  return table;
}

void
g_hash_table_unref (GHashTable *table)
{
  free (table->places);
  free (table);
}

gboolean
g_hash_table_insert (GHashTable *table, gpointer key, gpointer value)
{
  Place *place = table_place (table, key);
  bool is_new = place->state == PLACE_FREE;

  *place = (Place){ PLACE_TAKEN, key, value };
  table->n_keys += is_new;
  table->n_used += is_new;
  if (table->n_used * 2 > table->n_places)
    table_grow (table);
  return is_new;
}

gboolean
g_hash_table_remove (GHashTable *table, gconstpointer key)
{
  Place *place = table_place (table, key);

  if (place->state == PLACE_FREE)
    return FALSE;
  place->state = PLACE_REMOVED;
  table->n_keys--;
  return TRUE;
}

gboolean
g_hash_table_lookup_extended (GHashTable *table, gconstpointer key,
                              gpointer *found, gpointer *value)
{
  const Place *place = table_place (table, key);

  if (place->state == PLACE_FREE)
    return FALSE;
  if (found != NULL)
    *found = place->key;
  if (value != NULL)
    *value = place->value;
  return TRUE;
}

gpointer
g_hash_table_lookup (GHashTable *table, gconstpointer key)
{
  const Place *place = table_place (table, key);

  return place->state == PLACE_FREE ? NULL : place->value;
}

gboolean
g_hash_table_contains (GHashTable *table, gconstpointer key)
{
  return table_place (table, key)->state == PLACE_TAKEN;
}

unsigned
g_hash_table_size (GHashTable *table)
{
  return table->n_keys;
}
