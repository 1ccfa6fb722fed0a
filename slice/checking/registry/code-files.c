/* code-files.c - the files that code was loaded from
 *
 * Layer: checking.  A hash table by the address that a file was loaded at, in
 * pages from the kernel.  A file that is unloaded stays there, so a message
 * names it rightly, even if another one was loaded in its place.  A file that
 * is loaded at the same place again is the same one.
 * Lock: the registry's.  Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "code-files.h"
#include "page/meta.h"
#include "base/check.h"
#include "port/compiler.h"

#include <string.h>

enum
{
  FILES_MAX = 768,
  SLOTS = 1024,             /* a power of two */
  NAME_BYTES = 48 * 1024    /* of all names */
};

typedef struct
{
  OsModule slots[SLOTS]; /* name NULL: never used */
  unsigned n_files;
  size_t names_at; /* the first byte of names that is not used */
  char names[NAME_BYTES];
} CodeFiles;

static CodeFiles *files; /* NULL: none yet, or no memory */

void
sli_code_files_begin (void)
{
  CodeFiles *made, *none = NULL;

  if (LIKELY (LOAD_ACQUIRE (&files) != NULL))
    return;
  made = sli_meta_map_or_run (sizeof *made);
  if (made != NULL
      && !__atomic_compare_exchange_n (&files, &none, made, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    sli_meta_unmap_or_run (made, sizeof *made);
}

/* Fills a slot; false: there is no space for another file. */
static bool
slot_fill (CodeFiles *table, OsModule *slot, const OsModule *file)
{
  size_t bytes = strlen (file->name) + 1;
  char *name = table->names + table->names_at;

  if (table->n_files == FILES_MAX || bytes > NAME_BYTES - table->names_at)
    return false;
  memcpy (name, file->name, bytes);
  table->names_at += bytes;
  table->n_files++;
  *slot = (OsModule){ name, file->base };
  return true;
}

unsigned
sli_code_file_number (const OsModule *file)
{
  CodeFiles *table = LOAD_ACQUIRE (&files);
  uint32_t i = (uint32_t) (file->base >> 12) * 0x9e3779b1u >> 16;
  OsModule *slot;

  if (file->name == NULL || table == NULL)
    return 0;
  for (;; i++)
    {
      slot = &table->slots[i & (SLOTS - 1)];
      if (slot->name == NULL && !slot_fill (table, slot, file))
        return 0;
      if (slot->base == file->base && strcmp (slot->name, file->name) == 0)
        return (unsigned) (slot - table->slots) + 1;
    }
}

const OsModule *
sli_code_file (unsigned number)
{
  assert_here (number <= SLOTS);
  return number != 0 ? &LOAD_ACQUIRE (&files)->slots[number - 1] : NULL;
}
