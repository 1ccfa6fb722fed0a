/* source-file.c - pages of a file
 *
 * Layer: arena: a span heap over a shared mapping of the file, which grows in
 * addresses that are reserved for the file's largest size:
 *
 *   start                            file_bytes            max_bytes
 *     +------+------+------+------+------+- - - - - - - - - - -+
 *     | used | hole | used | used | hole |  reserved           |
 *     +------+------+------+------+------+- - - - - - - - - - -+
 *             free_units: 0 1 0 0 1
 *
 * A returned unit becomes a hole in the file, and is used again before the
 * file grows further.  Before a unit is used, its memory is reserved: a write
 * through the mapping to a part of the file without memory would end the
 * program by SIGBUS if the disk is full.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/arena.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/align.h"
#include "span.h"
#include "source-owned.h"
#include "port/os/os.h"

/* The unit by which a file grows. */
#define FILE_SPAN_BYTES MIB (1)

/* Slices request extents at multiples of a region. */
#define FILE_ALIGNMENT MIB (2)

/* One empty unit stays, so that the file does not grow and shrink in turn. */
#define FILE_KEEP_BYTES FILE_SPAN_BYTES

typedef struct
{
  OwnedSource owned; /* first */
  SliceSource regions;
  int fd;
  char *start;          /* of the mapping */
  size_t max_bytes;     /* of it; a multiple of FILE_SPAN_BYTES */
  pthread_mutex_t lock; /* for the fields below; rank 71 */
  size_t file_bytes;
  uint64_t *free_units; /* a bit for each unit: 1 = below file_bytes, and
                           returned */
} FileSource;

static size_t
unit_words (const FileSource *file)
{
  return (file->max_bytes / FILE_SPAN_BYTES + 63) / 64;
}

static bool
unit_is_free (const FileSource *file, size_t unit)
{
  return (file->free_units[unit / 64] >> (unit % 64) & 1) != 0;
}

static void
unit_flip (FileSource *file, size_t unit)
{
  file->free_units[unit / 64] ^= UINT64_C (1) << (unit % 64);
}

/* The number of units from one on to the next aligned address. */
static size_t
unit_gap (const FileSource *file, size_t unit, size_t alignment)
{
  uintptr_t address = (uintptr_t) file->start + unit * FILE_SPAN_BYTES;

  return (-address & (alignment - 1)) / FILE_SPAN_BYTES;
}

/* The first of n returned units in a row at an aligned address, or
 * SIZE_MAX. */
static size_t
file_find_free (const FileSource *file, size_t n, size_t alignment)
{
  size_t run = 0;

  for (size_t unit = 0; unit < file->file_bytes / FILE_SPAN_BYTES; unit++)
    {
      if (!unit_is_free (file, unit))
        run = 0;
      else if (run > 0 || unit_gap (file, unit, alignment) == 0)
        run++;
      if (run == n)
        return unit + 1 - n;
    }
  return SIZE_MAX;
}

/* Maps the file's pages from `offset' on where their addresses are reserved.
 * (Pages behind the file's end would be a fault each for a tool that looks for
 * pointers.) */
static bool
file_map_more (const FileSource *file, size_t offset, size_t bytes)
{
  return mmap (file->start + offset, bytes, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file->fd,
               (off_t) offset)
         != MAP_FAILED;
}

/* Grows the file, under the lock, which protects its size.  Units before the
 * aligned address are as returned ones. */
static size_t
file_append (FileSource *file, size_t n, size_t alignment)
{
  size_t end = file->file_bytes / FILE_SPAN_BYTES;
  size_t unit = end + unit_gap (file, end, alignment);
  size_t bytes = (unit + n - end) * FILE_SPAN_BYTES;

  if (bytes > file->max_bytes - file->file_bytes
      || !sli_os_grow_file (file->fd, file->file_bytes,
                            unit * FILE_SPAN_BYTES,
                            file->file_bytes + bytes))
    return SIZE_MAX;
  if (!file_map_more (file, file->file_bytes, bytes))
    {
      (void) !ftruncate (file->fd, (off_t) file->file_bytes);
      return SIZE_MAX;
    }
  for (; end < unit; end++)
    unit_flip (file, end);
  file->file_bytes += bytes;
  return unit;
}

static void
file_flip_units (FileSource *file, size_t unit, size_t n)
{
  pthread_mutex_lock (&file->lock);
  for (size_t i = 0; i < n; i++)
    unit_flip (file, unit + i);
  pthread_mutex_unlock (&file->lock);
}

/* The hole is made before another thread may get the memory, so no lock is
 * needed. */
static void
file_return (FileSource *file, size_t unit, size_t n)
{
  sli_os_punch_hole (file->fd, unit * FILE_SPAN_BYTES, n * FILE_SPAN_BYTES);
  file_flip_units (file, unit, n);
}

static void *
file_map (const SliceSource *source, size_t bytes, size_t alignment)
{
  FileSource *file = source->data;
  size_t n = (bytes + FILE_SPAN_BYTES - 1) / FILE_SPAN_BYTES;
  size_t unit;

  bool is_new;

  pthread_mutex_lock (&file->lock);
  unit = file_find_free (file, n, alignment);
  is_new = unit == SIZE_MAX;
  if (is_new)
    unit = file_append (file, n, alignment);
  else
    for (size_t i = 0; i < n; i++)
      unit_flip (file, unit + i);
  pthread_mutex_unlock (&file->lock);
  if (unit == SIZE_MAX)
    return NULL;
  if (!is_new
      && !sli_os_reserve_in_file (file->fd, unit * FILE_SPAN_BYTES,
                                  n * FILE_SPAN_BYTES))
    {
      file_return (file, unit, n);
      return NULL;
    }
  return file->start + unit * FILE_SPAN_BYTES;
}

static void
file_unmap (const SliceSource *source, void *address, size_t bytes)
{
  FileSource *file = source->data;
  size_t offset = (size_t) ((char *) address - file->start);
  size_t n = (bytes + FILE_SPAN_BYTES - 1) / FILE_SPAN_BYTES;

  file_return (file, offset / FILE_SPAN_BYTES, n);
}

static void
file_end (OwnedSource *owned)
{
  FileSource *file = (FileSource *) owned;

  if (file->start != NULL)
    munmap (file->start, file->max_bytes);
  if (file->fd >= 0)
    close (file->fd);
  if (file->free_units != NULL)
    sli_span_record_free (file->free_units);
  pthread_mutex_destroy (&file->lock);
  sli_span_record_free (file);
}

/* The file must be a regular one, and open for what a shared mapping needs. */
static bool
file_is_usable (int fd)
{
  struct stat status;
  int flags = fcntl (fd, F_GETFL);

  if (flags < 0 || fstat (fd, &status) != 0)
    return false;
  errno = (flags & O_ACCMODE) != O_RDWR ? EBADF : EINVAL;
  return (flags & O_ACCMODE) == O_RDWR && S_ISREG (status.st_mode);
}

/* Opens the file and reserves its addresses; if a part fails, file_end()
 * undoes the rest. */
static bool
file_open (FileSource *file, int fd)
{
  file->fd = file_is_usable (fd) ? fcntl (fd, F_DUPFD_CLOEXEC, 0) : -1;
  file->free_units
      = sli_span_record_alloc (unit_words (file) * sizeof (uint64_t));
  if (file->fd < 0 || file->free_units == NULL || ftruncate (file->fd, 0) != 0)
    return false;
  /* mmap() aligns to pages only. */
  file->start = sli_os_map (file->max_bytes, FILE_ALIGNMENT);
  return file->start != NULL
         && mmap (file->start, file->max_bytes, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                  0)
                != MAP_FAILED;
}

const SliceSource *
slice_source_file_new (int fd, size_t max_bytes)
{
  FileSource *file;

  if (max_bytes < FILE_SPAN_BYTES || max_bytes > SIZE_MAX / 2)
    {
      errno = EINVAL;
      return NULL;
    }
  file = sli_span_record_alloc (sizeof *file);
  if (file == NULL)
    return NULL;
  file->max_bytes = max_bytes & ~(FILE_SPAN_BYTES - 1);
  pthread_mutex_init (&file->lock, NULL);
  if (!file_open (file, fd))
    {
      int error = errno;

      file_end (&file->owned);
      errno = error;
      return NULL;
    }
  file->regions = (SliceSource){
    .name = "file regions", .map = file_map, .unmap = file_unmap, .data = file
  };
  sli_span_heap_init (&file->owned.heap, "file", &file->regions,
                      FILE_SPAN_BYTES, SPAN_PAGE_BYTES, FILE_KEEP_BYTES);
  return sli_owned_source (&file->owned, file_end);
}
