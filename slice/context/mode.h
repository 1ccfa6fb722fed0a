/* mode.h - the mode of all contexts, decided once
 *
 * Layer: context.  No locks: the mode is set before the first node.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_MODE_H
#define SLI_CONTEXT_MODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slice/slice.h>

#include "base/align.h"
#include "port/compiler.h"

enum
{
  MODE_TRAILING_HEADER = 1, /* header behind the payload */
  MODE_DEBUG = 2,           /* finds two threads at a node; notes file and
                               line */
  MODE_ROOTS = 4,           /* keep a list of roots */
  MODE_BULK = 8, /* blocks are checked or have canaries: only slice_free_bulk()
                    frees them */
  MODE_TRACED = 16, /* hooks see every node; objects of linear and gc contexts
                       are nodes, too */
  MODE_SLACK = 32,  /* bytes behind a payload are checked: see slack.c */
  MODE_REMEMBERED = 64, /* with MODE_TRAILING_HEADER: a checking mode remembers
                           every node */
  MODE_UNDECIDED = 128, /* alone, until the first root or the first check of a
                           pointer: the process has no nodes yet */
  MODE_END = 256 /* above all modes */
};

/* Any bit set sends every call out of its fast path.  (Declared hidden, so
 * that code compares it in memory, without the global offset table.) */
extern uint32_t sli_context_mode __attribute__ ((visibility ("hidden")));

/* Not 0: frees and steals leave their fast path.  It is the modes, plus
 * MODE_END for each walk, of any thread, that is suspended in user code. */
extern uint32_t sli_context_unusual __attribute__ ((visibility ("hidden")));

static inline bool
context_is_usual (void)
{
  return LIKELY (LOAD (&sli_context_unusual) == 0);
}

/* Sets modes once the mode is decided, or clears them. */
void sli_context_set_modes (uint32_t modes, bool on);

/* Decides the mode, once; cheap afterwards.  False: there is no memory to find
 * out. */
bool sli_context_init (void);

#endif
