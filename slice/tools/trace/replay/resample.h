/* resample.h - finds out whether two series of measurements differ
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_REPLAY_RESAMPLE_H
#define SLI_TRACE_REPLAY_RESAMPLE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct
{
  double ratio, low, high; /* of the means, with its 95 % interval */
  bool significant;        /* 1 is not in between */
} Resampled;

double sli_mean (const double *values, size_t n);
double sli_deviation (const double *values, size_t n);
Resampled sli_resample (const double *before, const double *after, size_t n);

#endif
