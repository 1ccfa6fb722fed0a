/* malloc-delete.c - operator delete, and whose operator new is
 *
 * Layer: dropin.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "config.h"

#include "malloc-calls.h"
#include "malloc-new.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Compilers treat an alias as the function itself, so a comparison of addresses
 * is not enough. */
bool
sli_new_is_ours (void)
{
  enum { UNKNOWN, OURS, OTHERS };
  static int answer;

  if (UNLIKELY (LOAD (&answer) == UNKNOWN))
    {
      Dl_info found, here;
      bool is_ours = dladdr ((void *) (uintptr_t) sli_new, &found) != 0
                     && dladdr (&answer, &here) != 0
                     && found.dli_fbase == here.dli_fbase;

      STORE (&answer, is_ours ? OURS : OTHERS);
    }
  return LOAD (&answer) == OURS;
}

/* --- delete -------------------------------------------------------------- */

void
sli_delete (void *block)
{
  free (block);
}

void
sli_delete_aligned (void *block)
{
  free (block);
}

#define DEFINE_DELETE(name, mangled, calls)                                   \
  void name (void *block)                                                     \
  {                                                                           \
    calls (block);                                                            \
  }
OPERATORS_DELETE (DEFINE_DELETE)
