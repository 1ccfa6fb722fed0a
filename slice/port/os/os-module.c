/* os-module.c - the file of an address of code, and the program's call
 *
 * Layer: port.  No locks: the loader's _dl_find_object() has none; where it
 * is missing, dl_iterate_phdr() takes the loader's.  On other systems each
 * call returns that it failed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "os.h"
#include "port/compiler.h"

#ifdef __GLIBC__
# include <dlfcn.h>
# include <execinfo.h>
#endif
#ifdef HAVE_DL_ITERATE_PHDR
# include <link.h>
#endif
#include <string.h>
#include <unistd.h>

enum
{
  FRAMES_MAX = 32 /* at most a dozen of ours are above the program's */
};

#if defined DLFO_STRUCT_HAS_EH_DBASE

static bool
module_find (uintptr_t address, OsModule *module)
{
  struct dl_find_object found;

  if (_dl_find_object ((void *) address, &found) != 0)
    return false;
  module->name = found.dlfo_link_map->l_name;
  module->base = found.dlfo_link_map->l_addr;
  return true;
}

#elif defined HAVE_DL_ITERATE_PHDR

typedef struct
{
  uintptr_t address;
  OsModule *module;
  bool is_library; /* what is looked at; the first is the program */
} Wanted;

static int
module_matches (struct dl_phdr_info *info, size_t bytes UNUSED, void *data)
{
  Wanted *wanted = data;
  bool is_program = !wanted->is_library;

  wanted->is_library = true;
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *header = &info->dlpi_phdr[i];

      if (header->p_type != PT_LOAD
          || wanted->address - info->dlpi_addr - header->p_vaddr
                 >= header->p_memsz)
        continue;
      /* (musl has the words that it was called by.) */
      wanted->module->name = is_program ? "" : info->dlpi_name;
      wanted->module->base = info->dlpi_addr;
      return 1;
    }
  return 0;
}

static bool
module_find (uintptr_t address, OsModule *module)
{
  Wanted wanted = { .address = address, .module = module };

  return dl_iterate_phdr (module_matches, &wanted) == 1;
}

#else

static bool
module_find (uintptr_t address UNUSED, OsModule *module UNUSED)
{
  return false;
}

#endif

/* The name of the program's file.  Linux does not tell it of a process whose
 * first thread has ended, but of each of the other threads.  (valgrind answers
 * the first question in the program's name.) */
static size_t
program_name (char *name, size_t name_bytes)
{
  ssize_t length = readlink ("/proc/self/exe", name, name_bytes);

  if (length <= 0)
    length = readlink ("/proc/thread-self/exe", name, name_bytes);

  return length > 0 ? (size_t) length : 0;
}

bool
sli_os_module_find (const void *address, OsModule *module)
{
  *module = (OsModule){ NULL, 0 };
  return module_find ((uintptr_t) address, module);
}

bool
sli_os_module_name (const OsModule *module, char *name, size_t name_bytes)
{
  size_t length = strlen (module->name);

  if (length == 0)
    length = program_name (name, name_bytes);
  else if (length < name_bytes)
    memcpy (name, module->name, length);
  name[length < name_bytes ? length : 0] = '\0';
  return name[0] != '\0';
}

/* Returns true for code of libslice.so, the drop-ins and the recorder, and the
 * module of any code.  The code of libslice.a counts as the program's. */
static bool
module_is_ours (const void *address, OsModule *module)
{
  static const char ours[] = "libslice";
  const char *base;

  if (!sli_os_module_find (address, module))
    return false;
  base = strrchr (module->name, '/');
  base = base != NULL ? base + 1 : module->name;
  return strncmp (base, ours, sizeof ours - 1) == 0;
}

const void *
sli_os_caller_outside (const void *site, OsModule *module)
{
#ifdef __GLIBC__
  void *frames[FRAMES_MAX];
  int n;

  if (LIKELY (!module_is_ours (site, module)))
    return site;
  n = backtrace (frames, FRAMES_MAX);
  for (int i = 0; i < n; i++)
    if (!module_is_ours (frames[i], module))
      return frames[i];
#endif
  module_is_ours (site, module);
  return site;
}
