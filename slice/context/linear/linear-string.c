/* linear-string.c - strings in linear contexts
 *
 * Layer: context.  No locks.  The string that was allocated last grows in
 * place, as does one that has a buffer of its own; any other moves.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include <errno.h>

#include "linear.h"
#include "context/node.h"
#include "context/ralloc/format.h"

enum
{
  FORMAT_BUFFER_BYTES = 256 /* on the stack; longer texts take two passes */
};

static ALWAYS_INLINE void *
object_copy (void *linear, const void *mem, size_t n, const char *operation)
{
  void *copy = LIKELY (mem != NULL || n == 0)
                   ? sli_context_linear_alloc (linear, n, operation)
                   : NULL;

  if (LIKELY (copy != NULL && n > 0))
    memcpy (copy, mem, n);
  return copy;
}

CONTEXT_TEXT void *
ralloc_linear_memdup (void *linear, const void *mem, size_t n)
{
  return object_copy (linear, mem, n, "ralloc_linear_memdup");
}

CONTEXT_TEXT char *
ralloc_linear_strdup (void *linear, const char *str)
{
  return LIKELY (str != NULL)
             ? object_copy (linear, str, strlen (str) + 1,
                            "ralloc_linear_strdup")
             : NULL;
}

/* Grows `old', of `start' characters, by `length' more and a NUL. */
static char *
string_grow (void *linear, char *old, size_t start, size_t length,
             const char *operation)
{
  size_t bytes;

  if (UNLIKELY (__builtin_add_overflow (start, length, &bytes)
                || bytes >= (size_t) PTRDIFF_MAX / 2))
    {
      errno = ENOMEM;
      return NULL;
    }
  return old != NULL ? sli_context_linear_text (linear, old, start, bytes + 1,
                                                operation)
                     : sli_context_linear_alloc (linear, bytes + 1, operation);
}

static SLICE_ATTR_PRINTF (4, 0) bool
tail_rewrite (void *linear, char **str, size_t *start, const char *fmt,
              va_list args, const char *operation)
{
  char buffer[FORMAT_BUFFER_BYTES];
  size_t from;
  char *tail = buffer;
  char *text = NULL;
  va_list again;
  int length;

  sli_context_require_string (str, operation);
  from = *str != NULL ? *start : 0;
  va_copy (again, args);
  length = vsnprintf (buffer, sizeof buffer, fmt, args);
  /* The text may be made from the string that it overwrites. */
  if (UNLIKELY (length >= (int) sizeof buffer))
    tail = *str != NULL ? sli_context_format ((size_t) length, fmt, again)
                        : NULL;
  if (LIKELY (length >= 0 && (tail != NULL || *str == NULL)))
    text = string_grow (linear, *str, from, (size_t) length, operation);
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

bool
ralloc_linear_vasprintf_rewrite_tail (void *linear, char **str, size_t *start,
                                      const char *fmt, va_list args)
{
  return tail_rewrite (linear, str, start, fmt, args,
                       "ralloc_linear_vasprintf_rewrite_tail");
}

static SLICE_ATTR_PRINTF (2, 0) char *
text_new (void *linear, const char *fmt, va_list args, const char *operation)
{
  char *text = NULL;
  size_t start = 0;

  tail_rewrite (linear, &text, &start, fmt, args, operation);
  return text;
}

char *
ralloc_linear_vasprintf (void *linear, const char *fmt, va_list args)
{
  return text_new (linear, fmt, args, "ralloc_linear_vasprintf");
}

char *
ralloc_linear_asprintf (void *linear, const char *fmt, ...)
{
  va_list args;
  char *text;

  va_start (args, fmt);
  text = text_new (linear, fmt, args, "ralloc_linear_asprintf");
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
  done = tail_rewrite (linear, str, start, fmt, args,
                       "ralloc_linear_asprintf_rewrite_tail");
  va_end (args);
  return done;
}

static SLICE_ATTR_PRINTF (3, 0) bool
text_append (void *linear, char **str, const char *fmt, va_list args,
             const char *operation)
{
  size_t start;

  sli_context_require_string (str, operation);
  start = *str != NULL ? strlen (*str) : 0;
  return tail_rewrite (linear, str, &start, fmt, args, operation);
}

bool
ralloc_linear_vasprintf_append (void *linear, char **str, const char *fmt,
                                va_list args)
{
  return text_append (linear, str, fmt, args,
                      "ralloc_linear_vasprintf_append");
}

bool
ralloc_linear_asprintf_append (void *linear, char **str, const char *fmt, ...)
{
  va_list args;
  bool done;

  va_start (args, fmt);
  done = text_append (linear, str, fmt, args,
                      "ralloc_linear_asprintf_append");
  va_end (args);
  return done;
}

bool
ralloc_linear_strcat (void *linear, char **dest, const char *str)
{
  size_t existing;
  size_t length;
  size_t inside;
  char *both;

  sli_context_require_string (dest, "ralloc_linear_strcat");
  sli_context_require_string (*dest, "ralloc_linear_strcat");
  sli_context_require_string (str, "ralloc_linear_strcat");
  existing = strlen (*dest);
  length = strlen (str);
  /* The text may be a part of the string that it is appended to. */
  inside = (uintptr_t) str - (uintptr_t) *dest;
  both = string_grow (linear, *dest, existing, length,
                      "ralloc_linear_strcat");
  if (UNLIKELY (both == NULL))
    return false;
  memcpy (both + existing, inside <= existing ? both + inside : str, length);
  both[existing + length] = '\0';
  *dest = both;
  return true;
}
