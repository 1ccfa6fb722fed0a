/* tlsf-worst.c - the worst case of TLSF, counted
 *
 *   tlsf-worst [OPERATIONS [STEPPED]]
 *
 * Runs adversarial sequences over heaps of 1 KB to 1 GB.  Built with
 * TLSF_COUNT_STEPS (tlsf-worst-steps) it counts looks at headers, lists and
 * bitmap words, 10,000,000 operations by default; built against the library
 * (tlsf-worst-instructions) it single-steps, and counts instructions, 10,000
 * operations by default.  Prints mean and worst of alloc and free for each
 * heap; fails if the worst of a heap exceeds the worst of the smallest by
 * more than a fifth and 40 instructions, or 8 steps (a look or two that the
 * search in a heap of few rows can't need).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <slice/tlsf.h>

#ifdef TLSF_COUNT_STEPS
extern unsigned sli_tlsf_n_steps;
# define COUNTS_STEPS 1
#else
static unsigned sli_tlsf_n_steps;
# define COUNTS_STEPS 0
#endif

/* --- adversaries --------------------------------------------------------- */

enum
{
  N_PLACES = 4096,
  N_PLACES_STEPPED = 256 /* so that all phases come in 10,000 operations */
};

typedef struct
{
  SliceTlsf *tlsf;
  size_t bytes;    /* of the heap */
  size_t n_sites; /* in use */
  void *places[N_PLACES];
  uint64_t random;
  unsigned phase; /* which adversary */
  size_t step;    /* of it */
} Adversary;

static uint64_t
next_random (Adversary *adversary)
{
  adversary->random ^= adversary->random << 13;
  adversary->random ^= adversary->random >> 7;
  adversary->random ^= adversary->random << 17;
  return adversary->random;
}

/* An operation: free the object at a place, or put one of that size there. */
typedef struct
{
  size_t place;
  size_t size; /* 0: free */
} Operation;

/* All of a size class's boundary, just above it. */
static size_t
boundary_size (Adversary *adversary)
{
  unsigned bits = 4 + (unsigned) (next_random (adversary) % 12);
  size_t size = ((size_t) 1 << bits) - 8 + 1;

  return size < adversary->bytes / 8 ? size : 25;
}

static size_t
any_size (Adversary *adversary)
{
  unsigned bits = (unsigned) (next_random (adversary) % 26);
  size_t size = 1 + next_random (adversary) % ((size_t) 2 << bits);

  return 1 + size % (adversary->bytes / 4);
}

/* Phases, each of 4 * n_sites steps: fill with small ones and free every
 * other one, then the rest (each free joins both sides); sizes at the
 * boundaries of classes; any sizes; a single object that takes and gives back
 * the whole. */
static Operation
next_operation (Adversary *adversary)
{
  size_t n = adversary->n_sites;
  size_t i;
  Operation operation;

  if (adversary->step++ == 4 * n)
    {
      adversary->step = 1;
      adversary->phase = (adversary->phase + 1) % 4;
    }
  i = adversary->step - 1;
  operation = (Operation){ (size_t) next_random (adversary) % n, 0 };
  switch (adversary->phase)
    {
    case 0:
      if (i < n)
        operation = (Operation){ i, 24 };
      else if (i < 2 * n)
        operation.place = (i - n) * 2 % (n | 1) % n;
      else if (i < 3 * n)
        operation = (Operation){ i - 2 * n, 24 + 16 * (i % 7) };
      else
        operation.place = (i - 3 * n) * 3 % n;
      break;
    case 1:
      operation.size = boundary_size (adversary);
      break;
    case 2:
      operation.size = any_size (adversary);
      break;
    default:
      operation.size = i % 8 == 7 ? adversary->bytes / 2 : 24;
      break;
    }
  /* A place that is taken is freed first. */
  if (adversary->places[operation.place] != NULL)
    operation.size = 0;
  return operation;
}

static void *
map_heap (size_t bytes)
{
  void *memory = mmap (NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  if (memory == MAP_FAILED)
    {
      perror ("tlsf-worst: mmap");
      exit (1);
    }
  return memory;
}

/* A heap of `bytes` beside its control block. */
static void
adversary_init (Adversary *adversary, size_t bytes, size_t n_places_max)
{
  size_t whole;
  size_t n_fit;

  memset (adversary, 0, sizeof *adversary);
  whole = slice_tlsf_buffer_bytes (bytes) + bytes / 4;
  adversary->tlsf = slice_tlsf_new_fixed (map_heap (whole), whole);
  adversary->bytes = bytes;
  n_fit = bytes / 128;
  adversary->n_sites = n_fit < n_places_max ? n_fit : n_places_max;
  adversary->random = 88172645463325252;
}

/* --- results ------------------------------------------------------------- */

typedef struct
{
  uint64_t n;
  uint64_t sum;
  unsigned worst;
} Tally;

static void
tally_add (Tally *tally, unsigned count)
{
  tally->n++;
  tally->sum += count;
  if (count > tally->worst)
    tally->worst = count;
}

static void
print_line (size_t bytes, const Tally *alloc, const Tally *release)
{
  printf ("%12zu  %10" PRIu64 " %8.1f %6u  %10" PRIu64 " %8.1f %6u\n", bytes,
          alloc->n, (double) alloc->sum / (double) alloc->n, alloc->worst,
          release->n, (double) release->sum / (double) release->n,
          release->worst);
  fflush (stdout);
}

/* --- steps, in this process ---------------------------------------------- */

static void
run_counted (Adversary *adversary, uint64_t n, Tally *alloc, Tally *release)
{
  for (uint64_t i = 0; i < n; i++)
    {
      Operation operation = next_operation (adversary);
      void **place = &adversary->places[operation.place];

      sli_tlsf_n_steps = 0;
      if (operation.size == 0)
        {
          bool is_real = *place != NULL;

          slice_tlsf_free (adversary->tlsf, *place);
          *place = NULL;
          if (is_real)
            tally_add (release, sli_tlsf_n_steps);
        }
      else
        {
          *place = slice_tlsf_alloc (adversary->tlsf, operation.size);
          tally_add (alloc, sli_tlsf_n_steps);
        }
    }
}

/* --- instructions, single-stepped ---------------------------------------- */

static volatile unsigned n_traps;

static void
count_trap (int number)
{
  (void) number;
  n_traps++;
}

#ifdef __x86_64__
# define CAN_STEP 1
/* The processor's trap flag: a trap after each instruction, below the red
 * zone of the function around. */
# define STEP_BEGIN()                                                         \
  __asm__ volatile("subq $128, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\t"    \
                   "popfq\n\taddq $128, %%rsp" ::                             \
                       : "memory", "cc")
# define STEP_END()                                                           \
  __asm__ volatile("subq $128, %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\t"  \
                   "popfq\n\taddq $128, %%rsp" ::                             \
                       : "memory", "cc")
#else
# define CAN_STEP 0
# define STEP_BEGIN() ((void) 0)
# define STEP_END() ((void) 0)
#endif

/* What STEP_BEGIN and STEP_END count by themselves. */
static unsigned
count_nothing (void)
{
  n_traps = 0;
  STEP_BEGIN ();
  STEP_END ();
  return n_traps;
}

static void
run_stepped (Adversary *adversary, uint64_t n, Tally *alloc, Tally *release)
{
  struct sigaction action = { .sa_handler = count_trap };
  unsigned n_own;

  sigaction (SIGTRAP, &action, NULL);
  n_own = count_nothing ();
  for (uint64_t i = 0; i < n; i++)
    {
      Operation operation = next_operation (adversary);
      void **place = &adversary->places[operation.place];
      void *object = *place;

      if (operation.size == 0 && object == NULL)
        continue;
      n_traps = 0;
      if (operation.size == 0)
        {
          STEP_BEGIN ();
          slice_tlsf_free (adversary->tlsf, object);
          STEP_END ();
          *place = NULL;
          tally_add (release, n_traps - n_own);
          continue;
        }
      STEP_BEGIN ();
      object = slice_tlsf_alloc (adversary->tlsf, operation.size);
      STEP_END ();
      *place = object;
      tally_add (alloc, n_traps - n_own);
    }
}

int
main (int argc, char **argv)
{
  static const size_t heaps[]
      = { (size_t) 1 << 10, (size_t) 1 << 14, (size_t) 1 << 17,
          (size_t) 1 << 20, (size_t) 1 << 24, (size_t) 1 << 30 };
  static Adversary adversary;
  uint64_t n_counted = argc > 1 ? strtoull (argv[1], NULL, 10) : 10000000;
  uint64_t n_stepped = argc > 2 ? strtoull (argv[2], NULL, 10) : 10000;
  unsigned least = 0;
  bool is_flat = true;

  if (!COUNTS_STEPS && !CAN_STEP)
    {
      puts ("instructions can't be counted on this processor");
      return 77;
    }
  printf ("TLSF, %s an operation\n"
          "  heap bytes      allocs     mean  worst       frees     mean"
          "  worst\n",
          COUNTS_STEPS ? "steps" : "instructions (with the call)");
  for (size_t h = 0; h < sizeof heaps / sizeof heaps[0]; h++)
    {
      Tally alloc = { 0 };
      Tally release = { 0 };
      unsigned worst;

      adversary_init (&adversary, heaps[h],
                      COUNTS_STEPS ? N_PLACES : N_PLACES_STEPPED);
      if (COUNTS_STEPS)
        run_counted (&adversary, n_counted, &alloc, &release);
      else
        run_stepped (&adversary, n_stepped, &alloc, &release);
      print_line (heaps[h], &alloc, &release);
      worst = alloc.worst > release.worst ? alloc.worst : release.worst;
      least = h == 0 ? worst : least;
      is_flat
          = is_flat && worst <= least + least / 5 + (COUNTS_STEPS ? 8 : 40);
    }
  printf ("%s\n", is_flat ? "flat" : "NOT flat");
  return is_flat ? 0 : 1;
}
