/* advice-new.c - operator new, for a program with advice
 *
 * Layer: dropin.  The C++ library's operators would hide who calls.  Aligned
 * forms are theirs: they call aligned_alloc() of the next malloc.  If the
 * program has an operator new of its own, all forms are that one's, as the C++
 * library defines them.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "config.h"

#include "dropin/advice/advice-start.h"
#include "dropin/malloc/malloc-calls.h"
#include "dropin/malloc/malloc-new.h"

#include <stdlib.h>

/* For forms that another form defines, which may be the program's.  (A macro,
 * as it asks who calls.) */
#define ADVICE_ALLOC_IF_OURS(size)                                            \
  (ADVICE_MAY_HAVE () && sli_new_is_ours () ? ADVICE_ALLOC (size) : NULL)

void *
sli_new (size_t size)
{
  void *block = ADVICE_MAY_HAVE () ? ADVICE_ALLOC (size) : NULL;

  if (UNLIKELY (block == NULL))
    block = LOAD (&sli_next.malloc) (size);
  return LIKELY (block != NULL) ? block
                                : NEXT_NEW ("_Znw" CXX_SIZE, (size_t), (size));
}

void *
sli_new_array (size_t size)
{
  void *block = ADVICE_ALLOC_IF_OURS (size);

  if (block == NULL && sli_new_is_ours ())
    block = LOAD (&sli_next.malloc) (size);
  return LIKELY (block != NULL) ? block
                                : NEXT_NEW ("_Zna" CXX_SIZE, (size_t), (size));
}

void *
sli_new_nothrow (size_t size, const void *nothrow)
{
  void *block = ADVICE_ALLOC_IF_OURS (size);

  return LIKELY (block != NULL) ? block
                                : NEXT_NEW_NOTHROW ("_Znw", size, nothrow);
}

void *
sli_new_array_nothrow (size_t size, const void *nothrow)
{
  void *block = ADVICE_ALLOC_IF_OURS (size);

  return LIKELY (block != NULL) ? block
                                : NEXT_NEW_NOTHROW ("_Zna", size, nothrow);
}
