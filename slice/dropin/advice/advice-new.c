/* advice-new.c - operator new, for a program with advice
 *
 * Layer: dropin.  The C++ library's operators would hide the caller, so this
 * file replaces them, except for the aligned forms, which call aligned_alloc()
 * of the next malloc.  If the program defines an operator new, the other forms
 * call that one, as those of the C++ library do.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "config.h"

#include "dropin/advice/advice-start.h"
#include "dropin/malloc/malloc-calls.h"
#include "dropin/malloc/malloc-new.h"

#include <stdlib.h>

/* For the forms that call another form, which may be the program's.  (A macro,
 * because it uses the return address of the function that contains it.) */
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
