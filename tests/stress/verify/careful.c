/* careful.c - laps that verify all they can
 *
 * Each block is filled with a pattern of its own that is verified before the
 * block is freed, so that two owners of one chunk, or a write by the
 * allocator into a live block, are noticed.  Besides: addresses are aligned
 * as the manual promises, zeroed blocks are zero, a size of 0 gives no block,
 * a resized block keeps its contents.
 *
 * What a thread holds are `Held` records.  With --share a step now and then
 * swaps one of them for one in a table that all threads see, so that blocks
 * are freed by other threads than the ones that asked for them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/verify/careful.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Records in the table that threads share. */
#define SHARED_HELD 512
/* One step in so many swaps, asks for zeroed memory, resizes. */
#define STEPS_PER_SWAP 4
#define STEPS_PER_ALLOC0 4
#define STEPS_PER_RESIZE 16
/* One step in so many lies, on average. */
#define STEPS_PER_LIE 20000
/* Odd, so that all words of a pattern differ (the golden ratio times 2^64).
 */
#define PATTERN_STEP UINT64_C (0x9e3779b97f4a7c15)
typedef struct
{
  Held **held; /* walk: [n_blocks] */
  Held *slots; /* replay: [n_slots]; walk: the records themselves */
  uint64_t random;
} CarefulThread;

struct Careful
{
  const Options *options;
  const Stream *stream;
  const BlockCalls *calls;
  CarefulThread *threads;    /* [n_threads] */
  Held *shared_slots;        /* [SHARED_HELD] */
  Held *shared[SHARED_HELD]; /* atomic */
};

/* --- random ---------------------------------------------------------------
 */

/* Marsaglia's xorshift (Journal of Statistical Software 8/14, 2003). */
static uint32_t
careful_random (CarefulThread *thread)
{
  uint64_t x = thread->random;

  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  thread->random = x;
  return (uint32_t)(x >> 32);
}

static uint32_t
careful_below (CarefulThread *thread, uint32_t n)
{
  return (uint32_t)(((uint64_t)careful_random (thread) * n) >> 32);
}

static bool
careful_one_in (CarefulThread *thread, uint32_t n)
{
  return careful_below (thread, n) == 0;
}

/* --- patterns -------------------------------------------------------------
 */

static void
pattern_write (const Held *held)
{
  uint64_t word = held->tag * PATTERN_STEP;
  char *at = held->block;
  size_t left = held->size;

  for (; left >= sizeof word; left -= sizeof word, at += sizeof word)
    {
      memcpy (at, &word, sizeof word);
      word += PATTERN_STEP;
    }
  memcpy (at, &word, left);
}

/* Verifies the first `size` bytes of a pattern. */
static void
pattern_verify (const Held *held, size_t size, const char *when)
{
  uint64_t word = held->tag * PATTERN_STEP;
  const char *at = held->block;
  size_t left = size;

  while (left > 0)
    {
      size_t n = left < sizeof word ? left : sizeof word;

      if (memcmp (at, &word, n) != 0)
        stress_fail (EXIT_FOUND,
                     "%s: the block of %u bytes at %p has changed near byte"
                     " %zu while it was alive",
                     when, held->size, held->block, size - left);
      word += PATTERN_STEP;
      at += n;
      left -= n;
    }
}

static void
zero_verify (const Held *held)
{
  const char *bytes = held->block;

  for (uint32_t i = 0; i < held->size; i++)
    if (bytes[i] != 0)
      stress_fail (EXIT_FOUND,
                   "byte %u of the zeroed block of %u bytes at %p is not zero",
                   i, held->size, held->block);
}

/* The largest power of two, at most 16, that divides the size rounded up to 8;
 * or so much of it as the contestant has. */
static void
alignment_verify (const Careful *careful, const Held *held)
{
  uintptr_t rounded = (held->size + (uintptr_t)7) & ~(uintptr_t)7;
  uintptr_t alignment = rounded & -rounded;
  uintptr_t alignment_max = careful->options->contestant->alignment_max;

  if (alignment > alignment_max)
    alignment = alignment_max;
  if (((uintptr_t)held->block & (alignment - 1)) != 0)
    stress_fail (EXIT_FOUND,
                 "the block of %u bytes at %p is not aligned to %u",
                 held->size, held->block, (unsigned)alignment);
}

/* --- blocks ---------------------------------------------------------------
 */

/* Makes a new block; zeroed if asked for. */
static void
held_alloc (const Careful *careful, Held *held, uint32_t size, uint32_t tag,
            bool zeroed)
{
  const BlockCalls *calls = careful->calls;

  held->size = size;
  held->tag = tag;
  held->block = zeroed ? calls->alloc0 (size) : calls->alloc (size);
  if (size == 0 && careful->options->contestant->is_slice
      && held->block != NULL)
    stress_fail (EXIT_FOUND, "a size of 0 gave a block at %p", held->block);
  if (size == 0)
    return;
  if (held->block == NULL)
    stress_fail (EXIT_FOUND, "no block of %u bytes", size);
  alignment_verify (careful, held);
  if (zeroed)
    zero_verify (held);
  pattern_write (held);
}

static void
held_resize (const Careful *careful, Held *held, uint32_t size, uint32_t tag)
{
  uint32_t old_size = held->size;

  pattern_verify (held, old_size, "before a resize");
  held->block = careful->calls->resize (old_size, size, held->block);
  held->size = size;
  if (size == 0)
    return;
  if (held->block == NULL)
    stress_fail (EXIT_FOUND, "no block of %u bytes", size);
  alignment_verify (careful, held);
  pattern_verify (held, old_size < size ? old_size : size, "after a resize");
  held->tag = tag;
  pattern_write (held);
}

static void
held_free (const Careful *careful, Held *held)
{
  pattern_verify (held, held->size, "before its free");
  /* Slices take a NULL; of the others, not all do. */
  if (held->block != NULL || careful->options->contestant->is_slice)
    careful->calls->free (held->size, held->block);
  held->block = NULL;
  held->size = 0;
}

/* --- laps -----------------------------------------------------------------
 */

static void
walk_step (Careful *careful, CarefulThread *thread)
{
  const Options *options = careful->options;
  Held **place = &thread->held[careful_below (thread, options->n_blocks)];
  uint32_t size;
  uint32_t tag;

  if (options->share && careful_one_in (thread, STEPS_PER_SWAP))
    *place = __atomic_exchange_n (
        &careful->shared[careful_below (thread, SHARED_HELD)], *place,
        __ATOMIC_ACQ_REL);
  if (options->lie != LIE_NONE && careful_one_in (thread, STEPS_PER_LIE))
    lie_tell (options->lie, careful->calls, *place, careful_random (thread));
  size = careful_below (thread, options->modulus);
  tag = careful_random (thread);
  if (size > 0 && (*place)->size > 0
      && careful_one_in (thread, STEPS_PER_RESIZE))
    {
      held_resize (careful, *place, size, tag);
      return;
    }
  held_free (careful, *place);
  held_alloc (careful, *place, size, tag,
              careful_one_in (thread, STEPS_PER_ALLOC0));
}

void
careful_walk (Careful *careful, unsigned thread_index)
{
  CarefulThread *thread = &careful->threads[thread_index];

  for (unsigned n = careful->options->n_blocks / 2; n > 0; n--)
    walk_step (careful, thread);
}

void
careful_replay (Careful *careful, unsigned thread_index)
{
  CarefulThread *thread = &careful->threads[thread_index];
  const StreamOp *op = careful->stream->ops;
  const StreamOp *end = op + careful->stream->n_ops;

  for (; op < end; op++)
    {
      Held *held = &thread->slots[op->slot];
      uint32_t size = op->word >> STREAM_KIND_BITS;
      unsigned kind = op->word & ((1u << STREAM_KIND_BITS) - 1);

      if (kind == STREAM_FREE)
        held_free (careful, held);
      else if (kind == STREAM_RESIZE)
        {
          op++;
          held_resize (careful, held, size, careful_random (thread));
        }
      else
        held_alloc (careful, held, size, careful_random (thread),
                    kind == STREAM_ALLOC0);
    }
}

/* --- beginning and end -----------------------------------------------------
 */

static void
careful_thread_init (const Careful *careful, CarefulThread *thread,
                     unsigned index)
{
  const Options *options = careful->options;

  thread->random = (options->seed + UINT64_C (1)) * PATTERN_STEP
                   + index * (PATTERN_STEP << 1);
  if (careful->stream != NULL)
    {
      thread->slots = stress_alloc (careful->stream->n_slots, sizeof (Held));
      return;
    }
  thread->slots = stress_alloc (options->n_blocks, sizeof (Held));
  thread->held = stress_alloc (options->n_blocks, sizeof (Held *));
  for (unsigned i = 0; i < options->n_blocks; i++)
    thread->held[i] = &thread->slots[i];
}

Careful *
careful_new (const Options *options, const Stream *stream)
{
  Careful *careful = stress_alloc (1, sizeof *careful);

  careful->options = options;
  careful->stream = stream;
  careful->calls = &options->contestant->calls;
  careful->threads
      = stress_alloc (options->n_threads, sizeof *careful->threads);
  for (unsigned i = 0; i < options->n_threads; i++)
    careful_thread_init (careful, &careful->threads[i], i);
  careful->shared_slots = stress_alloc (SHARED_HELD, sizeof (Held));
  for (unsigned i = 0; i < SHARED_HELD; i++)
    careful->shared[i] = &careful->shared_slots[i];
  return careful;
}

/* Spoils one block, which the frees to come, or the statistics, must
 * show. */
static void
sabotage (const Options *options, Held *held)
{
  if (options->sabotage == SABOTAGE_BYTE && held->size > 0)
    *((char *)held->block + held->size / 2) ^= 1;
  else if (options->sabotage == SABOTAGE_LEAK)
    *held = (Held){ NULL, 0, 0 };
}

/* The first block of a thread that is one. */
static Held *
held_first (const Careful *careful, const CarefulThread *thread)
{
  unsigned i = 0;

  while (i + 1 < careful->options->n_blocks && thread->held[i]->size == 0)
    i++;
  return thread->held[i];
}

/* Frees what a thread holds; called by the thread. */
void
careful_finish_thread (Careful *careful, unsigned thread_index)
{
  CarefulThread *thread = &careful->threads[thread_index];

  if (thread->held == NULL)
    return;
  sabotage (careful->options, held_first (careful, thread));
  for (unsigned i = 0; i < careful->options->n_blocks; i++)
    held_free (careful, thread->held[i]);
}

/* After all threads have finished: what was left in the shared table goes,
 * too. */
void
careful_destroy (Careful *careful)
{
  for (unsigned i = 0; i < SHARED_HELD; i++)
    held_free (careful, careful->shared[i]);
  for (unsigned i = 0; i < careful->options->n_threads; i++)
    {
      free (careful->threads[i].held);
      free (careful->threads[i].slots);
    }
  free (careful->threads);
  free (careful->shared_slots);
  free (careful);
}
