/* handover.c - blocks go from thread to thread, for the race detectors
 *
 *   handover [THREADS [BLOCKS]]
 *
 * Each thread allocates, writes, and hands blocks over through a queue with a
 * mutex and a condition, which all race detectors understand; another reads
 * and frees them.  A trimmer runs beside.  A correct program: whatever a
 * detector says of it, the allocator has done.  helgrind and DRD do not know
 * C11's atomics, so the pool's bitmaps are not for them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slice/libslice.h>

enum
{
  QUEUE_PLACES = 64,
  N_THREADS_MAX = 16
};

typedef struct
{
  unsigned char *block;
  size_t size;
} Parcel;

static struct
{
  pthread_mutex_t lock;
  pthread_cond_t has_parcel, has_space;
  Parcel parcels[QUEUE_PLACES];
  unsigned n;
  unsigned n_makers; /* that still make */
} queue = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
            PTHREAD_COND_INITIALIZER, { { NULL, 0 } }, 0, 0 };

static unsigned n_blocks;

static void
queue_put (Parcel parcel)
{
  pthread_mutex_lock (&queue.lock);
  while (queue.n == QUEUE_PLACES)
    pthread_cond_wait (&queue.has_space, &queue.lock);
  queue.parcels[queue.n++] = parcel;
  pthread_cond_signal (&queue.has_parcel);
  pthread_mutex_unlock (&queue.lock);
}

static bool
queue_get (Parcel *parcel)
{
  bool got = false;

  pthread_mutex_lock (&queue.lock);
  while (queue.n == 0 && queue.n_makers > 0)
    pthread_cond_wait (&queue.has_parcel, &queue.lock);
  if (queue.n > 0)
    {
      *parcel = queue.parcels[--queue.n];
      got = true;
      pthread_cond_signal (&queue.has_space);
    }
  pthread_mutex_unlock (&queue.lock);
  return got;
}

static void *
make (void *number)
{
  unsigned state = (unsigned) (size_t) number * 7919 + 1;

  for (unsigned i = 0; i < n_blocks; i++)
    {
      Parcel parcel;

      state = state * 1664525u + 1013904223u;
      parcel.size = 1 + (state >> 8) % 600;
      parcel.block = slice_alloc (parcel.size);
      memset (parcel.block, (int) (parcel.size & 0xff), parcel.size);
      queue_put (parcel);
      if (i % 1024 == 1023)
        slice_thread_flush ();
    }
  pthread_mutex_lock (&queue.lock);
  queue.n_makers--;
  pthread_cond_broadcast (&queue.has_parcel);
  pthread_mutex_unlock (&queue.lock);
  return NULL;
}

static void *
use (void *unused)
{
  Parcel parcel;
  size_t n_bad = 0;

  (void) unused;
  while (queue_get (&parcel))
    {
      for (size_t i = 0; i < parcel.size; i++)
        n_bad += parcel.block[i] != (unsigned char) (parcel.size & 0xff);
      slice_free1 (parcel.size, parcel.block);
    }
  return (void *) n_bad;
}

int
main (int argc, char **argv)
{
  unsigned n = argc > 1 ? (unsigned) atoi (argv[1]) : 2;
  pthread_t makers[N_THREADS_MAX], users[N_THREADS_MAX];
  size_t n_bad = 0;

  n_blocks = argc > 2 ? (unsigned) atoi (argv[2]) : 20000;
  if (n > N_THREADS_MAX)
    n = N_THREADS_MAX;
  queue.n_makers = n;
  for (unsigned i = 0; i < n; i++)
    {
      pthread_create (&makers[i], NULL, make, (void *) (size_t) i);
      pthread_create (&users[i], NULL, use, NULL);
    }
  for (int i = 0; i < 20; i++)
    slice_trim (0);
  for (unsigned i = 0; i < n; i++)
    {
      void *bad;

      pthread_join (makers[i], NULL);
      pthread_join (users[i], &bad);
      n_bad += (size_t) bad;
    }
  printf ("%u blocks handed over, %zu wrong\n", n * n_blocks, n_bad);
  return n_bad != 0;
}
