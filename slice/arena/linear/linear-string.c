/* linear-string.c - strings in a linear arena
 *
 * Layer: arena.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "linear.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum
{
  STRING_ALIGNMENT = 8 /* which every object has */
};

/* Called before any strlen(), since a string of an ended arena may have no
 * NUL. */
static void
string_require (const SliceLinear *linear, const char *operation)
{
  sli_arena_require (linear, linear->bump.kind, ARENA_LINEAR, operation);
  sli_arena_linear_require_still (linear, operation);
}

static char *
string_add (SliceLinear *linear, size_t size)
{
  return sli_arena_linear_add (linear, STRING_ALIGNMENT, size);
}

static char *
string_add_copy (SliceLinear *linear, const char *string, size_t length)
{
  char *copy = string_add (linear, length + 1);

  if (copy == NULL)
    return NULL;
  memcpy (copy, string, length);
  copy[length] = '\0';
  return copy;
}

char *
slice_linear_strdup_slow_v1 (SliceLinear *linear, const char *string)
{
  string_require (linear, "slice_linear_strdup");
  return string != NULL ? string_add_copy (linear, string, strlen (string))
                        : NULL;
}

char *
slice_linear_strndup (SliceLinear *linear, const char *string, size_t max)
{
  string_require (linear, "slice_linear_strndup");
  return string != NULL
             ? string_add_copy (linear, string, strnlen (string, max))
             : NULL;
}

bool
slice_linear_strcat (SliceLinear *linear, char **string, const char *suffix)
{
  size_t old, more, old_size, size, inside;
  char *longer;

  string_require (linear, "slice_linear_strcat");
  old = *string != NULL ? strlen (*string) : 0;
  more = strlen (suffix);
  old_size = *string != NULL ? old + 1 : 0;
  size = old + more + 1;
  /* The suffix may be a part of the string that it is appended to. */
  inside = (uintptr_t) suffix - (uintptr_t) *string;
  longer = sli_arena_linear_resize (linear, *string, STRING_ALIGNMENT,
                                    old_size, size, size + size / 2);
  if (longer == NULL)
    return false;
  memcpy (longer + old, inside < old_size ? longer + inside : suffix, more);
  longer[old + more] = '\0';
  *string = longer;
  return true;
}

/* If the text fits, writes it only once, to the address of the next object,
 * and then adds it. */
SLICE_ATTR_PRINTF (3, 0) static char *
string_print_in_place (SliceLinear *linear, size_t space, const char *format,
                       va_list arguments, int *length)
{
  Bump *bump = &linear->bump;
  char *place = space > 0 ? sli_bump_at (bump) : NULL;
  bool fits;

  *length = vsnprintf (place, space, format, arguments);
  fits = *length >= 0 && (size_t) *length < space;
  return fits ? sli_bump_alloc (bump, STRING_ALIGNMENT, (size_t) *length + 1)
              : NULL;
}

SLICE_ATTR_PRINTF (2, 0) static char *
string_print (SliceLinear *linear, const char *format, va_list arguments,
              const char *operation)
{
  Bump *bump = &linear->bump;
  bool hidden;
  size_t space;
  va_list again;
  int length;
  char *text;

  string_require (linear, operation);
  hidden = bump->chain.is_annotated || bump->current == BLOCK_NONE;
  space = hidden ? 0 : (size_t) (bump->block_end - sli_bump_at (bump));
  va_copy (again, arguments);
  text = string_print_in_place (linear, space, format, arguments, &length);
  if (text == NULL && length >= 0)
    {
      text = string_add (linear, (size_t) length + 1);
      if (text != NULL)
        vsnprintf (text, (size_t) length + 1, format, again);
    }
  va_end (again);
  return text;
}

char *
slice_linear_vprintf (SliceLinear *linear, const char *format,
                      va_list arguments)
{
  return string_print (linear, format, arguments, "slice_linear_vprintf");
}

char *
slice_linear_printf (SliceLinear *linear, const char *format, ...)
{
  va_list arguments;
  char *text;

  va_start (arguments, format);
  text = string_print (linear, format, arguments, "slice_linear_printf");
  va_end (arguments);
  return text;
}
