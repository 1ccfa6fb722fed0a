/* stream.c - an expanded stream, handed from a parent to its children
 *
 * The table runs dozens of children over one recording; they map what the
 * parent has expanded instead of each doing it again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/stress.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes the stream to a file without a name and returns its descriptor,
 * which children inherit; -1 if that fails. */
int
stream_to_file (const Stream *stream)
{
  FILE *file = tmpfile ();
  Stream head;
  int fd;

  if (file == NULL)
    return -1;
  head = *stream;
  head.ops = NULL;
  if (fwrite (&head, sizeof head, 1, file) != 1
      || fwrite (stream->ops, sizeof (StreamOp), stream->n_ops, file)
             != stream->n_ops
      || fflush (file) != 0)
    {
      fclose (file);
      return -1;
    }
  fd = dup (fileno (file));
  fclose (file);
  return fd;
}

/* Maps what a parent wrote; it stays mapped. */
bool
stream_from_file (Stream *stream, int fd)
{
  struct stat status;
  char *bytes;

  if (fstat (fd, &status) != 0 || (size_t)status.st_size < sizeof *stream)
    return false;
  bytes = mmap (NULL, (size_t) status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (bytes == MAP_FAILED)
    return false;
  memcpy (stream, bytes, sizeof *stream);
  stream->ops = (StreamOp *)(void *)(bytes + sizeof *stream);
  return (size_t)status.st_size
         == sizeof *stream + stream->n_ops * sizeof (StreamOp);
}

/* Of a stream that was read, not mapped. */
void
stream_destroy (Stream *stream)
{
  free (stream->ops);
  memset (stream, 0, sizeof *stream);
}
