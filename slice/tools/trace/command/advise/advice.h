/* advice.h - what to change at each site, and what that saves
 *
 * Tools.  advice.c finds it, advice-worth.c leaves out what is too small,
 * advice-write.c writes it, command-advise.c is the command.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMAND_ADVICE_H
#define SLI_TRACE_COMMAND_ADVICE_H

#include "tools/trace/common/stage/json.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define INPUTS_MAX 16

typedef struct
{
  JsonValue *inputs[INPUTS_MAX];
  size_t n_inputs;
  JsonValue *times, *replay;
  const char *output;
  bool text;
} Advise;

typedef struct
{
  const JsonValue *site, *replayed;
  const char *class;
  double nsec;              /* in the program, or in the replay of malloc */
  double low, high;         /* saved */
  double most;              /* that malloc takes, there or here */
  double warm, cold, visit; /* parts of that, by the program's own time */
  double memory_before, memory_after;
  bool stable;
  const char *verdict; /* "do", or why not */
} Advice;

/* --- advice.c --- */

/* Makes the advice for a site from the runs, the program's times and the
 * replay. */
Advice sli_advice_make (const Advise *advise, const JsonValue *site);
/* Finds the site in another run by its key, or by its innermost frame if that
 * run was split in another way; or NULL. */
const JsonValue *sli_site_elsewhere (const JsonValue *document,
                                     const JsonValue *site);
/* The nanoseconds that all advice saves together; 0 and 0 if there is none. */
void sli_advice_total (const Advise *advise, const Advice *advices, size_t n,
                       double *low, double *high);

/* --- advice-worth.c --- */

/* The CPU time of the process without a recorder; 0: not known. */
double sli_advice_process_nsec (const Advise *advise);
/* Changes the verdict of sites whose change saves next to nothing. */
void sli_advice_settle (const Advise *advise, Advice *advices, size_t n);
/* Says in words what is not listed, or why nothing is; "": nothing to say.  The
 * caller frees it. */
char *sli_advice_summary (const Advise *advise, const Advice *advices,
                          size_t n, double allocator_nsec);

/* --- advice-write.c --- */

/* Writes the document's contents as JSON. */
void sli_advice_write (JsonOut *out, const Advise *advise,
                       const Advice *advices, size_t n);
/* Prints the advice as text on standard output. */
void sli_advice_print (const Advise *advise, const Advice *advices, size_t n);

#endif
