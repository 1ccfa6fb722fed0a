/* os-linux.c - advice on memory, barriers, thread numbers
 *
 * Layer: port.  No locks.  On other systems each call returns that it failed.
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

enum
{
  PRESENT_PAGES = 256 /* in one call: 1 MiB of the smallest pages */
};

COMMON_TEXT unsigned
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

void *
sli_os_remap (void *address UNUSED, size_t old_bytes UNUSED,
              size_t bytes UNUSED)
{
#if defined(__linux__) && defined(MREMAP_MAYMOVE)
  void *moved = mremap (address, old_bytes, bytes, MREMAP_MAYMOVE);

  return moved == MAP_FAILED ? NULL : moved;
#else
  return NULL;
#endif
}

COMMON_TEXT void
sli_os_advise_huge (void *address UNUSED, size_t bytes UNUSED,
                    bool wanted UNUSED)
{
#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
  /* If the kernel refuses, it keeps its own choice. */
  (void) madvise (address, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
}

bool
sli_os_is_present (void *address UNUSED, size_t bytes UNUSED)
{
#if defined(__linux__)
  size_t page_bytes = (size_t) sysconf (_SC_PAGESIZE);
  unsigned char present[PRESENT_PAGES];

  if (bytes > PRESENT_PAGES * page_bytes
      || mincore (address, bytes, present) != 0)
    return true;
  for (size_t i = 0; i < bytes / page_bytes; i++)
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

/* The race detector does not know this barrier, and would report the accesses
 * that it orders as races.  So with it the call always fails. */
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
#if BARRIER_IS_UNDERSTOOD && defined(HAVE_LINUX_MEMBARRIER_H)                 \
    && defined(SYS_membarrier)
  /* A forked child must register again; otherwise it does no harm. */
  return syscall (SYS_membarrier,
                  MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0
         && syscall (SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)
                == 0;
#else
  return false;
#endif
}
