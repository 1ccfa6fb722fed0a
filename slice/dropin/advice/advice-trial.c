/* advice-trial.c - the arena that one site would have, in the unchanged program
 *
 * Layer: dropin.  For slice-trace predict: this file replaces advice-region.c
 * and advice-chunks.c in a library of its own.  In one run the calls of the
 * advised site get objects of a real linear arena, stack or pool, slices, or
 * nodes of a context, as they would in the changed program.  In another run the
 * library finds the calls and passes them to the malloc behind.  The difference
 * of the two is what the arena saves, and does not include the cost of finding
 * the site.
 *
 * All of the library's pages come from one range, so that free() knows the
 * arena's objects.  The arena has no source of its own: with one it would
 * return each empty block at once and have its page faults again, which an
 * arena of the changed program does not.  Only programs with one thread are
 * tried; slice-trace checks that.  The changed program frees a slice with its
 * size; here the page of the slice has it.  Other arenas do not know the sizes
 * of their objects, so malloc_usable_size() gives the bytes that are mapped
 * behind them.
 *
 * Environment:
 *   SLICE_TRIAL        "malloc", "linear", "stack", "context", "slice", or
 *                      "pool" and the size of the objects
 *   SLICE_TRIAL_OWNERS a file that says which blocks share a context
 *   SLICE_TRIAL_COUNT  a file.  At exit it gets the number of objects, and the
 *                      time of loops that only free: from the first free after
 *                      an allocation to the one after which no object is left
 *                      (of the owner, if there are contexts); and the number
 *                      of allocations that were tried on contexts
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "config.h"

#include "dropin/advice/memory/advice-chunks.h"
#include "dropin/advice/advice-start.h"
#include "dropin/advice/trial-owners.h"

#include <slice/linear.h>
#include <slice/pool.h>
#include <slice/slice.h>
#include <slice/stack.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define TRIAL_AREA_BYTES (UINT64_C (1) << 34)
/* The least number of frees in a row that count as a loop that only frees. */
#define FREES_MIN 8
#define STACK_OBJECTS_MAX (UINT64_C (1) << 26)
/* A slab has pages of its own. */
#define TRIAL_PAGE_BYTES 4096u

RegionArea sli_region_area;
RegionSite sli_region_sites[ADVICE_SITES_MAX];

static struct
{
  SliceLinear *linear;
  SlicePool *pool;
  SliceStack *stack;
  uintptr_t *on_stack; /* its objects; 1 more: freed, and not released yet */
  uint64_t n_on_stack;
  bool has_contexts;
  bool has_slices;
  size_t object_bytes; /* of the pool */
  uintptr_t top;       /* of the range that is mapped */
  uint64_t n_live, n_served;
  bool is_timed;
  void (*free_rest) (void *block); /* of other blocks */
} trial;

static struct
{
  uint16_t of_size[SLICE_SIZE_MAX + 1]; /* the largest size of its class */
  uint16_t of_page[TRIAL_AREA_BYTES / TRIAL_PAGE_BYTES];
} slice_bytes;

/* The frees since the last allocation, in a run that is timed. */
static struct
{
  uint64_t start_nsec, n, n_others, n_others_total;
  uint64_t clock_nsec; /* for reading the clock */
  uint64_t n_total, nsec_total; /* of the loops that left no object */
} frees;

/* --- memory -------------------------------------------------------------- */

static void *
trial_map (const SliceSource *source UNUSED, size_t bytes, size_t alignment)
{
  uintptr_t start = (trial.top + alignment - 1) & ~(uintptr_t) (alignment - 1);

  if (start + bytes > sli_region_area.start + sli_region_area.bytes)
    return NULL;
  trial.top = start + bytes;
  return (void *) start;
}

static void
trial_unmap (const SliceSource *source UNUSED, void *address, size_t bytes)
{
  madvise (address, bytes, MADV_DONTNEED);
  if ((uintptr_t) address + bytes == trial.top)
    trial.top = (uintptr_t) address;
}

static const SliceSource trial_source = { .name = "trial",
                                          .map = trial_map,
                                          .unmap = trial_unmap,
                                          .is_zeroed = true };

/* --- how long frees take ------------------------------------------------- */

/* CPU time, because other programs run meanwhile. */
uint64_t
sli_trial_nsec (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

static void
clock_measure (void)
{
  frees.clock_nsec = UINT64_MAX;
  for (int i = 0; i < 100; i++)
    {
      uint64_t start = sli_trial_nsec (), taken = sli_trial_nsec () - start;

      if (taken < frees.clock_nsec)
        frees.clock_nsec = taken;
    }
}

static void
other_free (void *block)
{
  frees.n_others += block != NULL;
  frees.n_others_total += block != NULL;
  trial.free_rest (block);
}

uint64_t
sli_trial_others (void)
{
  return frees.n_others_total;
}

static void
frees_begin (void)
{
  if (trial.free_rest == NULL)
    {
      trial.free_rest = LOAD (&sli_advice_free_rest);
      STORE (&sli_advice_free_rest, other_free);
    }
  frees.n = frees.n_others = 0;
}

/* A loop that frees other blocks as well stays in the changed program. */
static void
frees_note (void)
{
  uint64_t taken;

  if (frees.n++ == 0)
    frees.start_nsec = sli_trial_nsec ();
  if (trial.n_live > 0 || frees.n < FREES_MIN
      || frees.n_others > frees.n / FREES_MIN)
    return;
  taken = sli_trial_nsec () - frees.start_nsec;

  if (taken > frees.clock_nsec)
    frees.nsec_total += taken - frees.clock_nsec;
  frees.n_total += frees.n - 1;
}

/* --- the stack ----------------------------------------------------------- */

static void *
stack_alloc (size_t size)
{
  void *block;

  if (trial.n_on_stack == STACK_OBJECTS_MAX)
    return NULL;
  block = slice_stack_alloc (trial.stack, size == 0 ? 1 : size);

  if (block != NULL)
    trial.on_stack[trial.n_on_stack++] = (uintptr_t) block;
  return block;
}

/* An object that is not the top is released when it has become that. */
static void
stack_free (void *block)
{
  uint64_t at = trial.n_on_stack - 1;

  while (trial.on_stack[at] != (uintptr_t) block)
    at--;
  trial.on_stack[at] |= 1;
  while (trial.n_on_stack > 0
         && (trial.on_stack[trial.n_on_stack - 1] & 1) != 0)
    slice_stack_release (
        trial.stack, (void *) (trial.on_stack[--trial.n_on_stack] - 1));
}

static bool
stack_make (void)
{
  trial.on_stack = mmap (NULL, STACK_OBJECTS_MAX * sizeof *trial.on_stack,
                         PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  trial.stack = slice_stack_new (NULL);
  return trial.on_stack != MAP_FAILED;
}

/* --- slices -------------------------------------------------------------- */

static void
slices_make (void)
{
  unsigned of_class[SLICE_CLASSES_V1];

  for (unsigned size = 0; size <= SLICE_SIZE_MAX; size++)
    of_class[SLICE_CLASS_V1 (size)] = size;
  for (unsigned size = 0; size <= SLICE_SIZE_MAX; size++)
    slice_bytes.of_size[size] = (uint16_t) of_class[SLICE_CLASS_V1 (size)];
  trial.has_slices = true;
}

static uint16_t *
slice_place (const void *block)
{
  return &slice_bytes.of_page[((uintptr_t) block - sli_region_area.start)
                              / TRIAL_PAGE_BYTES];
}

static void *
slice_obtain (size_t size)
{
  uint16_t bytes = slice_bytes.of_size[size == 0 ? 1 : size];
  void *block = slice_try_alloc (bytes);

  if (block != NULL)
    *slice_place (block) = bytes;
  return block;
}

/* --- blocks -------------------------------------------------------------- */

void *
sli_region_alloc (unsigned site UNUSED, size_t size)
{
  void *block = NULL;

  if (trial.linear != NULL)
    block = slice_linear_alloc (trial.linear, size == 0 ? 1 : size);
  else if (trial.pool != NULL && size <= trial.object_bytes)
    block = slice_pool_alloc (trial.pool);
  else if (trial.stack != NULL)
    block = stack_alloc (size);
  else if (trial.has_contexts)
    block = sli_owners_alloc (size);
  else if (trial.has_slices && size <= SLICE_SIZE_MAX)
    block = slice_obtain (size);
  if (block == NULL)
    return NULL;
  if (UNLIKELY (trial.is_timed))
    frees_begin ();
  trial.n_served++;
  trial.n_live++;
  return block;
}

void
sli_region_free (void *block)
{
  trial.n_live--;
  if (UNLIKELY (trial.is_timed) && !trial.has_contexts)
    frees_note ();
  if (trial.pool != NULL)
    slice_pool_free (trial.pool, block);
  else if (trial.has_slices)
    slice_free1 (*slice_place (block), block);
  else if (trial.stack != NULL)
    stack_free (block);
  else if (trial.has_contexts)
    sli_owners_free (block);
  else if (trial.n_live == 0)
    slice_linear_reset (trial.linear, SLICE_KEEP_ALL);
}

size_t
sli_region_bytes (const void *block)
{
  if (trial.has_slices)
    return *slice_place (block);
  return trial.object_bytes != 0 ? trial.object_bytes
                                 : trial.top - (uintptr_t) block;
}

bool
sli_region_resize (void *block, size_t size)
{
  return size <= (trial.has_slices ? *slice_place (block)
                                   : trial.object_bytes);
}

void
sli_region_count (unsigned site UNUSED, uint64_t *n_served,
                  uint64_t *n_chunks_most)
{
  *n_served = trial.n_served;
  *n_chunks_most = (trial.top - sli_region_area.start) / CHUNK_BYTES;
}

/* --- beginning and end --------------------------------------------------- */

static bool
arena_make (const char *wanted)
{
  if (strcmp (wanted, "linear") == 0)
    trial.linear = slice_linear_new (NULL);
  else if (strcmp (wanted, "stack") == 0)
    return stack_make () && trial.stack != NULL;
  else if (strcmp (wanted, "context") == 0)
    trial.has_contexts
        = sli_owners_begin (secure_getenv ("SLICE_TRIAL_OWNERS"),
                            trial.is_timed);
  else if (strncmp (wanted, "pool ", 5) == 0)
    {
      trial.object_bytes = strtoul (wanted + 5, NULL, 10);
      trial.pool = slice_pool_new_plain (trial.object_bytes);
    }
  else if (strcmp (wanted, "slice") == 0)
    slices_make ();
  else
    return true;
  return trial.linear != NULL || trial.pool != NULL || trial.has_contexts
         || trial.has_slices;
}

bool
sli_region_begin (const Advice *advice UNUSED)
{
  const char *wanted = secure_getenv ("SLICE_TRIAL");
  void *area = mmap (NULL, TRIAL_AREA_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  if (wanted == NULL || area == MAP_FAILED)
    return false;
  /* as the library's own pages are */
  madvise (area, TRIAL_AREA_BYTES, MADV_NOHUGEPAGE);
  trial.top = (uintptr_t) area;
  trial.is_timed = secure_getenv ("SLICE_TRIAL_COUNT") != NULL;
  if (trial.is_timed)
    clock_measure ();
  sli_region_area = (RegionArea){ (uintptr_t) area, TRIAL_AREA_BYTES };
  return slice_set_source (&trial_source) == SLICE_SET_OK
         && arena_make (wanted);
}

__attribute__ ((destructor)) static void
trial_end (void)
{
  const char *path = secure_getenv ("SLICE_TRIAL_COUNT");
  char text[120];
  int file = path == NULL ? -1 : open (path, O_WRONLY | O_CLOEXEC);
  OwnersCount owned = sli_owners_count ();
  int n = snprintf (text, sizeof text, "%llu %llu %llu %llu\n",
                    (unsigned long long) trial.n_served,
                    (unsigned long long) (frees.n_total + owned.n_frees),
                    (unsigned long long) (frees.nsec_total + owned.nsec),
                    (unsigned long long) owned.n_seen);

  if (file < 0)
    return;
  if (write (file, text, (size_t) n) != n)
    _exit (EXIT_FAILURE);
  close (file);
}
