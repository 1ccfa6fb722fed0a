/* exit-link.c - what happens at exit comes with the archive
 *
 * Layer: alloc.  A program with libslice.a gets those files of the archive that
 * others refer to.  No call leads to observe/dump.c, whose destructor does what
 * SLICE_OPTIONS asks for at exit.  So alloc/dispatch.c, which each program has,
 * refers to this file, and this file refers to observe/dump.c.
 *
 * The latter reference may stay undefined, because tests link the layers up to
 * alloc without observe.  Only the assembler can say so, and a link-time
 * optimiser does not see what the assembler says.  So this file is compiled
 * without that optimiser (slice/local.mk).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "dispatch.h"
#include "port/compiler.h"

LINK_WITH (sli_dump_linked);

const char sli_exit_link = 0;
