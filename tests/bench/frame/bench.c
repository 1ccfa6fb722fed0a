/* bench.c - slice-bench: options, the choice of a workload, the report
 *
 * See slice-bench(1).  Exit status: 0 done; 1 a check failed or the machine
 * had no memory or threads; 2 wrong usage; 77 this allocator can't be used
 * here (which `compare` takes as "missing").
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"
#include "latency.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
  EXIT_USAGE = 2
};

typedef struct
{
  const char *name;
  size_t offset; /* in Parameters */
  const char *what;
} Option;

#define OPTION(name, field, what)                                             \
 {                                                                            \
  name, offsetof (Parameters, field), what                                    \
 }

static const Option options[] = {
  OPTION ("size-min", size_min, "smallest block, bytes"),
  OPTION ("size-max", size_max, "largest block, bytes"),
  OPTION ("blocks", n_blocks, "blocks held by each thread"),
  OPTION ("batch", batch, "blocks allocated, then freed, in a row"),
  OPTION ("operations", n_operations, "pairs per thread and lap"),
  OPTION ("threads", n_threads, "threads"),
  OPTION ("laps", n_laps, "measured laps, after one to warm up"),
  OPTION ("bytes", bytes, "size of the heap to build, bytes"),
  OPTION ("idle-msec", idle_msec, "length of the idle phase, ms"),
  OPTION ("seed", seed, "of the random numbers"),
  OPTION ("bind", is_bound, "1: each thread stays on one processor"),
};
enum
{
  N_OPTIONS = sizeof options / sizeof *options
};

typedef struct
{
  const char *workload;
  bool is_json, is_checked, is_histogram, is_latency, is_tiny, is_list;
  Parameters given;
} Arguments;

static uint64_t *
parameter_at (Parameters *parameters, const Option *option)
{
  return (uint64_t *) ((char *) parameters + option->offset);
}

static void
usage (FILE *out)
{
  fprintf (out,
           "Usage: slice-bench [OPTION]... WORKLOAD [FILE]\n"
           "Measures one allocator (this build: %s) under one workload.\n\n"
           "  --list          name the workloads\n"
           "  --checked       write and verify patterns, balance bytes\n"
           "  --histogram     checked, and print sizes and lifetimes\n"
           "  --latency       percentiles of single calls instead of sums\n"
           "  --tiny          the smallest sensible run, for tests\n"
           "  --json          one JSON object instead of lines\n"
           "  --file=FILE     the trace for replay, as FILE\n",
           bench_adaptor_name ());
  for (unsigned i = 0; i < N_OPTIONS; i++)
    fprintf (out, "  --%s=N%*s%s\n", options[i].name,
             (int) (12 - strlen (options[i].name)), "", options[i].what);
}

static void
list_workloads (void)
{
  for (const Workload *w = bench_workloads; w->name != NULL; w++)
    printf ("%-20s %s\n", w->name, w->what);
}

/* "--name=N"; N may end in k, M or G (1024 each). */
static bool
parse_number (const char *argument, Parameters *parameters)
{
  for (unsigned i = 0; i < N_OPTIONS; i++)
    {
      size_t length = strlen (options[i].name);
      char *end;
      uint64_t value;
      const char *units;
      const char *unit;

      if (strncmp (argument, options[i].name, length) != 0
          || argument[length] != '=')
        continue;
      value = strtoull (argument + length + 1, &end, 10);
      units = "kMG";
      unit = *end ? strchr (units, *end) : NULL;
      if (unit != NULL)
        {
          value <<= 10 * (unit - units + 1);
          end++;
        }
      if (end == argument + length + 1 || *end != '\0')
        return false;
      *parameter_at (parameters, &options[i]) = value;
      return true;
    }
  return false;
}

static bool
parse_argument (const char *argument, Arguments *arguments)
{
  const struct
  {
    const char *name;
    bool *flag;
  } flags[] = {
    { "--json", &arguments->is_json },
    { "--checked", &arguments->is_checked },
    { "--histogram", &arguments->is_histogram },
    { "--latency", &arguments->is_latency },
    { "--tiny", &arguments->is_tiny },
    { "--list", &arguments->is_list },
  };

  for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)
    if (strcmp (argument, flags[i].name) == 0)
      return *flags[i].flag = true;
  if (strncmp (argument, "--file=", 7) == 0)
    {
      arguments->given.file = argument + 7;
      return true;
    }
  if (strncmp (argument, "--", 2) == 0)
    return parse_number (argument + 2, &arguments->given);
  if (arguments->workload == NULL)
    arguments->workload = argument;
  else if (arguments->given.file == NULL)
    arguments->given.file = argument;
  else
    return false;
  return true;
}

static void
parameters_overlay (Parameters *base, Parameters over)
{
  for (unsigned i = 0; i < N_OPTIONS; i++)
    if (*parameter_at (&over, &options[i]) != 0)
      *parameter_at (base, &options[i]) = *parameter_at (&over, &options[i]);
  if (over.file != NULL)
    base->file = over.file;
}

static const Workload *
workload_find (const char *name)
{
  for (const Workload *w = bench_workloads; w->name != NULL; w++)
    if (strcmp (w->name, name) == 0)
      return w;
  return NULL;
}

static void
run_workload (const Workload *workload, const Arguments *arguments)
{
  static Run run; /* large: not on the stack */

  run.workload = workload;
  run.is_observed = arguments->is_checked || arguments->is_histogram
                    || arguments->is_latency;
  latency_is_on = arguments->is_latency;
  run.is_histogram = arguments->is_histogram;
  run.parameters = (Parameters){ .n_threads = 1, .n_laps = 11, .seed = 42 };
  parameters_overlay (&run.parameters, workload->defaults);
  if (arguments->is_tiny)
    parameters_overlay (&run.parameters, workload->tiny);
  parameters_overlay (&run.parameters, arguments->given);
  if (run.parameters.size_max < run.parameters.size_min)
    run.parameters.size_max = run.parameters.size_min;
  workload->run (&run);
  if (latency_is_on)
    latency_report (&run);
  else if (run.is_observed)
    observe_finish (&run);
  (arguments->is_json ? bench_report_json : bench_report_line) (&run);
}

static int
bench_run (int argc, char **argv)
{
  Arguments arguments = { 0 };
  const Workload *workload;
  const char *reason;

  for (int i = 1; i < argc; i++)
    {
      if (strcmp (argv[i], "--help") == 0)
        {
          usage (stdout);
          return 0;
        }
      if (!parse_argument (argv[i], &arguments))
        {
          fprintf (stderr, "slice-bench: bad argument: %s\n", argv[i]);
          return EXIT_USAGE;
        }
    }
  if (arguments.is_latency
      && (arguments.is_checked || arguments.is_histogram))
    {
      fprintf (stderr, "slice-bench: --latency goes alone\n");
      return EXIT_USAGE;
    }
  if (arguments.is_list)
    {
      list_workloads ();
      return 0;
    }
  if (arguments.workload == NULL)
    {
      usage (stderr);
      return EXIT_USAGE;
    }
  workload = workload_find (arguments.workload);
  if (workload == NULL)
    {
      fprintf (stderr, "slice-bench: no workload %s; try --list\n",
               arguments.workload);
      return EXIT_USAGE;
    }
  reason = bench_adaptor_start ();
  if (reason != NULL)
    bench_skip (reason);
  run_workload (workload, &arguments);
  return 0;
}

int
main (int argc, char **argv)
{
  int code = bench_run (argc, argv);

  /* of a write that failed before, fflush() says nothing */
  if (fflush (stdout) != 0 || ferror (stdout) != 0)
    bench_die ("the output could not be written");
  return code;
}
