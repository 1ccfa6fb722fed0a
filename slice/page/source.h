/* source.h - the built-in sources of pages (core's own view)
 *
 * Layer: page.  The public part is <slice/source.h>.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_SOURCE_H
#define SLI_PAGE_SOURCE_H

#include <slice/source.h>

/* The source that the options name; the nearest one that this system has. */
const SliceSource *sli_source_in_force (void);

#endif
