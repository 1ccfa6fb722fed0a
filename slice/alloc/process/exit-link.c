/* exit-link.c - links what runs at exit into programs with libslice.a
 *
 * Layer: alloc.  The linker takes those files of an archive to which others
 * refer.  No call leads to observe/dump.c, whose destructor does what
 * SLICE_OPTIONS selects for the exit.  So alloc/dispatch.c, which is in each
 * program, refers to this file, and this file refers to observe/dump.c.
 *
 * The latter reference may stay undefined, because tests link the layers up to
 * alloc without observe.  Only assembler code can express that, and a link-time
 * optimiser does not read it.  So this file is compiled without that optimiser
 * (slice/local.mk).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "alloc/dispatch.h"
#include "port/compiler.h"

LINK_WITH (sli_dump_linked);

const char sli_exit_link = 0;
