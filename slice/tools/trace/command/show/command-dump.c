/* command-dump.c - slice-trace dump and info: a trace as text
 *
 * Tools.  `dump` prints each event on a line, in the order of time; the tests
 * and other programs read that.  `info` prints what the file says of itself,
 * and counts.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tools/trace/command/command-line.h"
#include "tools/trace/command/commands.h"
#include "tools/trace/common/tool.h"
#include "tools/trace/format/operations.h"
#include "tools/trace/format/read/trace-read.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static TraceReader *
open_or_exit (const CommandLine *line, int argc, char **argv)
{
  char error[512];
  TraceReader *reader;

  sli_command_line (line, &argc, &argv);
  reader = sli_trace_open_any (argv[0], error);
  if (reader == NULL)
    sli_tool_exit (TOOL_BAD_INPUT, "%s", error);
  return reader;
}

/* Prints a text; characters that end the line or can't be seen as in C. */
static void
text_print (const char *text)
{
  putchar (' ');
  for (; *text != '\0'; text++)
    if (*text == '\\')
      fputs ("\\\\", stdout);
    else if ((unsigned char) *text < ' ' || *text == '\x7f')
      printf ("\\%03o", (unsigned) *text);
    else
      putchar (*text);
}

static void
event_print (const TraceReader *reader, const TraceEvent *event,
             uint64_t start, bool with_stack)
{
  printf ("%" PRIu64 " %u %s", event->ticks - start, event->thread,
          sli_trace_op_name (event->op));
  if (event->op >= TRACE_OP_SCOPE_BEGIN)
    {
      const char *text = event->address < reader->n_strings
                             ? reader->strings[event->address]
                             : NULL;

      text_print (text == NULL ? "?" : text);
    }
  else
    printf (" 0x%" PRIx64, event->address);
  if (trace_op_is_alloc (event->op))
    printf (" %" PRIu64, event->size);
  if (event->extra != 0)
    printf (" cost=%u align=%u", event->extra >> 5, 1u << (event->extra & 31));
  printf (" node=%u", event->node);
  if (with_stack)
    for (uint32_t node = event->node; node >= TRACE_N_FIXED_NODES;
         node = reader->parents[node])
      printf (" %" PRIx64, reader->pcs[node]);
  putchar ('\n');
}

int
sli_command_dump (int argc, char **argv)
{
  bool with_stack = false;
  const ToolOption options[] = { OPTION (FLAG, "stacks", 0, &with_stack, NULL,
                                         "Print each event with its stack"),
                                 { 0 } };
  const CommandLine line = { .words = "TRACE",
                             .help = "Prints each event on a line.",
                             .options = options,
                             .least = 1,
                             .most = 1 };
  TraceReader *reader = open_or_exit (&line, argc, argv);
  TraceEvent event;

  while (sli_trace_next (reader, &event))
    event_print (reader, &event, reader->head.start_ticks, with_stack);
  sli_trace_is_whole (reader);
  sli_trace_close (reader);
  return TOOL_OK;
}

/* Prints how the recording ended. */
static void
summary_print (const TraceReader *reader)
{
  const TraceSummary *summary;

  if (!reader->has_summary)
    {
      printf ("cut file\n");
      return;
    }
  summary = &reader->summary;
  printf ("recorded %" PRIu64 "\ndropped-nested %" PRIu64
          "\ndropped-full %" PRIu64 "\nfailed %" PRIu64 "\nbacking %" PRIu64
          "\n",
          summary->n_events, summary->n_dropped_nested,
          summary->n_dropped_full, summary->n_failed, summary->n_backing);
  printf ("cut %s\n", summary->flags & TRACE_SUMMARY_CUT ? "process" : "no");
}

int
sli_command_info (int argc, char **argv)
{
  const CommandLine line
      = { .words = "TRACE",
          .help = "Prints the facts about a trace, with counts.",
          .least = 1,
          .most = 1 };
  TraceReader *reader = open_or_exit (&line, argc, argv);
  uint64_t counts[TRACE_N_OPS] = { 0 };
  TraceEvent event;
  uint64_t n = 0;
  Operations *operations = sli_operations_new ();
  const OperationTotals *totals;

  while (sli_trace_next (reader, &event))
    {
      sli_operations_add (operations, &event, NULL);
      counts[event.op < TRACE_N_OPS ? event.op : 0]++;
      n++;
    }
  sli_trace_is_whole (reader);
  printf ("command %s\n", reader->command);
  printf ("pid %u\nversion %u\nflags %u\n", reader->head.pid,
          reader->head.version, reader->head.flags);
  printf ("events %" PRIu64 "\nbytes %zu\n", n, reader->n_map);
  printf ("threads %zu\nnodes %u\nmodules %zu\n", reader->n_streams,
          reader->n_nodes, reader->n_modules);
  totals = sli_operations_totals (operations);
  printf ("allocs %" PRIu64 "\nfrees %" PRIu64 "\n", totals->n_allocs,
          totals->n_frees);
  if (trace_is_sampled (reader)) /* these two are of the program */
    printf ("sample-bytes %u\n", reader->head.sample_bytes);
  else
    printf ("requested-bytes %" PRIu64 "\npeak-live-bytes %" PRIu64 "\n",
            totals->bytes, totals->peak_bytes);
  printf ("rss-samples %zu\n", reader->n_rss);
  printf ("unwinder %s\n", sli_trace_unwinder (reader));
  summary_print (reader);
  printf ("damaged %u%s%s\n", reader->n_damaged,
          reader->n_damaged > 0 ? " " : "", reader->damage);
  for (unsigned op = 0; op < TRACE_N_OPS; op++)
    if (counts[op] > 0)
      printf ("op %s %" PRIu64 "\n", sli_trace_op_name (op), counts[op]);
  sli_operations_free (operations);
  sli_trace_close (reader);
  return TOOL_OK;
}
