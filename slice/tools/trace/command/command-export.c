/* command-export.c - slice-trace export: the formats of other tools
 *
 * Tools.  pprof (profile.proto, gzipped), folded stacks, DHAT's JSON
 * (version 2) and massif's text, each with totals that equal the trace's.
 *
 * SPDX-License-Identifier: MIT
 */
#include "command-line.h"
#include "commands.h"
#include "tools/trace/common/json.h"
#include "tools/trace/common/table.h"
#include "tools/trace/profile/profile-json.h"
#include "tools/trace/format/operations.h"
#include "tools/trace/common/tool.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define STACK_MAX 256

/* The frames of a node, innermost first, wrappers left out. */
static uint32_t
frames_of (const Profile *profile, uint32_t node, uint32_t *frames)
{
  uint32_t n = 0;
  uint32_t at = profile->sites->start[node];
  for (; at >= TRACE_N_FIXED_NODES && n < STACK_MAX;
       at = profile->reader->parents[at])
    frames[n++] = at;
  return n;
}

static const Symbol *
symbol_of (const Profile *profile, uint32_t frame)
{
  return sli_symbols_find (profile->symbols, profile->reader->pcs[frame]);
}

/* --- folded -------------------------------------------------------------- */

static void
put_folded (FILE *file, const char *name)
{
  for (; *name != '\0'; name++)
    fputc (*name == ';' || *name == '\n' ? ':' : *name, file);
}

static void
export_folded (const Profile *profile, FILE *file, bool by_count)
{
  uint32_t frames[STACK_MAX];
  for (uint32_t node = 0; node < profile->reader->n_nodes; node++)
    {
      uint64_t value = by_count ? profile->sites->allocs[node]
                                : profile->sites->bytes[node];
      if (profile->sites->allocs[node] == 0)
        continue;
      uint32_t n = frames_of (profile, node, frames);
      if (n == 0)
        fputs ("(unknown)", file);
      for (uint32_t i = n; i-- > 0;)
        {
          put_folded (file, symbol_of (profile, frames[i])->function);
          if (i > 0)
            fputc (';', file);
        }
      fprintf (file, " %" PRIu64 "\n", value);
    }
}

/* --- pprof --------------------------------------------------------------- */

typedef struct
{
  uint8_t *bytes;
  size_t n, room;
} Buffer;

static void
put_byte (Buffer *buffer, uint8_t byte)
{
  if (buffer->n == buffer->room)
    {
      buffer->room = buffer->room * 2 + 4096;
      buffer->bytes = sli_tool_grow (buffer->bytes, buffer->room);
    }
  buffer->bytes[buffer->n++] = byte;
}

static void
put_varint (Buffer *buffer, uint64_t value)
{
  for (; value >= 0x80; value >>= 7)
    put_byte (buffer, (uint8_t)(value | 0x80));
  put_byte (buffer, (uint8_t)value);
}

static void
put_number (Buffer *buffer, unsigned field, uint64_t value)
{
  put_varint (buffer, field << 3);
  put_varint (buffer, value);
}

static void
put_bytes (Buffer *buffer, unsigned field, const void *bytes, size_t n)
{
  put_varint (buffer, field << 3 | 2);
  put_varint (buffer, n);
  for (size_t i = 0; i < n; i++)
    put_byte (buffer, ((const uint8_t *)bytes)[i]);
}

static void
put_message (Buffer *buffer, unsigned field, Buffer *inner)
{
  put_bytes (buffer, field, inner->bytes, inner->n);
  inner->n = 0;
}

typedef struct
{
  Buffer out, inner, deep;
  Buffer strings;
  const char **names; /* of the strings, by number */
  uint32_t n_names, n_room;
  Table by_name; /* a string's number plus 1 */
  uint64_t n_functions;
  uint64_t *location_done; /* by frame node */
} Pprof;

static uint64_t
string_add (Pprof *pprof, const char *text)
{
  uint32_t *number = sli_table_add_text (&pprof->by_name, text, pprof->names,
                                         sizeof *pprof->names);
  if (*number == 0)
    {
      if (pprof->n_names == pprof->n_room)
        {
          pprof->n_room = pprof->n_room * 2 + 64;
          pprof->names = sli_tool_grow (pprof->names,
                                        pprof->n_room * sizeof (char *));
        }
      pprof->names[pprof->n_names] = text;
      *number = ++pprof->n_names;
      put_bytes (&pprof->strings, 6, text, strlen (text));
    }
  return *number - 1;
}

static void
value_type (Pprof *pprof, unsigned field, const char *type, const char *unit)
{
  put_number (&pprof->inner, 1, string_add (pprof, type));
  put_number (&pprof->inner, 2, string_add (pprof, unit));
  put_message (&pprof->out, field, &pprof->inner);
}

/* A location and its function share a number: the frame's node. */
static void
location_add (Pprof *pprof, const Profile *profile, uint32_t frame)
{
  if (pprof->location_done[frame])
    return;
  pprof->location_done[frame] = 1;
  const Symbol *symbol = symbol_of (profile, frame);
  put_number (&pprof->inner, 1, frame);
  put_number (&pprof->inner, 2, string_add (pprof, symbol->function));
  put_number (&pprof->inner, 3, string_add (pprof, symbol->function));
  put_number (&pprof->inner, 4,
              string_add (pprof, symbol->file == NULL ? symbol->module
                                                      : symbol->file));
  put_message (&pprof->out, 5, &pprof->inner);
  put_number (&pprof->inner, 1, frame);
  put_number (&pprof->inner, 3, profile->reader->pcs[frame] & TRACE_PC_MASK);
  put_number (&pprof->deep, 1, frame);
  put_number (&pprof->deep, 2, symbol->line);
  put_message (&pprof->inner, 4, &pprof->deep);
  put_message (&pprof->out, 4, &pprof->inner);
}

static void
sample_add (Pprof *pprof, const Profile *profile, uint32_t node)
{
  uint32_t frames[STACK_MAX];
  uint32_t n = frames_of (profile, node, frames);
  uint32_t n_nodes = profile->reader->n_nodes;
  uint64_t values[4]
      = { profile->sites->allocs[node], profile->sites->bytes[node],
          profile->peak_live[n_nodes + node], profile->peak_live[node] };
  for (uint32_t i = 0; i < n; i++)
    location_add (pprof, profile, frames[i]);
  for (uint32_t i = 0; i < n; i++)
    put_varint (&pprof->deep, frames[i]);
  put_message (&pprof->inner, 1, &pprof->deep);
  for (int i = 0; i < 4; i++)
    put_varint (&pprof->deep, values[i]);
  put_message (&pprof->inner, 2, &pprof->deep);
  uint32_t result = profile->final_map[node];
  if (result != SITE_NONE)
    {
      put_number (&pprof->deep, 1, string_add (pprof, "pattern"));
      put_number (
          &pprof->deep, 2,
          string_add (
              pprof, sli_class_name (profile->results[result].verdict.class)));
      put_message (&pprof->inner, 3, &pprof->deep);
    }
  put_message (&pprof->out, 2, &pprof->inner);
}

static void
export_pprof (const Profile *profile, const char *path)
{
  Pprof pprof = { 0 };
  pprof.location_done
      = sli_tool_zero (profile->reader->n_nodes * sizeof (uint64_t));
  string_add (&pprof, "");
  value_type (&pprof, 1, "alloc_objects", "count");
  value_type (&pprof, 1, "alloc_space", "bytes");
  value_type (&pprof, 1, "inuse_objects", "count");
  value_type (&pprof, 1, "inuse_space", "bytes");
  for (uint32_t node = 0; node < profile->reader->n_nodes; node++)
    if (profile->sites->allocs[node] > 0)
      sample_add (&pprof, profile, node);
  put_number (&pprof.out, 9, profile->reader->head.start_unix_nsec);
  put_number (&pprof.out, 10,
              (uint64_t)(1e9
                         * sli_profile_seconds (
                             profile, profile->totals.last_ticks
                                          - profile->totals.first_ticks)));
  for (size_t i = 0; i < pprof.strings.n; i++)
    put_byte (&pprof.out, pprof.strings.bytes[i]);
  gzFile file = gzopen (path, "wb9");
  if (file == NULL
      || gzwrite (file, pprof.out.bytes, (unsigned)pprof.out.n)
             != (int)pprof.out.n
      || gzclose (file) != Z_OK)
    sli_tool_exit (TOOL_FAILED, "%s could not be written", path);
  free (pprof.out.bytes);
  free (pprof.inner.bytes);
  free (pprof.deep.bytes);
  free (pprof.strings.bytes);
  free (pprof.names);
  sli_table_free (&pprof.by_name);
  free (pprof.location_done);
}

/* --- DHAT ---------------------------------------------------------------- */

/* Every stack is a site of its own there. */
static Analysis *
by_stack (const Profile *profile)
{
  uint32_t n = profile->reader->n_nodes;
  uint32_t *map = sli_tool_alloc (n * sizeof *map);
  for (uint32_t node = 0; node < n; node++)
    map[node] = profile->sites->allocs[node] > 0 ? node : SITE_NONE;
  const uint32_t *maps[1] = { map };
  Analysis *analysis = sli_analysis_new (1, maps, &n);
  TraceEvent event;
  sli_trace_rewind (profile->reader);
  while (sli_trace_next (profile->reader, &event))
    sli_analysis_event (analysis, &event);
  sli_analysis_finish (analysis);
  free (map);
  return analysis;
}

static void
dhat_point (JsonOut *out, const Profile *profile, const SiteStats *stats,
            uint32_t node, uint64_t end)
{
  uint32_t frames[STACK_MAX];
  uint32_t n_nodes = profile->reader->n_nodes;
  uint32_t n = frames_of (profile, node, frames);
  double alive = (double)stats->live_n * (double)end / 2;
  sli_json_begin (out, NULL, '{');
  sli_json_uint (out, "tb", stats->bytes);
  sli_json_uint (out, "tbk", stats->allocs);
  sli_json_uint (out, "tl", (uint64_t)(stats->sum_life + alive));
  sli_json_uint (out, "mb", stats->peak_bytes);
  sli_json_uint (out, "mbk", stats->peak_bytes_n);
  sli_json_uint (out, "gb", profile->peak_live[node]);
  sli_json_uint (out, "gbk", profile->peak_live[n_nodes + node]);
  sli_json_uint (out, "eb", stats->bytes - stats->dead_bytes);
  sli_json_uint (out, "ebk", stats->allocs - stats->frees);
  sli_json_begin (out, "fs", '[');
  for (uint32_t i = 0; i < n; i++)
    sli_json_uint (out, NULL, frames[i]);
  sli_json_end (out, ']');
  sli_json_end (out, '}');
}

static void
export_dhat (const Profile *profile, FILE *file)
{
  JsonOut out = { .file = file };
  const TraceReader *reader = profile->reader;
  Analysis *analysis = by_stack (profile);
  uint64_t end = profile->totals.n_events;
  sli_json_begin (&out, NULL, '{');
  sli_json_uint (&out, "dhatFileVersion", 2);
  sli_json_text (&out, "mode", "heap");
  sli_json_text (&out, "verb", "Allocated");
  sli_json_bool (&out, "bklt", true);
  sli_json_bool (&out, "bkacc", false);
  sli_json_text (&out, "tu", "operations");
  sli_json_text (&out, "Mtu", "Mop");
  sli_json_uint (&out, "tuth", 10);
  sli_json_text (&out, "cmd", reader->command);
  sli_json_uint (&out, "pid", reader->head.pid);
  sli_json_uint (&out, "te", end);
  sli_json_uint (&out, "tg", profile->totals.peak_event);
  sli_json_begin (&out, "pps", '[');
  for (uint32_t node = 0; node < reader->n_nodes; node++)
    if (profile->sites->allocs[node] > 0)
      dhat_point (&out, profile, &analysis->stats[0][node], node, end);
  sli_json_end (&out, ']');
  sli_json_begin (&out, "ftbl", '[');
  for (uint32_t node = 0; node < reader->n_nodes; node++)
    {
      if (node < TRACE_N_FIXED_NODES)
        {
          sli_json_text (&out, NULL, "[root]");
          continue;
        }
      const Symbol *symbol = symbol_of (profile, node);
      char *text
          = symbol->file != NULL
                ? sli_tool_text ("0x%llx: %s (%s:%u)",
                                 (unsigned long long)symbol->offset,
                                 symbol->function, symbol->file, symbol->line)
                : sli_tool_text ("0x%llx: %s (in %s)",
                                 (unsigned long long)symbol->offset,
                                 symbol->function, symbol->module);
      sli_json_text (&out, NULL, text);
      free (text);
    }
  sli_json_end (&out, ']');
  sli_json_end (&out, '}');
  sli_analysis_free (analysis);
}

/* --- massif -------------------------------------------------------------- */

#define MASSIF_SNAPSHOTS 60
#define MASSIF_SHARE_MIN 0.01
#define MASSIF_DEPTH_MAX 30

typedef struct MassifNode
{
  const Symbol *symbol;
  uint64_t bytes;
  struct MassifNode *children, *next;
} MassifNode;

static MassifNode *
massif_child (MassifNode *parent, const Symbol *symbol)
{
  for (MassifNode *at = parent->children; at != NULL; at = at->next)
    if (at->symbol == symbol)
      return at;
  MassifNode *child = sli_tool_zero (sizeof *child);
  child->symbol = symbol;
  child->next = parent->children;
  parent->children = child;
  return child;
}

static void
massif_tree (FILE *file, const MassifNode *node, int depth, double least)
{
  unsigned n_large = 0, n_small = 0;
  uint64_t small = 0;
  for (const MassifNode *at = node->children; at != NULL; at = at->next)
    if ((double)at->bytes >= least && depth < MASSIF_DEPTH_MAX)
      n_large++;
    else
      {
        n_small++;
        small += at->bytes;
      }
  fprintf (file, "%*sn%u: %" PRIu64 " ", depth, "", n_large + (n_small > 0),
           node->bytes);
  if (node->symbol == NULL)
    fputs ("(heap allocation functions) malloc/new/new[], --alloc-fns, "
           "etc.\n",
           file);
  else if (node->symbol->file != NULL)
    fprintf (file, "0x%llX: %s (%s:%u)\n",
             (unsigned long long)node->symbol->offset, node->symbol->function,
             node->symbol->file, node->symbol->line);
  else
    fprintf (file, "0x%llX: %s (in %s)\n",
             (unsigned long long)node->symbol->offset, node->symbol->function,
             node->symbol->module);
  for (const MassifNode *at = node->children; at != NULL; at = at->next)
    if ((double)at->bytes >= least && depth < MASSIF_DEPTH_MAX)
      massif_tree (file, at, depth + 1, least);
  if (n_small > 0)
    fprintf (file,
             "%*sn0: %" PRIu64 " in %u place%s, below massif's threshold "
             "(1.00%%)\n",
             depth + 1, "", small, n_small, n_small == 1 ? "" : "s, all");
}

static void
massif_free (MassifNode *node)
{
  for (MassifNode *at = node->children, *next; at != NULL; at = next)
    {
      next = at->next;
      massif_free (at);
      free (at);
    }
}

static void
massif_peak (const Profile *profile, FILE *file)
{
  MassifNode root = { 0 };
  uint32_t frames[STACK_MAX];
  for (uint32_t node = 0; node < profile->reader->n_nodes; node++)
    {
      uint64_t bytes = profile->peak_live[node];
      if (bytes == 0)
        continue;
      uint32_t n = frames_of (profile, node, frames);
      MassifNode *at = &root;
      root.bytes += bytes;
      for (uint32_t i = 0; i < n && i < MASSIF_DEPTH_MAX; i++)
        {
          at = massif_child (at, symbol_of (profile, frames[i]));
          at->bytes += bytes;
        }
    }
  massif_tree (file, &root, 0, MASSIF_SHARE_MIN * (double)root.bytes);
  massif_free (&root);
}

static void
massif_snapshot (FILE *file, unsigned number, double msec, uint64_t bytes)
{
  fprintf (file,
           "#-----------\nsnapshot=%u\n#-----------\ntime=%.0f\n"
           "mem_heap_B=%" PRIu64 "\nmem_heap_extra_B=0\nmem_stacks_B=0\n",
           number, msec, bytes);
}

static void
export_massif (const Profile *profile, FILE *file)
{
  const Series *series = &profile->series[AXIS_TIME];
  const Totals *totals = &profile->totals;
  double span = 1000
                * sli_profile_seconds (profile, totals->last_ticks
                                                    - totals->first_ticks);
  double peak = 1000
                * sli_profile_seconds (profile, totals->peak_ticks
                                                    - totals->first_ticks);
  bool peak_done = false;
  unsigned number = 0;
  fprintf (file, "desc: slice-trace\ncmd: %s\ntime_unit: ms\n",
           profile->reader->command);
  for (uint32_t i = 0; i < series->n; i += SERIES_COLUMNS / MASSIF_SNAPSHOTS)
    {
      double msec = span * i / SERIES_COLUMNS;
      if (!peak_done && (msec > peak || i + 10 >= series->n))
        {
          massif_snapshot (file, number++, peak, totals->peak);
          fputs ("heap_tree=peak\n", file);
          massif_peak (profile, file);
          peak_done = true;
        }
      if (msec < peak || peak_done)
        {
          massif_snapshot (file, number++,
                           msec > peak || !peak_done ? msec : peak,
                           series->total[i]);
          fputs ("heap_tree=empty\n", file);
        }
    }
}

/* Straight from the events: no sites are needed, nor symbols. */
static int
export_operations (const char *trace, const char *output)
{
  char error[512];
  const char *path = output == NULL ? "-" : output;
  TraceReader *reader = sli_trace_open (trace, error);
  if (reader == NULL)
    sli_tool_exit (TOOL_BAD_INPUT, "%s", error);
  FILE *file = sli_file_begin (path);
  Operations *operations = sli_operations_new ();
  TraceEvent event;
  fprintf (file, "# operations of a trace, for slice-bench replay\n");
  while (sli_trace_next (reader, &event))
    sli_operations_add (operations, &event, file);
  const OperationTotals *totals = sli_operations_totals (operations);
  if (totals->n_unknown > 0)
    fprintf (file, "# %llu frees of unknown blocks were left out\n",
             (unsigned long long)totals->n_unknown);
  sli_trace_is_whole (reader);
  bool good = sli_file_end (file, path);
  sli_operations_free (operations);
  sli_trace_close (reader);
  return good ? TOOL_OK : TOOL_FAILED;
}

static void
format_check (const char *format)
{
  static const char *const formats[]
      = { "pprof", "folded", "dhat", "massif", "operations" };
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (strcmp (format, formats[i]) == 0)
      return;
  sli_tool_exit (TOOL_USAGE, "no format %s", format);
}

int
sli_command_export (int argc, char **argv)
{
  TraceOptions trace;
  const char *output = NULL, *format = NULL;
  bool by_count = false;
  const ToolOption options[]
      = { OPTION (TEXT, NULL, 'o', &output, "FILE", "The output"),
          OPTION (TEXT, "format", 0, &format, "FORMAT",
                  "pprof, folded, dhat, massif or operations"),
          OPTION (FLAG, "count", 0, &by_count, NULL,
                  "Calls instead of bytes, in folded stacks"),
          { 0 } };
  const CommandLine line = { .words = "TRACE",
                             .help = "The formats of other tools.",
                             .options = options,
                             .trace = &trace,
                             .least = 1,
                             .most = 1 };
  sli_trace_options_init (&trace, 1);
  sli_command_line (&line, &argc, &argv);
  if (format == NULL)
    sli_tool_exit (TOOL_USAGE, "export: which --format?");
  format_check (format);
  if (output != NULL)
    sli_file_check (output);
  if (strcmp (format, "operations") == 0)
    return export_operations (argv[0], output);
  if (strcmp (format, "pprof") == 0 && output == NULL)
    sli_tool_exit (TOOL_USAGE, "pprof wants a file: -o");
  Profile *profile = sli_profile_new (argv[0], &trace.profile);
  bool good = true;
  if (strcmp (format, "pprof") == 0)
    export_pprof (profile, output);
  else
    {
      const char *path = output == NULL ? "-" : output;
      FILE *file = sli_file_begin (path);
      if (strcmp (format, "folded") == 0)
        export_folded (profile, file, by_count);
      else if (strcmp (format, "dhat") == 0)
        export_dhat (profile, file);
      else
        export_massif (profile, file);
      good = sli_file_end (file, path);
    }
  sli_profile_free (profile);
  return good ? TOOL_OK : TOOL_FAILED;
}
