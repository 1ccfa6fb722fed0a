/* record-parts.h - what `record' needs around the program that it starts
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMAND_RECORD_PARTS_H
#define SLI_TRACE_COMMAND_RECORD_PARTS_H

#include <stdint.h>
#include <sys/types.h>

/* Makes the spool's directory, locked as long as this process lives, and
 * removes those of launchers that were killed; or ends the program.  The
 * caller frees the path. */
char *sli_spool_make (void);

/* The processor's time, in nanoseconds, of the program that is run once more,
 * unrecorded and unheard; 0 if it does not end as it did.
 *
 * status  how it ended, as wait() gives it
 * offset  where its standard input began, if that is a file; else -1
 */
uint64_t sli_plain_run (char **argv, int status, off_t offset);

#endif
