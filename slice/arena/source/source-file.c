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
 * file grows further.
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

/* The first of n returned units in a row, or SIZE_MAX. */
static size_t
file_find_free (const FileSource *file, size_t n)
{
  size_t run = 0;

  for (size_t unit = 0; unit < file->file_bytes / FILE_SPAN_BYTES; unit++)
    {
      run = unit_is_free (file, unit) ? run + 1 : 0;
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

/* Grows the file, under the lock, which protects its size. */
static size_t
file_append (FileSource *file, size_t n)
{
  size_t bytes = n * FILE_SPAN_BYTES;
  size_t unit;

  if (bytes > file->max_bytes - file->file_bytes
      || ftruncate (file->fd, (off_t) (file->file_bytes + bytes)) != 0)
    return SIZE_MAX;
  if (!file_map_more (file, file->file_bytes, bytes))
    {
      (void) !ftruncate (file->fd, (off_t) file->file_bytes);
      return SIZE_MAX;
    }
  unit = file->file_bytes / FILE_SPAN_BYTES;
  file->file_bytes += bytes;
  return unit;
}

static void *
file_map (const SliceSource *source, size_t bytes, size_t alignment)
{
  FileSource *file = source->data;
  size_t n = (bytes + FILE_SPAN_BYTES - 1) / FILE_SPAN_BYTES;
  size_t unit;

  if (alignment > FILE_SPAN_BYTES)
    return NULL;
  pthread_mutex_lock (&file->lock);
  unit = file_find_free (file, n);
  if (unit != SIZE_MAX)
    for (size_t i = 0; i < n; i++)
      unit_flip (file, unit + i);
  else
    unit = file_append (file, n);
  pthread_mutex_unlock (&file->lock);
  return unit != SIZE_MAX ? file->start + unit * FILE_SPAN_BYTES : NULL;
}

/* The hole is made before another thread may get the memory, so no lock is
 * needed. */
static void
file_unmap (const SliceSource *source, void *address, size_t bytes)
{
  FileSource *file = source->data;
  size_t offset = (size_t) ((char *) address - file->start);
  size_t n = (bytes + FILE_SPAN_BYTES - 1) / FILE_SPAN_BYTES;

  sli_os_punch_hole (file->fd, offset, n * FILE_SPAN_BYTES);
  pthread_mutex_lock (&file->lock);
  for (size_t i = 0; i < n; i++)
    unit_flip (file, offset / FILE_SPAN_BYTES + i);
  pthread_mutex_unlock (&file->lock);
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
    slice_free1 (unit_words (file) * sizeof (uint64_t), file->free_units);
  pthread_mutex_destroy (&file->lock);
  slice_free1 (sizeof *file, file);
}

/* Opens the file and reserves its addresses; if a part fails, file_end()
 * undoes the rest. */
static bool
file_open (FileSource *file, int fd)
{
  file->fd = fcntl (fd, F_DUPFD_CLOEXEC, 0);
  file->free_units = slice_try_alloc0 (unit_words (file) * sizeof (uint64_t));
  if (file->fd < 0 || file->free_units == NULL || ftruncate (file->fd, 0) != 0)
    return false;
  /* mmap() aligns to pages only. */
  file->start = sli_os_map (file->max_bytes, FILE_SPAN_BYTES);
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
  file = slice_try_alloc0 (sizeof *file);
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
