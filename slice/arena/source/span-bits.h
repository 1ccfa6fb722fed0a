/* span-bits.h - one span, and which of its pages are in use
 *
 * Layer: arena, for span.c alone.  Locks: the caller holds the heap's.
 *
 * Design: section 8.6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_SOURCE_SPAN_BITS_H
#define SLI_ARENA_SOURCE_SPAN_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include "span.h"

enum
{
  WORD_BITS = 64
};

/* A span:
 *
 *   record:  start ----+      bits: 1 = page is in use
 *            bits[]    v
 *                      +------+------+------+---  ---+------+
 *                      | page | page | page |   ...  | page |
 *                      +------+------+------+---  ---+------+
 */
struct Span
{
  char *start;
  size_t n_pages;
  size_t n_free;
  size_t first_free;  /* no page below is free */
  size_t first_bare;  /* no page from here on was ever used or has memory */
  Span *next_open;    /* links of the heap's list of spans with free pages */
  Span **open_link;   /* NULL: not in the list */
  bool is_fixed;      /* never returned */
  uint64_t bits[];
};

static inline size_t
bits_words (size_t n_pages)
{
  return (n_pages + WORD_BITS - 1) / WORD_BITS;
}

static inline size_t
span_bytes (const Span *span)
{
  return span->n_pages * SPAN_PAGE_BYTES;
}

/* The first page from `page' on that is in use, or that is free; or
 * n_pages. */
static inline size_t
span_next (const Span *span, size_t page, bool in_use)
{
  while (page < span->n_pages)
    {
      uint64_t word = span->bits[page / WORD_BITS];

      if (!in_use)
        word = ~word;
      word >>= page % WORD_BITS;
      if (word != 0)
        {
          page += (size_t) __builtin_ctzll (word);
          return page < span->n_pages ? page : span->n_pages;
        }
      page = (page / WORD_BITS + 1) * WORD_BITS;
    }
  return span->n_pages;
}

static inline void
span_set (Span *span, size_t page, size_t n, bool in_use)
{
  while (n > 0)
    {
      size_t shift = page % WORD_BITS;
      size_t n_here = WORD_BITS - shift < n ? WORD_BITS - shift : n;
      uint64_t mask = n_here == WORD_BITS
                          ? ~(uint64_t) 0
                          : (((uint64_t) 1 << n_here) - 1) << shift;

      if (in_use)
        span->bits[page / WORD_BITS] |= mask;
      else
        span->bits[page / WORD_BITS] &= ~mask;
      page += n_here;
      n -= n_here;
    }
}

/* The first run of n free pages at an aligned address, or n_pages. */
static inline size_t
span_find (const Span *span, size_t n, size_t alignment)
{
  size_t page = span_next (span, span->first_free, false);

  while (page < span->n_pages)
    {
      uintptr_t address = (uintptr_t) span->start + page * SPAN_PAGE_BYTES;
      uintptr_t aligned = align_up (address, alignment);
      size_t skip = (aligned - address) / SPAN_PAGE_BYTES;
      size_t end = span_next (span, page, true);

      if (end - page >= skip && end - page - skip >= n)
        return page + skip;
      page = span_next (span, end, false);
    }
  return span->n_pages;
}

#endif
