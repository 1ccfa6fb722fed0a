/* frames.h - how large a frame is at a call
 *
 * Tools.  Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_SITES_FRAMES_H
#define SLI_TRACE_SITES_FRAMES_H

#include "symbols.h"

/* Reads the unwind table of a return address's module.  False: the frame has no
 * fixed size, or there is no table.
 *
 * bytes       from the stack pointer to the end of the frame
 * return_end  from the end of the frame to the end of the word that holds the
 *             function's own return address
 */
bool sli_frame_find (Symbols *symbols, uint64_t pc, uint64_t *bytes,
                     int64_t *return_end);

#endif
