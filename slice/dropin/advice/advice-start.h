/* advice-start.h - the advice that this process follows
 *
 * Layer: dropin.  Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_ADVICE_START_H
#define SLI_DROPIN_ADVICE_START_H

#include "dropin/advice/advice-region.h"
#include "dropin/advice/advice-sites.h"
#include "dropin/malloc-next.h"

#include <slice/address.h>
#include <slice/heap.h>

extern Advice sli_advice __attribute__ ((visibility ("hidden")));
/* Some site's blocks are slices. */
extern bool sli_advice_has_slices __attribute__ ((visibility ("hidden")));

/* Serves a call whose stack begins with a node; NULL: the next malloc is to.
 * frame: the stack pointer of the caller, after the call. */
void *sli_advice_alloc (unsigned node, const char *frame, size_t size);

/* Serves the call of the function that contains this; NULL: no advice. */
#define ADVICE_ALLOC(size)                                                    \
  __extension__ ({                                                            \
    unsigned node_ = sites_node (__builtin_return_address (0));               \
    LIKELY (node_ == 0)                                                       \
        ? NULL                                                                \
        : sli_advice_alloc (node_, __builtin_dwarf_cfa (), (size));           \
  })

#endif
