/* ticks.h - what the recorder wants of the processor and the kernel
 *
 * Layer: port.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_TICKS_H
#define SLI_PORT_TICKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* Takes the pages of a part of a sparse file (Linux 5.14). */
#ifndef MADV_POPULATE_WRITE
# define MADV_POPULATE_WRITE 23
#endif

/* The processor's counter of time. */
static inline uint64_t
ticks_now (void)
{
#if defined __x86_64__ || defined __i386__
  return __builtin_ia32_rdtsc ();
#elif defined __aarch64__
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
# error "no tick counter known for this processor"
#endif
}

/* As ticks_now(), but after all preceding instructions are done. */
static inline uint64_t
ticks_after (void)
{
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_lfence ();
#elif defined __aarch64__
  __asm__ volatile("isb" ::: "memory");
#endif
  return ticks_now ();
}

/* Subtracts a size from a distance, a size of 0 as 1.  Returns true if the
 * distance was less than that; then it has wrapped around.  x86-64 compares
 * the size with 1 for the carry, and subtracts both in place. */
static inline bool
distance_take (size_t *distance, size_t size)
{
  bool was_less;
#if defined __x86_64__
  __asm__("cmpq $1, %2\n\tsbbq %2, %0"
          : "+m"(*distance), "=@ccb"(was_less)
          : "r"(size));
#else
  size_t taken = size + (size == 0);

  was_less = *distance < taken;
  *distance -= taken;
#endif
  return was_less;
}

/* Returns true if the code there is what a signal handler returns to: the
 * system call that ends the handler (15 on x86-64, 139 on AArch64).  Reads no
 * byte behind the first that differs. */
static inline bool
code_ends_handler (const void *code)
{
  const uint8_t *at = (const uint8_t *) code;
#if defined __x86_64__
  static const uint8_t wanted[]
      = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
#elif defined __aarch64__
  static const uint8_t wanted[]
      = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };
#else
  static const uint8_t wanted[] = { 0 };
  return false;
#endif

  for (unsigned i = 0; i < sizeof wanted; i++)
    if (at[i] != wanted[i])
      return false;
  return true;
}

#endif
