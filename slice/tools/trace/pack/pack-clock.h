/* pack-clock.h - measures the clock of the events
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_PACK_PACK_CLOCK_H
#define SLI_TRACE_PACK_PACK_CLOCK_H

#include "spool.h"
#include <stdint.h>

/* The counter's rate, by the system's clock. */
uint64_t sli_pack_ticks_per_sec (const SpoolHead *head);
/* The ticks of an empty measurement of the recorder. */
uint32_t sli_pack_empty_cost (void);

#endif
