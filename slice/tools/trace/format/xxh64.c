/* xxh64.c - the checksum of the trace's blocks
 *
 * Tools.  XXH64 as its specification describes it (github.com/Cyan4973/
 * xxHash, doc/xxhash_spec.md): four lanes of multiply and rotate, merged and
 * finished.  Little-endian reads; a trace of the other byte order is refused
 * before it comes to checksums.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-format.h"
#include <string.h>

#define PRIME_1 UINT64_C (0x9E3779B185EBCA87)
#define PRIME_2 UINT64_C (0xC2B2AE3D27D4EB4F)
#define PRIME_3 UINT64_C (0x165667B19E3779F9)
#define PRIME_4 UINT64_C (0x85EBCA77C2B2AE63)
#define PRIME_5 UINT64_C (0x27D4EB2F165667C5)

static uint64_t
rotate (uint64_t value, int bits)
{
  return value << bits | value >> (64 - bits);
}

static uint64_t
read_64 (const uint8_t *at)
{
  uint64_t value;

  memcpy (&value, at, sizeof value);
  return value;
}

static uint64_t
lane_round (uint64_t lane, uint64_t input)
{
  return rotate (lane + input * PRIME_2, 31) * PRIME_1;
}

static uint64_t
lane_merge (uint64_t hash, uint64_t lane)
{
  return (hash ^ lane_round (0, lane)) * PRIME_1 + PRIME_4;
}

static uint64_t
stripes_hash (const uint8_t **at, const uint8_t *end, uint64_t seed)
{
  uint64_t lanes[4]
      = { seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1 };
  uint64_t hash;

  for (; end - *at >= 32; *at += 32)
    for (int i = 0; i < 4; i++)
      lanes[i] = lane_round (lanes[i], read_64 (*at + 8 * i));
  hash = rotate (lanes[0], 1) + rotate (lanes[1], 7) + rotate (lanes[2], 12)
         + rotate (lanes[3], 18);
  for (int i = 0; i < 4; i++)
    hash = lane_merge (hash, lanes[i]);
  return hash;
}

uint64_t
sli_xxh64 (const void *bytes, uint64_t n_bytes, uint64_t seed)
{
  const uint8_t *at = bytes;
  const uint8_t *end = at + n_bytes;
  uint64_t hash
      = n_bytes >= 32 ? stripes_hash (&at, end, seed) : seed + PRIME_5;

  hash += n_bytes;
  for (; end - at >= 8; at += 8)
    hash
        = rotate (hash ^ lane_round (0, read_64 (at)), 27) * PRIME_1 + PRIME_4;
  if (end - at >= 4)
    {
      uint32_t value;

      memcpy (&value, at, sizeof value);
      hash = rotate (hash ^ value * PRIME_1, 23) * PRIME_2 + PRIME_3;
      at += 4;
    }
  for (; at < end; at++)
    hash = rotate (hash ^ *at * PRIME_5, 11) * PRIME_1;
  hash = (hash ^ hash >> 33) * PRIME_2;
  hash = (hash ^ hash >> 29) * PRIME_3;
  return hash ^ hash >> 32;
}
