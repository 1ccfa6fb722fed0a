/* advice-chunks.c - supplies chunks, and knows the threads that fill them
 *
 * Layer: dropin.  All chunks lie in one reserved range, so that a compare says
 * whether a block is theirs.  Free chunks form a stack of numbers outside of
 * them: the first few keep their memory, the others return it.
 *
 * Locks: one.  Chunks of threads that are gone, in a child of fork(), are
 * closed there.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "config.h"

#include "advice-chunks.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum
{
  CHUNKS_MAX = 1 << 19, /* 16 GiB */
  CHUNKS_LEAST = 1 << 10,
  CHUNKS_KEPT = 64, /* 2 MiB of free chunks keep their memory */
  CHECK_CHUNKS_MIN = 8,
  HUGE_BYTES = 2 * 1024 * 1024,
  HUGE_CHUNKS = HUGE_BYTES / CHUNK_BYTES
};

RegionArea sli_region_area;
RegionSite sli_region_sites[ADVICE_SITES_MAX];
__thread RegionThread *sli_region_self;

static struct
{
  pthread_mutex_t lock;
  uint32_t n_chunks; /* in the range */
  uint32_t n_used;   /* of these, the first ones, which were used */
  uint32_t n_free;
  uint32_t *free; /* numbers of chunks; those that kept their memory are the
                     last n_dirty */
  uint32_t n_dirty;
  RegionThread *threads;
  pthread_key_t key;
  const AdviceSite *advised;
  unsigned n_sites;
} chunks = { .lock = PTHREAD_MUTEX_INITIALIZER };

static __thread bool thread_has_ended;

static RegionChunk *
chunk_at (uint32_t number)
{
  return (RegionChunk *) (sli_region_area.start
                          + (size_t) number * CHUNK_BYTES);
}

static uint32_t
chunk_number (const RegionChunk *chunk)
{
  return (uint32_t) (((uintptr_t) chunk - sli_region_area.start)
                     / CHUNK_BYTES);
}

/* --- survivors ----------------------------------------------------------- */

static uint64_t
chunk_pinned (const RegionChunk *chunk)
{
  uint64_t count = LOAD (&chunk->count), n = LOAD (&chunk->n_allocs);

  if (LOAD (&chunk->owner) != NULL || n == 0 || count > n)
    return 0;
  return CHUNK_BYTES * (n - count) / n;
}

/* Switches a site's region off if its closed chunks have more memory without
 * live blocks than the advice allows.  It adds up all chunks only after these
 * have grown by a quarter, so the cost of a chunk stays constant.  The caller
 * holds the lock. */
static void
survivors_check (RegionSite *site, uint64_t pin_bytes)
{
  uint64_t pinned = 0;

  if (site->n_chunks < site->check_at)
    return;
  site->check_at = site->n_chunks + site->n_chunks / 4 + CHECK_CHUNKS_MIN;
  for (uint32_t i = site->first; i != 0; i = chunk_at (i - 1)->next)
    pinned += chunk_pinned (chunk_at (i - 1));
  if (pinned > pin_bytes)
    {
      site->pinned = pinned;
      STORE (&site->is_off, true);
    }
}

/* --- chunks -------------------------------------------------------------- */

static void
site_add (RegionSite *site, RegionChunk *chunk)
{
  uint32_t number = chunk_number (chunk) + 1;

  chunk->next = site->first;
  chunk->previous = 0;
  if (site->first != 0)
    chunk_at (site->first - 1)->previous = number;
  site->first = number;
  if (++site->n_chunks > site->n_chunks_most)
    site->n_chunks_most = site->n_chunks;
}

static void
site_remove (RegionSite *site, RegionChunk *chunk)
{
  if (chunk->previous != 0)
    chunk_at (chunk->previous - 1)->next = chunk->next;
  else
    site->first = chunk->next;
  if (chunk->next != 0)
    chunk_at (chunk->next - 1)->previous = chunk->previous;
  site->n_chunks--;
}

/* Requests a huge page when the chunks reach the next 2 MiB: the kernel then
 * maps these at once, and not as 512 pages one by one.  The first 2 MiB keep
 * small pages, so that programs with little memory in regions do not grow.  The
 * caller holds the lock. */
static void
huge_begin (void)
{
  if (chunks.n_used % HUGE_CHUNKS == 0 && chunks.n_used > 0)
    madvise (chunk_at (chunks.n_used), HUGE_BYTES, MADV_HUGEPAGE);
}

/* Takes a free chunk; NULL: the range is used up.  The caller holds the
 * lock. */
static RegionChunk *
chunk_take (void)
{
  if (chunks.n_free > 0)
    {
      if (chunks.n_dirty > 0)
        chunks.n_dirty--;
      return chunk_at (chunks.free[--chunks.n_free]);
    }
  if (chunks.n_used == chunks.n_chunks)
    return NULL;
  huge_begin ();
  return chunk_at (chunks.n_used++);
}

RegionChunk *
sli_chunk_new (unsigned site, RegionThread *self)
{
  RegionSite *counts = &sli_region_sites[site];
  RegionChunk *chunk = NULL;

  pthread_mutex_lock (&chunks.lock);
  survivors_check (counts, chunks.advised[site].pin_bytes);
  if (!counts->is_off)
    chunk = chunk_take ();
  if (chunk != NULL)
    {
      memset (chunk, 0, sizeof *chunk);
      chunk->count = CHUNK_OPEN;
      chunk->owner = self;
      chunk->top = (char *) chunk + CHUNK_HEAD_BYTES;
      chunk->site = site;
      site_add (counts, chunk);
    }
  pthread_mutex_unlock (&chunks.lock);
  return chunk;
}

void
sli_chunk_free (RegionChunk *chunk)
{
  uint32_t number = chunk_number (chunk);

  pthread_mutex_lock (&chunks.lock);
  site_remove (&sli_region_sites[chunk->site], chunk);
  if (chunks.n_dirty == CHUNKS_KEPT)
    {
      /* the one that was kept longest */
      uint32_t *oldest = &chunks.free[chunks.n_free - CHUNKS_KEPT];

      madvise (chunk_at (*oldest), CHUNK_BYTES, MADV_DONTNEED);
    }
  else
    chunks.n_dirty++;
  chunks.free[chunks.n_free++] = number;
  pthread_mutex_unlock (&chunks.lock);
}

void
sli_chunk_close (RegionChunk *chunk)
{
  uint64_t live = chunk->n_allocs - chunk->n_own_frees;

  STORE (&chunk->owner, NULL);
  if (__atomic_add_fetch (&chunk->count, live - CHUNK_OPEN, __ATOMIC_ACQ_REL)
      == 0)
    sli_chunk_free (chunk);
}

/* --- threads ------------------------------------------------------------- */

/* Closes the chunks of a thread that has ended, or that does not exist in this
 * child of a fork(). */
static void
thread_close (RegionThread *thread)
{
  for (unsigned i = 0; i < chunks.n_sites; i++)
    {
      if (thread->open[i] != NULL)
        sli_chunk_close (thread->open[i]);
      thread->open[i] = NULL;
      __atomic_fetch_add (&sli_region_sites[i].n_served, thread->n_served[i],
                          __ATOMIC_RELAXED);
      thread->n_served[i] = 0;
    }
}

static void
thread_end (void *data)
{
  RegionThread *thread = data;

  thread_has_ended = true;
  sli_region_self = NULL;
  thread_close (thread);
  pthread_mutex_lock (&chunks.lock);
  thread->is_used = false;
  pthread_mutex_unlock (&chunks.lock);
}

/* Takes a RegionThread that no thread uses, or makes one.  The caller holds the
 * lock. */
static RegionThread *
thread_take (void)
{
  RegionThread *thread = chunks.threads;

  while (thread != NULL && thread->is_used)
    thread = thread->next;
  if (thread == NULL)
    {
      void *memory = mmap (NULL, sizeof *thread, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

      if (memory == MAP_FAILED)
        return NULL;
      thread = memory;
      thread->next = chunks.threads;
      chunks.threads = thread;
    }
  thread->is_used = true;
  return thread;
}

RegionThread *
sli_region_thread (void)
{
  RegionThread *thread;

  if (sli_region_self != NULL || thread_has_ended)
    return sli_region_self;
  pthread_mutex_lock (&chunks.lock);
  thread = thread_take ();
  pthread_mutex_unlock (&chunks.lock);
  sli_region_self = thread;
  if (thread != NULL)
    pthread_setspecific (chunks.key, thread);
  return thread;
}

/* --- fork ---------------------------------------------------------------- */

static void
fork_prepare (void)
{
  pthread_mutex_lock (&chunks.lock);
}

static void
fork_parent (void)
{
  pthread_mutex_unlock (&chunks.lock);
}

/* The child has no other threads, so their chunks are never filled. */
static void
fork_child (void)
{
  pthread_mutex_init (&chunks.lock, NULL);
  for (RegionThread *thread = chunks.threads; thread != NULL;
       thread = thread->next)
    if (thread->is_used && thread != sli_region_self)
      {
        thread_close (thread);
        thread->is_used = false;
      }
}

/* --- beginning and end --------------------------------------------------- */

/* Reserves the range; less where the system does not allow so much. */
static bool
area_map (void)
{
  for (uint32_t n = CHUNKS_MAX; n >= CHUNKS_LEAST; n /= 2)
    {
      size_t bytes = (size_t) n * CHUNK_BYTES + HUGE_BYTES;
      void *memory
          = mmap (NULL, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      void *numbers
          = mmap (NULL, n * sizeof (uint32_t), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

      if (memory != MAP_FAILED && numbers != MAP_FAILED)
        {
          chunks.n_chunks = n;
          chunks.free = numbers;
          sli_region_area.start = ((uintptr_t) memory + HUGE_BYTES - 1)
                                  & ~(uintptr_t) (HUGE_BYTES - 1);
          sli_region_area.bytes = (size_t) n * CHUNK_BYTES;
          return true;
        }
      if (memory != MAP_FAILED)
        munmap (memory, bytes);
      if (numbers != MAP_FAILED)
        munmap (numbers, n * sizeof (uint32_t));
    }
  return false;
}

bool
sli_chunks_begin (const Advice *advice)
{
  chunks.advised = advice->sites;
  chunks.n_sites = advice->n_sites;
  for (unsigned i = 0; i < advice->n_sites; i++)
    sli_region_sites[i].check_at = CHECK_CHUNKS_MIN;
  return pthread_key_create (&chunks.key, thread_end) == 0
         && pthread_atfork (fork_prepare, fork_parent, fork_child) == 0
         && area_map ();
}

void
sli_region_count (unsigned site, uint64_t *n_served, uint64_t *n_chunks_most)
{
  pthread_mutex_lock (&chunks.lock);
  *n_served = LOAD (&sli_region_sites[site].n_served);
  for (RegionThread *thread = chunks.threads; thread != NULL;
       thread = thread->next)
    *n_served += LOAD (&thread->n_served[site]);
  *n_chunks_most = sli_region_sites[site].n_chunks_most;
  pthread_mutex_unlock (&chunks.lock);
}
