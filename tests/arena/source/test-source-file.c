/* test-source-file.c - the page source of a file, on a disk that is full
 *
 * fallocate() is this program's: it knows how much the disk has.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/arena/arena-test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB_BYTES ((size_t) 1 << 20)
#define FILE_MIBS 16
#define FILE_BYTES (FILE_MIBS * MIB_BYTES)
#define OBJECT_BYTES 1000

static struct
{
  size_t bytes;
  bool is_used[FILE_MIBS]; /* each MiB of the file */
  int error;               /* of each call, if it is not 0 */
} disk;

static size_t
disk_used_bytes (void)
{
  size_t bytes = 0;

  for (int i = 0; i < FILE_MIBS; i++)
    bytes += disk.is_used[i] ? MIB_BYTES : 0;
  return bytes;
}

#ifdef FALLOC_FL_PUNCH_HOLE
int
fallocate (int fd, int mode, off_t offset, off_t length)
{
  bool is_used = (mode & FALLOC_FL_PUNCH_HOLE) == 0;
  size_t i = (size_t) offset / MIB_BYTES;

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (offset, >=, 0);
  g_assert_cmpuint ((size_t) (offset + length), <=, FILE_BYTES);
  errno = disk.error;
  for (; errno == 0 && i < (size_t) (offset + length) / MIB_BYTES; i++)
    if (is_used && !disk.is_used[i] && disk_used_bytes () >= disk.bytes)
      errno = ENOSPC;
    else
      disk.is_used[i] = is_used;
  return errno == 0 ? 0 : -1;
}
#endif

static int
file_new (void)
{
  char name[] = "/tmp/slice-test-XXXXXX";
  int fd = mkstemp (name);

  g_assert_cmpint (fd, >=, 0);
  unlink (name);
  memset (&disk, 0, sizeof disk);
  disk.bytes = SIZE_MAX;
  return fd;
}

static size_t
file_bytes (int fd)
{
  struct stat status;

  g_assert_cmpint (fstat (fd, &status), ==, 0);
  return (size_t) status.st_size;
}

/* Fills an arena until there is no memory, and ends it; returns the bytes. */
static size_t
fill (const SliceSource *source)
{
  SliceArenaOptions options = { .source = source };
  SliceLinear *linear = slice_linear_new (&options);
  size_t n = 0;
  char *object;

  g_assert_nonnull (linear);
  errno = 0;
  while ((object = slice_linear_alloc (linear, OBJECT_BYTES)) != NULL)
    {
      memset (object, 1, OBJECT_BYTES);
      n++;
    }
  g_assert_cmpint (errno, ==, ENOMEM);
  slice_linear_destroy (linear);
  return n * OBJECT_BYTES;
}

static void
test_full (void)
{
#ifdef FALLOC_FL_PUNCH_HOLE
  int fd = file_new ();
  const SliceSource *source = slice_source_file_new (fd, FILE_BYTES);
  size_t bytes;

  disk.bytes = 3 * MIB_BYTES;
  bytes = fill (source);
  g_assert_cmpuint (bytes, <=, 3 * MIB_BYTES);
  g_assert_cmpuint (bytes, >, 2 * MIB_BYTES);
  g_assert_cmpuint (file_bytes (fd), ==, 3 * MIB_BYTES);
  g_assert_cmpuint (disk_used_bytes (), ==, MIB_BYTES); /* that it keeps */

  /* Others use the disk: the holes can't be filled again. */
  disk.bytes = 2 * MIB_BYTES;
  bytes = fill (source);
  g_assert_cmpuint (bytes, <=, 2 * MIB_BYTES);
  g_assert_cmpuint (bytes, >, MIB_BYTES);
  g_assert_cmpuint (file_bytes (fd), ==, 3 * MIB_BYTES);
  disk.bytes = 3 * MIB_BYTES;
  g_assert_cmpuint (fill (source), >, 2 * MIB_BYTES);
  g_assert_cmpuint (file_bytes (fd), ==, 3 * MIB_BYTES);
  slice_source_destroy (source);
  g_assert_cmpuint (disk_used_bytes (), ==, 0);
  close (fd);
#else
  g_test_skip ("no fallocate");
#endif
}

/* The file's system can't reserve: as if the disk had no end. */
static void
test_unsupported (void)
{
  static const int errors[] = { EOPNOTSUPP, ENOSYS };

  for (size_t i = 0; i < G_N_ELEMENTS (errors); i++)
    {
      int fd = file_new ();
      const SliceSource *source = slice_source_file_new (fd, 3 * MIB_BYTES);

      disk.error = errors[i];
      g_assert_cmpuint (fill (source), >, 2 * MIB_BYTES);
      g_assert_cmpuint (fill (source), >, 2 * MIB_BYTES);
      slice_source_destroy (source);
      close (fd);
    }
}

/* The process may write no larger file; a signal would end it. */
static void
test_limit (void)
{
  pid_t child = fork ();
  int status;

  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      const SliceSource *source
          = slice_source_file_new (file_new (), FILE_BYTES);
      struct rlimit limit = { 5 * MIB_BYTES / 2, 5 * MIB_BYTES / 2 };
      size_t bytes;

      setrlimit (RLIMIT_FSIZE, &limit);
      bytes = fill (source);
      slice_source_destroy (source);
      _exit (bytes > MIB_BYTES && bytes <= 2 * MIB_BYTES ? 0 : 1);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (status, ==, 0);
}

/* A mapping can be as aligned as those of slices. */
static void
test_aligned (void)
{
  int fd = file_new ();
  const SliceSource *source = slice_source_file_new (fd, FILE_BYTES);
  char *small = source->map (source, 4096, 4096);
  char *large = source->map (source, 4096, 2 * MIB_BYTES);
  char *again;

  g_assert_nonnull (small);
  g_assert_nonnull (large);
  g_assert_cmpuint ((uintptr_t) large % (2 * MIB_BYTES), ==, 0);
  pattern_fill (small, 4096, 1);
  pattern_fill (large, 4096, 2);
  source->unmap (source, large, 4096);
  again = source->map (source, 3 * MIB_BYTES, 4 * MIB_BYTES);
  g_assert_nonnull (again);
  g_assert_cmpuint ((uintptr_t) again % (4 * MIB_BYTES), ==, 0);
  pattern_fill (again, 3 * MIB_BYTES, 3);
  g_assert_true (pattern_holds (small, 4096, 1));
  g_assert_true (pattern_holds (again, 3 * MIB_BYTES, 3));
  g_assert_cmpuint (file_bytes (fd), <=, 9 * MIB_BYTES);
  source->unmap (source, again, 3 * MIB_BYTES);
  source->unmap (source, small, 4096);
  slice_source_destroy (source);
  close (fd);
}

static void
refuse (int fd, int error)
{
  errno = 0;
  g_assert_null (slice_source_file_new (fd, FILE_BYTES));
  g_assert_cmpint (errno, ==, error);
}

/* What a mapping can't be written to, or whose size can't be set. */
static void
test_refused (void)
{
  char name[] = "/tmp/slice-test-XXXXXX";
  int fd = mkstemp (name);
  int writing = open (name, O_WRONLY);
  int reading = open (name, O_RDONLY);
  int device = open ("/dev/zero", O_RDWR);

  g_assert_cmpint (write (fd, "kept", 4), ==, 4);
  refuse (writing, EBADF);
  refuse (reading, EBADF);
  refuse (device, EINVAL);
  g_assert_cmpuint (file_bytes (fd), ==, 4);
  close (fd);
  refuse (fd, EBADF);
  close (writing);
  close (reading);
  close (device);
  unlink (name);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/source-file/full", test_full);
  g_test_add_func ("/slice/source-file/unsupported", test_unsupported);
  g_test_add_func ("/slice/source-file/limit", test_limit);
  g_test_add_func ("/slice/source-file/aligned", test_aligned);
  g_test_add_func ("/slice/source-file/refused", test_refused);
  return g_test_run ();
}
