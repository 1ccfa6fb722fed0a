/* ralloc.h - stands in for Mesa 26.1's src/util/ralloc.h
 *
 * SPDX-License-Identifier: MIT
 */
#define SLICE_MESA_VERSION 2601
#include "../../mesa-ralloc.h"
