/* command-line.c - the options of slice-trace's commands
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "command-line.h"
#include "slice/version.h"
#include "stage-process.h"
#include "tools/trace/common/tool.h"
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OPTIONS_MAX 24
#define LONG_KEYS 256 /* and above: options without a letter */

const char *argp_program_version = "slice-trace (slice) " SLICE_VERSION_STRING;

typedef struct
{
  const CommandLine *line;
  ToolOption options[OPTIONS_MAX];
  struct argp_option shown[OPTIONS_MAX + 2];
  size_t n_options, n_shown;
  size_t n_own; /* the others are those of a trace */
  char **words;
  int n_words;
} Parsing;

void
sli_text_list_add (TextList *list, const char *text)
{
  list->items
      = sli_tool_grow (list->items, (list->n + 2) * sizeof *list->items);
  list->items[list->n++] = text;
  list->items[list->n] = NULL;
}

/* --- values -------------------------------------------------------------- */

static void __attribute__ ((noreturn))
number_refuse (struct argp_state *state, const ToolOption *option,
               const char *text)
{
  const char *kind
      = option->kind == OPTION_COUNT ? "a whole number" : "a number";
  char range[64];

  if (option->kind == OPTION_SIZE)
    {
      kind = "a size in bytes";
      snprintf (range, sizeof range, "from %.0f to %.0fM, such as 512K",
                option->low, option->high / (1 << 20));
    }
  else if (isfinite (option->high))
    snprintf (range, sizeof range, "from %.15g to %.15g", option->low,
              option->high);
  else
    snprintf (range, sizeof range, "of at least %.15g", option->low);
  if (option->name != NULL)
    argp_error (state, "--%s: '%s' is not %s %s", option->name, text, kind,
                range);
  else
    argp_error (state, "-%c: '%s' is not %s %s", option->letter, text, kind,
                range);
  exit (argp_err_exit_status);
}

/* Reads digits, with a point if that is allowed; no blanks, sign or nan. */
static double
number_read (struct argp_state *state, const ToolOption *option,
             const char *text)
{
  char *end = NULL;
  bool good = isdigit ((unsigned char) text[0])
              || (text[0] == '.' && option->kind == OPTION_REAL);
  double value;

  errno = 0;
  value = !good                          ? 0
          : option->kind == OPTION_COUNT ? (double) strtoull (text, &end, 10)
                                         : strtod (text, &end);
  if (!good || *end != '\0' || errno != 0 || value < option->low
      || value > option->high)
    number_refuse (state, option, text);
  return value;
}

/* Reads a whole number of bytes with a unit, as in SLICE_OPTIONS. */
static uint32_t
size_read (struct argp_state *state, const ToolOption *option,
           const char *text)
{
  static const struct
  {
    const char *name;
    double bytes;
  } units[] = { { "", 1 },          { "B", 1 },         { "K", 1 << 10 },
                { "k", 1 << 10 },   { "KiB", 1 << 10 }, { "M", 1 << 20 },
                { "MiB", 1 << 20 }, { "G", 1 << 30 },   { "GiB", 1 << 30 } };
  char *end = NULL;
  double value;

  errno = 0;
  value = isdigit ((unsigned char) text[0])
              ? (double) strtoull (text, &end, 10)
              : -1;
  for (size_t i = 0; end != NULL && i < sizeof units / sizeof *units; i++)
    if (strcmp (end, units[i].name) == 0)
      {
        value *= units[i].bytes;
        if (errno == 0 && value >= option->low && value <= option->high)
          return (uint32_t) value;
      }
  number_refuse (state, option, text);
}

static void
option_take (struct argp_state *state, const ToolOption *option, char *text)
{
  switch (option->kind)
    {
    case OPTION_FLAG:
      *(bool *) option->into = true;
      break;
    case OPTION_TEXT:
    case OPTION_INPUT:
    case OPTION_OUTPUT:
      *(const char **) option->into = text;
      break;
    case OPTION_TEXTS:
      sli_text_list_add (option->into, text);
      break;
    case OPTION_COUNT:
      *(uint32_t *) option->into
          = (uint32_t) number_read (state, option, text);
      break;
    case OPTION_SIZE:
      *(uint32_t *) option->into = size_read (state, option, text);
      break;
    case OPTION_REAL:
      *(double *) option->into = number_read (state, option, text);
      break;
    case OPTION_END:
      break;
    }
}

static int
key_of (const Parsing *parsing, size_t i)
{
  char letter = parsing->options[i].letter;

  return letter != 0 ? letter : (int) (LONG_KEYS + i);
}

static bool
words_fit (const CommandLine *line, int n)
{
  return line->runs
             ? n >= 1
             : (unsigned) n >= line->least && (unsigned) n <= line->most;
}

static error_t
parse (int key, char *text, struct argp_state *state)
{
  Parsing *parsing = state->input;

  if (key == ARGP_KEY_ARGS)
    {
      parsing->words = state->argv + state->next;
      parsing->n_words = state->argc - state->next;
      return 0;
    }
  for (size_t i = 0; i < parsing->n_options; i++)
    if (key == key_of (parsing, i))
      {
        const ToolOption *option = &parsing->options[i];

        option_take (state, option, text);
        if (i >= parsing->n_own)
          sli_text_list_add (&parsing->line->trace->given,
                             sli_tool_text ("--%s=%s", option->name, text));
        return 0;
      }
  if (key == ARGP_KEY_END && !words_fit (parsing->line, parsing->n_words))
    argp_error (state, "%s is wanted, not %d word%s", parsing->line->words,
                parsing->n_words, parsing->n_words == 1 ? "" : "s");
  return ARGP_ERR_UNKNOWN;
}

/* --- tables -------------------------------------------------------------- */

static void
options_add (Parsing *parsing, const ToolOption *options)
{
  for (; options != NULL && options->kind != OPTION_END; options++)
    {
      size_t i = parsing->n_options++;

      parsing->options[i] = *options;
      parsing->shown[parsing->n_shown++]
          = (struct argp_option){ .name = options->name,
                                  .key = key_of (parsing, i),
                                  .arg = options->value,
                                  .doc = options->help };
    }
}

/* --- files --------------------------------------------------------------- */

static bool
is_same_file (const char *path, const struct stat *file)
{
  struct stat status;

  return stat (path, &status) == 0 && status.st_dev == file->st_dev
         && status.st_ino == file->st_ino;
}

/* Ends the program if an output, or its name while it is written, is that
 * file. */
static void
output_differs (const ToolOption *output, const char *input)
{
  const char *path = *(const char *const *) output->into;
  struct stat file;
  char *part;

  if (path == NULL || input == NULL || stat (input, &file) != 0
      || !S_ISREG (file.st_mode))
    return;
  part = sli_file_part_name (path);
  if (is_same_file (path, &file) || is_same_file (part, &file))
    sli_tool_exit ((int) argp_err_exit_status,
                   "%s is read or run, and would be overwritten: choose "
                   "another output",
                   input);
  free (part);
}

static void
outputs_differ (const ToolOption *output, const ToolOption *other)
{
  const char *path = *(const char *const *) output->into;
  const char *other_path;

  if (other->kind != OPTION_OUTPUT || path == NULL)
    return;
  other_path = *(const char *const *) other->into;
  if (other_path != NULL && strcmp (path, other_path) == 0)
    sli_tool_exit ((int) argp_err_exit_status, "%s is the output twice", path);
}

static void
outputs_check (const Parsing *parsing)
{
  char *program = parsing->line->runs && parsing->n_words > 0
                      ? sli_program_find (parsing->words[0])
                      : NULL;

  for (size_t i = 0; i < parsing->n_options; i++)
    {
      const ToolOption *output = &parsing->options[i];

      if (output->kind != OPTION_OUTPUT)
        continue;
      for (size_t k = 0; k < i; k++)
        outputs_differ (output, &parsing->options[k]);
      output_differs (output, program);
      for (int word = 0; word < parsing->n_words && program == NULL; word++)
        output_differs (output, parsing->words[word]);
      for (size_t k = 0; k < parsing->n_options; k++)
        if (parsing->options[k].kind == OPTION_INPUT)
          output_differs (output,
                          *(const char *const *) parsing->options[k].into);
    }
  free (program);
}

static void trace_options_settle (TraceOptions *options);

void
sli_command_line (const CommandLine *line, int *argc, char ***argv)
{
  Parsing parsing = { .line = line };
  struct argp argp;

  options_add (&parsing, line->options);
  parsing.n_own = parsing.n_options;
  if (line->trace != NULL)
    {
      parsing.shown[parsing.n_shown++]
          = (struct argp_option){ .doc = "Of the commands that read a trace:",
                                  .group = 1 };
      options_add (&parsing, line->trace->table);
    }
  argp = (struct argp){ .options = parsing.shown,
                        .parser = parse,
                        .args_doc = line->words,
                        .doc = line->help };
  /* a program's own status may be 2 */
  argp_err_exit_status = line->runs ? TOOL_USAGE_RUN : TOOL_USAGE;
  argp_parse (&argp, *argc, *argv, line->runs ? ARGP_IN_ORDER : 0, NULL,
              &parsing);
  *argc = parsing.n_words;
  *argv = parsing.words != NULL ? parsing.words : *argv + *argc;
  outputs_check (&parsing);
  if (line->trace != NULL)
    trace_options_settle (line->trace);
}

/* --- options of a trace -------------------------------------------------- */

void
sli_trace_options_init (TraceOptions *options, uint32_t n_hot)
{
  ProfileOptions *profile = &options->profile;

  *options
      = (TraceOptions){ .profile = { .n_hot = n_hot,
                                     .to_time = INFINITY,
                                     .chosen_time = -1 },
                        .table = {
                            OPTION (TEXTS, "wrapper", 0, &options->wrappers,
                                    "REGEX",
                                    "Functions that match count as "
                                    "allocators and are left out of "
                                    "sites; may be repeated"),
                            OPTION (TEXTS, "own", 0, &options->own, "REGEX",
                                    "Modules that match belong to the "
                                    "program; may be repeated"),
                            OPTION (TEXTS, "set", 0, &options->thresholds,
                                    "NAME=VALUE",
                                    "Change a threshold (patterns "
                                    "--thresholds shows them)"),
                            { OPTION_COUNT, "context", 0, &options->depth, "N",
                              "Use a fixed depth of sites instead of the "
                              "adaptive one",
                              1, SITE_DEPTH_MAX },
                            { OPTION_COUNT, "hot", 0, &profile->n_hot, "N",
                              "Sites with pictures and callers", 0,
                              UINT32_MAX },
                            { OPTION_REAL, "from", 0, &profile->from_time,
                              "SECONDS", "Leave out earlier events", 0,
                              INFINITY },
                            { OPTION_REAL, "to", 0, &profile->to_time,
                              "SECONDS", "Leave out later events", 0,
                              INFINITY },
                            { OPTION_REAL, "at", 0, &profile->chosen_time,
                              "SECONDS", "Draw a flame graph of this moment",
                              0, INFINITY },
                        } };
}

static void
thresholds_set (const TextList *list)
{
  for (size_t i = 0; i < list->n; i++)
    {
      const char *value = strchr (list->items[i], '=');
      char *end = NULL;
      double number = value == NULL ? 0 : strtod (value + 1, &end);

      if (value == NULL || end == value + 1 || *end != '\0'
          || !isfinite (number))
        sli_tool_exit (argp_err_exit_status, "--set: '%s' is not NAME=NUMBER",
                       list->items[i]);
      if (!sli_threshold_set (list->items[i]))
        sli_tool_exit (argp_err_exit_status, "--set: no threshold %.*s",
                       (int) (value - list->items[i]), list->items[i]);
    }
}

static int
text_compare (const void *a, const void *b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* The options that decide the sites, sorted. */
static const char *const *
given_sorted (const TextList *given)
{
  TextList list = { 0 };

  for (size_t i = 0; i < given->n; i++)
    if (strncmp (given->items[i], "--hot=", 6) != 0
        && strncmp (given->items[i], "--at=", 5) != 0)
      sli_text_list_add (&list, given->items[i]);
  if (list.n > 0)
    qsort (list.items, list.n, sizeof *list.items, text_compare);
  return list.items;
}

static void
trace_options_settle (TraceOptions *options)
{
  ProfileOptions *profile = &options->profile;

  profile->wrappers = options->wrappers.items;
  profile->own = options->own.items;
  profile->fixed_depth = options->depth;
  profile->given = given_sorted (&options->given);
  if (profile->to_time <= profile->from_time)
    sli_tool_exit (argp_err_exit_status, "--to %g is not after --from %g",
                   profile->to_time, profile->from_time);
  thresholds_set (&options->thresholds);
}
