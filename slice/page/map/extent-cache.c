/* extent-cache.c - the first extents, for fast lookups of addresses
 *
 * Layer: page.  Written by extent.c, under the page lock.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "extent-cache.h"

CachedExtent sli_extent_cache[CACHED_EXTENTS];
