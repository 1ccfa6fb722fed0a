/* malloc-new.c - operator new and operator delete
 *
 * Layer: dropin.  The other forms (arrays, sized, aligned, nothrow) are the
 * C++ library's, which call these two, or aligned_alloc() and free(), as the
 * standard says: so a program that replaces some of them gets what it expects.
 * Without memory the C++ library's own operator is called; it knows the new
 * handler and the exception.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "malloc-calls.h"
#include "malloc-next.h"

#include <slice/heap.h>

#include <stdlib.h>

COLD static void *
new_failed (size_t size)
{
  void *(*next) (size_t size);

  *(void **) &next = sli_malloc_next_function (SLI_OPERATOR_NEW);
  if (next == NULL)
    abort ();
  return next (size);
}

void *
sli_operator_new (size_t size)
{
  void *block = malloc (size);

  return LIKELY (block != NULL) ? block : new_failed (size);
}

void
sli_operator_delete (void *block)
{
  slice_heap_free (block);
}
