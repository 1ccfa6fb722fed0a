/* malloc-new.c - operator new
 *
 * Layer: dropin.  All forms are here, since a program may be linked with
 * another malloc that has all, and neither must free blocks of the other.  A
 * form that C++ defines by another one calls that, which may be the program's
 * own: new[] calls new, and so on (C++17, [new.delete]).
 *
 * Without memory they call the next library's operator, usually the C++
 * library's, which knows the new handler and the exception.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "malloc-calls.h"
#include "malloc-new.h"

#include <stdlib.h>

/* --- forms that throw ---------------------------------------------------- */

COLD static void *
new_failed (size_t size)
{
  return NEXT_NEW ("_Znw" CXX_SIZE, (size_t), (size));
}

void *
sli_new (size_t size)
{
  void *block = malloc (size);

  return LIKELY (block != NULL) ? block : new_failed (size);
}

void *
sli_new_array (size_t size)
{
  return sli_new (size);
}

void *
sli_new_aligned (size_t size, size_t alignment)
{
  void *block = aligned_alloc (alignment, size);

  return LIKELY (block != NULL) ? block
                                : NEXT_NEW ("_Znw" CXX_SIZE CXX_ALIGN,
                                        (size_t, size_t), (size, alignment));
}

void *
sli_new_array_aligned (size_t size, size_t alignment)
{
  return sli_new_aligned (size, alignment);
}

/* --- forms that return NULL ---------------------------------------------- */

/* The C++ library's operator calls the program's and catches its exceptions,
 * which C can't. */
void *
sli_new_nothrow (size_t size, const void *nothrow)
{
  void *block = sli_new_is_ours () ? malloc (size) : NULL;

  return LIKELY (block != NULL) ? block
                                : NEXT_NEW_NOTHROW ("_Znw", size, nothrow);
}

void *
sli_new_array_nothrow (size_t size, const void *nothrow)
{
  return sli_new_nothrow (size, nothrow);
}

void *
sli_new_aligned_nothrow (size_t size, size_t alignment, const void *nothrow)
{
  void *block = sli_new_is_ours () ? aligned_alloc (alignment, size) : NULL;

  return LIKELY (block != NULL)
             ? block
             : NEXT_NEW ("_Znw" CXX_SIZE CXX_ALIGN CXX_NOTHROW,
                     (size_t, size_t, const void *),
                     (size, alignment, nothrow));
}

void *
sli_new_array_aligned_nothrow (size_t size, size_t alignment,
                               const void *nothrow)
{
  return sli_new_aligned_nothrow (size, alignment, nothrow);
}
