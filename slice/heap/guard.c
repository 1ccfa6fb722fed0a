/* guard.c - the checking modes: guards behind larger blocks
 *
 * Layer: heap.  No locks: constant once the heap is ready.
 * Design: chapter 14.
 *
 *   | block (size) | canary 8 | ... | size 8 |
 *   |<------------ usable bytes ------------->|
 *
 * In checked, which has no canaries behind small blocks either, an aligned
 * block has no guard if that would make it more than an eighth larger: behind
 * a block of 256 bytes with that alignment, a guard would take 256 bytes.
 *
 * The key and the address are part of both words, so a run of equal bytes, or
 * a copy of another block, is no valid guard.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "heap.h"
#include "alloc/dispatch.h"
#include "base/diag.h"
#include "port/os/os.h"

#include <string.h>

enum
{
  CANARY_BYTES = 8,
  GUARD_BYTES = 2 * CANARY_BYTES,
  SHARE_DIVISOR = 8 /* a guard may take this part of an aligned block */
};

static uint64_t guard_key;

HEAP_TEXT void
sli_guard_init (void)
{
  sli_os_random (&guard_key, sizeof guard_key);
}

HEAP_TEXT size_t
sli_guard_bytes (void)
{
  return sli_dispatch.path == PATH_CHECKING ? GUARD_BYTES : 0;
}

/* The sizes of the medium blocks have all multiples of a power of two up to
 * SHARE_DIVISOR, so such a block either fills its run's or leaves room for a
 * guard. */
HEAP_TEXT size_t
sli_guard_bytes_aligned (size_t alignment, size_t size)
{
  return sli_dispatch.mode == CHECKING_CHECKED
                 && alignment > size / SHARE_DIVISOR
                 && (size & (alignment - 1)) == 0
             ? 0
             : sli_guard_bytes ();
}

_Noreturn COLD static void
report_overrun (const void *block, size_t size, const char *operation)
{
  sli_diag_misuse (ERROR_OVERRUN, operation,
                   &(BlockFacts){ .address = block,
                                  .given_bytes = DIAG_SIZE_UNKNOWN,
                                  .real_bytes = size });
}

static uint64_t
guard_word (const void *block, uint64_t value)
{
  return (guard_key ^ (uint64_t) (uintptr_t) block) + value;
}

void
sli_guard_write (void *block, size_t size, size_t usable)
{
  uint64_t canary = guard_word (block, size);
  uint64_t word = guard_word (block, ~(uint64_t) size);

  assert_here (usable == size || usable - size >= GUARD_BYTES);
  sli_medium_note_whole (block, usable == size);
  if (usable == size)
    return;
  memcpy ((char *) block + size, &canary, sizeof canary);
  memcpy ((char *) block + usable - CANARY_BYTES, &word, sizeof word);
}

size_t
sli_guard_check (const void *block, size_t usable, const char *operation)
{
  uint64_t word, canary;
  size_t size;

  if (sli_medium_is_whole (block))
    return usable;
  memcpy (&word, (const char *) block + usable - CANARY_BYTES, sizeof word);
  size = (size_t) ~(word - guard_word (block, 0));
  if (UNLIKELY (size > usable - GUARD_BYTES))
    report_overrun (block, 0, operation);
  memcpy (&canary, (const char *) block + size, sizeof canary);
  if (UNLIKELY (canary != guard_word (block, size)))
    report_overrun (block, size, operation);
  return size;
}
