/* record-room.c - the spool's pages that may be written
 *
 * Tools, in the preloaded object (record-spool.h).  The file is sparse, and a
 * write where the file system has no room for it kills the program.  So a part
 * is taken before it is used, in steps.
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

#define NODES_STEP (4 * ROOM_STEP / sizeof (RawNode))

/* Whether a part of the file can be written from now on.  Where the kernel is
 * too old to say so by the mapping, the file is opened for it again. */
bool
sli_room_take (uint64_t offset, uint64_t n_bytes)
{
  uint64_t begin = offset & ~UINT64_C (4095);
  n_bytes = (offset + n_bytes - begin + 4095) & ~UINT64_C (4095);
  int saved_errno = errno;
  bool good
      = madvise (sli_spool.map + begin, n_bytes, MADV_POPULATE_WRITE) == 0;
  if (!good && errno == EINVAL)
    {
      long fd = syscall (SYS_openat, AT_FDCWD, sli_spool.path,
                         O_RDWR | O_CLOEXEC);
      good = fd >= 0
             && (fallocate ((int)fd, 0, (off_t)begin, (off_t)n_bytes) == 0
                 || errno == EOPNOTSUPP || errno == ENOSYS);
      if (fd >= 0)
        syscall (SYS_close, fd);
    }
  errno = saved_errno;
  return good;
}

/* Nodes up to this number; false: there is no room for them. */
bool
sli_spool_nodes_room (uint32_t n)
{
  uint32_t room = atomic_load (&sli_spool.nodes_room);
  while (n > room)
    {
      uint32_t more = room + (uint32_t)NODES_STEP;
      if (more > SPOOL_NODES_MAX
          || !sli_room_take (SPOOL_NODES_OFFSET + room * sizeof (RawNode),
                         NODES_STEP * sizeof (RawNode)))
        return false;
      if (atomic_compare_exchange_strong (&sli_spool.nodes_room, &room, more))
        room = more;
    }
  return true;
}

bool
sli_room_of_log (uint64_t n)
{
  uint64_t room = atomic_load (&sli_spool.log_room);
  while (n > room)
    {
      uint64_t more = room + ROOM_STEP;
      if (more > SPOOL_LOG_BYTES
          || !sli_room_take (SPOOL_LOG_OFFSET + room, ROOM_STEP))
        return false;
      if (atomic_compare_exchange_strong (&sli_spool.log_room, &room, more))
        room = more;
    }
  return true;
}
