/* advice-modules.c - the modules for which there is advice, as they are loaded
 *
 * Layer: dropin.  A module is known by its build id.  If a module has a known
 * file name and another build id, it was rebuilt since the recording.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "config.h"

#include "advice-modules.h"
#include "dropin/advice/advice-log.h"

#include "port/compiler.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

enum
{
  RANGES_MAX = 1024
};

typedef struct
{
  uintptr_t low, high;
} Range;

typedef struct
{
  uint64_t bias;
  bool is_loaded;
  bool seen;  /* by the present scan */
  bool was;   /* seen by some scan */
  bool said;  /* there was a warning that it is another build */
} LoadState;

static struct
{
  const Advice *advice;
  const char *path;
  LoadState states[ADVICE_MODULES_MAX];
  Range ranges[RANGES_MAX];
  unsigned n_ranges; /* the first ones hold */
  bool scanned;
  unsigned long long n_changes; /* of the loader's list, at the last scan */
} modules;

/* --- a module of the loader's -------------------------------------------- */

/* The build id in a segment of notes; its bytes, or 0. */
static size_t
note_id (const uint8_t *at, const uint8_t *end, const uint8_t **id)
{
  while (at + sizeof (ElfW (Nhdr)) <= end)
    {
      const ElfW (Nhdr) *note = (const void *) at;
      const uint8_t *name = at + sizeof *note;
      const uint8_t *data = name + ((note->n_namesz + 3u) & ~3u);

      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4
          && memcmp (name, "GNU", 4) == 0)
        {
          *id = data;
          return note->n_descsz;
        }
      at = data + ((note->n_descsz + 3u) & ~3u);
    }
  return 0;
}

static size_t
module_id (const struct dl_phdr_info *info, const uint8_t **id)
{
  size_t n = 0;

  for (int i = 0; i < info->dlpi_phnum && n == 0; i++)
    if (info->dlpi_phdr[i].p_type == PT_NOTE)
      {
        const uint8_t *at = (const uint8_t *) info->dlpi_addr
                            + info->dlpi_phdr[i].p_vaddr;

        n = note_id (at, at + info->dlpi_phdr[i].p_memsz, id);
      }
  return n;
}

static Range
module_range (const struct dl_phdr_info *info)
{
  Range range = { UINTPTR_MAX, 0 };

  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD)
      {
        uintptr_t low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t high = low + info->dlpi_phdr[i].p_memsz;

        range.low = low < range.low ? low : range.low;
        range.high = high > range.high ? high : range.high;
      }
  return range;
}

/* Its file name; the program itself has none in the loader's list. */
static const char *
module_name (const struct dl_phdr_info *info, char *buffer, size_t n)
{
  const char *path = info->dlpi_name, *slash;

  if (path == NULL || path[0] == '\0')
    {
      ssize_t n_read = readlink ("/proc/self/exe", buffer, n - 1);

      buffer[n_read < 0 ? 0 : n_read] = '\0';
      path = buffer;
    }
  slash = strrchr (path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* --- a scan -------------------------------------------------------------- */

static bool
is_build (const AdviceModule *module, const uint8_t *id, size_t n_id)
{
  return n_id == module->n_id && memcmp (id, module->id, n_id) == 0;
}

static void
say_other_build (unsigned i)
{
  const AdviceModule *module = &modules.advice->modules[i];

  if (!modules.states[i].said)
    sli_advice_log ("%s: %.*s is another build than the one that the advice "
                    "is for, which is ignored",
                    modules.path, (int) module->n_name, module->name);
  modules.states[i].said = true;
}

/* Compares a loaded module with all of the advice. */
static void
module_match (const struct dl_phdr_info *info)
{
  char buffer[PATH_MAX];
  const char *name = module_name (info, buffer, sizeof buffer);
  const uint8_t *id = NULL;
  size_t n_id = module_id (info, &id);
  unsigned n_same_name = 0, named = 0;

  for (unsigned i = 0; i < modules.advice->n_modules; i++)
    {
      const AdviceModule *module = &modules.advice->modules[i];

      if (is_build (module, id, n_id))
        {
          modules.states[i].seen = modules.states[i].was = true;
          modules.states[i].bias = info->dlpi_addr;
          return;
        }
      if (strlen (name) == module->n_name
          && memcmp (name, module->name, module->n_name) == 0)
        {
          n_same_name++;
          named = i;
        }
    }
  if (n_same_name > 0)
    say_other_build (named);
}

static int
module_note (struct dl_phdr_info *info, size_t size, void *data)
{
  unsigned long long n_changes = info->dlpi_adds + info->dlpi_subs;
  bool *changed = data;

  (void) size;
  if (!*changed && modules.scanned && modules.n_changes == n_changes)
    return 1;
  if (!*changed)
    STORE (&modules.n_ranges, 0);
  *changed = true;
  modules.n_changes = n_changes;
  if (modules.n_ranges < RANGES_MAX)
    {
      modules.ranges[modules.n_ranges] = module_range (info);
      STORE_RELEASE (&modules.n_ranges, modules.n_ranges + 1);
    }
  module_match (info);
  return 0;
}

void
sli_advice_modules_begin (const Advice *advice, const char *path)
{
  modules.advice = advice;
  modules.path = path;
}

bool
sli_advice_modules_scan (void)
{
  LoadState before[ADVICE_MODULES_MAX];
  bool changed = false, differs = !modules.scanned;

  memcpy (before, modules.states, sizeof before);
  for (unsigned i = 0; i < modules.advice->n_modules; i++)
    modules.states[i].seen = false;
  dl_iterate_phdr (module_note, &changed);
  if (!changed)
    return false;
  modules.scanned = true;
  for (unsigned i = 0; i < modules.advice->n_modules; i++)
    {
      LoadState *state = &modules.states[i];

      state->is_loaded = state->seen;
      differs |= state->is_loaded != before[i].is_loaded
                 || state->bias != before[i].bias;
    }
  return differs;
}

bool
sli_advice_module_has (uintptr_t pc)
{
  unsigned n = LOAD_ACQUIRE (&modules.n_ranges);

  for (unsigned i = 0; i < n; i++)
    if (pc - modules.ranges[i].low
        < modules.ranges[i].high - modules.ranges[i].low)
      return true;
  return false;
}

bool
sli_advice_module_bias (unsigned module, uint64_t *bias)
{
  *bias = modules.states[module].bias;
  return modules.states[module].is_loaded;
}

bool
sli_advice_module_was (unsigned module)
{
  return modules.states[module].was;
}
