/* loop.h - no allocator: what the loops themselves cost
 *
 * Its blocks are made-up addresses that nobody may follow.
 *
 * SPDX-License-Identifier: MIT
 */
#define ADAPTOR_NAME "loop"
#define ADAPTOR_ALIGNMENT(size) 1
#define ADAPTOR_ALLOC0(size) adaptor_alloc (size)
#define ADAPTOR_RESIZE(old_size, size, block)                                 \
 ((void) (old_size), (void) (block), adaptor_alloc (size))

ADAPTOR_INLINE void *
adaptor_alloc (size_t size)
{
  uintptr_t address = size;

  __asm__ volatile("" : "+r"(address));
  return (void *) address;
}

ADAPTOR_INLINE void
adaptor_free (size_t size, void *block)
{
  __asm__ volatile("" : : "r"(size), "r"(block));
}
