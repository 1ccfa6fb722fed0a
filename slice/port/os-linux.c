/* os-linux.c - advice on memory, barriers, thread numbers
 *
 * Layer: port.  No locks.  On other systems every call reports that it
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
#ifdef HAVE_VALGRIND_MEMCHECK_H
# include <valgrind/memcheck.h>
#else
# define VALGRIND_MAKE_MEM_DEFINED(address, bytes) ((void) 0)
#endif
#ifdef HAVE_LINUX_MEMBARRIER_H
# include <linux/membarrier.h>
#endif

/* What is asked about at once: 1 MiB of the smallest pages. */
#define PRESENT_PAGES 256

unsigned
sli_os_thread_id (void)
{
#ifdef SYS_gettid
  return (unsigned) syscall (SYS_gettid);
#else
  return (unsigned) getpid ();
#endif
}

COMMON_TEXT bool
sli_os_advise_away (void *address UNUSED, size_t bytes UNUSED)
{
#if defined(__linux__) && defined(MADV_DONTNEED)
  if (madvise (address, bytes, MADV_DONTNEED) != 0)
    return false;
  /* memcheck does not know that such pages read as zero. */
  VALGRIND_MAKE_MEM_DEFINED (address, bytes);
  return true;
#else
  return false;
#endif
}

COMMON_TEXT void
sli_os_advise_huge (void *address UNUSED, size_t bytes UNUSED,
                    bool wanted UNUSED)
{
#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
  /* Refusal only means that the kernel goes on as it likes. */
  (void) madvise (address, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
}

bool
sli_os_is_present (void *address UNUSED, size_t bytes UNUSED)
{
#if defined(__linux__)
  unsigned char present[PRESENT_PAGES];
  if (bytes > PRESENT_PAGES * (size_t) sysconf (_SC_PAGESIZE)
      || mincore (address, bytes, present) != 0)
    return true;
  size_t n = bytes / (size_t) sysconf (_SC_PAGESIZE);
  for (size_t i = 0; i < n; i++)
    if ((present[i] & 1) != 0)
      return true;
  return false;
#else
  return true;
#endif
}

bool
sli_os_populate (void *address UNUSED, size_t bytes UNUSED)
{
#if defined(__linux__) && defined(MADV_POPULATE_WRITE)
  return madvise (address, bytes, MADV_POPULATE_WRITE) == 0;
#else
  return false;
#endif
}

/* The race detector does not know this barrier, and would report as races what
 * it orders: under it the system "can't". */
#if defined(__SANITIZE_THREAD__)
# define BARRIER_IS_UNDERSTOOD 0
#elif defined(__has_feature)
# if __has_feature(thread_sanitizer)
#  define BARRIER_IS_UNDERSTOOD 0
# endif
#endif
#ifndef BARRIER_IS_UNDERSTOOD
# define BARRIER_IS_UNDERSTOOD 1
#endif

bool
sli_os_barrier_all_threads (void)
{
#if BARRIER_IS_UNDERSTOOD && defined(HAVE_LINUX_MEMBARRIER_H) && defined(SYS_membarrier)
  /* Registering again is harmless, and a forked child must. */
  return syscall (SYS_membarrier,
                  MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0
         && syscall (SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)
                == 0;
#else
  return false;
#endif
}
