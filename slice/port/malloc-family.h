/* malloc-family.h - the calls by which a program gets memory of malloc
 *
 * Layer: port.  The one table of them: libslice-malloc replaces these, the
 * recorder passes them on, and sites do not begin in them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_MALLOC_FAMILY_H
#define SLI_PORT_MALLOC_FAMILY_H

#include <stddef.h>
#include <stdint.h>

/* std::size_t in the mangled names of C++'s operators. */
#if SIZE_MAX > UINT32_MAX || defined __s390__
# define CXX_SIZE "m"
#else
# define CXX_SIZE "j"
#endif

/* Expands CALL (result, name, parameters) for each.  The last two are C23's:
 * a C library may lack them. */
#define MALLOC_FAMILY(CALL)                                                   \
 CALL (void *, malloc, (size_t size))                                         \
 CALL (void *, calloc, (size_t n, size_t size))                               \
 CALL (void *, realloc, (void *block, size_t size))                           \
 CALL (void *, reallocarray, (void *block, size_t n, size_t size))            \
 CALL (void, free, (void *block))                                             \
 CALL (int, posix_memalign, (void **to, size_t alignment, size_t size))       \
 CALL (void *, aligned_alloc, (size_t alignment, size_t size))                \
 CALL (void *, memalign, (size_t alignment, size_t size))                     \
 CALL (void *, valloc, (size_t size))                                         \
 CALL (void *, pvalloc, (size_t size))                                        \
 CALL (size_t, malloc_usable_size, (void *block))                             \
 CALL (void, free_sized, (void *block, size_t size))                          \
 CALL (void, free_aligned_sized,                                              \
       (void *block, size_t alignment, size_t size))

#endif
