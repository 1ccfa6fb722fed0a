/* record-parts.h - parts of `record' around the program that it starts
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMAND_RECORD_PARTS_H
#define SLI_TRACE_COMMAND_RECORD_PARTS_H

#include <stdint.h>
#include <sys/types.h>

/* Makes the spool's directory, which is locked as long as this process lives,
 * and removes those of killed launchers; or ends the program.  The caller
 * frees the path. */
char *sli_spool_make (void);
/* Makes a directory for the files by which processes are woken; they remove it.
 * Removes those of killed processes; or ends the program.  The caller frees
 * the path. */
char *sli_asleep_make (void);
/* Removes it, and what is in it; opens no file. */
void sli_spool_remove (const char *path);

/* Runs the program once more, without the recorder and its output.  Returns
 * its processor time in nanoseconds; 0 if it ends in another way than before.
 *
 * status  how it ended, as wait() gives it
 * offset  where its standard input began, if that is a file; else -1
 */
uint64_t sli_plain_run (char **argv, int status, off_t offset);

#endif
