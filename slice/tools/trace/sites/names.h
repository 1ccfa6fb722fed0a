/* names.h - recognises functions of libraries' headers by their names
 *
 * Tools.  Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_SITES_NAMES_H
#define SLI_TRACE_SITES_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if a demangled name is that of a function in C++'s or slice's
 * headers, or of an operator new or delete. */
bool sli_name_is_library (const char *name);

/* A function's name as it is in C: without the type that it returns, its
 * arguments and its template's, but with its namespaces. */
void sli_name_plain (const char *name, char *text, size_t size);

#endif
