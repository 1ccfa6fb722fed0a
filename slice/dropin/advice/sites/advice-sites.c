/* advice-sites.c - which site a call comes from
 *
 * Layer: dropin.  The advice has offsets in modules.  When modules are loaded,
 * these become addresses, in a hash table from parent and address to node.
 * A new table replaces the old one a few times in a run.  The old one is never
 * freed, since readers have no lock.
 *
 * A module may be loaded after the modules that it calls.  So an outer address
 * of a stack may be unknown although the inner ones are known.
 *
 * A wrong match would cost memory only: free() does not depend on sites.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "config.h"

#include "advice-modules.h"
#include "advice-sites.h"

#include <string.h>
#include <sys/mman.h>

uint64_t sli_sites_cache[1 << SITES_CACHE_BITS];
bool sli_sites_filter[SITES_FILTER_SIZE];

typedef struct
{
  size_t n_slots; /* a power of two */
  uint16_t nodes[];
} EdgeTable;

static struct
{
  Advice *advice;
  EdgeTable *table; /* NULL: none yet */
  uint32_t is_busy; /* a thread is renewing it */
  /* as sli_sites_filter, for the frames further out */
  bool outer_filter[SITES_FILTER_SIZE];
} sites;

/* --- the table ----------------------------------------------------------- */

static inline size_t
edge_home (const EdgeTable *table, unsigned parent, uint64_t pc)
{
  uint64_t key = pc ^ (uint64_t) parent << 48;

  return (size_t) (key * SITES_HASH >> 32) & (table->n_slots - 1);
}

/* The child of a node with this address; 0: none. */
static inline unsigned
edge_find (const EdgeTable *table, unsigned parent, uint64_t pc)
{
  size_t at = edge_home (table, parent, pc);
  unsigned node;

  for (; (node = table->nodes[at]) != 0; at = (at + 1) & (table->n_slots - 1))
    if (sites.advice->nodes[node].parent == parent
        && LOAD (&sites.advice->nodes[node].pc) == pc)
      break;
  return node;
}

static void
edge_add (EdgeTable *table, unsigned node)
{
  const AdviceNode *added = &sites.advice->nodes[node];
  size_t at = edge_home (table, added->parent, added->pc);

  while (table->nodes[at] != 0)
    at = (at + 1) & (table->n_slots - 1);
  table->nodes[at] = (uint16_t) node;
}

static void
cache_clear (void)
{
  for (size_t i = 0; i < 1 << SITES_CACHE_BITS; i++)
    STORE (&sli_sites_cache[i], 0);
}

/* Sets the addresses of the nodes, and replaces the table. */
static void
table_make (void)
{
  Advice *advice = sites.advice;
  size_t n_slots = 16;
  EdgeTable *table;
  bool is_first;

  while (n_slots < 2 * (size_t) advice->n_nodes)
    n_slots *= 2;
  table = mmap (NULL, sizeof *table + n_slots * sizeof table->nodes[0],
                PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (table == MAP_FAILED)
    return;
  table->n_slots = n_slots;
  for (unsigned i = 1; i < advice->n_nodes; i++)
    {
      uint64_t bias;
      bool loaded = sli_advice_module_bias (advice->nodes[i].module, &bias);

      STORE (&advice->nodes[i].pc,
             loaded ? bias + advice->nodes[i].offset : 0);
      if (loaded)
        edge_add (table, i);
    }
  is_first = sites.table == NULL;
  STORE_RELEASE (&sites.table, table);
  if (!is_first)
    cache_clear ();
}

/* Renews the table if modules were loaded or unloaded; false: another thread is
 * doing so. */
static bool
sites_renew (void)
{
  uint32_t is_busy = 0;

  if (!__atomic_compare_exchange_n (&sites.is_busy, &is_busy, 1, false,
                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return false;
  /* The scan takes the loader's lock, whose holder may call malloc.  So no
   * thread may wait here. */
  if (sli_advice_modules_scan ())
    table_make ();
  STORE_RELEASE (&sites.is_busy, 0);
  return true;
}

/* --- lookups ------------------------------------------------------------- */

NOINLINE unsigned
sli_sites_miss (uintptr_t pc)
{
  const EdgeTable *table;
  uint64_t entry;

  if (LOAD_ACQUIRE (&sites.table) == NULL
      || (!sli_advice_module_has (pc) && !sites_renew ()))
    return 0;
  table = LOAD_ACQUIRE (&sites.table);
  entry = edge_find (table, 0, pc);
  STORE (&sli_sites_cache[sites_home (pc)],
         (uint64_t) pc << SITES_NODE_BITS | entry);
  return (unsigned) entry;
}

/* The child of a node for an address that the table does not have: its module
 * may have been loaded since.  The cache has the addresses whose module is
 * known. */
static NOINLINE unsigned
outer_miss (const EdgeTable **table, unsigned parent, uintptr_t pc)
{
  const EdgeTable *before = *table;

  sites_node ((const void *) pc);
  *table = LOAD_ACQUIRE (&sites.table);
  return *table == before ? 0 : edge_find (*table, parent, pc);
}

unsigned
sli_sites_find (unsigned node, const char *frame)
{
  const EdgeTable *table = LOAD_ACQUIRE (&sites.table);
  unsigned site = 0;

  while (node != 0)
    {
      const AdviceNode *at = &sites.advice->nodes[node];
      unsigned parent = node;
      uintptr_t outer;

      if (at->site != 0)
        site = at->site;
      if (at->outer_at == 0)
        break;
      memcpy (&outer, frame + at->outer_at - sizeof outer, sizeof outer);
      node = edge_find (table, parent, outer);
      if (node == 0 && sites.outer_filter[outer % SITES_FILTER_SIZE])
        node = outer_miss (&table, parent, outer);
    }
  return site;
}

void
sli_sites_begin (Advice *advice, const char *path)
{
  sites.advice = advice;
  sli_advice_modules_begin (advice, path);
  for (unsigned i = 1; i < advice->n_nodes; i++)
    STORE (&(advice->nodes[i].parent == 0
                 ? sli_sites_filter
                 : sites.outer_filter)[advice->nodes[i].offset
                                       % SITES_FILTER_SIZE],
           true);
  sites_renew ();
}

void
sli_sites_renew (void)
{
  if (LOAD_ACQUIRE (&sites.table) == NULL)
    return;
  sites_renew ();
  /* The cache may say that an address leads to no advice, where another module
   * lies now. */
  cache_clear ();
}

/* A module of the stack that ends at a node, which was never loaded; or
 * NULL. */
static const AdviceModule *
path_missing (unsigned node)
{
  const Advice *advice = sites.advice;

  for (; node != 0; node = advice->nodes[node].parent)
    if (!sli_advice_module_was (advice->nodes[node].module))
      return &advice->modules[advice->nodes[node].module];
  return NULL;
}

const AdviceModule *
sli_sites_missing (unsigned site)
{
  const AdviceModule *missing = NULL;

  for (unsigned i = 1; i < sites.advice->n_nodes; i++)
    if (sites.advice->nodes[i].site == site + 1)
      {
        missing = path_missing (i);
        if (missing == NULL)
          break;
      }
  return missing;
}

void
sli_sites_fork (void)
{
  STORE (&sites.is_busy, 0);
}
