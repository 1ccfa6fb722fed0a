/* heap-bins.c - freed blocks that glibc's malloc keeps as they are
 *
 * Tools.  See heap-bins.h.  SPDX-License-Identifier: MIT
 */
#include "heap-bins.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <string.h>

void
sli_bins_free (HeapBins *bins)
{
  for (size_t i = 0; i < bins->n_fast; i++)
    free (bins->fast[i].addresses);
  free (bins->fast);
  free (bins->tcache);
}

static unsigned
tcache_size (uint64_t size)
{
  return size <= 24 ? 0 : (unsigned)((size - 24 + 15) / 16);
}

static uint8_t *
tcache_count (HeapBins *bins, uint32_t thread, uint64_t size)
{
  if (thread >= bins->n_threads)
    {
      uint32_t n = thread + 16;

      bins->tcache = sli_tool_grow (bins->tcache, n * sizeof *bins->tcache);
      memset (bins->tcache + bins->n_threads, 0,
              (n - bins->n_threads) * sizeof *bins->tcache);
      bins->n_threads = n;
    }
  return &bins->tcache[thread][tcache_size (size)];
}

FastBins *
sli_bins_fast (const HeapBins *bins, uint64_t segment)
{
  for (size_t i = 0; i < bins->n_fast; i++)
    if (bins->fast[i].segment == segment)
      return &bins->fast[i];
  return NULL;
}

static FastBins *
fast_get (HeapBins *bins, uint64_t segment)
{
  FastBins *fast = sli_bins_fast (bins, segment);

  if (fast != NULL)
    return fast;
  bins->fast
      = sli_tool_grow (bins->fast, (bins->n_fast + 1) * sizeof *bins->fast);
  bins->fast[bins->n_fast] = (FastBins){ .segment = segment };
  return &bins->fast[bins->n_fast++];
}

static void
fast_put (HeapBins *bins, uint64_t segment, uint64_t address)
{
  FastBins *fast = fast_get (bins, segment);

  if (fast->n == fast->capacity)
    {
      fast->capacity = 2 * fast->capacity + 256;
      fast->addresses = sli_tool_grow (
          fast->addresses, fast->capacity * sizeof *fast->addresses);
    }
  fast->addresses[fast->n++] = address;
}

uint32_t
sli_bins_put (HeapBins *bins, uint32_t thread, uint64_t segment,
              uint64_t address, uint64_t size)
{
  if (size <= TCACHE_BYTES_MAX)
    {
      uint8_t *count = tcache_count (bins, thread, size);

      if (*count < TCACHE_BLOCKS)
        {
          ++*count;
          return BIN_TCACHE + thread;
        }
    }
  if (size > FAST_BYTES_MAX)
    return BIN_NONE;
  fast_put (bins, segment, address);
  return BIN_FAST;
}

void
sli_bins_take (HeapBins *bins, uint32_t bin, uint64_t size)
{
  if (bin >= BIN_TCACHE)
    --*tcache_count (bins, bin - BIN_TCACHE, size);
}
