/* stage-process.h - programs, and the stages of run and time, each a process
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMAND_STAGE_PROCESS_H
#define SLI_TRACE_COMMAND_STAGE_PROCESS_H

#include <stdbool.h>

/* The path where execvp() finds the program; its name if it does not.  The
 * caller frees it. */
char *sli_program_find (const char *name);

/* Runs slice-trace with these arguments, ended by NULL, and returns its
 * status.  A stage is a process, which frees its memory by ending.
 *
 * what  its name, for messages on stderr
 *
 * The caller catches the signals that end this process, and the stage gets
 * them (sli_signals_begin() or sli_signals_watch(), then sli_signals_end()).
 */
int sli_stage_execute (const char *what, char *const *arguments);

/* The arguments of `record', then the program's; free() frees the array.
 *
 * trace  the file
 * timed  measure each call, and the program without the recorder
 */
char **sli_record_arguments (const char *trace, bool timed, char **program);

#endif
