/* record-log.c - the log of modules, strings and the command
 *
 * Tools, in the preloaded object (record-spool.h).
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-spool.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void
sli_spool_log (uint32_t type, const void *a, size_t n_a, const void *b,
               size_t n_b, const void *c, size_t n_c)
{
  size_t n = (sizeof (LogRecord) + n_a + n_b + n_c + 7) & ~(size_t) 7;
  uint64_t at = atomic_load (&sli_record.head->log_bytes);
  LogRecord *record;
  uint8_t *end;

  do
    if (!sli_spool_log_reserve (at + n))
      return;
  while (!atomic_compare_exchange_weak (&sli_record.head->log_bytes, &at,
                                        at + n));
  record = (LogRecord *) (sli_spool.map + SPOOL_LOG_OFFSET + at);
  end = (uint8_t *) (record + 1);
  record->type = type;
  memcpy (end, a, n_a);
  memcpy (end + n_a, b, n_b);
  memcpy (end + n_a + n_b, c, n_c);
  atomic_store (&record->bytes, (uint32_t) n);
}

/* The arguments of this process; the packer knows only those of the first. */
#define COMMAND_BYTES_MAX (128 << 10)

void
sli_spool_command (void)
{
  char *text = mmap (NULL, COMMAND_BYTES_MAX, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  size_t n = 0;
  long fd;

  if (text == MAP_FAILED)
    return;
  fd = syscall (SYS_openat, AT_FDCWD, "/proc/self/cmdline",
                O_RDONLY | O_CLOEXEC);
  for (long got = 1; fd >= 0 && got > 0 && n < COMMAND_BYTES_MAX - 1;)
    {
      got = syscall (SYS_read, fd, text + n, COMMAND_BYTES_MAX - 1 - n);
      n += got > 0 ? (size_t) got : 0;
    }
  if (fd >= 0)
    syscall (SYS_close, fd);
  if (n > 0) /* the last byte is 0, also if the text was cut */
    sli_spool_log (TRACE_BLOCK_COMMAND, text, n + (text[n - 1] != '\0'), "", 0,
                   "", 0);
  munmap (text, COMMAND_BYTES_MAX);
}

/* A program has a few hundred names at most, so a simple table of hashes is
 * enough.  A lost race gives a name two ids, which is harmless.
 */
#define STRINGS_MAX 65536

uint32_t
sli_spool_string (const char *text)
{
  uint64_t hash;

  static struct
  {
    _Atomic uint64_t hash;
    _Atomic uint32_t id;
    uint32_t epoch;
  } * table;
  size_t n;
  uint32_t at;

  if (table == NULL)
    {
      void *memory
          = mmap (NULL, STRINGS_MAX * sizeof *table, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

      if (memory == MAP_FAILED)
        return 0;
      table = memory;
    }
  n = strlen (text);
  hash = sli_xxh64 (text, n, sli_record.epoch) | 1;
  at = (uint32_t) hash % STRINGS_MAX;
  for (uint32_t i = 0; i < STRINGS_MAX; i++, at = (at + 1) % STRINGS_MAX)
    {
      uint64_t found = atomic_load (&table[at].hash);

      if (found == hash)
        {
          uint32_t id;

          while ((id = atomic_load (&table[at].id)) == 0)
            ;
          return id;
        }
      if (found == 0
          && atomic_compare_exchange_strong (&table[at].hash, &found, hash))
        {
          uint32_t id = atomic_fetch_add (&sli_record.head->n_strings, 1);
          uint32_t ids[2] = { id, (uint32_t) n };

          sli_spool_log (TRACE_BLOCK_STRINGS, ids, sizeof ids, text, n, "", 0);
          atomic_store (&table[at].id, id);
          return id;
        }
    }
  return 0;
}
