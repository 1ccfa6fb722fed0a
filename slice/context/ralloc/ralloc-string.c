/* ralloc-string.c - strings that are nodes
 *
 * Layer: context.  No locks.
 *
 * A text is formatted into a buffer on the stack, and a second time only if
 * the buffer was too small.  A string that grows gets half as much again as it
 * needs, so that n appends copy O(n) bytes.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "format.h"
#include "context/node-memory.h"
#include "context/node.h"
#include "context/owned.h"

enum
{
  FORMAT_BUFFER_BYTES = 256 /* on the stack: most texts are shorter */
};

void
sli_context_require_string (const void *pointer, const char *operation)
{
  if (UNLIKELY (pointer == NULL))
    sli_diag_abort (ERROR_NODE_NULL, "NULL where a string must be: %s",
                    operation);
}

CONTEXT_TEXT static char *
string_new (const void *ctx, const char *str, size_t length,
            const char *operation)
{
  char *copy = context_alloc (ctx, length + 1, operation);

  if (UNLIKELY (copy == NULL))
    return NULL;
  memcpy (copy, str, length);
  copy[length] = '\0';
  return copy;
}

CONTEXT_TEXT char *
ralloc_strdup (const void *ctx, const char *str)
{
  return LIKELY (str != NULL)
             ? string_new (ctx, str, strlen (str), "ralloc_strdup")
             : NULL;
}

char *
ralloc_strndup (const void *ctx, const char *str, size_t n)
{
  return LIKELY (str != NULL)
             ? string_new (ctx, str, strnlen (str, n), "ralloc_strndup")
             : NULL;
}

/* --- appending ----------------------------------------------------------- */

/* Grows a string to `start + length' characters and a NUL.  NULL: no memory,
 * or the sum overflows. */
static char *
string_grow (char *str, size_t start, size_t length, const char *operation)
{
  size_t bytes;

  if (UNLIKELY (__builtin_add_overflow (start, length, &bytes)
                || bytes >= (size_t) PTRDIFF_MAX / 2))
    {
      errno = ENOMEM;
      return NULL;
    }
  bytes++;
  return sli_context_resize (str, bytes, bytes + bytes / 2, operation);
}

CONTEXT_TEXT static bool
string_append (char **dest, const char *str, size_t existing, size_t length,
               const char *operation)
{
  /* The text may be a part of the string that it is appended to. */
  size_t inside = (size_t) (str - *dest);
  bool is_inside = str >= *dest && inside <= existing;
  char *both = string_grow (*dest, existing, length, operation);

  if (UNLIKELY (both == NULL))
    return false;
  memmove (both + existing, is_inside ? both + inside : str, length);
  both[existing + length] = '\0';
  *dest = both;
  return true;
}

CONTEXT_TEXT bool
ralloc_strcat (char **dest, const char *str)
{
  sli_context_require_string (dest, "ralloc_strcat");
  sli_context_check (*dest, "ralloc_strcat");
  sli_context_require_string (str, "ralloc_strcat");
  return string_append (dest, str, strlen (*dest), strlen (str),
                        "ralloc_strcat");
}

bool
ralloc_strncat (char **dest, const char *str, size_t n)
{
  sli_context_require_string (dest, "ralloc_strncat");
  sli_context_check (*dest, "ralloc_strncat");
  sli_context_require_string (str, "ralloc_strncat");
  return string_append (dest, str, strlen (*dest), strnlen (str, n),
                        "ralloc_strncat");
}

bool
ralloc_str_append (char **dest, const char *str, size_t existing_length,
                   size_t str_size)
{
  sli_context_require_string (dest, "ralloc_str_append");
  if (UNLIKELY (str == NULL))
    {
      if (str_size > 0)
        sli_context_require_string (str, "ralloc_str_append");
      str = "";
    }
  return string_append (dest, str, existing_length, str_size,
                        "ralloc_str_append");
}

/* --- formatting ---------------------------------------------------------- */

CONTEXT_TEXT static SLICE_ATTR_PRINTF (2, 0) char *
text_new (const void *ctx, const char *fmt, va_list args,
          const char *operation)
{
  char buffer[FORMAT_BUFFER_BYTES];
  va_list again;
  int length;
  char *text;

  va_copy (again, args);
  length = vsnprintf (buffer, sizeof buffer, fmt, args);
  text = length >= 0 ? context_alloc (ctx, (size_t) length + 1, operation)
                     : NULL;
  if (LIKELY (text != NULL))
    {
      if (LIKELY ((size_t) length < sizeof buffer))
        memcpy (text, buffer, (size_t) length + 1);
      else
        vsnprintf (text, (size_t) length + 1, fmt, again);
    }
  va_end (again);
  return text;
}

CONTEXT_TEXT char *
ralloc_vasprintf (const void *ctx, const char *fmt, va_list args)
{
  return text_new (ctx, fmt, args, "ralloc_vasprintf");
}

CONTEXT_TEXT char *
ralloc_asprintf (const void *ctx, const char *fmt, ...)
{
  va_list args;
  char *text;

  va_start (args, fmt);
  text = text_new (ctx, fmt, args, "ralloc_asprintf");
  va_end (args);
  return text;
}

char *
sli_context_format (size_t length, const char *fmt, va_list args)
{
  char *text = slice_try_alloc (length + 1);

  if (LIKELY (text != NULL))
    vsnprintf (text, length + 1, fmt, args);
  return text;
}

/* Formats the text elsewhere first, and overwrites the tail when the string is
 * long enough.  So a failure leaves the string unchanged, and the text may be
 * made from the string itself. */
CONTEXT_TEXT static SLICE_ATTR_PRINTF (3, 0) bool
tail_rewrite (char **str, size_t *start, const char *fmt, va_list args,
              const char *operation)
{
  char buffer[FORMAT_BUFFER_BYTES];
  char *tail = buffer;
  char *text = NULL;
  va_list again;
  int length;

  sli_context_require_string (str, operation);
  if (UNLIKELY (*str == NULL))
    {
      *str = text_new (NULL, fmt, args, operation);
      *start = *str != NULL ? strlen (*str) : 0;
      return *str != NULL;
    }
  va_copy (again, args);
  length = vsnprintf (buffer, sizeof buffer, fmt, args);
  if (UNLIKELY (length >= (int) sizeof buffer))
    tail = sli_context_format ((size_t) length, fmt, again);
  if (LIKELY (length >= 0 && tail != NULL))
    text = string_grow (*str, *start, (size_t) length, operation);
  if (LIKELY (text != NULL))
    {
      memcpy (text + *start, tail, (size_t) length + 1);
      *str = text;
      *start += (size_t) length;
    }
  if (UNLIKELY (tail != buffer))
    slice_free1 ((size_t) length + 1, tail);
  va_end (again);
  return text != NULL;
}

CONTEXT_TEXT bool
ralloc_vasprintf_rewrite_tail (char **str, size_t *start, const char *fmt,
                               va_list args)
{
  return tail_rewrite (str, start, fmt, args,
                       "ralloc_vasprintf_rewrite_tail");
}

bool
ralloc_asprintf_rewrite_tail (char **str, size_t *start, const char *fmt, ...)
{
  va_list args;
  bool done;

  va_start (args, fmt);
  done = tail_rewrite (str, start, fmt, args, "ralloc_asprintf_rewrite_tail");
  va_end (args);
  return done;
}

CONTEXT_TEXT static SLICE_ATTR_PRINTF (2, 0) bool
text_append (char **str, const char *fmt, va_list args, const char *operation)
{
  size_t start;

  sli_context_require_string (str, operation);
  start = 0;
  if (*str != NULL)
    {
      sli_context_check (*str, operation);
      start = strlen (*str);
    }
  return tail_rewrite (str, &start, fmt, args, operation);
}

CONTEXT_TEXT bool
ralloc_vasprintf_append (char **str, const char *fmt, va_list args)
{
  return text_append (str, fmt, args, "ralloc_vasprintf_append");
}

CONTEXT_TEXT bool
ralloc_asprintf_append (char **str, const char *fmt, ...)
{
  va_list args;
  bool done;

  va_start (args, fmt);
  done = text_append (str, fmt, args, "ralloc_asprintf_append");
  va_end (args);
  return done;
}
