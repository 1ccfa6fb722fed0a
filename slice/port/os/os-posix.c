/* os-posix.c - pages, clock, output and environment by POSIX
 *
 * Layer: port.  No locks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "os.h"
#include "port/compiler.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum
{
  MALLOC_ALIGN = 16
};

static struct
{
  size_t pretended_page_bytes;   /* 0: use the system's */
  uint64_t pretended_clock_msec; /* 0: use the system's */
} os;

COMMON_TEXT size_t
sli_os_page_bytes (void)
{
  size_t pretended = LOAD (&os.pretended_page_bytes);

  return pretended != 0 ? pretended : (size_t) sysconf (_SC_PAGESIZE);
}

void
sli_os_pretend_page_bytes (size_t bytes)
{
  STORE (&os.pretended_page_bytes, bytes);
}

COMMON_TEXT uint64_t
sli_os_clock_msec (void)
{
  uint64_t pretended = LOAD (&os.pretended_clock_msec);
  struct timespec now;

  if (UNLIKELY (pretended != 0))
    return pretended;
#ifdef CLOCK_MONOTONIC_COARSE
  clock_gettime (CLOCK_MONOTONIC_COARSE, &now);
#else
  clock_gettime (CLOCK_MONOTONIC, &now);
#endif
  return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000 + 1;
}

void
sli_os_pretend_clock_msec (uint64_t msec)
{
  STORE (&os.pretended_clock_msec, msec);
}

void
sli_os_sleep_msec (unsigned msec)
{
  struct timespec pause = { (time_t) (msec / 1000),
                            (long) (msec % 1000) * 1000000 };

  nanosleep (&pause, NULL);
}

void
sli_os_write (int fd, const char *text, size_t bytes)
{
  while (bytes > 0)
    {
      ssize_t written = write (fd, text, bytes);

      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return;
      text += written;
      bytes -= (size_t) written;
    }
}

COMMON_TEXT bool
sli_os_is_secure (void)
{
  return getauxval (AT_SECURE) != 0;
}

COMMON_TEXT const char *
sli_os_getenv (const char *name)
{
  return sli_os_is_secure () ? NULL : getenv (name);
}

COMMON_TEXT void
sli_os_random (void *to, size_t bytes)
{
  int error = errno;

  /* getentropy() is no cancellation point, getrandom() is.  If a sandbox
   * forbids it, the clock and an address are the seed: better than to fail. */
  if (getentropy (to, bytes) != 0)
    {
      uint64_t seed = sli_os_clock_msec () ^ (uint64_t) (uintptr_t) &to
                      ^ ((uint64_t) getpid () << 32);
      unsigned char *byte = to;

      for (size_t i = 0; i < bytes; i++)
        {
          seed = seed * 6364136223846793005u + 1442695040888963407u;
          byte[i] = (unsigned char) (seed >> 56);
        }
    }
  errno = error;
}

COMMON_TEXT static size_t
limit_bytes (int resource)
{
  struct rlimit limit;

  return getrlimit (resource, &limit) == 0 && limit.rlim_cur < SIZE_MAX
             ? (size_t) limit.rlim_cur
             : SIZE_MAX;
}

/* Beyond the limit on a file's size the process would get SIGXFSZ. */
bool
sli_os_grow_file (int fd, size_t old_bytes, size_t from, size_t new_bytes)
{
  if (new_bytes > limit_bytes (RLIMIT_FSIZE)
      || ftruncate (fd, (off_t) new_bytes) != 0)
    return false;
  if (sli_os_reserve_in_file (fd, from, new_bytes - from))
    return true;
  (void) !ftruncate (fd, (off_t) old_bytes);
  return false;
}

COMMON_TEXT size_t
sli_os_memory_limit_bytes (void)
{
  size_t space_bytes = limit_bytes (RLIMIT_AS);
  size_t data_bytes = limit_bytes (RLIMIT_DATA);

  return space_bytes < data_bytes ? space_bytes : data_bytes;
}

/* Maps pages, at `hint' if the system can and it is not NULL. */
HEAP_TEXT static char *
map_pages (void *hint, size_t bytes)
{
  char *start = mmap (hint, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  return start != MAP_FAILED ? start : NULL;
}

/* Maps no more than `bytes', where a limit allows nothing else.  The system
 * fills the address space from above, so there is mostly room just below the
 * place that it has chosen. */
COLD static void *
map_exactly (size_t bytes, size_t alignment)
{
  char *start = map_pages (NULL, bytes);

  if (start == NULL || (uintptr_t) start % alignment == 0)
    return start;
  munmap (start, bytes);
  start = map_pages ((char *) ((uintptr_t) start & -alignment), bytes);
  if (start == NULL || (uintptr_t) start % alignment == 0)
    return start;
  munmap (start, bytes);
  return NULL;
}

/* Maps as much more as the alignment may need, then unmaps both ends. */
HEAP_TEXT void *
sli_os_map (size_t bytes, size_t alignment)
{
  size_t slack = alignment > sli_os_page_bytes () ? alignment : 0;
  char *raw, *start;

  if (bytes + slack < bytes)
    return NULL;
  raw = map_pages (NULL, bytes + slack);
  if (slack == 0)
    return raw;
  if (UNLIKELY (raw == NULL))
    return map_exactly (bytes, alignment);
  start = (char *) (((uintptr_t) raw + alignment - 1) & -alignment);
  if (start != raw)
    munmap (raw, (size_t) (start - raw));
  if (raw + slack != start)
    munmap (start + bytes, (size_t) (raw + slack - start));
  return start;
}

HEAP_TEXT void
sli_os_unmap (void *address, size_t bytes)
{
  munmap (address, bytes);
}

bool
sli_os_protect (void *address, size_t bytes, bool untouchable)
{
  int error = errno;
  bool is_done = mprotect (address, bytes,
                           untouchable ? PROT_NONE : PROT_READ | PROT_WRITE)
                 == 0;

  errno = error; /* the library goes on without */
  return is_done;
}

COMMON_TEXT bool
sli_os_has_posix_memalign (void)
{
#ifdef HAVE_POSIX_MEMALIGN
  return true;
#else
  return false;
#endif
}

bool
sli_os_has_memalign (void)
{
#ifdef HAVE_MEMALIGN
  return true;
#else
  return false;
#endif
}

bool
sli_os_has_valloc (void)
{
#ifdef HAVE_VALLOC
  return true;
#else
  return false;
#endif
}

COMMON_TEXT void *
sli_os_posix_memalign (size_t bytes UNUSED, size_t alignment UNUSED)
{
#ifdef HAVE_POSIX_MEMALIGN
  void *block;
  int error = posix_memalign (&block, alignment, bytes);

  if (error == 0)
    return block;
  errno = error; /* which it leaves alone */
  return NULL;
#else
  return NULL;
#endif
}

void *
sli_os_memalign (size_t bytes UNUSED, size_t alignment UNUSED)
{
#ifdef HAVE_MEMALIGN
  return memalign (alignment, bytes);
#else
  return NULL;
#endif
}

void *
sli_os_aligned_alloc (size_t bytes, size_t alignment)
{
#if defined HAVE_POSIX_MEMALIGN
  return sli_os_posix_memalign (bytes, alignment);
#elif defined HAVE_MEMALIGN
  return sli_os_memalign (bytes, alignment);
#else
  return aligned_alloc (alignment, bytes);
#endif
}

void *
sli_os_valloc (size_t bytes UNUSED)
{
#ifdef HAVE_VALLOC
  return valloc (bytes);
#else
  return NULL;
#endif
}

COMMON_TEXT void *
sli_os_malloc (size_t bytes, bool zero)
{
  void *block = zero ? calloc (1, bytes) : malloc (bytes);

  if (sizeof (void *) > 4 || (uintptr_t) block % MALLOC_ALIGN == 0)
    return block;
  free (block);
  block = sli_os_aligned_alloc (bytes, MALLOC_ALIGN);
  if (block == NULL)
    errno = ENOMEM;
  else if (zero)
    memset (block, 0, bytes);
  return block;
}

/* With 32 bits realloc() is not used: it could move the block to a multiple of
 * 8, and if there were no memory then, the old block would be gone.  malloc
 * aligns to 8 on ARM, and under valgrind on i386.  A block that shrinks stays
 * where it is if there is no memory for another. */
CONTEXT_TEXT void *
sli_os_realloc (void *block, size_t old_bytes, size_t bytes)
{
  int error = errno;
  void *moved;

  if (sizeof (void *) > 4)
    return realloc (block, bytes);
  moved = sli_os_malloc (bytes, false);
  if (moved != NULL)
    {
      memcpy (moved, block, old_bytes < bytes ? old_bytes : bytes);
      free (block);
    }
  else if (bytes <= old_bytes)
    {
      errno = error;
      moved = block;
    }
  return moved;
}

COMMON_TEXT size_t
sli_os_malloc_bytes (const void *block UNUSED)
{
#ifdef HAVE_MALLOC_USABLE_SIZE
  return malloc_usable_size ((void *) (uintptr_t) block);
#else
  return 0;
#endif
}
