/* source-map.h - memory from a page source, which may break its promise
 *
 * Layer: arena.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_SOURCE_SOURCE_MAP_H
#define SLI_ARENA_SOURCE_SOURCE_MAP_H

#include <slice/source.h>

/* As source->map(), but reports memory that is misaligned or not mapped (132),
 * returns it to the source, and returns NULL. */
void *sli_source_map (const SliceSource *source, size_t bytes,
                      size_t alignment);

/* Reports memory that overlaps memory which the source returned before.  Does
 * not return it to the source, since it is in use. */
void sli_source_report (const SliceSource *source, const void *start);

#endif
