/* record-reserve.c - reserves the spool's pages before they are written
 *
 * Tools, in the preloaded object (record-spool.h).  The file is sparse, and a
 * write kills the program if the file system is full.  So a part is reserved
 * before it is used, in steps.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-spool.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A part of the file that fills from its beginning. */
typedef struct
{
  uint64_t offset;
  uint64_t bytes_max;
  uint64_t step_bytes;
} SpoolPart;

/* Reserves a part of the file; true if it can be written from now on.  On a
 * kernel that is too old to tell by the mapping, opens the file again for
 * that. */
bool
sli_spool_reserve (uint64_t offset, uint64_t n_bytes)
{
  uint64_t begin = offset & ~UINT64_C (4095);
  int saved_errno;
  bool good;

  n_bytes = (offset + n_bytes - begin + 4095) & ~UINT64_C (4095);
  saved_errno = errno;
  good = madvise (sli_spool.map + begin, n_bytes, MADV_POPULATE_WRITE) == 0;
  if (!good && errno == EINVAL)
    {
      long fd
          = syscall (SYS_openat, AT_FDCWD, sli_spool.path, O_RDWR | O_CLOEXEC);

      good = fd >= 0
             && (fallocate ((int) fd, 0, (off_t) begin, (off_t) n_bytes) == 0
                 || errno == EOPNOTSUPP || errno == ENOSYS);
      if (fd >= 0)
        syscall (SYS_close, fd);
    }
  errno = saved_errno;
  return good;
}

/* Makes n_bytes of a part writable, and counts the bytes that are.  False: the
 * file system is full.  Threads that call this at once may reserve a step
 * twice; it counts once. */
static bool
part_take (_Atomic uint64_t *taken_bytes, uint64_t n_bytes, SpoolPart part)
{
  uint64_t taken = atomic_load (taken_bytes);

  while (n_bytes > taken)
    {
      uint64_t more = taken + part.step_bytes;

      if (more > part.bytes_max
          || !sli_spool_reserve (part.offset + taken, part.step_bytes))
        return false;
      if (atomic_compare_exchange_strong (taken_bytes, &taken, more))
        taken = more;
    }
  return true;
}

/* Reserves nodes up to this number; false: the file system is full. */
bool
sli_spool_nodes_reserve (uint32_t n)
{
  const SpoolPart nodes
      = { SPOOL_NODES_OFFSET, SPOOL_NODES_MAX * sizeof (RawNode),
          4 * RESERVE_STEP };

  return part_take (&sli_spool.nodes_bytes, n * sizeof (RawNode), nodes);
}

bool
sli_spool_log_reserve (uint64_t n_bytes)
{
  const SpoolPart log = { SPOOL_LOG_OFFSET, SPOOL_LOG_BYTES, RESERVE_STEP };

  return part_take (&sli_spool.log_bytes, n_bytes, log);
}
