/* tool.c - is valgrind or a sanitizer watching?
 *
 * Layer: port.  No locks.
 * Sources: valgrind's client requests (manual, section 3.1); a function of the
 * run time of every sanitizer with a malloc, which is a weak symbol here.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "port/os/os.h"
#include "compiler.h"

#ifdef HAVE_VALGRIND_VALGRIND_H
# include <valgrind/valgrind.h>
#else
# define RUNNING_ON_VALGRIND 0
#endif

/* 1 if an address is a live block's.  (sanitizer/allocator_interface.h)  The
 * run times of AddressSanitizer, ThreadSanitizer, MemorySanitizer and
 * LeakSanitizer define it, even if this library was built without them.  That
 * of UndefinedBehaviorSanitizer does not: it has no malloc of its own. */
extern int __sanitizer_get_ownership (const volatile void *block)
    __attribute__ ((weak));

bool
sli_os_malloc_may_own (const void *block)
{
  return &__sanitizer_get_ownership == NULL
         || __sanitizer_get_ownership (block) != 0;
}

COMMON_TEXT const char *
sli_os_memory_tool (void)
{
  if (RUNNING_ON_VALGRIND)
    return "valgrind";
  if (&__sanitizer_get_ownership != NULL)
    return "sanitizer";
  return NULL;
}
