/* checking-contents.h - contents of chunks: canaries, zeroes, red zones
 *
 * Layer: checking; private to it.  No locks: a chunk's owner owns its bytes.
 * Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CHECKING_CHECKING_CONTENTS_H
#define SLI_CHECKING_CHECKING_CONTENTS_H

#include "checking-state.h"
#include "base/diag.h"
#include "port/compiler.h"

#include <string.h>

/* Ends the program: a free chunk was written to. */
_Noreturn void sli_checking_report_free_bytes (char *chunk, size_t chunk_bytes,
                                               size_t size,
                                               const char *operation);
/* Ends the program: bytes behind a block were written to. */
_Noreturn void sli_checking_report_overrun (const char *block, size_t size,
                                            const char *operation);
/* The same in debug, with the bytes in question. */
_Noreturn void sli_checking_report_zone (const char *block, size_t size,
                                         size_t zone_bytes,
                                         const char *operation);
bool sli_checking_zone_is_whole (const char *zone, size_t zone_bytes);
bool sli_checking_zones_are_whole (const char *block, size_t size,
                                   size_t chunk_bytes);
/* Ends the program unless both red zones around a block are whole. */
void sli_checking_check_zones (char *block, size_t size, size_t chunk_bytes,
                               const char *operation);

/* One canary reveals the key, however key and address are combined, so this is
 * the cheapest way.  No byte is 0, so a string that is one byte too long
 * changes the canary. */
static inline uint64_t
canary_of (const void *block)
{
  return ((uint64_t) (uintptr_t) block ^ sli_checking.key)
         | 0x0101010101010101u;
}

static inline void
canary_write (char *block, size_t size)
{
  uint64_t canary = canary_of (block);

  memcpy (block + size, &canary, sizeof canary);
}

static inline bool
canary_is_whole (const char *block, size_t size)
{
  uint64_t canary = canary_of (block), found;

  memcpy (&found, block + size, sizeof found);
  return found == canary;
}

/* Chunks are multiples of 16 bytes.  The loops read or write 64 bytes at a
 * time: two Quads where the processor has registers of that width, else four
 * Pairs.  A call of memset(), into which the compiler would turn a plain loop,
 * costs more than the work on a small chunk (design chapter 11). */
typedef uint64_t Pair
    __attribute__ ((vector_size (16), aligned (8), may_alias));
typedef uint64_t Quad
    __attribute__ ((vector_size (32), aligned (8), may_alias));

#define KEEP_LOOP() __asm__ volatile ("" ::: "memory")

enum
{
  FILL_INLINE_BYTES = 512 /* above, memset() is faster with narrow registers */
};

/* For chunks of at most FILL_INLINE_BYTES; with wide registers, for all. */
static ALWAYS_INLINE void
chunk_fill_inline (char *chunk, size_t chunk_bytes, uint64_t word)
{
  Quad quad = { word, word, word, word }, *at = (Quad *) (void *) chunk;
  Quad *end = (Quad *) (void *) (chunk + chunk_bytes);

  for (; at + 2 <= end; at += 2)
    {
      at[0] = at[1] = quad;
      KEEP_LOOP ();
    }
  if ((chunk_bytes & 32) != 0)
    *at++ = quad;
  if ((chunk_bytes & 16) != 0)
    *(Pair *) (void *) at = (Pair){ word, word };
}

static inline void
chunk_fill (char *chunk, size_t chunk_bytes, uint8_t value)
{
  if (chunk_bytes <= FILL_INLINE_BYTES)
    chunk_fill_inline (chunk, chunk_bytes, value * 0x0101010101010101u);
  else
    memset (chunk, value, chunk_bytes);
}

static ALWAYS_INLINE bool
chunk_is (const char *chunk, size_t chunk_bytes, uint8_t value)
{
  uint64_t word = value * 0x0101010101010101u;
  Quad quad = { word, word, word, word };
  Quad wrong = { 0, 0, 0, 0 }, more = { 0, 0, 0, 0 };
  const Quad *at = (const Quad *) (const void *) chunk;
  const Quad *end = (const Quad *) (const void *) (chunk + chunk_bytes);
  Pair last = { 0, 0 };

  for (; at + 2 <= end; at += 2)
    {
      wrong |= at[0] ^ quad;
      more |= at[1] ^ quad;
    }
  if ((chunk_bytes & 32) != 0)
    wrong |= *at++ ^ quad;
  if ((chunk_bytes & 16) != 0)
    last = *(const Pair *) (const void *) at ^ (Pair){ word, word };
  wrong |= more;
  return (wrong[0] | wrong[1] | wrong[2] | wrong[3] | last[0] | last[1]) == 0;
}

/* Checks that a chunk that is to be allocated has the contents that its free
 * left. */
static inline void
contents_begin (CheckingMode mode, char *chunk, size_t size,
                size_t chunk_bytes, bool is_fresh)
{
  uint8_t free_byte = mode == CHECKING_DEBUG ? BYTE_FREED : 0;
  char *block = chunk + front_of (mode);

  if (UNLIKELY (is_fresh))
    chunk_fill (chunk, chunk_bytes, free_byte);
  else if (UNLIKELY (!chunk_is (chunk, chunk_bytes, free_byte)))
    sli_checking_report_free_bytes (chunk, chunk_bytes, size, "slice_alloc");
  if (mode == CHECKING_HARDENED)
    {
      canary_write (block, size);
      return;
    }
  memset (chunk, BYTE_ZONE, ZONE_BYTES);
  memset (block, BYTE_NEW, size);
  memset (block + size, BYTE_ZONE, chunk_bytes - ZONE_BYTES - size);
}

static inline void
contents_end (CheckingMode mode, char *block, size_t size, size_t chunk_bytes,
              const char *operation)
{
  if (mode == CHECKING_DEBUG)
    sli_checking_check_zones (block, size, chunk_bytes, operation);
  else if (UNLIKELY (!canary_is_whole (block, size)))
    sli_checking_report_overrun (block, size, operation);
  chunk_fill (block - front_of (mode), chunk_bytes,
              mode == CHECKING_DEBUG ? BYTE_FREED : 0);
}

#endif
