/* names.c - recognises functions of libraries' headers by their names
 *
 * Tools.  Templates and inline functions are compiled into the program, where
 * only their names tell that they are a library's.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "names.h"
#include <string.h>

/* The inline functions of slice's headers in C. */
static const char *const header_functions[]
    = { "slice_alloc",         "slice_alloc0",        "slice_try_alloc",
        "slice_try_alloc0",    "slice_copy",          "slice_free1",
        "slice_linear_alloc",  "slice_linear_alloc0", "slice_linear_new_in",
        "slice_pool_alloc",    "slice_pool_free",     "slice_stack_alloc",
        "slice_stack_release", "slice_bump_take_v1" };

/* Where the qualified name begins: after the type that a template function
 * returns, which is the last blank outside of brackets before them. */
static const char *
name_qualified (const char *name)
{
  const char *begin = name, *end = strstr (name, "operator");
  int depth = 0;

  for (const char *at = name; *at != '\0' && at != end; at++)
    if (strchr ("<([{", *at) != NULL)
      {
        /* the arguments, unless "(anonymous namespace)" or a lambda */
        if (*at == '(' && depth == 0 && at > begin && at[-1] != ':')
          break;
        depth++;
      }
    else if (strchr (">)]}", *at) != NULL)
      depth--;
    else if (*at == ' ' && depth == 0)
      begin = at + 1;
  return begin;
}

/* The bytes of the function's own name, in its namespaces: what comes before
 * the template's arguments and the function's, and before what the compiler
 * adds to a part or a clone of a function. */
static size_t
name_length (const char *name)
{
  size_t n = 0;

  while (name[n] != '\0' && name[n] != '<' && name[n] != '.')
    {
      if (name[n] == '(' && n > 0 && name[n - 1] != ':')
        break;
      if (name[n] == '(') /* (anonymous namespace) */
        n += strcspn (name + n, ")");
      n += name[n] != '\0';
    }
  return n;
}

void
sli_name_plain (const char *name, char *text, size_t size)
{
  const char *begin = name_qualified (name);
  size_t n = name_length (begin);

  if (n >= size)
    n = size - 1;
  memcpy (text, begin, n);
  text[n] = '\0';
}

static bool
starts_with (const char *text, const char *start)
{
  return strncmp (text, start, strlen (start)) == 0;
}

bool
sli_name_is_library (const char *name)
{
  const char *found, *plain;

  for (size_t i = 0; i < sizeof header_functions / sizeof *header_functions;
       i++)
    if (strcmp (name, header_functions[i]) == 0)
      return true;
  found = strstr (name, "operator new");
  if (found == NULL)
    found = strstr (name, "operator delete");
  if (found != NULL && (found == name || found[-1] == ':'))
    return true;
  plain = name_qualified (name);
  return starts_with (plain, "std::") || starts_with (plain, "__gnu_")
         || starts_with (plain, "slice::");
}
