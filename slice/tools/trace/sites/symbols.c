/* symbols.c - names and source lines of program counters
 *
 * Tools.  elfutils reads the modules' files, those with separate debug files
 * included; nothing is fetched.  Modules that lay at one place after another
 * (their pcs are tagged) are kept in separate sets.
 *
 * A name counts only if the address is within the symbol's size, since the
 * nearest symbol before it may be another function's.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "symbols.h"
#include "inlines.h"
#include "tools/trace/common/table.h"
#include "tools/trace/common/tool.h"
#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_CHARS_MAX 400

/* A function's place, absolute. */
typedef struct
{
  uint64_t start, size;
  const char *name;
  bool global;
} Function;

/* The functions of one module, sorted, since elfutils itself searches all
 * symbols for each address. */
typedef struct
{
  Dwfl_Module *module;
  Function *functions;
  size_t n;
} FunctionTable;

struct Symbols
{
  const TraceReader *reader;
  Dwfl **sets; /* by tag */
  uint32_t n_sets;
  FunctionTable *tables;
  size_t n_tables;
  Symbol **known; /* pointers: symbols stay where they are */
  uint32_t n_known, capacity;
  Table by_pc; /* a known symbol's index plus 1 */
  char *(*demangle) (const char *, char *, size_t *, int *);
  bool *own; /* by module: the program's, or named so by the user */
  size_t last_module;
};

static int
no_debuginfo (Dwfl_Module *module, void **data, const char *name,
              Dwarf_Addr base, const char *file, const char *link,
              GElf_Word crc, char **found)
{
  /* build-id and debug-link files that are installed; never the network */
  setenv ("DEBUGINFOD_URLS", "", 1);
  return dwfl_standard_find_debuginfo (module, data, name, base, file, link,
                                       crc, found);
}

static const Dwfl_Callbacks callbacks
    = { .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = no_debuginfo,
        .section_address = dwfl_offline_section_address };

/* Returns true if the file is still the one that was loaded; names of another
 * build would be those of other functions. */
static bool
is_same_build (int fd, const ReadModule *module)
{
  const void *id = NULL;
  Elf *elf = elf_begin (fd, ELF_C_READ_MMAP, NULL);
  ssize_t n = elf == NULL ? -1 : dwelf_elf_gnu_build_id (elf, &id);
  bool same = module->n_build_id == 0 || n <= 0
              || ((size_t) n == module->n_build_id
                  && memcmp (id, module->build_id, (size_t) n) == 0);

  elf_end (elf);
  return same;
}

static void
set_fill (Symbols *symbols, uint32_t tag)
{
  Dwfl *set = dwfl_begin (&callbacks);

  symbols->sets[tag] = set;
  if (set == NULL)
    return;
  dwfl_report_begin (set);
  for (size_t i = 0; i < symbols->reader->n_modules; i++)
    {
      const ReadModule *module = &symbols->reader->modules[i];
      int fd;

      if (module->tag != tag || module->path[0] != '/')
        continue;
      fd = open (module->path, O_RDONLY | O_CLOEXEC);
      if (fd < 0)
        continue;
      if (!is_same_build (fd, module))
        {
          close (fd);
          continue;
        }
      /* the set owns fd when it takes the module */
      if (dwfl_report_elf (set, module->path, module->path, fd, module->bias,
                           false)
          == NULL)
        close (fd);
    }
  dwfl_report_end (set, NULL, NULL);
}

Symbols *
sli_symbols_new (const TraceReader *reader)
{
  Symbols *symbols = sli_tool_zero (sizeof *symbols);
  void *runtime;

  symbols->reader = reader;
  for (size_t i = 0; i < reader->n_modules; i++)
    if (reader->modules[i].tag >= symbols->n_sets
        && reader->modules[i].tag < TRACE_PC_TAG_LINE)
      symbols->n_sets = reader->modules[i].tag + 1;
  symbols->sets = sli_tool_zero ((symbols->n_sets + 1) * sizeof (Dwfl *));
  symbols->own = sli_tool_zero (reader->n_modules + 1);
  /* what was loaded first is the program */
  symbols->own[0] = true;
  runtime = dlopen ("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
  if (runtime != NULL)
    symbols->demangle = (char *(*) (const char *, char *, size_t *,
                                    int *) ) dlsym (runtime, "__cxa_demangle");
  return symbols;
}

void
sli_symbols_free (Symbols *symbols)
{
  for (uint32_t i = 0; i < symbols->n_known; i++)
    {
      free ((char *) symbols->known[i]->function);
      free ((char *) symbols->known[i]->file);
      free ((char *) symbols->known[i]->inlined);
      free (symbols->known[i]);
    }
  sli_table_free (&symbols->by_pc);
  for (uint32_t i = 0; i < symbols->n_sets; i++)
    if (symbols->sets[i] != NULL)
      dwfl_end (symbols->sets[i]);
  for (size_t i = 0; i < symbols->n_tables; i++)
    free (symbols->tables[i].functions);
  free (symbols->tables);
  free (symbols->sets);
  free (symbols->own);
  free (symbols->known);
  free (symbols);
}

char *
sli_symbols_name (const Symbols *symbols, const char *raw)
{
  char *plain = NULL;
  char *name, *version;

  if (symbols->demangle != NULL && raw[0] == '_' && raw[1] == 'Z')
    {
      int status;

      plain = symbols->demangle (raw, NULL, NULL, &status);
    }
  name = sli_tool_text ("%s", plain != NULL ? plain : raw);
  free (plain);
  /* "malloc@@GLIBC_2.2.5" */
  version = strchr (name, '@');
  if (version != NULL && version != name)
    *version = '\0';
  if (strlen (name) > NAME_CHARS_MAX)
    strcpy (name + NAME_CHARS_MAX - 3, "...");
  return name;
}

const ReadModule *
sli_symbols_module (const Symbols *symbols, uint64_t pc)
{
  uint64_t address = pc & TRACE_PC_MASK;

  for (size_t i = 0; i < symbols->reader->n_modules; i++)
    {
      const ReadModule *module = &symbols->reader->modules[i];

      if (module->tag == pc >> TRACE_PC_BITS && address >= module->low
          && address < module->high)
        return module;
    }
  return NULL;
}

void
sli_symbols_own (Symbols *symbols, const char *expression)
{
  regex_t compiled;

  sli_tool_expression (&compiled, expression);
  for (size_t i = 0; i < symbols->reader->n_modules; i++)
    symbols->own[i]
        |= regexec (&compiled, symbols->reader->modules[i].path, 0, NULL, 0)
           == 0;
  regfree (&compiled);
}

/* Code in no module was made by the program itself. */
bool
sli_symbols_is_library (Symbols *symbols, uint64_t pc)
{
  const ReadModule *modules = symbols->reader->modules;
  uint64_t address = pc & TRACE_PC_MASK, tag = pc >> TRACE_PC_BITS;

  for (size_t i = 0; i < symbols->reader->n_modules; i++)
    {
      /* most frames lie where the one before did */
      size_t at = (symbols->last_module + i) % symbols->reader->n_modules;

      if (modules[at].tag == tag && address >= modules[at].low
          && address < modules[at].high)
        {
          symbols->last_module = at;
          return !symbols->own[at];
        }
    }
  return false;
}

/* --- functions ----------------------------------------------------------- */

/* Compares by place; of several names for one place, the one that people use
 * comes first. */
static int
function_compare (const void *a, const void *b)
{
  const Function *left = a, *right = b;
  bool left_hidden, right_hidden;

  if (left->start != right->start)
    return left->start < right->start ? -1 : 1;
  if (left->global != right->global)
    return left->global ? -1 : 1;
  left_hidden = left->name[0] == '_' && left->name[1] != 'Z';
  right_hidden = right->name[0] == '_' && right->name[1] != 'Z';
  if (left_hidden != right_hidden)
    return left_hidden ? 1 : -1;
  return strcmp (left->name, right->name);
}

static void
table_fill (FunctionTable *table)
{
  int n = dwfl_module_getsymtab (table->module);

  table->functions
      = sli_tool_alloc ((size_t) (n < 0 ? 0 : n) * sizeof (Function));
  for (int i = 1; i < n; i++)
    {
      GElf_Sym symbol;
      GElf_Addr address;
      const char *name = dwfl_module_getsym_info (table->module, i, &symbol,
                                                  &address, NULL, NULL, NULL);
      int type = GELF_ST_TYPE (symbol.st_info);

      if (name == NULL || name[0] == '\0' || symbol.st_size == 0
          || symbol.st_shndx == SHN_UNDEF
          || (type != STT_FUNC && type != STT_GNU_IFUNC))
        continue;
      table->functions[table->n++]
          = (Function){ address, symbol.st_size, name,
                        GELF_ST_BIND (symbol.st_info) != STB_LOCAL };
    }
  if (table->n > 0)
    qsort (table->functions, table->n, sizeof (Function), function_compare);
}

static const FunctionTable *
table_of (Symbols *symbols, Dwfl_Module *module)
{
  FunctionTable *table;

  for (size_t i = 0; i < symbols->n_tables; i++)
    if (symbols->tables[i].module == module)
      return &symbols->tables[i];
  symbols->tables = sli_tool_grow (
      symbols->tables, (symbols->n_tables + 1) * sizeof (FunctionTable));
  table = &symbols->tables[symbols->n_tables++];
  *table = (FunctionTable){ .module = module };
  table_fill (table);
  return table;
}

static const Function *
function_find (const FunctionTable *table, uint64_t address)
{
  size_t low = 0, high = table->n;
  uint64_t start;
  const Function *found = NULL;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (table->functions[middle].start <= address)
        low = middle + 1;
      else
        high = middle;
    }
  if (low == 0)
    return NULL;
  start = table->functions[low - 1].start;
  /* names of the same place are adjacent, the best one first */
  for (size_t i = low; i-- > 0 && table->functions[i].start == start;)
    if (address - start < table->functions[i].size)
      found = &table->functions[i];
  return found;
}

static Dwfl_Module *
loaded_module (Symbols *symbols, uint32_t tag, uint64_t address)
{
  if (tag >= symbols->n_sets)
    return NULL;
  if (symbols->sets[tag] == NULL)
    set_fill (symbols, tag);
  return symbols->sets[tag] == NULL
             ? NULL
             : dwfl_addrmodule (symbols->sets[tag], address);
}

Dwfl_Module *
sli_symbols_loaded (Symbols *symbols, uint64_t pc)
{
  return loaded_module (symbols, (uint32_t) (pc >> TRACE_PC_BITS),
                        (pc & TRACE_PC_MASK) - 1);
}

uint64_t
sli_symbols_start (Symbols *symbols, uint64_t pc)
{
  uint64_t address = (pc & TRACE_PC_MASK) - 1;
  Dwfl_Module *module
      = loaded_module (symbols, (uint32_t) (pc >> TRACE_PC_BITS), address);
  const Function *function
      = module == NULL ? NULL
                       : function_find (table_of (symbols, module), address);

  return function == NULL ? 0 : function->start | (pc & ~TRACE_PC_MASK);
}

static void
symbol_name (Symbols *symbols, Symbol *symbol, uint32_t tag, uint64_t address)
{
  Dwfl_Module *module = loaded_module (symbols, tag, address);
  const Function *function;
  Dwfl_Line *line;
  int number, column;
  const char *file;

  if (module == NULL)
    return;
  function = function_find (table_of (symbols, module), address);
  if (function != NULL)
    {
      free ((char *) symbol->function);
      symbol->function = sli_symbols_name (symbols, function->name);
      symbol->named = true;
    }
  line = dwfl_module_getsrc (module, address);
  file = line == NULL
             ? NULL
             : dwfl_lineinfo (line, NULL, &number, &column, NULL, NULL);
  if (file != NULL)
    {
      symbol->file = sli_tool_text ("%s", file);
      symbol->line = (uint32_t) number;
      symbol->call = sli_xxh64 (file, strlen (file),
                                (uint64_t) number << 32 | (uint32_t) column);
      sli_inlines_find (symbols, symbol, module, address,
                        function == NULL ? address : function->start);
    }
}

static void
symbol_line (const Symbols *symbols, Symbol *symbol, uint64_t pc)
{
  uint64_t id = pc & TRACE_PC_MASK;
  const char *text
      = id < symbols->reader->n_strings ? symbols->reader->strings[id] : NULL;
  const char *colon;

  symbol->function = sli_tool_text ("%s", text == NULL ? "?" : text);
  symbol->module = "source";
  symbol->named = true;
  symbol->key = sli_xxh64 (symbol->function, strlen (symbol->function), 1);
  colon = strrchr (symbol->function, ':');
  if (colon != NULL)
    {
      symbol->file
          = sli_tool_text ("%.*s", (int) (colon - symbol->function),
                           symbol->function);
      symbol->line = (uint32_t) atoi (colon + 1);
    }
}

static void
symbol_fill (Symbols *symbols, Symbol *symbol, uint64_t pc)
{
  uint64_t address;
  const ReadModule *module;
  const char *slash;

  if (pc >> TRACE_PC_BITS == TRACE_PC_TAG_LINE)
    {
      symbol_line (symbols, symbol, pc);
      return;
    }
  if (pc < TRACE_N_FIXED_NODES)
    {
      symbol->function = sli_tool_text ("(no stack)");
      symbol->module = "?";
      symbol->key = pc;
      return;
    }
  /* a return address may be the next function's first: one back is within
   * the call */
  address = (pc & TRACE_PC_MASK) - 1;
  module = sli_symbols_module (symbols, pc);
  if (module == NULL)
    {
      symbol->function
          = sli_tool_text ("0x%llx", (unsigned long long) address + 1);
      symbol->module = "?";
      symbol->key = pc;
      return;
    }
  slash = strrchr (module->path, '/');
  symbol->module = slash == NULL ? module->path : slash + 1;
  symbol->offset = address + 1 - module->bias;
  symbol->key = sli_xxh64 (
      module->build_id, module->n_build_id,
      module->n_build_id > 0
          ? symbol->offset
          : sli_xxh64 (module->path, strlen (module->path), symbol->offset));
  symbol->function = sli_tool_text ("%s+0x%llx", symbol->module,
                                    (unsigned long long) symbol->offset);
  symbol_name (symbols, symbol, (uint32_t) (pc >> TRACE_PC_BITS), address);
}

const Symbol *
sli_symbols_find (Symbols *symbols, uint64_t pc)
{
  uint32_t *number = sli_table_add (&symbols->by_pc, pc);
  Symbol *symbol;

  if (*number != 0)
    return symbols->known[*number - 1];
  if (symbols->n_known == symbols->capacity)
    {
      symbols->capacity = symbols->capacity * 2 + 256;
      symbols->known = sli_tool_grow (symbols->known,
                                      symbols->capacity * sizeof (Symbol *));
    }
  symbol = sli_tool_zero (sizeof *symbol);
  symbols->known[symbols->n_known] = symbol;
  *number = ++symbols->n_known;
  symbol_fill (symbols, symbol, pc);
  if (symbol->call == 0)
    symbol->call = symbol->key;
  return symbol;
}
