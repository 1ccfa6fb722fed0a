/* inlines.h - the functions that are inlined at a place
 *
 * Tools.  Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_SITES_INLINES_H
#define SLI_TRACE_SITES_INLINES_H

#include "symbols.h"

struct Dwfl_Module;

/* Corrects the symbol of an address, if a function is inlined there.
 *
 * start  of the function that the address lies in; 0 if unknown
 */
void sli_inlines_find (const Symbols *symbols, Symbol *symbol,
                       struct Dwfl_Module *module, uint64_t address,
                       uint64_t start);
/* A name as people write it, cut if a template made it very long.  The caller
 * frees it. */
char *sli_symbols_name (const Symbols *symbols, const char *raw);

#endif
