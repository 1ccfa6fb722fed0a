/* memory-pool.h - valgrind's requests for arenas; nothing without its headers
 *
 * Layer: port.  See annotate.h; arena/annotate.c uses them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_MEMORY_POOL_H
#define SLI_PORT_MEMORY_POOL_H

#ifdef HAVE_VALGRIND_MEMCHECK_H
# include <valgrind/memcheck.h>
#endif

#ifndef RUNNING_ON_VALGRIND
# define RUNNING_ON_VALGRIND 0
# define VALGRIND_GET_VBITS(address, bits, n)                                  \
  ((void) (address), (void) (bits), 0)
# define VALGRIND_MAKE_MEM_NOACCESS(start, bytes) ((void) (start))
# define VALGRIND_MAKE_MEM_UNDEFINED(start, bytes) ((void) (start))
# define VALGRIND_MAKE_MEM_DEFINED(start, bytes) ((void) (start))
# define VALGRIND_CREATE_MEMPOOL(pool, gap, zeroed) ((void) (pool))
# define VALGRIND_DESTROY_MEMPOOL(pool) ((void) (pool))
# define VALGRIND_MEMPOOL_ALLOC(pool, start, bytes) ((void) (pool))
# define VALGRIND_MEMPOOL_FREE(pool, start) ((void) (pool))
# define VALGRIND_MEMPOOL_TRIM(pool, start, bytes) ((void) (bytes))
#endif

#endif
