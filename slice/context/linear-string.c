/* linear-string.c - strings in linear contexts
 *
 * Layer: context.  No locks.  The string that was allocated last grows in
 * place; any other moves.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "node.h"

enum
{
  FORMAT_BUFFER_BYTES = 256 /* on the stack; longer texts take two passes */
};

CONTEXT_TEXT void *
ralloc_linear_memdup (void *linear, const void *mem, size_t n)
{
  void *copy = LIKELY (mem != NULL || n == 0)
                   ? ralloc_linear_alloc_child (linear, n)
                   : NULL;

  if (LIKELY (copy != NULL && n > 0))
    memcpy (copy, mem, n);
  return copy;
}

CONTEXT_TEXT char *
ralloc_linear_strdup (void *linear, const char *str)
{
  return LIKELY (str != NULL)
             ? ralloc_linear_memdup (linear, str, strlen (str) + 1)
             : NULL;
}

/* Grows `old', of `start' characters, by `length' more and a NUL. */
static char *
string_grow (void *linear, char *old, size_t start, size_t length)
{
  size_t bytes;
  char *text;

  if (UNLIKELY (__builtin_add_overflow (start, length, &bytes)
                || bytes >= (size_t) PTRDIFF_MAX / 2))
    {
      errno = ENOMEM;
      return NULL;
    }
  if (old != NULL && sli_context_linear_extend (linear, old, bytes + 1))
    return old;
  text = ralloc_linear_alloc_child (linear, bytes + 1);
  if (text != NULL && start > 0)
    memcpy (text, old, start);
  return text;
}

bool
ralloc_linear_vasprintf_rewrite_tail (void *linear, char **str, size_t *start,
                                      const char *fmt, va_list args)
{
  char buffer[FORMAT_BUFFER_BYTES];
  size_t from;
  char *tail = buffer;
  char *text = NULL;
  va_list again;
  int length;

  sli_context_require_string (str, "ralloc_linear_vasprintf_rewrite_tail");
  from = *str != NULL ? *start : 0;
  va_copy (again, args);
  length = vsnprintf (buffer, sizeof buffer, fmt, args);
  /* The text may be made from the string that it overwrites. */
  if (UNLIKELY (length >= (int) sizeof buffer))
    tail = *str != NULL ? sli_context_format ((size_t) length, fmt, again)
                        : NULL;
  if (LIKELY (length >= 0 && (tail != NULL || *str == NULL)))
    text = string_grow (linear, *str, from, (size_t) length);
  if (LIKELY (text != NULL))
    {
      if (LIKELY (tail != NULL))
        memcpy (text + from, tail, (size_t) length + 1);
      else
        vsnprintf (text, (size_t) length + 1, fmt, again);
      *str = text;
      *start = from + (size_t) length;
    }
  if (UNLIKELY (tail != buffer && tail != NULL))
    slice_free1 ((size_t) length + 1, tail);
  va_end (again);
  return text != NULL;
}

char *
ralloc_linear_vasprintf (void *linear, const char *fmt, va_list args)
{
  char *text = NULL;
  size_t start = 0;

  ralloc_linear_vasprintf_rewrite_tail (linear, &text, &start, fmt, args);
  return text;
}

char *
ralloc_linear_asprintf (void *linear, const char *fmt, ...)
{
  va_list args;
  char *text;

  va_start (args, fmt);
  text = ralloc_linear_vasprintf (linear, fmt, args);
  va_end (args);
  return text;
}

bool
ralloc_linear_asprintf_rewrite_tail (void *linear, char **str, size_t *start,
                                     const char *fmt, ...)
{
  va_list args;
  bool done;

  va_start (args, fmt);
  done = ralloc_linear_vasprintf_rewrite_tail (linear, str, start, fmt, args);
  va_end (args);
  return done;
}

bool
ralloc_linear_vasprintf_append (void *linear, char **str, const char *fmt,
                                va_list args)
{
  size_t start;

  sli_context_require_string (str, "ralloc_linear_vasprintf_append");
  start = *str != NULL ? strlen (*str) : 0;
  return ralloc_linear_vasprintf_rewrite_tail (linear, str, &start, fmt,
                                               args);
}

bool
ralloc_linear_asprintf_append (void *linear, char **str, const char *fmt, ...)
{
  va_list args;
  bool done;

  va_start (args, fmt);
  done = ralloc_linear_vasprintf_append (linear, str, fmt, args);
  va_end (args);
  return done;
}

bool
ralloc_linear_strcat (void *linear, char **dest, const char *str)
{
  size_t existing;
  size_t length;
  char *both;

  sli_context_require_string (dest, "ralloc_linear_strcat");
  sli_context_require_string (*dest, "ralloc_linear_strcat");
  sli_context_require_string (str, "ralloc_linear_strcat");
  existing = strlen (*dest);
  length = strlen (str);
  both = string_grow (linear, *dest, existing, length);
  if (UNLIKELY (both == NULL))
    return false;
  memmove (both + existing, str, length);
  both[existing + length] = '\0';
  *dest = both;
  return true;
}
