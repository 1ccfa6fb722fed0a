/* oom.c - when there is no memory
 *
 * Layer: alloc.  Lock: failure.lock (rank 10), for the handlers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <slice/slice.h>

#include "alloc/dispatch.h"
#include "base/check.h"
#include "base/diag.h"
#include "port/compiler.h"
#include "port/thread/lock.h"
#include "port/os/os.h"

#include <errno.h>
#include <stdint.h>

static struct
{
  Lock lock;
  SliceFailureHandler handler;
  void *data;
} failure = { .lock = LOCK_INIT (LOCK_RANK_BASE) };

static const char *alloc_name = "slice_alloc";

COMMON_TEXT Lock *
sli_oom_lock (void)
{
  return &failure.lock;
}

void
slice_set_failure_handler (SliceFailureHandler handler, void *data)
{
  sli_lock (&failure.lock);
  failure.handler = handler;
  failure.data = data;
  sli_unlock (&failure.lock);
}

void
slice_set_abort_handler (SliceAbortHandler handler, void *data)
{
  sli_lock (&failure.lock);
  sli_diag_set_last_words (handler, data);
  sli_unlock (&failure.lock);
}

void
sli_oom_rename (const char *name)
{
  STORE (&alloc_name, name);
}

bool
sli_oom_ask (size_t size, size_t alignment)
{
  SliceFailureHandler handler;
  void *data;

  sli_lock (&failure.lock);
  handler = failure.handler;
  data = failure.data;
  sli_unlock (&failure.lock);
  assert_here (sli_lock_none_held ()); /* the program's code runs next */
  /* The handler is called for a size that can never fit, too, and may end the
   * program or jump out.  But no memory that it frees helps. */
  return handler != NULL && handler (size, alignment, data)
         && size <= PTRDIFF_MAX && alignment <= PTRDIFF_MAX - size;
}

_Noreturn COLD static void
abort_no_memory (const char *operation, size_t size, size_t alignment)
{
  char aligned[48] = "";

  if (alignment != 0)
    sli_diag_format (aligned, sizeof aligned, ", alignment %zu", alignment);
  sli_diag_abort (ERROR_NO_MEMORY,
                  "%s: out of memory: %zu bytes%s [thread %u]",
                  operation, size, aligned, sli_os_thread_id ());
}

COLD void
slice_out_of_memory (size_t size, size_t alignment)
{
  if (!sli_oom_ask (size, alignment))
    abort_no_memory ("slice_out_of_memory", size, alignment);
}

COLD void *
sli_oom_retry (Attempt attempt, size_t alignment, size_t size, bool may_fail,
               const void *site)
{
  const char *operation
      = alignment != 0 ? "slice_alloc_aligned" : LOAD (&alloc_name);
  void *block;

  assert_here (size > 0 && sli_lock_none_held ());
  slice_trim (0);
  block = attempt (alignment, size, site);
  while (block == NULL && !may_fail)
    {
      if (!sli_oom_ask (size, alignment))
        abort_no_memory (operation, size, alignment);
      block = attempt (alignment, size, site);
    }
  assert_here (block != NULL || may_fail);
  if (block == NULL)
    errno = ENOMEM;
  return block;
}
