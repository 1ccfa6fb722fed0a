/* libslice.h - everything public, over headers of one topic each
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_LIBSLICE_H
#define SLICE_LIBSLICE_H

#include <slice/version.h>
#include <slice/options.h>
#include <slice/slice.h>
#include <slice/ralloc.h>
#include <slice/arena.h>
#include <slice/hooks.h>
#include <slice/source.h>
#include <slice/stats.h>
#include <slice/walk.h>

#endif
