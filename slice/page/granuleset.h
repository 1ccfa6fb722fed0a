/* granuleset.h - a set of the granules of one region
 *
 * Layer: page.  128 bits, numbered from 0.  No locks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PAGE_GRANULESET_H
#define SLI_PAGE_GRANULESET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "port/compiler.h"

enum
{
  GRANULESET_BITS = 128
};

typedef struct
{
  uint64_t word[2]; /* bit i of the set is bit i % 64 of word i / 64 */
} GranuleSet;

/* The bits first ... end - 1 that are in the word whose first bit is
 * `base`. */
static inline uint64_t
granuleset_word (unsigned first, unsigned end, unsigned base)
{
  unsigned low = first > base ? first - base : 0;
  unsigned high = end > base ? end - base : 0;

  if (high > 64)
    high = 64;
  return low < high ? (~(uint64_t) 0 >> (64 - (high - low))) << low : 0;
}

/* The granules first ... first + n - 1; none if n is 0. */
static inline GranuleSet
granuleset_stretch (unsigned first, unsigned n)
{
  assert_here (first + n <= GRANULESET_BITS);
  return (GranuleSet){ { granuleset_word (first, first + n, 0),
                         granuleset_word (first, first + n, 64) } };
}

static inline GranuleSet
granuleset_plus (const GranuleSet *a, const GranuleSet *b)
{
  return (GranuleSet){ { a->word[0] | b->word[0], a->word[1] | b->word[1] } };
}

static inline GranuleSet
granuleset_minus (const GranuleSet *a, const GranuleSet *b)
{
  return (
      GranuleSet){ { a->word[0] & ~b->word[0], a->word[1] & ~b->word[1] } };
}

static inline void
granuleset_add (GranuleSet *set, unsigned first, unsigned n)
{
  GranuleSet stretch = granuleset_stretch (first, n);

  *set = granuleset_plus (set, &stretch);
}

static inline void
granuleset_remove (GranuleSet *set, unsigned first, unsigned n)
{
  GranuleSet stretch = granuleset_stretch (first, n);

  *set = granuleset_minus (set, &stretch);
}

static inline unsigned
granuleset_count (const GranuleSet *set)
{
  return COUNT_BITS (set->word[0]) + COUNT_BITS (set->word[1]);
}

static inline unsigned
granuleset_count_in (const GranuleSet *set, unsigned first, unsigned n)
{
  GranuleSet in = granuleset_stretch (first, n);

  in.word[0] &= set->word[0];
  in.word[1] &= set->word[1];
  return granuleset_count (&in);
}

static inline bool
granuleset_has_all (const GranuleSet *set, unsigned first, unsigned n)
{
  return granuleset_count_in (set, first, n) == n;
}

/* Returns true if each member of b is in a. */
static inline bool
granuleset_has_all_of (const GranuleSet *a, const GranuleSet *b)
{
  return ((b->word[0] & ~a->word[0]) | (b->word[1] & ~a->word[1])) == 0;
}

/* The members whose next n - 1 neighbours are members too; n is 1 to 64. */
static inline GranuleSet
granuleset_starts (const GranuleSet *set, unsigned n)
{
  GranuleSet starts = *set;

  assert_here (n >= 1 && n <= 64);
  /* `starts' has the first of each i neighbours; extend them by `step'. */
  for (unsigned i = 1, step; i < n; i += step)
    {
      step = i < n - i ? i : n - i;
      starts.word[0] &= starts.word[0] >> step | starts.word[1] << (64 - step);
      starts.word[1] &= starts.word[1] >> step;
    }
  return starts;
}

/* Finds the lowest n neighbours; false if there are none. */
static inline bool
granuleset_find (const GranuleSet *set, unsigned n, unsigned *first)
{
  GranuleSet starts = granuleset_starts (set, n);

  if (starts.word[0] != 0)
    *first = (unsigned) __builtin_ctzll (starts.word[0]);
  else if (starts.word[1] != 0)
    *first = 64 + (unsigned) __builtin_ctzll (starts.word[1]);
  else
    return false;
  return true;
}

/* Finds the lowest member and the length of the stretch that it begins; false
 * if the set is empty. */
static inline bool
granuleset_first_stretch (const GranuleSet *set, unsigned *first, unsigned *n)
{
  if (!granuleset_find (set, 1, first))
    return false;
  for (*n = 1; *first + *n < GRANULESET_BITS; ++*n)
    if (!granuleset_has_all (set, *first + *n, 1))
      break;
  return true;
}

#endif
