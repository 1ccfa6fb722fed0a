/* frames.h - how large a frame is at a call
 *
 * Tools.  Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_SITES_FRAMES_H
#define SLI_TRACE_SITES_FRAMES_H

#include "symbols.h"

/* By the module's unwind table, at a return address: the bytes from the stack
 * pointer to the frame's end, and where the function's own return address ends,
 * from there.  False: the frame has no fixed size, or there is no table. */
bool sli_frame_find (Symbols *symbols, uint64_t pc, uint64_t *bytes,
                     int64_t *return_end);

#endif
