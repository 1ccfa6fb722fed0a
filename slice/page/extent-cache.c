/* extent-cache.c - the first extents, for those who look addresses up
 *
 * Layer: page.  Written by the page floor, under its lock.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "extent-cache.h"

CachedExtent sli_extent_cache[CACHED_EXTENTS];
