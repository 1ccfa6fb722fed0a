/* malloc-new.h - shared by the forms of C++'s operators
 *
 * Layer: dropin.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_MALLOC_NEW_H
#define SLI_DROPIN_MALLOC_NEW_H

#include "malloc-next.h"

#include <stdbool.h>

/* Returns true if operator new is ours and not the program's. */
bool sli_new_is_ours (void);

/* The same operator of the next library, by its mangled name. */
#define NEXT_NEW(mangled, parameters, arguments)                              \
  __extension__ ({                                                            \
    void *(*next_) parameters;                                                \
    *(void **) &next_ = sli_malloc_next_function (mangled);                   \
    if (next_ == NULL)                                                        \
      abort ();                                                               \
    next_ arguments;                                                          \
  })
#define NEXT_NEW_NOTHROW(mangled, size, nothrow)                              \
  NEXT_NEW (mangled CXX_SIZE CXX_NOTHROW, (size_t, const void *),             \
            (size, nothrow))

#endif
