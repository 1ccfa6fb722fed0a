/* advice-start.h - the advice that this process follows
 *
 * Layer: dropin.  Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_ADVICE_START_H
#define SLI_DROPIN_ADVICE_START_H

#include "dropin/advice/memory/advice-region.h"
#include "dropin/advice/sites/advice-sites.h"
#include "dropin/malloc/malloc-next.h"

#include <slice/address.h>
#include <slice/heap.h>

extern Advice sli_advice __attribute__ ((visibility ("hidden")));
/* True if the blocks of some site are slices. */
extern bool sli_advice_has_slices __attribute__ ((visibility ("hidden")));

/* Frees a block of no region: a slice, or the next malloc's. */
extern void (*sli_advice_free_rest) (void *block)
    __attribute__ ((visibility ("hidden")));

/* Serves a call that may have advice; NULL: the next malloc must serve it.
 *
 * pc     the return address
 * frame  the stack pointer of the caller, after the call
 */
void *sli_advice_alloc (const void *pc, const char *frame, size_t size);
/* The same, but calls the next malloc instead of returning NULL. */
void *sli_advice_malloc (const void *pc, const char *frame, size_t size);

/* True if the call of the function that contains this may have advice. */
#define ADVICE_MAY_HAVE() sites_may_have (__builtin_return_address (0))
/* Serves such a call; NULL: there is no advice for it. */
#define ADVICE_ALLOC(size)                                                    \
  sli_advice_alloc (__builtin_return_address (0), __builtin_dwarf_cfa (),     \
                    (size))

/* Serves a call of malloc, or of a function that does the same. */
#define ADVICE_MALLOC(size)                                                   \
  (LIKELY (!ADVICE_MAY_HAVE ())                                               \
       ? LOAD (&sli_next.malloc) (size)                                       \
       : sli_advice_malloc (__builtin_return_address (0),                     \
                            __builtin_dwarf_cfa (), (size)))

#endif
