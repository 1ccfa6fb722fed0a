/* names.h - functions of libraries' headers, by their names
 *
 * Tools.  Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_SITES_NAMES_H
#define SLI_TRACE_SITES_NAMES_H

#include <stdbool.h>

/* Whether a demangled name is that of a function of C++'s or of slice's
 * headers, or of an operator new or delete. */
bool sli_name_is_library (const char *name);

#endif
