/* symbols.h - names and source lines of program counters
 *
 * Tools.  Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_SITES_SYMBOLS_H
#define SLI_TRACE_SITES_SYMBOLS_H

#include "tools/trace/format/read/trace-read.h"

/* Templates and inline functions of a library's headers are compiled into the
 * program.  If the function at a pc is one of these, but a function of the
 * program was inlined into it (a lambda that a std::thread runs), `function'
 * is the latter.  File and line are those of the call in the first function
 * that is no library's. */
typedef struct
{
  const char *function; /* demangled; "libfoo.so+0x12" where not known */
  const char *file;     /* NULL where not known */
  const char *module;   /* its file name */
  const char *inlined;  /* functions inlined here, inner first, from the first
                           one that is no library's on; or NULL */
  uint64_t offset;      /* of the call in the module's file */
  uint64_t key;         /* of module and offset, the same in every run */
  uint64_t call;        /* of the call in the source: the same for its copies
                           that a library's templates have inlined; the key
                           where that is not known */
  uint32_t line;
  bool named; /* function is a symbol's name */
} Symbol;

typedef struct Symbols Symbols;

Symbols *sli_symbols_new (const TraceReader *reader);
void sli_symbols_free (Symbols *symbols);
/* Returns true for a pc of a library: a module that is not the program itself,
 * and whose file name matches none of the expressions. */
bool sli_symbols_is_library (Symbols *symbols, uint64_t pc);
/* Modules that match are the program's own. */
void sli_symbols_own (Symbols *symbols, const char *expression);
/* The start of a pc's function, the same for each pc within it; 0 if
 * unknown. */
uint64_t sli_symbols_start (Symbols *symbols, uint64_t pc);
/* The module of a pc as it was recorded; NULL: none. */
const ReadModule *sli_symbols_module (const Symbols *symbols, uint64_t pc);
/* The same, if its file is still there, for libdwfl; NULL: it is not. */
struct Dwfl_Module *sli_symbols_loaded (Symbols *symbols, uint64_t pc);
/* The symbol of a node's pc; never NULL, valid until sli_symbols_free(). */
const Symbol *sli_symbols_find (Symbols *symbols, uint64_t pc);

#endif
