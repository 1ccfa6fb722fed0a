/* malloc-calls.h - the C library's calls that libslice-malloc replaces
 *
 * Layer: dropin.  Declared here and not included: some need a newer C library,
 * and all must be exported.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_MALLOC_CALLS_H
#define SLI_DROPIN_MALLOC_CALLS_H

#include "port/compiler.h"
#include "port/malloc-family.h"

#include <stddef.h>
#include <stdint.h>

/* operator new (std::size_t), whose mangled name has the type. */
#if SIZE_MAX > UINT32_MAX || defined __s390__
# define SLI_OPERATOR_NEW "_Znwm"
#else
# define SLI_OPERATOR_NEW "_Znwj"
#endif

#define DECLARE_CALL(result, name, parameters) EXPORT result name parameters;
MALLOC_FAMILY (DECLARE_CALL)
#undef DECLARE_CALL
EXPORT void cfree (void *block);

/* malloc-info.c; as in <malloc.h>, which older C libraries have without the
 * second. */
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
  size_t fordblks; /* bytes of memory that no block has */
  size_t keepcost; /* what malloc_trim() gives back at once */
};

EXPORT struct SliceMallinfo mallinfo (void);
EXPORT struct SliceMallinfo2 mallinfo2 (void);
EXPORT int malloc_trim (size_t pad);
EXPORT void malloc_stats (void);
EXPORT int mallopt (int parameter, int value);

/* malloc-new.c */
EXPORT void *sli_operator_new (size_t size) __asm__ (SLI_OPERATOR_NEW);
EXPORT void sli_operator_delete (void *block) __asm__ ("_ZdlPv");

#endif
