/* trial-owners.c - the contexts of a trial
 *
 * Layer: dropin.  In the changed program an owner's end is one walk of the
 * library's instead of the program's loop.  In the trial the program still
 * frees block by block, and the walk comes after it, so the program's loop must
 * be measured, to be subtracted.  When the loop is gone, the walk has cache
 * misses that were the loop's.  So a timed run measures the loops of every
 * other owner; of those between, it touches all blocks before the loop, twice,
 * and measures what the first time takes longer.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "config.h"

#include "dropin/advice/trial-owners.h"

#include "port/compiler.h"
#include <slice/ralloc.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the file, that are read before they are given back. */
#define READ_BYTES (64 * 1024)
/* Of other blocks, one for so many frees, and the loop stays. */
#define OTHERS_SHARE 8

typedef struct
{
  uint32_t owner, n;
} Run;

typedef struct
{
  uint64_t n_live, n_freed;
  uint64_t start_nsec, n_others; /* at the first free */
  uint64_t misses_nsec;
  uint32_t number;
  uint32_t last; /* its youngest block, in a timed run */
} Owner;

/* What was measured, of so many blocks. */
typedef struct
{
  uint64_t nsec, n;
} Part;

/* A block of a timed run; `before' is the owner's block before it, plus 1. */
typedef struct
{
  const volatile char *block;
  uint32_t before;
} Made;

static struct
{
  const Run *next, *end; /* in the file */
  const char *returned;  /* up to where the file's pages were given back */
  Run now;
  Owner **owners;
  Owner *single; /* the parent of blocks that are freed one by one */
  bool is_timed;
  Made *made;
  uint64_t n_made;
  uint64_t clock_nsec;
  uint64_t n_seen;
  Part loops, misses;
  volatile uint32_t zero;
} trial;

static void *
pages_map (size_t bytes)
{
  void *pages = mmap (NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  return pages == MAP_FAILED ? NULL : pages;
}

/* What two readings of the clock take. */
static void
clock_measure (void)
{
  trial.clock_nsec = UINT64_MAX;
  for (int i = 0; i < 100; i++)
    {
      uint64_t start = sli_trial_nsec (), taken = sli_trial_nsec () - start;

      if (taken < trial.clock_nsec)
        trial.clock_nsec = taken;
    }
}

bool
sli_owners_begin (const char *path, bool is_timed)
{
  int file = path == NULL ? -1 : open (path, O_RDONLY | O_CLOEXEC);
  struct stat status = { 0 };
  const Run *runs;

  trial.single = ralloc_size (NULL, sizeof *trial.single);
  if (path == NULL || trial.single == NULL)
    return trial.single != NULL;
  if (file < 0 || fstat (file, &status) != 0
      || (size_t) status.st_size < sizeof (Run))
    return false;
  runs = mmap (NULL, (size_t) status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close (file);
  if (runs == MAP_FAILED)
    return false;
  trial.returned = (const char *) runs;
  trial.next = runs + 1;
  trial.end = runs + (size_t) status.st_size / sizeof (Run);
  trial.owners = pages_map ((runs->owner + 1) * sizeof *trial.owners);
  trial.is_timed = is_timed;
  if (is_timed)
    {
      clock_measure ();
      trial.made = pages_map ((runs->n + 1) * sizeof *trial.made);
    }
  return trial.owners != NULL && (!is_timed || trial.made != NULL);
}

/* The file's pages that were read do not count as the program's memory. */
static void
run_next (void)
{
  const char *at = (const char *) trial.next;

  if (trial.next == trial.end)
    {
      trial.now = (Run){ 0, UINT32_MAX };
      return;
    }
  if (at >= trial.returned + READ_BYTES)
    {
      madvise ((void *) trial.returned, READ_BYTES, MADV_DONTNEED);
      trial.returned += READ_BYTES;
    }
  trial.now = *trial.next++;
}

static Owner *
owner_find (uint32_t number)
{
  Owner *owner = number == 0 ? trial.single : trial.owners[number];

  if (owner != NULL)
    return owner;
  owner = ralloc_size (NULL, sizeof *owner);
  if (owner == NULL)
    return NULL;
  *owner = (Owner){ .number = number };
  return trial.owners[number] = owner;
}

static void
made_note (Owner *owner, const void *block)
{
  trial.made[trial.n_made] = (Made){ block, owner->last };
  owner->last = (uint32_t) ++trial.n_made;
}

void *
sli_owners_alloc (size_t size)
{
  Owner *owner;
  void *block;

  if (trial.now.n == 0)
    run_next ();
  trial.now.n--;
  trial.n_seen++;
  if (size > RALLOC_INLINE_MAX_V1)
    return NULL;
  owner = owner_find (trial.now.owner);
  block = owner == NULL ? NULL : ralloc_size (owner, size);
  if (block == NULL)
    return NULL;
  owner->n_live++;
  if (UNLIKELY (trial.is_timed && owner != trial.single
                && trial.next <= trial.end))
    made_note (owner, block);
  return block;
}

/* How long it takes to touch all blocks, each after the one before is read, as
 * a list is walked. */
static uint64_t
touch_nsec (const Owner *owner)
{
  uint64_t start = sli_trial_nsec ();

  for (uint32_t at = owner->last, none = 0; at != 0;
       at = trial.made[at - 1].before + none)
    {
      const volatile char *block = trial.made[at - 1].block;

      /* always 0, but neither compiler nor processor knows */
      none = (uint32_t) (block[0] + block[-1]) & trial.zero;
    }
  return sli_trial_nsec () - start;
}

static bool
is_touched (const Owner *owner)
{
  return owner->number % 2 == 0;
}

/* Before the first free of a timed run. */
static void
loop_begin (Owner *owner)
{
  if (is_touched (owner))
    {
      uint64_t first = touch_nsec (owner), second = touch_nsec (owner);

      owner->misses_nsec = first > second ? first - second : 0;
    }
  owner->n_others = sli_trial_others ();
  owner->start_nsec = sli_trial_nsec ();
}

static void
loop_end (const Owner *owner)
{
  uint64_t taken = sli_trial_nsec () - owner->start_nsec;
  Part *part = is_touched (owner) ? &trial.misses : &trial.loops;

  if (sli_trial_others () - owner->n_others > owner->n_freed / OTHERS_SHARE)
    return;
  part->n += owner->n_freed;
  if (is_touched (owner))
    part->nsec += owner->misses_nsec;
  else if (taken > trial.clock_nsec)
    part->nsec += taken - trial.clock_nsec;
}

void
sli_owners_free (void *block)
{
  Owner *owner = ralloc_parent (block);

  if (owner == trial.single)
    {
      ralloc_free (block);
      return;
    }
  if (UNLIKELY (trial.is_timed) && owner->n_freed == 0)
    loop_begin (owner);
  owner->n_freed++;
  if (--owner->n_live > 0)
    return;
  if (UNLIKELY (trial.is_timed))
    loop_end (owner);
  trial.owners[owner->number] = NULL;
  ralloc_free (owner);
}

static double
part_each (Part part)
{
  return part.n == 0 ? 0 : (double) part.nsec / (double) part.n;
}

OwnersCount
sli_owners_count (void)
{
  uint64_t n = trial.loops.n + trial.misses.n;
  double each = part_each (trial.loops) - part_each (trial.misses);

  return (OwnersCount){ .n_seen = trial.n_seen,
                        .n_frees = n,
                        .nsec = each > 0 ? (uint64_t) (each * (double) n) : 0 };
}
