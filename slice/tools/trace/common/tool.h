/* tool.h - slice-trace: shared by its commands
 *
 * Tools.  Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMON_TOOL_H
#define SLI_TRACE_COMMON_TOOL_H

#include <regex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Exit codes, as slice-trace(1) gives them. */
enum
{
  TOOL_OK = 0,
  TOOL_DIFFERS = 1,   /* diff and compare: the inputs differ markedly */
  TOOL_NO_EVENTS = 3, /* nothing was recorded */
  TOOL_BAD_INPUT = 4, /* a file is not what it should be */
  TOOL_USAGE = 2,
  TOOL_FAILED = 124,    /* the system refused something */
  TOOL_USAGE_RUN = 125, /* of a command that runs a program */
  TOOL_NOT_RUN = 126,   /* the program could not be run */
  TOOL_NOT_FOUND = 127
};

#define TOOL_PRINTF(f, a) __attribute__ ((format (printf, f, a)))

/* One line on standard error, after "slice-trace: ". */
void sli_tool_say (const char *format, ...) TOOL_PRINTF (1, 2);
/* The same, and exit with sli_tool_status(). */
void sli_tool_exit (int code, const char *format, ...) TOOL_PRINTF (2, 3)
    __attribute__ ((noreturn));
/* Notes that an input was damaged.  The command shows the rest of it, and its
 * exit status says so. */
void sli_tool_bad_input (void);
/* A command's exit status, after that: a damaged input comes before "nothing
 * was recorded", since what is missing may have been in the damaged part. */
int sli_tool_status (int code);

/* Allocate memory, or end the program. */
void *sli_tool_alloc (size_t n_bytes);
void *sli_tool_zero (size_t n_bytes);
void *sli_tool_grow (void *block, size_t n_bytes);
char *sli_tool_text (const char *format, ...) TOOL_PRINTF (1, 2);
/* Compiles an extended regular expression, of which no parts are asked for, or
 * ends the program. */
void sli_tool_expression (regex_t *compiled, const char *expression);

/* Progress: a line that is rewritten on a terminal; elsewhere a line every half
 * second, if SLICE_TRACE_PROGRESS is set. */
typedef struct
{
  const char *what;
  uint64_t total;   /* bytes; 0 if not known */
  double start_sec; /* of the clock */
  double shown_sec;
  bool terminal, wanted;
} Progress;

void sli_progress_begin (Progress *progress, const char *what, uint64_t total);
void sli_progress_step (Progress *progress, uint64_t bytes, uint64_t events);
void sli_progress_end (Progress *progress);
double sli_tool_seconds (void);
/* Returns true if the process exists and has not ended. */
bool sli_tool_process_lives (pid_t pid);

/* While a program runs, Ctrl-C and Ctrl-\\ are ignored, since the terminal
 * sends them to the program as well; other signals that would end us are
 * passed on to it.  The child calls sli_signals_end() before it starts the
 * program. */
void sli_signals_begin (void);
/* The same for a program that has to know of Ctrl-C: that is noted.  A signal
 * that is ignored stays so. */
void sli_signals_watch (void);
/* From now on each of the signals is only noted. */
void sli_signals_note (void);
/* The signal that was noted or passed on; 0 if none was. */
int sli_signals_came (void);
void sli_signals_child (pid_t pid);
void sli_signals_end (void);

/* A file written under another name and moved when it is whole. */
FILE *sli_file_begin (const char *path);
/* Returns true if the path is a file or does not exist: no device, directory
 * or pipe. */
bool sli_file_is_plain (const char *path);
bool sli_output_end (void); /* of stdout: false, and said, if it failed */
bool sli_file_end (FILE *file, const char *path);
/* The name of a file while it is written; the caller frees it. */
char *sli_file_part_name (const char *path);
char *sli_file_read (const char *path, size_t *n_bytes);
/* Ends the program if such a file can't be written; called before long
 * work. */
void sli_file_check (const char *path);
/* A file that has no name any more; it stays open over exec. */
int sli_file_unnamed (void);

#endif
