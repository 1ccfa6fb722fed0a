/* ralloc.h - stands in for Mesa 22.3's src/util/ralloc.h
 *
 * SPDX-License-Identifier: MIT
 */
#define SLICE_MESA_VERSION 2203
#include "../../mesa-ralloc.h"
