/* inlines.c - the functions that are inlined at a place
 *
 * Tools.  From the debug information: their names, where the innermost one of
 * the program's was called, and which copies are of one call.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "inlines.h"
#include "names.h"
#include "tools/trace/common/tool.h"
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

/* The scopes of a place, inner first: those into which it was inlined, not
 * those in which the inlined function was defined, as in dwarf_getscopes().
 * The caller frees them. */
static int
scopes_find (Dwarf_Die *unit, uint64_t address, Dwarf_Die **scopes)
{
  Dwarf_Die *found = NULL;
  int n = dwarf_getscopes (unit, address, &found);

  n = n <= 0 ? 0 : dwarf_getscopes_die (&found[0], scopes);
  free (found);
  return n;
}

/* The DIE that an attribute refers to; the same one if there is none. */
static void
die_follow (Dwarf_Die *die, unsigned name)
{
  Dwarf_Attribute attribute;
  Dwarf_Die other;

  if (dwarf_formref_die (dwarf_attr (die, name, &attribute), &other) != NULL)
    *die = other;
}

/* The name with those of the scopes that it was declared in:
 * "main::{lambda}". */
static char *
declared_name (const Dwarf_Die *scope)
{
  Dwarf_Die origin = *scope, *around = NULL;
  const char *own;
  int n;
  bool lambda;
  char *name;

  die_follow (&origin, DW_AT_abstract_origin);
  die_follow (&origin, DW_AT_specification);
  own = dwarf_diename (&origin);
  n = own == NULL ? 0 : dwarf_getscopes_die (&origin, &around);
  lambda = own != NULL && n > 2 && strcmp (own, "operator()") == 0;
  name = own == NULL ? NULL : sli_tool_text ("%s", own);
  for (int i = 1; i < n; i++)
    {
      const char *outer = dwarf_diename (&around[i]);
      char *longer;

      if (dwarf_tag (&around[i]) == DW_TAG_compile_unit
          || (outer == NULL && i > 1))
        continue;
      longer = i == 1 && lambda && (outer == NULL || outer[0] == '<')
                   ? sli_tool_text ("{lambda}")
               : outer == NULL ? sli_tool_text ("%s", name)
                               : sli_tool_text ("%s::%s", outer, name);
      free (name);
      name = longer;
    }
  free (around);
  return name;
}

static char *
inline_name (const Symbols *symbols, Dwarf_Die *scope)
{
  Dwarf_Attribute attribute;
  const char *raw = dwarf_formstring (
      dwarf_attr_integrate (scope, DW_AT_linkage_name, &attribute));
  char *declared = raw == NULL ? declared_name (scope) : NULL;
  char *name;

  if (raw == NULL && declared == NULL)
    return NULL;
  name = sli_symbols_name (symbols, raw != NULL ? raw : declared);
  free (declared);
  return name;
}

/* Where an inlined function was called. */
static void
line_of_call (Symbol *symbol, Dwarf_Die *unit, Dwarf_Die *scope)
{
  Dwarf_Attribute attribute;
  Dwarf_Word file, line;
  Dwarf_Files *files;
  size_t n_files;

  if (dwarf_formudata (dwarf_attr (scope, DW_AT_call_file, &attribute), &file)
          != 0
      || dwarf_formudata (dwarf_attr (scope, DW_AT_call_line, &attribute),
                          &line)
             != 0
      || dwarf_getsrcfiles (unit, &files, &n_files) != 0
      || dwarf_filesrc (files, file, NULL, NULL) == NULL)
    return;
  free ((char *) symbol->file);
  symbol->file = sli_tool_text ("%s", dwarf_filesrc (files, file, NULL, NULL));
  symbol->line = (uint32_t) line;
}

/* Where a call is in the source: from its innermost function outward, as far
 * as the program's own functions go.  A library's templates around them may
 * have copies of that call, and are not its callers. */
typedef struct
{
  uint64_t sum;
  bool is_own; /* has a function of the program's */
  bool ended;
} CallPlace;

/* Adds a function, in which the one within it was called.
 *
 * inner  the function within it, which is inlined there; NULL: none
 */
static void
place_add (CallPlace *place, Dwarf_Die *inner, bool is_library)
{
  static const unsigned names[] = { DW_AT_call_line, DW_AT_call_column };

  place->ended |= is_library && place->is_own;
  if (place->ended)
    return;
  place->is_own |= !is_library;
  for (size_t i = 0; inner != NULL && i < sizeof names / sizeof *names; i++)
    {
      Dwarf_Attribute attribute;
      Dwarf_Word number;

      if (dwarf_formudata (dwarf_attr (inner, names[i], &attribute), &number)
          == 0)
        place->sum = sli_xxh64 (&number, sizeof number, place->sum);
    }
}

/* The names of functions that are inlined, inner first.  A library's at the
 * inner end are left out: their line is that of their call. */
static void
chain_add (Symbol *symbol, Dwarf_Die *unit, Dwarf_Die *scope, char **chain,
           const char *name)
{
  char *longer;

  if (*chain == NULL && sli_name_is_library (name))
    {
      line_of_call (symbol, unit, scope);
      return;
    }
  if (*chain == NULL && sli_name_is_library (symbol->function))
    {
      free ((char *) symbol->function);
      symbol->function = sli_tool_text ("%s", name);
    }
  longer = *chain == NULL ? sli_tool_text ("%s", name)
                          : sli_tool_text ("%s < %s", *chain, name);
  free (*chain);
  *chain = longer;
}

void
sli_inlines_find (const Symbols *symbols, Symbol *symbol, Dwfl_Module *module,
                  uint64_t address, uint64_t start)
{
  Dwarf_Addr bias;
  Dwarf_Die *unit = dwfl_module_addrdie (module, address, &bias);
  Dwarf_Die *scopes = NULL, *inner = NULL;
  CallPlace place = { .sum = symbol->call };
  bool is_library = sli_name_is_library (symbol->function);
  char *chain = NULL;
  int n = unit == NULL ? 0 : scopes_find (unit, address - bias, &scopes);

  for (int i = 0; i < n; i++)
    {
      char *name;

      if (dwarf_tag (&scopes[i]) != DW_TAG_inlined_subroutine)
        continue;
      name = inline_name (symbols, &scopes[i]);
      if (name == NULL)
        continue;
      place_add (&place, inner, sli_name_is_library (name));
      inner = &scopes[i];
      chain_add (symbol, unit, &scopes[i], &chain, name);
      free (name);
    }
  place_add (&place, inner, is_library);
  symbol->call = !place.is_own ? symbol->key
                 : place.ended ? place.sum
                               : sli_xxh64 (&start, sizeof start, place.sum);
  free (scopes);
  symbol->inlined = chain;
}
