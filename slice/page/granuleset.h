/* granuleset.h - a set of the units of one region
 *
 * Layer: page.  128 bits, counted from 0.  No locks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_GRANULESET_H
#define SLI_PAGE_GRANULESET_H

#include <stdbool.h>
#include <stdint.h>

#include "port/compiler.h"

enum
{
  UNITSET_BITS = 128
};

typedef struct
{
  uint64_t word[2]; /* bit i of the set is bit i % 64 of word i / 64 */
} UnitSet;

/* The units first ... first + n - 1; none if n is 0. */
static inline UnitSet
unitset_stretch (unsigned first, unsigned n)
{
  UnitSet set = { { 0, 0 } };

  for (unsigned i = 0; i < 2; i++)
    {
      unsigned low = first > i * 64 ? first - i * 64 : 0;
      unsigned end = first + n > i * 64 ? first + n - i * 64 : 0;

      if (end > 64)
        end = 64;
      if (low < end)
        set.word[i] = (~(uint64_t) 0 >> (64 - (end - low))) << low;
    }
  return set;
}

static inline UnitSet
unitset_plus (const UnitSet *a, const UnitSet *b)
{
  return (UnitSet){ { a->word[0] | b->word[0], a->word[1] | b->word[1] } };
}

static inline UnitSet
unitset_minus (const UnitSet *a, const UnitSet *b)
{
  return (UnitSet){ { a->word[0] & ~b->word[0], a->word[1] & ~b->word[1] } };
}

static inline void
unitset_add (UnitSet *set, unsigned first, unsigned n)
{
  UnitSet stretch = unitset_stretch (first, n);

  *set = unitset_plus (set, &stretch);
}

static inline void
unitset_remove (UnitSet *set, unsigned first, unsigned n)
{
  UnitSet stretch = unitset_stretch (first, n);

  *set = unitset_minus (set, &stretch);
}

static inline unsigned
unitset_count (const UnitSet *set)
{
  return COUNT_BITS (set->word[0]) + COUNT_BITS (set->word[1]);
}

static inline unsigned
unitset_count_in (const UnitSet *set, unsigned first, unsigned n)
{
  UnitSet in = unitset_stretch (first, n);

  in.word[0] &= set->word[0];
  in.word[1] &= set->word[1];
  return unitset_count (&in);
}

static inline bool
unitset_has_all (const UnitSet *set, unsigned first, unsigned n)
{
  return unitset_count_in (set, first, n) == n;
}

/* Is each member of b one of a? */
static inline bool
unitset_has_all_of (const UnitSet *a, const UnitSet *b)
{
  return ((b->word[0] & ~a->word[0]) | (b->word[1] & ~a->word[1])) == 0;
}

/* Every member that is followed by n - 1 more; n is 1 to 64. */
static inline UnitSet
unitset_starts (const UnitSet *set, unsigned n)
{
  UnitSet starts = *set;

  for (unsigned i = 1; i < n; i++)
    {
      starts.word[0] &= set->word[0] >> i | set->word[1] << (64 - i);
      starts.word[1] &= set->word[1] >> i;
    }
  return starts;
}

/* The lowest n neighbours; false if there are none. */
static inline bool
unitset_find (const UnitSet *set, unsigned n, unsigned *first)
{
  UnitSet starts = unitset_starts (set, n);

  if (starts.word[0] != 0)
    *first = (unsigned) __builtin_ctzll (starts.word[0]);
  else if (starts.word[1] != 0)
    *first = 64 + (unsigned) __builtin_ctzll (starts.word[1]);
  else
    return false;
  return true;
}

/* The lowest member and how many follow it without a gap. */
static inline bool
unitset_first_stretch (const UnitSet *set, unsigned *first, unsigned *n)
{
  if (!unitset_find (set, 1, first))
    return false;
  for (*n = 1; *first + *n < UNITSET_BITS; ++*n)
    if (!unitset_has_all (set, *first + *n, 1))
      break;
  return true;
}

#endif
