/* contestant-slice.h - what the slice contestants share
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STRESS_CONTESTANT_SLICE_H
#define STRESS_CONTESTANT_SLICE_H

#include <tests/stress/stress.h>

/* Sets the library's options; NULL, or what was refused. */
const char *slice_prepare (const Options *options);

#endif
