/* exit-link.c - what happens at exit comes with the archive
 *
 * Layer: alloc.  A program with libslice.a gets the files of the archive that
 * others refer to.  No call leads to observe/dump.c, whose destructor does what
 * SLICE_OPTIONS asks for at exit.  So alloc/dispatch.c, which each program has,
 * refers to this file, and this one to that: by a name alone, which may be
 * undefined, since programs of the layers below link, too.  C has no way to say
 * that, and a link-time optimiser does not see the assembler's.  So this file
 * is compiled without one (slice/local.mk).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "dispatch.h"
#include "port/compiler.h"

LINK_WITH (sli_dump_linked);

const char sli_exit_link = 0;
