/* arena-memory.c - memory over time, page source against page source
 *
 *   arena-memory [DIRECTORY [MEGABYTES]]
 *
 * A program whose need rises and falls in waves of up to MEGABYTES (48): it
 * allocates objects of mixed sizes and frees them, in other orders than they
 * came, as a compiler does function by function.  The same on malloc, on
 * linear arenas and on TLSF heaps over each page source, each in a process of
 * its own.  Prints peak and mean of the resident memory, CPU time, and their
 * ratios to malloc's; with a DIRECTORY writes the memory over time there, a
 * file for each, for plot-memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <slice/arena.h>

enum
{
  N_WAVES = 3,
  N_STEPS = 40, /* of a wave */
  N_SAMPLES = N_WAVES * N_STEPS * 2
};

typedef struct
{
  double peak; /* MB, above what the process had at its start */
  double mean;
  double seconds;
  double samples[N_SAMPLES];
  size_t n_samples;
} Result;

/* --- contestants --------------------------------------------------------- */

typedef enum
{
  ON_MALLOC,
  ON_LINEAR,
  ON_TLSF
} Kind;

typedef struct
{
  const char *name;
  Kind kind;
  const SliceSource *(*source) (void); /* NULL: the default */
} Contestant;

static const SliceSource *
source_mmap (void)
{
  return slice_source_builtin (SLICE_PAGES_MMAP);
}

static const SliceSource *
source_posix_memalign (void)
{
  return slice_source_builtin (SLICE_PAGES_POSIX_MEMALIGN);
}

static const SliceSource *
source_huge (void)
{
  return slice_source_huge_new (SLICE_HUGE_ADVISED, 0);
}

#define FIXED_BYTES ((size_t) 128 << 20)

static const SliceSource *
source_fixed (void)
{
  void *buffer = mmap (NULL, FIXED_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  return slice_source_fixed_new (buffer, FIXED_BYTES);
}

static const SliceSource *
source_file (void)
{
  char name[] = "/tmp/arena-memory-XXXXXX";
  int fd = mkstemp (name);

  unlink (name);
  return slice_source_file_new (fd, FIXED_BYTES);
}

static const Contestant contestants[] = {
  { "malloc", ON_MALLOC, NULL },
  { "linear", ON_LINEAR, NULL },
  { "linear-posix_memalign", ON_LINEAR, source_posix_memalign },
  { "linear-mmap", ON_LINEAR, source_mmap },
  { "linear-huge", ON_LINEAR, source_huge },
  { "linear-fixed", ON_LINEAR, source_fixed },
  { "linear-file", ON_LINEAR, source_file },
  { "tlsf", ON_TLSF, NULL },
  { "tlsf-posix_memalign", ON_TLSF, source_posix_memalign },
  { "tlsf-mmap", ON_TLSF, source_mmap },
  { "tlsf-huge", ON_TLSF, source_huge },
  { "tlsf-fixed", ON_TLSF, source_fixed },
};

/* --- the program --------------------------------------------------------- */

/* Objects of a step, which live until their step is undone. */
typedef struct
{
  void **objects;
  size_t n;
  SliceLinear *linear;
} Step;

typedef struct
{
  const Contestant *contestant;
  SliceArenaOptions options;
  SliceTlsf *tlsf;
  Step steps[N_STEPS];
  uint32_t random;
  double resident_start;
  Result *result;
} Program;

static double
resident_megabytes (void)
{
  char line[128] = "";
  int fd = open ("/proc/self/statm", O_RDONLY);
  ssize_t n = read (fd, line, sizeof line - 1);
  unsigned long size = 0;
  unsigned long resident = 0;

  close (fd);
  if (n > 0)
    sscanf (line, "%lu %lu", &size, &resident);
  return (double) resident * (double) sysconf (_SC_PAGESIZE) / 1048576;
}

static void
sample (Program *program)
{
  Result *result = program->result;
  double megabytes = resident_megabytes () - program->resident_start;

  if (megabytes > result->peak)
    result->peak = megabytes;
  result->mean += megabytes / N_SAMPLES;
  result->samples[result->n_samples++] = megabytes;
}

static uint32_t
next_random (Program *program)
{
  program->random = program->random * 1664525u + 1013904223u;
  return program->random >> 8;
}

static size_t
next_size (Program *program)
{
  uint32_t kind = next_random (program) % 100;

  if (kind < 90)
    return 16 + next_random (program) % 240;
  return kind < 99 ? 256 + next_random (program) % 4000
                   : 4096 + next_random (program) % 60000;
}

static void *
object_new (Program *program, Step *step, size_t size)
{
  switch (program->contestant->kind)
    {
    case ON_LINEAR:
      return slice_linear_alloc (step->linear, size);
    case ON_TLSF:
      return slice_tlsf_alloc (program->tlsf, size);
    default:
      return malloc (size);
    }
}

static void
step_do (Program *program, Step *step, size_t bytes)
{
  size_t n_most = bytes / 16 + 1;
  size_t capacity = n_most * sizeof (void *);
  size_t asked = 0;

  step->objects = mmap (NULL, capacity, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  step->n = 0;
  if (program->contestant->kind == ON_LINEAR)
    step->linear = slice_linear_new (&program->options);
  while (asked < bytes)
    {
      size_t size = next_size (program);
      char *object = object_new (program, step, size);

      memset (object, 1, size);
      step->objects[step->n++] = object;
      asked += size;
    }
}

/* Each 101st object is freed first, then each 101st of the rest. */
static void
step_undo (Program *program, Step *step, size_t bytes)
{
  if (program->contestant->kind == ON_LINEAR)
    slice_linear_destroy (step->linear);
  else
    for (size_t first = 0; first < 101; first++)
      for (size_t i = first; i < step->n; i += 101)
        if (program->contestant->kind == ON_TLSF)
          slice_tlsf_free (program->tlsf, step->objects[i]);
        else
          free (step->objects[i]);
  munmap (step->objects, (bytes / 16 + 1) * sizeof (void *));
}

static void
run (Program *program, size_t megabytes)
{
  struct timespec start;
  struct timespec end;

  if (program->contestant->source != NULL)
    program->options.source = program->contestant->source ();
  if (program->contestant->kind == ON_TLSF)
    {
      if (program->options.source != NULL)
        program->options.first_bytes = 65536;
      program->options.cap_bytes = 1 << 20;
      program->tlsf = slice_tlsf_new (&program->options);
    }
  program->random = 4711;
  program->resident_start = resident_megabytes ();
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &start);
  for (size_t wave = 0; wave < N_WAVES; wave++)
    {
      /* The middle wave is the highest. */
      size_t bytes = (megabytes << 20) / N_STEPS / (wave == 1 ? 1 : 3);

      for (size_t i = 0; i < N_STEPS; i++)
        {
          step_do (program, &program->steps[i], bytes);
          sample (program);
        }
      for (size_t i = 0; i < N_STEPS; i++)
        {
          size_t step = i * 7 % N_STEPS;

          step_undo (program, &program->steps[step], bytes);
          sample (program);
        }
    }
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &end);
  program->result->seconds = (double) (end.tv_sec - start.tv_sec)
                             + (double) (end.tv_nsec - start.tv_nsec) / 1e9;
}

/* --- results ------------------------------------------------------------- */

static void
write_samples (const char *directory, const char *name, const Result *result)
{
  char path[512];
  FILE *file;

  snprintf (path, sizeof path, "%s/memory-%s.dat", directory, name);
  file = fopen (path, "w");
  if (file == NULL)
    {
      perror (path);
      exit (1);
    }
  for (size_t i = 0; i < result->n_samples; i++)
    fprintf (file, "%zu %.3f\n", i, result->samples[i]);
  fclose (file);
}

static int
compare_seconds (const void *a, const void *b)
{
  double x = *(const double *) a;
  double y = *(const double *) b;

  return (x > y) - (x < y);
}

enum
{
  N_CONTESTANTS = sizeof contestants / sizeof contestants[0],
  N_ROUNDS = 5
};

int
main (int argc, char **argv)
{
  const char *directory = argc > 1 && *argv[1] != '\0' ? argv[1] : NULL;
  size_t megabytes = argc > 2 ? strtoull (argv[2], NULL, 10) : 48;
  Result *results
      = mmap (NULL, sizeof (Result) * N_CONTESTANTS, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  static double seconds[N_CONTESTANTS][N_ROUNDS];

  for (int round = 0; round < N_ROUNDS; round++)
    for (int c = 0; c < N_CONTESTANTS; c++)
      {
        pid_t child;
        int status;

        memset (&results[c], 0, sizeof results[c]);
        child = fork ();
        if (child == 0)
          {
            static Program program;

            program.contestant = &contestants[c];
            program.result = &results[c];
            run (&program, megabytes);
            _exit (0);
          }
        waitpid (child, &status, 0);
        if (status != 0)
          {
            fprintf (stderr, "%s failed\n", contestants[c].name);
            return 1;
          }
        seconds[c][round] = results[c].seconds;
      }
  puts ("                         peak MB  ratio  mean MB  ratio  CPU ms  "
        "ratio  last MB");
  for (int c = 0; c < N_CONTESTANTS; c++)
    {
      const Result *result;
      double middle;

      qsort (seconds[c], N_ROUNDS, sizeof (double), compare_seconds);
      result = &results[c];
      middle = seconds[c][N_ROUNDS / 2];
      printf (
          "%-22s  %8.2f %6.2f %8.2f %6.2f %7.1f %6.2f %8.2f\n",
          contestants[c].name, result->peak, result->peak / results[0].peak,
          result->mean, result->mean / results[0].mean, middle * 1e3,
          middle / seconds[0][N_ROUNDS / 2], result->samples[N_SAMPLES - 1]);
      if (directory != NULL)
        write_samples (directory, contestants[c].name, result);
    }
  return 0;
}
