/* dump.c - the statistics as a table and as JSON, and at exit
 *
 * Layer: observe.  Nothing is allocated.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/stats.h>

#include "leaks.h"
#include "base/option.h"
#include "alloc/alloc.h"
#include "port/compiler.h"
#include "port/os/os.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum
{
  LINE_BYTES = 256
};

static void print (int fd, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

static void
print (int fd, const char *format, ...)
{
  char line[LINE_BYTES];
  va_list arguments;
  int length;

  va_start (arguments, format);
  length = vsnprintf (line, sizeof line, format, arguments);
  va_end (arguments);
  if (length > 0)
    sli_os_write (fd, line,
                  (size_t) length < sizeof line ? (size_t) length
                                                : sizeof line - 1);
}

#define U(x) ((unsigned long long) (x))
#define KB(bytes) (U (bytes) / 1024)

/* Gets the statistics into a mapping, since they are as large as the smallest
 * stack of a thread.  NULL: no memory. */
static SliceStats *
stats_new (int fd, bool *has_blocks)
{
  SliceStats *stats = sli_os_map (sizeof *stats, sli_os_page_bytes ());

  if (stats == NULL)
    print (fd, "slice: no memory for the statistics\n");
  else
    *has_blocks = slice_get_stats (stats);
  return stats;
}

static void
stats_free (SliceStats *stats)
{
  sli_os_unmap (stats, sizeof *stats);
}

/* --- the table ----------------------------------------------------------- */

/* A number and the word for what it counts, with an s unless it is 1. */
#define N(n, word) U (n), (n) == 1 ? word : word "s"

static void
print_totals (int fd, const SliceStats *stats)
{
  print (fd,
         "slice: %llu live %s, %llu KiB; cached %llu KiB; held %llu KiB "
         "of %llu KiB mapped; metadata %llu KiB\n",
         N (stats->live_blocks, "block"), KB (stats->live_bytes),
         KB (stats->cached_bytes), KB (stats->held_bytes),
         KB (stats->mapped_bytes), KB (stats->meta_bytes));
  print (fd,
         "slice: %llu %s (%llu empty), %llu %s, %llu KiB returned; "
         "%llu %s; large: %llu allocated, %llu freed\n",
         N (stats->n_regions, "region"), U (stats->n_regions_empty),
         N (stats->n_maps, "map"), KB (stats->returned_bytes),
         N (stats->n_threads, "thread"), U (stats->n_large_allocs),
         U (stats->n_large_frees));
  if (stats->n_fork_lost > 0)
    print (fd, "slice: %llu %s left behind by a fork\n",
           N (stats->n_fork_lost, "chunk"));
}

/* If each block is a malloc of its own, classes have no statistics. */
static void
print_mallocs (int fd, const SliceStats *stats)
{
  const char *tool = sli_os_memory_tool ();

  print (fd, "slice: %llu live %s, each a malloc of its own (%s%s): their "
         "sizes are not known here\n",
         N (stats->live_blocks, "block"),
         tool != NULL ? "as always under " : "always-malloc",
         tool == NULL                     ? ""
         : strcmp (tool, "valgrind") == 0 ? tool
                                          : "a sanitizer");
}

static bool
class_was_used (const SliceClassStats *class)
{
  return class->n_slab_fills > 0 || class->n_slabs > 0 || class->n_hits > 0;
}

static void
print_class (int fd, const SliceClassStats *class)
{
  char hits[24] = "-"; /* not counted */

  if (sli_option_is_on (SLICE_OPTION_COUNT))
    snprintf (hits, sizeof hits, "%llu", U (class->n_hits));
  print (fd,
         "%6zu %9llu %8llu %8llu %7llu %10s %9llu %9llu %8llu %8llu %6u "
         "%6u\n",
         class->block_bytes, U (class->n_live), U (class->n_cached_threads),
         U (class->n_cached_depot), U (class->n_slabs), hits,
         U (class->n_depot_pops), U (class->n_depot_pushes),
         U (class->n_contended), U (class->n_trimmed), class->rounds_now,
         class->rounds_peak);
}

static void
print_table (int fd, const SliceStats *stats)
{
  print_totals (fd, stats);
  print (fd, "%6s %9s %8s %8s %7s %10s %9s %9s %8s %8s %6s %6s\n", "size",
         "live", "threads", "depot", "slabs", "hits", "pops", "pushes",
         "contend", "trimmed", "rounds", "peak");
  for (unsigned i = 1; i < SLICE_N_CLASSES; i++)
    if (class_was_used (&stats->classes[i]))
      print_class (fd, &stats->classes[i]);
}

void
slice_print_stats (int fd)
{
  bool has_blocks;
  SliceStats *stats = stats_new (fd, &has_blocks);

  if (stats == NULL)
    return;
  if (!has_blocks)
    print (fd, "slice: no block was ever allocated\n");
  else if (sli_alloc_path () == PATH_MALLOC)
    print_mallocs (fd, stats);
  else
    print_table (fd, stats);
  stats_free (stats);
}

/* --- JSON ---------------------------------------------------------------- */

/* A field of a structure: an unsigned number of 64 or 32 bits. */
typedef struct
{
  const char *name;
  size_t offset;
  size_t bytes;
} Field;

#define FIELD(type, member)                                                   \
  { #member, offsetof (type, member), sizeof ((type *) 0)->member }

static const Field total_fields[] = {
  FIELD (SliceStats, live_blocks),    FIELD (SliceStats, live_bytes),
  FIELD (SliceStats, cached_bytes),   FIELD (SliceStats, held_bytes),
  FIELD (SliceStats, mapped_bytes),   FIELD (SliceStats, meta_bytes),
  FIELD (SliceStats, returned_bytes), FIELD (SliceStats, n_regions),
  FIELD (SliceStats, n_regions_empty), FIELD (SliceStats, n_maps),
  FIELD (SliceStats, n_threads),      FIELD (SliceStats, n_large_allocs),
  FIELD (SliceStats, n_large_frees),  FIELD (SliceStats, n_fork_lost)
};

static const Field class_fields[] = {
  FIELD (SliceClassStats, block_bytes),
  FIELD (SliceClassStats, chunk_bytes),
  FIELD (SliceClassStats, slab_bytes),
  FIELD (SliceClassStats, slab_chunks),
  FIELD (SliceClassStats, n_colours),
  FIELD (SliceClassStats, n_slabs),
  FIELD (SliceClassStats, n_used),
  FIELD (SliceClassStats, n_live),
  FIELD (SliceClassStats, n_cached_threads),
  FIELD (SliceClassStats, n_cached_depot),
  FIELD (SliceClassStats, n_depot_magazines),
  FIELD (SliceClassStats, n_hits),
  FIELD (SliceClassStats, n_depot_pops),
  FIELD (SliceClassStats, n_depot_misses),
  FIELD (SliceClassStats, n_depot_pushes),
  FIELD (SliceClassStats, n_contended),
  FIELD (SliceClassStats, n_trimmed),
  FIELD (SliceClassStats, n_slab_locks),
  FIELD (SliceClassStats, n_slab_fills),
  FIELD (SliceClassStats, n_slabs_made),
  FIELD (SliceClassStats, n_slabs_freed),
  FIELD (SliceClassStats, rounds_now),
  FIELD (SliceClassStats, rounds_peak),
  FIELD (SliceClassStats, n_grown),
  FIELD (SliceClassStats, n_shrunk)
};

static void
print_fields (int fd, const void *base, const Field *fields, size_t n)
{
  for (size_t i = 0; i < n; i++)
    {
      const char *at = (const char *) base + fields[i].offset;
      unsigned long long value = fields[i].bytes == 8
                                     ? *(const uint64_t *) (const void *) at
                                     : *(const uint32_t *) (const void *) at;

      print (fd, "%s\"%s\":%llu", i == 0 ? "" : ",", fields[i].name, value);
    }
}

#define N_FIELDS(table) (sizeof (table) / sizeof (table)[0])

/* An index in the list is a class_index, as in SliceStats. */
static void
print_json (int fd, const SliceStats *stats)
{
  print (fd, "{");
  print_fields (fd, stats, total_fields, N_FIELDS (total_fields));
  print (fd, ",\"n_classes\":%u,\"classes\":[", stats->n_classes);
  for (unsigned i = 0; i < SLICE_N_CLASSES; i++)
    {
      print (fd, "%s{", i == 0 ? "" : ",");
      print_fields (fd, &stats->classes[i], class_fields,
                    N_FIELDS (class_fields));
      print (fd, "}");
    }
  print (fd, "]}\n");
}

void
slice_print_stats_json (int fd)
{
  bool has_blocks;
  SliceStats *stats = stats_new (2, &has_blocks);

  if (stats == NULL)
    return;
  print_json (fd, stats);
  stats_free (stats);
}

/* --- at exit ------------------------------------------------------------- */

/* No call leads here, so a program with libslice.a has this file only because
 * alloc/process/exit-link.c refers to this name. */
char sli_dump_linked;

/* In a program with libslice.a the program's own destructors may free blocks,
 * so this one must be the last of that file: the smallest priority is.  (The
 * program's own of that priority run later still.) */
COMMON_TEXT __attribute__ ((destructor (101))) static void
dump_at_exit (void)
{
  if (!sli_alloc_is_ready ())
    return;
  if (sli_option_is_on (SLICE_OPTION_STATS))
    slice_print_stats (2);
  sli_observe_exit ();
}
