/* compiler.h - attributes, atomics and built-ins, each under one name
 *
 * Layer: port.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_COMPILER_H
#define SLI_PORT_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define LIKELY(x) __builtin_expect (!!(x), 1)
#define UNLIKELY(x) __builtin_expect (!!(x), 0)
/* Tells the compiler and its analyzer a fact that they can't see. */
#define KNOWN(condition)                                                      \
  do                                                                          \
    if (!(condition))                                                         \
      __builtin_unreachable ();                                               \
  while (0)
/* At file scope: whoever is linked with this file's object from an archive is
 * linked with the object that defines `symbol', too, if the archive has one.
 * No instruction refers to the symbol, so it may be missing. */
#define LINK_WITH(symbol) __asm__ (".globl " #symbol)
#define COLD __attribute__ ((cold, noinline))
#define NOINLINE __attribute__ ((noinline))
#define UNUSED __attribute__ ((unused))
/* The section of a function; packaging/libslice.ld gives each section pages of
 * its own.  COMMON_TEXT: every program runs it.  CONTEXT_TEXT: programs with
 * contexts run it.  HEAP_TEXT: programs whose malloc this is run it.  Functions
 * without any are rarely run. */
#define COMMON_TEXT __attribute__ ((section (".text.slice_common")))
#define CONTEXT_TEXT __attribute__ ((section (".text.slice_context")))
#define HEAP_TEXT __attribute__ ((section (".text.slice_heap")))
/* The section of a large zeroed table of which most programs use no more than
 * a few entries: it lies apart, so that small data share pages. */
#define SPARSE_DATA __attribute__ ((section (".bss.slice_sparse")))
/* Code for processors with 32-byte registers; callers test HAS_WIDE(). */
#if defined __x86_64__ && defined __GNUC__
# include <cpuid.h>
# define WIDE __attribute__ ((target ("avx2")))
# define HAS_WIDE() has_wide_registers ()
/* __builtin_cpu_supports() would link 4 KiB of libgcc, and each program would
 * run them at load time. */
static inline _Bool
has_wide_registers (void)
{
  enum
  {
    SAVED_STATES = 6 /* the system saves both halves of these registers */
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
/* For functions that knowingly read data while other threads write it: the
 * race detector ignores their reads.  It ignores those of functions that they
 * call only if these are inlined: ALWAYS_INLINE. */
#define READS_RACILY __attribute__ ((no_sanitize ("thread")))
#define ALWAYS_INLINE inline __attribute__ ((always_inline))

/* The bits of addresses that user space has nearly everywhere: 47 on x86-64,
 * 48 on arm64 and riscv64.  Maps have a table for these, and a slower way for
 * addresses beyond (5-level paging: 56, arm64 with 52, s390x: 64).
 * tests/builds/check-far.sh sets it lower, so that all addresses are beyond. */
#ifndef ADDRESS_BITS_USUAL
# if UINTPTR_MAX > UINT32_MAX
#  define ADDRESS_BITS_USUAL 48
# else
#  define ADDRESS_BITS_USUAL 32
# endif
#endif

/* How many bits of a 64-bit word are set.  Where there is no instruction for
 * it, the compiler would call a function with three times the code (Knuth,
 * volume 4, 7.1.3). */
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

/* Makes the compiler compute a value once and keep it.  Otherwise it may split
 * an address, and compute its parts for each use. */
#define KEEP(value) __asm__ ("" : "+r"(value))

/* The file alone: where it was compiled is no part of the library. */
#ifdef __FILE_NAME__
# define THIS_FILE __FILE_NAME__
#else
# define THIS_FILE __FILE__
#endif

/* Is it clang's analyzer that reads this? */
#ifdef __clang_analyzer__
# define IS_ANALYZED true
#else
# define IS_ANALYZED false
#endif

/* A point where the schedule explorer (tests/schedule) may switch to another
 * thread.  Empty in all other builds. */
#ifdef SLICE_SCHEDULE
void sli_schedule_point (const char *name);
# define SCHEDULE_POINT(name) sli_schedule_point (name)
# define SCHEDULE_IS_ON 1
#else
# define SCHEDULE_POINT(name) ((void) 0)
# define SCHEDULE_IS_ON 0
#endif

/* Access to a variable that another thread may read or write meanwhile;
 * relaxed, unless the name says otherwise. */
#define LOAD(at) __atomic_load_n ((at), __ATOMIC_RELAXED)
#define STORE(at, value) __atomic_store_n ((at), (value), __ATOMIC_RELAXED)
#define LOAD_ACQUIRE(at) __atomic_load_n ((at), __ATOMIC_ACQUIRE)
#define STORE_RELEASE(at, value)                                              \
  __atomic_store_n ((at), (value), __ATOMIC_RELEASE)

/* Returns true if an address is one of *bytes from *start on, and how far it is
 * from there.  Other threads may write both words meanwhile.  What is behind
 * the address may be read then, if it was written before *bytes was (acquire).
 * *start is written once, while *bytes is 0.  (gcc puts no atomic load into the
 * instruction that needs it, so this is half as many as the same in C.  It
 * reads *start first: where that is still 0, no address of the program is below
 * *bytes.) */
static ALWAYS_INLINE _Bool
is_within (const void *address, const uintptr_t *start, const size_t *bytes,
           size_t *offset)
{
#if defined __x86_64__ && defined __LP64__ && defined __GCC_ASM_FLAG_OUTPUTS__ \
    && !defined __SANITIZE_THREAD__
  uintptr_t distance = (uintptr_t) address;
  _Bool is_below;

  __asm__ ("subq %2, %0\n\tcmpq %3, %0"
           : "+&r"(distance), "=@ccb"(is_below)
           : "m"(*start), "m"(*bytes));
  *offset = distance;
  return is_below;
#else
  size_t n = LOAD_ACQUIRE (bytes);

  *offset = (uintptr_t) address - LOAD (start);
  return *offset < n;
#endif
}

/* A counter that one thread (or the holder of a lock) writes and any reads. */
#define COUNT_UP(at, n) STORE ((at), LOAD (at) + (n))
/* A counter that several threads write. */
#define COUNT_UP_SHARED(at, n)                                                \
  ((void) __atomic_fetch_add ((at), (n), __ATOMIC_RELAXED))
#define COUNT_DOWN_SHARED(at, n)                                              \
  ((void) __atomic_fetch_sub ((at), (n), __ATOMIC_RELAXED))

#endif
