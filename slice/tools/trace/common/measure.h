/* measure.h - runs a command and measures what it uses
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMON_MEASURE_H
#define SLI_TRACE_COMMON_MEASURE_H

typedef struct
{
  double cpu_sec;
  double rss_kib; /* the peak */
} Measured;

/* Runs a command of the shell, without its standard output.  If it does not
 * succeed, the tool ends with a message.
 *
 * prepare  is called in the child before, with data; NULL: nothing is
 */
Measured sli_measure (const char *command, void (*prepare) (const void *data),
                      const void *data);

#endif
