/* ticks.h - what the recorder wants of the processor and the kernel
 *
 * Layer: port.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_TICKS_H
#define SLI_PORT_TICKS_H

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

#endif
