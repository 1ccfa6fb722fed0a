/* ring-malloc.c - an allocator that signal handlers may call
 *
 * Tests: preloaded under the recorder.  Blocks come from a large ring in turn
 * and are never reused soon; free does nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static char ring[256 << 20] __attribute__ ((aligned (64)));
static atomic_size_t at;

void *malloc (size_t size);
void *calloc (size_t n, size_t size);
void *realloc (void *block, size_t size);
void free (void *block);

void *
malloc (size_t size)
{
  size_t bytes = (size + 31) & ~(size_t)15;
  size_t place = atomic_fetch_add (&at, bytes) % (sizeof ring - (1 << 20));

  return &ring[(place + 15) & ~(size_t)15];
}

void *
calloc (size_t n, size_t size)
{
  return memset (malloc (n * size), 0, n * size);
}

void *
realloc (void *block, size_t size)
{
  void *fresh = malloc (size);

  return block == NULL ? fresh : memcpy (fresh, block, size);
}

void
free (void *block)
{
  (void)block;
}
