/* compiler.h - what we ask of the compiler, under one name each
 *
 * Layer: port.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_COMPILER_H
#define SLI_PORT_COMPILER_H

#include <stdint.h>

#define LIKELY(x) __builtin_expect (!!(x), 1)
#define UNLIKELY(x) __builtin_expect (!!(x), 0)
/* What the code before has made sure of, for the compiler and its analyzer,
 * which can't see it. */
#define KNOWN(condition)                                                      \
  do                                                                          \
    if (!(condition))                                                         \
      __builtin_unreachable ();                                               \
  while (0)
#define COLD __attribute__ ((cold, noinline))
#define NOINLINE __attribute__ ((noinline))
#define UNUSED __attribute__ ((unused))
/* Where a function's code stands, before its definition: slice/libslice.ld
 * gives each of these sections pages of its own.  What every program runs,
 * from loading to exit; what contexts run, too; and all else, unmarked. */
#define COMMON_TEXT __attribute__ ((section (".text.slice_common")))
#define CONTEXT_TEXT __attribute__ ((section (".text.slice_context")))
/* Code for processors with 32-byte registers; who calls it asks first. */
#if defined __x86_64__ && defined __GNUC__
# include <cpuid.h>
# define WIDE __attribute__ ((target ("avx2")))
# define HAS_WIDE() has_wide_registers ()
/* __builtin_cpu_supports() would link 4 KiB of libgcc that each program runs
 * when it loads us, to learn of all that a processor may have. */
static inline _Bool
has_wide_registers (void)
{
  enum
  {
    SAVED_STATES = 6 /* the system saves these registers: both halves */
  };
  unsigned a, b, c, d;

  if (!__get_cpuid (1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0)
    return 0;
  __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return (a & SAVED_STATES) == SAVED_STATES
         && __get_cpuid_count (7, 0, &a, &b, &c, &d) && (b & bit_AVX2) != 0;
}
#endif
#define EXPORT __attribute__ ((visibility ("default")))
#define CACHE_LINE_BYTES 64
/* For what reads others' data while they write it, knowing so: the race
 * detector is to look away.  Of what such a function calls it looks away only
 * where that is compiled into it: ALWAYS_INLINE. */
#define READS_RACILY __attribute__ ((no_sanitize ("thread")))
#define ALWAYS_INLINE inline __attribute__ ((always_inline))

/* The addresses that user space has nearly everywhere: 47 bits on x86-64, 48
 * on arm64 and riscv64.  Maps have a table for them, and a slower way to what
 * lies beyond (5-level paging: 56, arm64 with 52, s390x: 64).  A test says less,
 * so that all lies beyond (tests/check-far.sh). */
#ifndef ADDRESS_BITS_USUAL
# if UINTPTR_MAX > UINT32_MAX
#  define ADDRESS_BITS_USUAL 48
# else
#  define ADDRESS_BITS_USUAL 32
# endif
#endif

/* How many bits of a 64-bit word are set.  Without the instruction for it the
 * compiler would call a function of three times the length (Knuth, volume 4,
 * 7.1.3). */
#ifdef __POPCNT__
# define COUNT_BITS(word) ((unsigned) __builtin_popcountll (word))
#else
static inline unsigned
count_bits (unsigned long long word)
{
  word -= (word >> 1) & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (unsigned) ((word * 0x0101010101010101u) >> 56);
}
# define COUNT_BITS(word) count_bits (word)
#endif

/* Where another thread could come in between: the schedule explorer
 * (tests/schedule) puts one there.  Nothing in any other build. */
#ifdef SLICE_SCHEDULE
void sli_schedule_point (const char *name);
# define SCHEDULE_POINT(name) sli_schedule_point (name)
# define SCHEDULE_IS_ON 1
#else
# define SCHEDULE_POINT(name) ((void) 0)
# define SCHEDULE_IS_ON 0
#endif

/* Relaxed access to what another thread may read or write meanwhile. */
#define LOAD(place) __atomic_load_n ((place), __ATOMIC_RELAXED)
#define STORE(place, value) __atomic_store_n ((place), (value), __ATOMIC_RELAXED)
#define LOAD_ACQUIRE(place) __atomic_load_n ((place), __ATOMIC_ACQUIRE)
#define STORE_RELEASE(place, value) \
  __atomic_store_n ((place), (value), __ATOMIC_RELEASE)

/* A counter that one thread (or the holder of a lock) writes and any reads. */
#define COUNT_UP(place, n) STORE ((place), LOAD (place) + (n))
/* A counter that several threads write. */
#define COUNT_UP_SHARED(place, n) \
  ((void) __atomic_fetch_add ((place), (n), __ATOMIC_RELAXED))
#define COUNT_DOWN_SHARED(place, n)                                           \
  ((void) __atomic_fetch_sub ((place), (n), __ATOMIC_RELAXED))

#endif
