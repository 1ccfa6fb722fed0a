/* os-linux.c - advice on memory, barriers, thread numbers
 *
 * Layer: port.  No locks.  On other systems each call returns that it failed.
 * The library goes on without what could not be done, so errno stays as it
 * is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "os.h"
#include "port/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#ifdef HAVE_VALGRIND_MEMCHECK_H
# include <valgrind/memcheck.h>
#else
# define VALGRIND_MAKE_MEM_DEFINED(address, bytes) ((void) 0)
#endif
#ifdef HAVE_LINUX_MEMBARRIER_H
# include <linux/membarrier.h>
#endif
#if defined HAVE_LINUX_FUTEX_H && defined SYS_futex
# include <linux/futex.h>
# define HAS_FUTEX 1
#else
# define HAS_FUTEX 0
#endif

enum
{
  POLL_MSEC = 100,
  PAGE_BYTES_MIN = 4096,
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

/* --- threads that wait and end ------------------------------------------- */

void
sli_os_wait_word (const uint32_t *word, uint32_t value, unsigned msec)
{
#if HAS_FUTEX
  const struct timespec time = { (time_t) (msec / 1000),
                                 (long) (msec % 1000) * 1000000 };
  int error = errno;

  (void) syscall (SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &time, NULL, 0);
  errno = error;
#else
  /* Nobody can wake it, so it looks. */
  for (unsigned step; msec > 0 && LOAD (word) == value; msec -= step)
    {
      step = msec < POLL_MSEC ? msec : POLL_MSEC;
      sli_os_sleep_msec (step);
    }
#endif
}

void
sli_os_wake_word (const uint32_t *word UNUSED)
{
#if HAS_FUTEX
  int error = errno;

  (void) syscall (SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  errno = error;
#endif
}

#ifdef __linux__
/* Reads a small file; 0 if it can't. */
static size_t
read_text (const char *path, char *to, size_t to_bytes)
{
  int error = errno;
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  ssize_t length = -1;

  if (fd >= 0)
    {
      length = read (fd, to, to_bytes - 1);
      close (fd);
    }
  errno = error;
  if (length < 0)
    return 0;
  to[length] = '\0';
  return (size_t) length;
}
#endif

/* /proc/self/stat tells of the main thread: "PID (NAME) STATE ...", and as
 * field 20 how many threads there are.  The main thread stays as a zombie as
 * long as there are others, and is counted. */
OsThreads
sli_os_other_threads (void)
{
#ifdef __linux__
  enum
  {
    STAT_BYTES = 512,
    FIELD_STATE = 3,
    FIELD_THREADS = 20
  };
  char text[STAT_BYTES];
  const char *at;

  if (read_text ("/proc/self/stat", text, sizeof text) == 0
      || (at = strrchr (text, ')')) == NULL || at[1] != ' ' || at[2] != 'Z')
    return OS_MAIN_LIVES;
  at += 2;
  for (int i = FIELD_STATE; i < FIELD_THREADS && at != NULL; i++)
    at = strchr (at + 1, ' ');
  return at != NULL && strtol (at, NULL, 10) == 2 ? OS_ALL_ENDED
                                                  : OS_MAIN_ENDED;
#else
  return OS_MAIN_LIVES;
#endif
}

/* --- memory -------------------------------------------------------------- */

/* Asked for once: the setting is the machine's, and changes rarely. */
static enum
{
  RESERVES_UNKNOWN,
  RESERVES_USED,
  RESERVES_MAPPED
} reserves;

bool
sli_os_reserves_mapped (void)
{
#ifdef __linux__
  char text[4] = "";

  if (LOAD (&reserves) == RESERVES_UNKNOWN)
    {
      (void) read_text ("/proc/sys/vm/overcommit_memory", text, sizeof text);
      STORE (&reserves, text[0] == '2' ? RESERVES_MAPPED : RESERVES_USED);
    }
#endif
  return LOAD (&reserves) == RESERVES_MAPPED;
}

void
sli_os_pretend_reserves_mapped (bool is_so)
{
  STORE (&reserves, is_so ? RESERVES_MAPPED : RESERVES_USED);
}

COMMON_TEXT bool
sli_os_advise_away (void *address UNUSED, size_t bytes UNUSED)
{
#if defined(__linux__) && defined(MADV_DONTNEED)
  int error = errno;

  if (madvise (address, bytes, MADV_DONTNEED) != 0)
    {
      errno = error;
      return false;
    }
  /* memcheck does not know that such pages read as zero. */
  VALGRIND_MAKE_MEM_DEFINED (address, bytes);
  return true;
#else
  return false;
#endif
}

HEAP_TEXT void *
sli_os_remap (void *address UNUSED, size_t old_bytes UNUSED,
              size_t bytes UNUSED)
{
#if defined(__linux__) && defined(MREMAP_MAYMOVE)
  int error = errno;
  void *moved = mremap (address, old_bytes, bytes, MREMAP_MAYMOVE);

  errno = error;
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
  int error = errno;

  (void) madvise (address, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  errno = error;
#endif
}

void *
sli_os_map_huge (size_t bytes UNUSED)
{
#if defined(__linux__) && defined(MAP_HUGETLB)
  int error = errno;
  void *start = mmap (NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

  if (start != MAP_FAILED)
    return start;
  errno = error;
#endif
  return NULL;
}

void
sli_os_punch_hole (int fd UNUSED, size_t offset UNUSED, size_t bytes UNUSED)
{
#if defined(__linux__) && defined(FALLOC_FL_PUNCH_HOLE)
  int error = errno;

  (void) !fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     (off_t) offset, (off_t) bytes);
  errno = error;
#endif
}

bool
sli_os_reserve_in_file (int fd UNUSED, size_t offset UNUSED,
                        size_t bytes UNUSED)
{
#if defined(__linux__) && defined(FALLOC_FL_PUNCH_HOLE)
  int error = errno;
  int result;

  do
    result = fallocate (fd, 0, (off_t) offset, (off_t) bytes);
  while (result != 0 && errno == EINTR);
  if (result != 0 && errno != EOPNOTSUPP && errno != ENOSYS)
    return false;
  errno = error;
#endif
  return true;
}

bool
sli_os_is_present (void *address UNUSED, size_t bytes UNUSED)
{
#if defined(__linux__)
  /* An emulator with larger pages than its host fills in a byte for each page
   * of its host. */
  unsigned char present[PRESENT_PAGES] = { 0 };
  int error = errno;

  if (bytes > PRESENT_PAGES * PAGE_BYTES_MIN
      || mincore (address, bytes, present) != 0)
    {
      errno = error;
      return true;
    }
  for (size_t i = 0; i < bytes / PAGE_BYTES_MIN; i++)
    if ((present[i] & 1) != 0)
      return true;
  return false;
#else
  return true;
#endif
}

bool
sli_os_is_mapped (void *address UNUSED, size_t bytes UNUSED)
{
#if defined(__linux__)
  size_t page_bytes = (size_t) sysconf (_SC_PAGESIZE);
  uintptr_t start = (uintptr_t) address, last = start + bytes - page_bytes;
  unsigned char present;
  int error = errno;
  bool is_mapped;

  if (bytes < page_bytes || last < start)
    return false;
  /* One byte of a page asks for the page, and a single byte is filled in by an
   * emulator, too, that has smaller pages than it pretends. */
  is_mapped = (mincore ((void *) start, 1, &present) == 0 || errno != ENOMEM)
              && (mincore ((void *) last, 1, &present) == 0
                  || errno != ENOMEM);
  errno = error;
  return is_mapped;
#else
  return true;
#endif
}

bool
sli_os_is_readable (const void *address)
{
  uintptr_t page_bytes = (uintptr_t) sysconf (_SC_PAGESIZE);
  uintptr_t page = (uintptr_t) address & ~(page_bytes - 1);
#ifdef __linux__
  char byte;
  struct iovec to = { &byte, 1 };
  struct iovec from = { (void *) (uintptr_t) address, 1 };
  int error = errno;
  bool is_read = process_vm_readv (getpid (), &to, 1, &from, 1, 0) == 1;
  bool is_known = is_read || errno == EFAULT;

  errno = error;
  if (is_known)
    return is_read;
#endif
  return sli_os_is_mapped ((void *) page, page_bytes);
}

bool
sli_os_populate (void *address UNUSED, size_t bytes UNUSED)
{
#if defined(__linux__) && defined(MADV_POPULATE_WRITE)
  int error = errno;
  bool is_done = madvise (address, bytes, MADV_POPULATE_WRITE) == 0;

  errno = error;
  return is_done;
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
  int error = errno;
  bool is_done
      = syscall (SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
                 0) == 0
        && syscall (SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)
               == 0;

  errno = error;
  return is_done;
#else
  return false;
#endif
}
