/* os-linux.c - advice on memory, barriers, thread numbers
 *
 * Floor 0 (port).  No locks.  On other systems every call reports that it
 * can't.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "os.h"
#include "compiler.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef HAVE_LINUX_MEMBARRIER_H
# include <linux/membarrier.h>
#endif

unsigned
sli_os_thread_id (void)
{
#ifdef SYS_gettid
  return (unsigned) syscall (SYS_gettid);
#else
  return (unsigned) getpid ();
#endif
}

bool
sli_os_advise_away (void *address UNUSED, size_t bytes UNUSED)
{
#if defined(__linux__) && defined(MADV_DONTNEED)
  return madvise (address, bytes, MADV_DONTNEED) == 0;
#else
  return false;
#endif
}

void
sli_os_advise_huge (void *address UNUSED, size_t bytes UNUSED,
                    bool wanted UNUSED)
{
#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
  /* Refusal only means that the kernel goes on as it likes. */
  (void) madvise (address, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
}

bool
sli_os_barrier_all_threads (void)
{
#if defined(HAVE_LINUX_MEMBARRIER_H) && defined(SYS_membarrier)
  /* Registering again is harmless, and a forked child must. */
  return syscall (SYS_membarrier,
                  MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0
         && syscall (SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)
                == 0;
#else
  return false;
#endif
}
