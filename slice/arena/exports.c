/* exports.c - the inline functions of the arenas, exported
 *
 * Layer: arena.  For callers that take the address of a function, are built
 * without optimisation or are written in another language.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/slice.h>

#define SLICE_ARENA_DEFINE_EXPORTS
#include <slice/arena.h>
#include <slice/tlsf.h>
