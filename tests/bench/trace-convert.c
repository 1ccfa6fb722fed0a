/* trace-convert.c - turns a recorded compile into a trace for slice-bench
 *
 *   trace-convert [--header=BYTES] [--threads=N] RECORDING OUTPUT
 *
 * Reads a recording (docs/design/benchmark.md, "Recorded compiles"), plain or
 * compressed by xz, and writes the simple form: a line an operation, "a THREAD
 * ID SIZE" or "f THREAD ID".
 *
 * Contexts are flattened: an allocation is a block of the node's size and a
 * header; a free is a free of the node and of all that hangs from it, children
 * first.  Children of linear parents live in buffers, which are blocks.  A
 * resize is a new block and the free of the old.  Blocks of gc contexts have no
 * header.
 *
 * SPDX-License-Identifier: MIT
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <tests/recording/recording.h>

enum
{
  LINEAR_BUFFER_BYTES = 2048, /* what Mesa's linear allocator asks for */
  LINEAR_HEADER_BYTES = 16,   /* of the buffer */
  LINEAR_CHILD_BYTES = 8,     /* of each child */
  HEADER_BYTES = 32           /* of a context's node: the library's own */
};

#define LETTER_BUFFER 'b' /* a node that the recording has not */

typedef struct
{
  uint32_t number;    /* in the output */
  uint32_t left_bytes; /* of a linear parent: bytes of its last buffer */
} Block;

typedef struct
{
  Recording recording;
  FILE *output;
  unsigned thread;
  uint32_t header_bytes;
  Block *blocks; /* [blocks_capacity], by node */
  uint32_t blocks_capacity;
  uint32_t *free_numbers; /* a stack */
  uint32_t n_free_numbers, free_numbers_capacity;
  uint32_t n_numbers;
  size_t n_allocs, n_frees;
} Converter;

static void
block_alloc (Converter *converter, uint32_t node, uint32_t size)
{
  uint32_t number = converter->n_free_numbers > 0
                        ? converter->free_numbers[--converter->n_free_numbers]
                        : converter->n_numbers++;

  converter->blocks[node].number = number;
  if (converter->recording.nodes[node].letter != 'g')
    size += converter->header_bytes;
  fprintf (converter->output, "a %u %" PRIu32 " %" PRIu32 "\n",
           converter->thread, number, size > 0 ? size : 1);
  converter->n_allocs++;
}

static void
number_free (Converter *converter, uint32_t number)
{
  fprintf (converter->output, "f %u %" PRIu32 "\n", converter->thread, number);
  converter->free_numbers
      = recording_grow (converter->free_numbers, converter->n_free_numbers,
                        &converter->free_numbers_capacity, sizeof (uint32_t));
  converter->free_numbers[converter->n_free_numbers++] = number;
  converter->n_frees++;
}

/* Takes the child from its parent's buffer, or from a new one. */
static void
linear_child (Converter *converter, uint32_t parent, uint32_t size)
{
  size = ((size + 7) & ~(uint32_t) 7) + LINEAR_CHILD_BYTES;
  if (size > converter->blocks[parent].left_bytes)
    {
      uint32_t bytes = LINEAR_BUFFER_BYTES - LINEAR_HEADER_BYTES
                       - converter->header_bytes;

      if (bytes < size)
        bytes = size;
      recording_add_own (&converter->recording, LETTER_BUFFER, parent,
                         bytes + LINEAR_HEADER_BYTES);
      converter->blocks[parent].left_bytes = bytes;
    }
  converter->blocks[parent].left_bytes -= size;
}

static void
on_made (void *data, uint32_t index)
{
  Converter *converter = data;
  RecordedNode node = converter->recording.nodes[index];

  converter->blocks
      = recording_grow (converter->blocks, index, &converter->blocks_capacity,
                        sizeof *converter->blocks);
  converter->blocks[index] = (Block){ 0 };
  if (node.letter == 'l')
    linear_child (converter, node.parent, node.size);
  else
    block_alloc (converter, index, node.size);
}

static void
on_resized (void *data, uint32_t index, uint32_t old_size)
{
  Converter *converter = data;
  uint32_t old_number = converter->blocks[index].number;

  (void) old_size;
  block_alloc (converter, index, converter->recording.nodes[index].size);
  number_free (converter, old_number);
}

static void
on_ended (void *data, uint32_t index)
{
  Converter *converter = data;

  if (converter->recording.nodes[index].letter != 'l')
    number_free (converter, converter->blocks[index].number);
}

/* One thread's part; its blocks have the numbers from first on.  Returns the
 * first number that is not used. */
static uint32_t
convert (const char *path, FILE *output, unsigned thread, uint32_t first,
         uint32_t header_bytes)
{
  static const RecordingEvents events
      = { .made = on_made, .resized = on_resized, .ended = on_ended };
  Converter converter = { .recording = { .program = "trace-convert",
                                         .events = &events,
                                         .data = &converter,
                                         .size_max = INT32_MAX },
                          .output = output,
                          .thread = thread,
                          .header_bytes = header_bytes,
                          .n_numbers = first };

  recording_init (&converter.recording);
  if (!recording_read_path (&converter.recording, path))
    exit (1);
  recording_clear (&converter.recording);
  free (converter.blocks);
  free (converter.free_numbers);
  fprintf (stderr, "trace-convert: thread %u: %zu allocations, %zu frees\n",
           thread, converter.n_allocs, converter.n_frees);
  return converter.n_numbers;
}

int
main (int argc, char **argv)
{
  static const struct option options[]
      = { { "header", required_argument, NULL, 'h' },
          { "threads", required_argument, NULL, 't' },
          { NULL, 0, NULL, 0 } };
  unsigned header_bytes = HEADER_BYTES, n_threads = 1;
  uint32_t first = 0;
  int option;
  struct stat input;
  struct stat old;
  FILE *output;

  while ((option = getopt_long (argc, argv, "", options, NULL)) != -1)
    if (option == 'h')
      header_bytes = (unsigned) strtoul (optarg, NULL, 10);
    else if (option == 't')
      n_threads = (unsigned) strtoul (optarg, NULL, 10);
    else
      return 2;
  if (argc - optind != 2 || header_bytes > LINEAR_BUFFER_BYTES / 2)
    {
      fputs ("usage: trace-convert [--header=BYTES] [--threads=N]"
             " RECORDING OUTPUT\n",
             stderr);
      return 2;
    }
  if (stat (argv[optind], &input) == 0 && stat (argv[optind + 1], &old) == 0
      && input.st_dev == old.st_dev && input.st_ino == old.st_ino)
    {
      fputs ("trace-convert: the output would replace the recording\n", stderr);
      return 2;
    }
  output = fopen (argv[optind + 1], "we");
  if (output == NULL)
    {
      perror (argv[optind + 1]);
      return 1;
    }
  for (unsigned thread = 0; thread < n_threads; thread++)
    first = convert (argv[optind], output, thread, first, header_bytes);
  if (ferror (output) || fclose (output) != 0)
    {
      perror (argv[optind + 1]);
      return 1;
    }
  return 0;
}
