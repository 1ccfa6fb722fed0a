/* source-map.h - memory from a page source, which may break its promise
 *
 * Layer: arena.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_SOURCE_SOURCE_MAP_H
#define SLI_ARENA_SOURCE_SOURCE_MAP_H

#include <slice/source.h>

/* As source->map(), but memory that is misaligned or not there is reported
 * (132) and goes back; NULL then. */
void *sli_source_map (const SliceSource *source, size_t bytes,
                      size_t alignment);

/* Reports memory that overlaps what the source gave before.  It does not go
 * back, for it is in use. */
void sli_source_report (const SliceSource *source, const void *start);

#endif
