/* classify-numbers.h - shared by the numbers and the decision list
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_ANALYSE_CLASSIFY_NUMBERS_H
#define SLI_TRACE_ANALYSE_CLASSIFY_NUMBERS_H

#include "classify.h"

/* Fills the verdict's numbers, its owner and its scope. */
void sli_numbers_read (const SiteStats *stats, double share, Verdict *verdict);
/* The waste up to which an arena is good. */
double sli_threshold_waste (void);

#endif
