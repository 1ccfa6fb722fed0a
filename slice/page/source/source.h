/* source.h - the source of pages in use
 *
 * Layer: page.  The public part is <slice/source.h>.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_SOURCE_SOURCE_H
#define SLI_PAGE_SOURCE_SOURCE_H

#include <slice/source.h>

/* The source that the options name; only after sli_option_freeze(). */
const SliceSource *sli_source_in_force (void);

#endif
