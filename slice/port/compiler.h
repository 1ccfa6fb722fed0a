/* compiler.h - what we ask of the compiler, under one name each
 *
 * Floor 0 (port).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_COMPILER_H
#define SLI_PORT_COMPILER_H

#define LIKELY(x) __builtin_expect (!!(x), 1)
#define UNLIKELY(x) __builtin_expect (!!(x), 0)
#define COLD __attribute__ ((cold, noinline))
#define NOINLINE __attribute__ ((noinline))
#define UNUSED __attribute__ ((unused))
#define EXPORT __attribute__ ((visibility ("default")))
#define CACHE_LINE_BYTES 64

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

#endif
