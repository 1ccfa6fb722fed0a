/* record-modules.c - the loaded modules and their addresses
 *
 * Tools, in the preloaded object (record-stack.h).  Modules are noted when a
 * frame is outside the known ones, and again after dlclose().  A module that
 * is loaded later at the same place gets a tag of its own.
 *
 * Locks: one spin lock around the table, taken after the loader's, never
 * before it.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-stack.h"
#include <elf.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#define N_MODULES_MAX 4096
#define BUILD_ID_MAX 64

typedef struct
{
  CodeRange at;
  uint64_t bias;
  uint64_t name_hash; /* of path and build id */
  uint32_t tag;
  bool loaded;
  bool seen; /* by the scan that runs */
} Module;

typedef struct
{
  _Atomic uint64_t low, high; /* high: 0 for none */
} RangeUnion;

static struct
{
  atomic_flag lock;
  Module known[N_MODULES_MAX];
  uint32_t n;
  RangeUnion gone;   /* places of unloaded modules that no other has taken */
  RangeUnion tagged; /* places where tags are above 0 */
} modules;

static size_t
build_id_find (const struct dl_phdr_info *info, uint8_t *id)
{
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *segment = &info->dlpi_phdr[i];
      const uint8_t *at, *end;

      if (segment->p_type != PT_NOTE)
        continue;
      at = (const uint8_t *) info->dlpi_addr + segment->p_vaddr;
      end = at + segment->p_memsz;
      while (at + sizeof (ElfW (Nhdr)) <= end)
        {
          const ElfW (Nhdr) *note = (const void *) at;
          const uint8_t *name = at + sizeof *note;
          const uint8_t *data = name + ((note->n_namesz + 3u) & ~3u);

          if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4
              && memcmp (name, "GNU", 4) == 0
              && note->n_descsz <= BUILD_ID_MAX)
            {
              memcpy (id, data, note->n_descsz);
              return note->n_descsz;
            }
          at = data + ((note->n_descsz + 3u) & ~3u);
        }
    }
  return 0;
}

static const char *
module_path (const struct dl_phdr_info *info, char *buffer, size_t size)
{
  ssize_t n;

  if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0')
    {
      char *full;
      size_t length;

      /* without a slash it is no file, but the kernel's own object */
      if (strchr (info->dlpi_name, '/') == NULL || info->dlpi_name[0] == '/')
        return info->dlpi_name;
      full = buffer;
      if (getcwd (full, size / 2) == NULL)
        return info->dlpi_name;
      length = strlen (full);
      full[length] = '/';
      strncpy (full + length + 1, info->dlpi_name, size - length - 2);
      return full;
    }
  n = readlink ("/proc/self/exe", buffer, size - 1);
  buffer[n < 0 ? 0 : n] = '\0';
  return buffer;
}

bool
sli_module_range (const struct dl_phdr_info *info, CodeRange *range)
{
  *range = (CodeRange){ UINT64_MAX, 0 };
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *segment = &info->dlpi_phdr[i];
      uint64_t low;

      if (segment->p_type != PT_LOAD)
        continue;
      low = info->dlpi_addr + segment->p_vaddr;
      if (low < range->low)
        range->low = low;
      if (low + segment->p_memsz > range->high)
        range->high = low + segment->p_memsz;
    }
  return range->low < range->high;
}

typedef struct
{
  uint64_t address;
  CodeRange range;
  bool is_program;
} Around;

static int
around_note (struct dl_phdr_info *info, size_t size, void *user)
{
  Around *around = user;
  CodeRange range;

  (void) size;
  if (!sli_module_range (info, &range) || !range_has (&range, around->address))
    return 0;
  around->range = range;
  around->is_program = info->dlpi_name == NULL || info->dlpi_name[0] == '\0';
  return 1;
}

CodeRange
sli_module_around (uint64_t address, bool *is_program)
{
  Around around = { .address = address };

  dl_iterate_phdr (around_note, &around);
  if (is_program != NULL)
    *is_program = around.is_program;
  return around.range;
}

static bool
overlap (const CodeRange *a, const CodeRange *b)
{
  return a->low < b->high && b->low < a->high;
}

static void
union_add (RangeUnion *all, const CodeRange *range)
{
  if (all->high == 0 || range->low < all->low)
    all->low = range->low;
  if (range->high > all->high)
    all->high = range->high;
}

static bool
union_has (const RangeUnion *all, uint64_t pc)
{
  return pc >= all->low && pc < all->high;
}

/* The tag that distinguishes a module from earlier ones at its place. */
static uint32_t
module_tag (const Module *module)
{
  uint32_t tag = 0;

  for (uint32_t i = 0; i < modules.n; i++)
    if (overlap (&module->at, &modules.known[i].at)
        && modules.known[i].tag >= tag)
      tag = modules.known[i].tag + 1;
  return tag;
}

static int
module_note (struct dl_phdr_info *info, size_t size, void *unused)
{
  char buffer[2 * PATH_MAX];
  uint8_t id[BUILD_ID_MAX];
  Module module;
  const char *path;
  size_t n_path, n_id;
  TraceModule record;

  (void) size;
  (void) unused;
  module = (Module){ .bias = info->dlpi_addr, .loaded = true, .seen = true };
  if (!sli_module_range (info, &module.at))
    return 0;
  path = module_path (info, buffer, sizeof buffer);
  n_path = strlen (path);
  n_id = build_id_find (info, id);
  module.name_hash = sli_xxh64 (path, n_path, sli_xxh64 (id, n_id, 0));
  for (uint32_t i = 0; i < modules.n; i++)
    {
      Module *known = &modules.known[i];

      if (known->at.low == module.at.low && known->at.high == module.at.high
          && known->name_hash == module.name_hash)
        {
          known->loaded = known->seen = true;
          return 0;
        }
    }
  if (modules.n >= N_MODULES_MAX)
    return 0;
  module.tag = module_tag (&module);
  if (module.tag > 0)
    union_add (&modules.tagged, &module.at);
  record = (TraceModule){ module.bias, module.at.low,   module.at.high,
                          module.tag,  (uint16_t) n_id, (uint16_t) n_path };
  sli_spool_log (TRACE_BLOCK_MODULES, &record, sizeof record, id, n_id, path,
                 n_path);
  modules.known[modules.n++] = module;
  return 0;
}

static void
lock_modules (void)
{
  while (atomic_flag_test_and_set (&modules.lock))
    sched_yield ();
}

void
sli_modules_scan (void)
{
  lock_modules ();
  for (uint32_t i = 0; i < modules.n; i++)
    modules.known[i].seen = false;
  atomic_flag_clear (&modules.lock);
  /* the loader's lock is taken before ours, never after it */
  dl_iterate_phdr (module_note, NULL);
  lock_modules ();
  modules.gone.low = modules.gone.high = 0;
  for (uint32_t i = 0; i < modules.n; i++)
    {
      modules.known[i].loaded = modules.known[i].seen;
      if (!modules.known[i].loaded)
        union_add (&modules.gone, &modules.known[i].at);
    }
  atomic_flag_clear (&modules.lock);
}

static const Module *
module_of (uint64_t pc)
{
  for (uint32_t i = modules.n; i-- > 0;)
    if (modules.known[i].loaded && range_has (&modules.known[i].at, pc))
      return &modules.known[i];
  return NULL;
}

static uint64_t
pc_tagged (uint64_t pc)
{
  const Module *module = module_of (pc);

  if (module == NULL && union_has (&modules.gone, pc))
    {
      sli_modules_scan ();
      module = module_of (pc);
    }
  return module == NULL ? pc : pc | (uint64_t) module->tag << TRACE_PC_BITS;
}

bool
sli_module_known (uint64_t pc)
{
  return module_of (pc) != NULL;
}

void
sli_modules_tag (uint64_t *pcs, uint32_t n)
{
  if (modules.gone.high == 0 && modules.tagged.high == 0)
    return;
  for (uint32_t i = 0; i < n; i++)
    if (union_has (&modules.gone, pcs[i])
        || union_has (&modules.tagged, pcs[i]))
      pcs[i] = pc_tagged (pcs[i]);
}

void
sli_modules_forget (void)
{
  atomic_flag_clear (&modules.lock);
  modules.n = 0;
  modules.gone.low = modules.gone.high = 0;
  modules.tagged.low = modules.tagged.high = 0;
}
