/* advice-sites.h - which site a call comes from
 *
 * Layer: dropin.  A site is found by the return address and, if it needs them,
 * by the return addresses of the frames around.  A node of the advice's tree is
 * found by its parent and its address.
 *
 * Locks: none.  A thread that finds the table of modules out of date renews
 * it, unless another thread is doing so; then it goes on without advice.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_ADVICE_SITES_H
#define SLI_DROPIN_ADVICE_SITES_H

#include "dropin/advice/advice.h"

#include "port/compiler.h"

enum
{
  SITES_CACHE_BITS = 13,
  SITES_NODE_BITS = 16,
  SITES_FILTER_SIZE = 4096 /* the least size of a page */
};

/* Says whether advice may begin at an address, by the offset in its page.  The
 * offset is the same wherever a module lies, so the answer is right before the
 * module is known. */
extern bool sli_sites_filter[SITES_FILTER_SIZE]
    __attribute__ ((visibility ("hidden")));

static ALWAYS_INLINE bool
sites_may_have (const void *return_address)
{
  return sli_sites_filter[(uintptr_t) return_address % SITES_FILTER_SIZE];
}

/* The nodes to which callers of malloc lead: the address in the upper bits, the
 * node in the lower ones; node 0: there is no advice. */
extern uint64_t sli_sites_cache[1 << SITES_CACHE_BITS]
    __attribute__ ((visibility ("hidden")));

/* The golden ratio: its products mix the upper bits (Knuth, volume 3, 6.4). */
#define SITES_HASH UINT64_C (0x9E3779B97F4A7C15)

static inline size_t
sites_home (uint64_t pc)
{
  return (size_t) (pc * SITES_HASH >> (64 - SITES_CACHE_BITS));
}

/* Looks up an address that is not in the cache, and puts it there. */
unsigned sli_sites_miss (uintptr_t pc);

/* The node of a call from an address; 0: no advice begins there. */
static ALWAYS_INLINE unsigned
sites_node (const void *return_address)
{
  uint64_t pc = (uintptr_t) return_address;
  uint64_t entry = LOAD (&sli_sites_cache[sites_home (pc)]);

  return LIKELY (entry >> SITES_NODE_BITS == pc)
             ? (unsigned) (entry & ((1 << SITES_NODE_BITS) - 1))
             : sli_sites_miss ((uintptr_t) pc);
}

/* The site of a stack that begins with a node, plus 1; 0: none.
 *
 * frame  the stack pointer of malloc's caller after the call
 */
unsigned sli_sites_find (unsigned node, const char *frame);

/* A module that was never loaded, without which the site can't be found; NULL:
 * there is none. */
const AdviceModule *sli_sites_missing (unsigned site);

/* Takes the advice of a file; `path' is for messages. */
void sli_sites_begin (Advice *advice, const char *path);
/* Called when another module may have come to the addresses of one. */
void sli_sites_renew (void);
/* Called in the child of a fork(), where no other thread renews the table. */
void sli_sites_fork (void);

#endif
