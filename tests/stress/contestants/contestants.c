/* contestants.c - the table of the allocators that can be driven
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/stress.h>

#include <string.h>

uint32_t walk_modulus;

static const Contestant *const contestants[] = {
  &contestant_slice,  &contestant_calls, &contestant_slab, &contestant_malloc,
  &contestant_gslice, &contestant_limit, &contestant_loop,
};

#define N_CONTESTANTS (sizeof contestants / sizeof contestants[0])

const Contestant *
contestant_by_name (const char *name)
{
  for (unsigned i = 0; i < N_CONTESTANTS; i++)
    if (strcmp (contestants[i]->name, name) == 0)
      return contestants[i];
  return NULL;
}

/* NULL past the last one. */
const Contestant *
contestant_at (unsigned index)
{
  return index < N_CONTESTANTS ? contestants[index] : NULL;
}
