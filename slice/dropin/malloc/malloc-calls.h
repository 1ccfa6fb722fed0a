/* malloc-calls.h - the C library's calls that libslice-malloc replaces
 *
 * Layer: dropin.  They are declared here, not included, since some need a
 * newer C library and all must be exported.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_MALLOC_CALLS_H
#define SLI_DROPIN_MALLOC_CALLS_H

#include "port/compiler.h"
#include "port/malloc-family.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CXX_NOTHROW "RKSt9nothrow_t"
#define CXX_ALIGN "St11align_val_t"

#define DECLARE_CALL(result, name, parameters) EXPORT result name parameters;
MALLOC_FAMILY (DECLARE_CALL)
#undef DECLARE_CALL
EXPORT void cfree (void *block);

/* The bytes of an array; false, with errno, if there are too many. */
static inline bool
product_fits (size_t n, size_t size, size_t *bytes)
{
  bool fits = !__builtin_mul_overflow (n, size, bytes);

  if (UNLIKELY (!fits))
    errno = ENOMEM;
  return fits;
}

/* malloc-info.c; as in <malloc.h>, where older C libraries lack the second. */
struct SliceMallinfo
{
  int words[10];
};
struct SliceMallinfo2
{
  size_t arena;    /* bytes of the pages */
  size_t ordblks;  /* free chunks: not counted */
  size_t smblks;
  size_t hblks;    /* mapped blocks */
  size_t hblkhd;   /* their bytes */
  size_t usmblks;
  size_t fsmblks;
  size_t uordblks; /* bytes of live blocks */
  size_t fordblks; /* bytes of memory in no block */
  size_t keepcost; /* bytes that malloc_trim() returns at once */
};

EXPORT struct SliceMallinfo mallinfo (void);
EXPORT struct SliceMallinfo2 mallinfo2 (void);
EXPORT int malloc_trim (size_t pad);
EXPORT void malloc_stats (void);
EXPORT int mallopt (int parameter, int value);

/* malloc-new.c: name, mangled name and parameters of each form of operator new;
 * those that return NULL without memory have a `nothrow' that is never read. */
#define OPERATORS_NEW(NEW)                                                    \
  NEW (sli_new, "_Znw" CXX_SIZE, (size_t size))                               \
  NEW (sli_new_array, "_Zna" CXX_SIZE, (size_t size))                         \
  NEW (sli_new_aligned, "_Znw" CXX_SIZE CXX_ALIGN,                            \
       (size_t size, size_t alignment))                                       \
  NEW (sli_new_array_aligned, "_Zna" CXX_SIZE CXX_ALIGN,                      \
       (size_t size, size_t alignment))                                       \
  NEW (sli_new_nothrow, "_Znw" CXX_SIZE CXX_NOTHROW,                          \
       (size_t size, const void *nothrow))                                    \
  NEW (sli_new_array_nothrow, "_Zna" CXX_SIZE CXX_NOTHROW,                    \
       (size_t size, const void *nothrow))                                    \
  NEW (sli_new_aligned_nothrow, "_Znw" CXX_SIZE CXX_ALIGN CXX_NOTHROW,        \
       (size_t size, size_t alignment, const void *nothrow))                  \
  NEW (sli_new_array_aligned_nothrow, "_Zna" CXX_SIZE CXX_ALIGN CXX_NOTHROW,  \
       (size_t size, size_t alignment, const void *nothrow))

/* The same for operator delete, with the form that C++ says each calls, which
 * may be the program's own.  Its second and third arguments are hints. */
#define OPERATORS_DELETE(DELETE)                                              \
  DELETE (sli_delete_array, "_ZdaPv", sli_delete)                             \
  DELETE (sli_delete_sized, "_ZdlPv" CXX_SIZE, sli_delete)                    \
  DELETE (sli_delete_nothrow, "_ZdlPv" CXX_NOTHROW, sli_delete)               \
  DELETE (sli_delete_array_sized, "_ZdaPv" CXX_SIZE, sli_delete_array)        \
  DELETE (sli_delete_array_nothrow, "_ZdaPv" CXX_NOTHROW, sli_delete_array)   \
  DELETE (sli_delete_array_aligned, "_ZdaPv" CXX_ALIGN, sli_delete_aligned)   \
  DELETE (sli_delete_sized_aligned, "_ZdlPv" CXX_SIZE CXX_ALIGN,              \
          sli_delete_aligned)                                                 \
  DELETE (sli_delete_aligned_nothrow, "_ZdlPv" CXX_ALIGN CXX_NOTHROW,         \
          sli_delete_aligned)                                                 \
  DELETE (sli_delete_array_sized_aligned, "_ZdaPv" CXX_SIZE CXX_ALIGN,        \
          sli_delete_array_aligned)                                           \
  DELETE (sli_delete_array_aligned_nothrow, "_ZdaPv" CXX_ALIGN CXX_NOTHROW,   \
          sli_delete_array_aligned)

#define DECLARE_NEW(name, mangled, parameters)                                \
  EXPORT void *name parameters __asm__ (mangled);
OPERATORS_NEW (DECLARE_NEW)
#undef DECLARE_NEW
#define DECLARE_DELETE(name, mangled, calls)                                  \
  EXPORT void name (void *block) __asm__ (mangled);
DECLARE_DELETE (sli_delete, "_ZdlPv", )
DECLARE_DELETE (sli_delete_aligned, "_ZdlPv" CXX_ALIGN, )
OPERATORS_DELETE (DECLARE_DELETE)
#undef DECLARE_DELETE

#endif
