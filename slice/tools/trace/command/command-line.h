/* command-line.h - the options of slice-trace's commands
 *
 * Tools.  A command describes its options in a table and parses them with one
 * call, by argp: all commands have --help, --usage and --version, numbers are
 * checked, and an error ends the program with a line that names the option.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMAND_COMMAND_LINE_H
#define SLI_TRACE_COMMAND_COMMAND_LINE_H

#include "tools/trace/profile/profile.h"

typedef struct
{
  const char **items; /* ended by NULL; NULL if there are none */
  size_t n;
} TextList;

typedef enum
{
  OPTION_END,
  OPTION_FLAG,  /* into a bool */
  OPTION_TEXT,  /* into a const char * */
  OPTION_INPUT, /* the same: a file that is read */
  OPTION_OUTPUT, /* the same: a file that is written, "-" or NULL */
  OPTION_TEXTS, /* into a TextList: may be repeated */
  OPTION_COUNT, /* into a uint32_t, from low to high */
  OPTION_SIZE,  /* the same in bytes, perhaps with K, M or G */
  OPTION_REAL   /* into a double, from low to high */
} OptionKind;

typedef struct
{
  OptionKind kind;
  const char *name;         /* the long one, or NULL */
  char letter;              /* the short one, or 0 */
  void *into;               /* keeps its value if the option is not given */
  const char *value, *help; /* as --help shows them */
  double low, high;         /* of numbers */
} ToolOption;

/* An option that is no number. */
#define OPTION(kind, ...)                                                     \
 {                                                                            \
  OPTION_##kind, __VA_ARGS__, 0, 0                                            \
 }

/* Options of the commands that make sites of a trace. */
typedef struct
{
  TextList wrappers, own, thresholds;
  TextList given; /* all of them, as arguments for another command */
  uint32_t depth;
  ProfileOptions profile; /* after the parsing */
  ToolOption table[10];
} TraceOptions;

typedef struct
{
  const char *words, *help; /* as --help shows them; words are files that are
                             * read, or a program */
  const ToolOption *options;
  TraceOptions *trace;  /* theirs as well; or NULL */
  bool runs;            /* the words are a program and its arguments; options
                         * end at the first word, as in env(1) */
  unsigned least, most; /* words, else */
} CommandLine;

/* Removes the options from the arguments, the first of which is the command's
 * name, and leaves the words; or ends the program, also if it would write to
 * what it reads or runs. */
void sli_command_line (const CommandLine *line, int *argc, char ***argv);

/* Sets the defaults, before the parsing.
 *
 * n_hot  sites with pictures
 */
void sli_trace_options_init (TraceOptions *options, uint32_t n_hot);
void sli_text_list_add (TextList *list, const char *text);

#endif
