/* own-extent.c - the first extents, for those who look addresses up
 *
 * Floor 1 (base).  Written by the page floor, under its lock.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "own-extent.h"

OwnExtent sli_own_extents[OWN_EXTENTS];
