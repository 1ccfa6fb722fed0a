/* test-threads.c - threads that come, go, and free each other's blocks
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "tests/teststats.h"
#include "port/os/os.h"

#include <pthread.h>
#include <string.h>

#define MIB ((size_t) 1 << 20)

/* --- blocks go from thread to thread --- */

enum { RELAY = 8192 };
static void *relay[RELAY];

static size_t
size_of (unsigned at)
{
  return 8 + at * 7 % 600;
}

static void
relay_run (unsigned index, void *data)
{
  unsigned n_turns = *(const unsigned *) data;
  TestRandom random;

  test_random_init (&random, index);
  for (unsigned turn = 0; turn < n_turns; turn++)
    {
      unsigned at = test_random_below (&random, RELAY);
      void *mine = NULL, *other;

      if (test_random_below (&random, 2) == 0)
        {
          mine = slice_alloc (size_of (at));
          test_fill (mine, size_of (at), at);
        }
      other = __atomic_exchange_n (&relay[at], mine, __ATOMIC_ACQ_REL);
      if (other == NULL)
        continue;
      g_assert_true (test_is_filled (other, size_of (at), at));
      slice_free1 (size_of (at), other);
    }
}

static void
relay_end (void)
{
  for (unsigned at = 0; at < RELAY; at++)
    {
      slice_free1 (size_of (at), relay[at]);
      relay[at] = NULL;
    }
  g_assert_cmpuint (test_live (), ==, 0);
}

static void
test_relay (void)
{
  unsigned n_turns = test_times (200000, 10000);

  test_gang (4, relay_run, &n_turns);
  relay_end ();
}

/* Many short threads: nothing is lost, and nothing grows. */
static void
test_churn (void)
{
  unsigned n_turns = 100, n_rounds = test_times (2500, 50);
  size_t resident = 0;

  for (unsigned i = 0; i < n_rounds; i++)
    {
      test_gang (4, relay_run, &n_turns);
      if (i == n_rounds / 5)
        resident = test_resident_bytes ();
    }
  g_test_message ("%u threads; %ld KiB more than after the first fifth",
                  4 * n_rounds,
                  ((long) test_resident_bytes () - (long) resident) / 1024);
  if (!test_is_slow ())
    /* Threads that lost as little as a block of 300 bytes each would be seen,
     * and how far the pools of a busy machine grow would not. */
    g_assert_cmpuint (test_resident_bytes (), <, resident + 2 * MIB);
  relay_end ();
  g_assert_cmpuint (test_stats ()->n_threads, <=, 1);
}

/* --- one makes, one frees --- */

enum { RING = 1024 };
static void *ring[RING];

static void
produce_or_consume (unsigned index, void *data G_GNUC_UNUSED)
{
  unsigned n = test_times (2000000, 50000);

  for (unsigned i = 0; i < n; i++)
    {
      void **place = &ring[i % RING];

      if (index == 0)
        {
          void *block = slice_alloc (48);

          *(unsigned *) block = i;
          while (__atomic_load_n (place, __ATOMIC_ACQUIRE) != NULL)
            g_thread_yield ();
          __atomic_store_n (place, block, __ATOMIC_RELEASE);
        }
      else
        {
          void *block;

          while ((block = __atomic_load_n (place, __ATOMIC_ACQUIRE)) == NULL)
            g_thread_yield ();
          __atomic_store_n (place, NULL, __ATOMIC_RELEASE);
          g_assert_cmpuint (*(unsigned *) block, ==, i);
          slice_free1 (48, block);
        }
    }
}

static void
test_producer_consumer (void)
{
  test_gang (2, produce_or_consume, NULL);
  g_assert_cmpuint (test_live (), ==, 0);
  /* At most the ring was live: no heap of 100 MB behind it. */
  g_test_message ("%" G_GUINT64_FORMAT " KiB held",
                  test_stats ()->held_bytes / 1024);
  g_assert_cmpuint (test_stats ()->held_bytes, <, 2 * RING * 48 + 4 * MIB);
}

/* --- destructors of other libraries' thread data --- */

static pthread_key_t late_keys[3];
static pthread_key_t early_key;
static int n_late_calls;

static void
use_sizes (void)
{
  void *blocks[100];

  for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i++)
    {
      blocks[i] = slice_alloc (8 + i * 5);
      memset (blocks[i], 1, 8 + i * 5);
    }
  for (unsigned i = 0; i < G_N_ELEMENTS (blocks); i++)
    slice_free1 (8 + i * 5, blocks[i]);
}

/* Comes again and again, as long as it may: some calls are after ours. */
static void
late_destructor (void *value)
{
  pthread_key_t *key = value;

  use_sizes ();
  slice_thread_flush ();
  slice_trim (0);
  g_atomic_int_inc (&n_late_calls);
  pthread_setspecific (*key, value);
}

/* (As musl runs no .preinit_array, as a constructor as well.) */
__attribute__ ((constructor (101))) static void
make_key (void)
{
  static bool is_made;

  if (!is_made)
    pthread_key_create (&early_key, late_destructor);
  is_made = true;
}

__attribute__ ((section (".preinit_array"), used)) static void (
    *const make_early_key) (void)
    = make_key;

static void
leave_late (unsigned index, void *data G_GNUC_UNUSED)
{
  pthread_setspecific (early_key, &early_key);
  for (size_t i = 0; i < G_N_ELEMENTS (late_keys); i++)
    pthread_setspecific (late_keys[i], &late_keys[i]);
  if (index % 2 == 0)
    slice_free1 (100, slice_alloc (100));
}

static void
test_late_destructors (void)
{
  for (size_t i = 0; i < G_N_ELEMENTS (late_keys); i++)
    pthread_key_create (&late_keys[i], late_destructor);
  for (unsigned i = 0; i < test_times (100, 5); i++)
    test_gang (4, leave_late, NULL);
  /* Four rounds of four keys. */
  g_assert_cmpint (n_late_calls, ==,
                   (int) test_times (100, 5) * 4 * 4 * 4);
  g_assert_cmpuint (test_live (), ==, 0);
  g_assert_cmpuint (test_stats ()->n_threads, <=, 1);
}

/* --- C++ objects that a thread has for itself --- */

/* What the compiler calls for a thread_local object.  They go before the
 * destructors of keys, in the thread whose magazines they use: in the last
 * thread that leaves the process by pthread_exit() after them (misuse 52). */
extern int __cxa_thread_atexit_impl (void (*end) (void *), void *object,
                                     void *dso) __attribute__ ((weak));
extern void *__dso_handle;

static int n_objects_ended;

static void
object_end (void *block)
{
  slice_free1 (64, block);
  use_sizes ();
  g_atomic_int_inc (&n_objects_ended);
}

/* One made in a destructor, as C++ allows: it is the first to go of those that
 * are left. */
static void
object_end_with_another (void *block)
{
  __cxa_thread_atexit_impl (object_end, slice_alloc (64), &__dso_handle);
  object_end (block);
}

static void
leave_with_objects (unsigned index, void *data G_GNUC_UNUSED)
{
  __cxa_thread_atexit_impl (object_end, slice_alloc (64), &__dso_handle);
  __cxa_thread_atexit_impl (object_end_with_another, slice_alloc (64),
                            &__dso_handle);
  if (index % 2 == 0)
    pthread_setspecific (late_keys[0], &late_keys[0]);
}

static void
test_thread_local_objects (void)
{
  unsigned n_turns = test_times (100, 5);

  if (__cxa_thread_atexit_impl == NULL)
    {
      g_test_skip ("the C library has no objects of a thread's own");
      return;
    }
  pthread_key_create (&late_keys[0], late_destructor);
  for (unsigned i = 0; i < n_turns; i++)
    test_gang (4, leave_with_objects, NULL);
  g_assert_cmpint (n_objects_ended, ==, (int) n_turns * 4 * 3);
  g_assert_cmpuint (test_live (), ==, 0);
  g_assert_cmpuint (test_stats ()->n_threads, <=, 1);
}

/* --- statistics while all run --- */

static int n_running;

static void
run_or_look (unsigned index, void *data)
{
  if (index > 0)
    {
      relay_run (index, data);
      g_atomic_int_add (&n_running, -1);
      return;
    }
  while (g_atomic_int_get (&n_running) > 0)
    {
      static SliceStats stats;

      slice_get_stats (&stats);
      g_assert_cmpuint (stats.n_threads, <=, 5);
      g_assert_cmpuint (stats.held_bytes, <=, stats.mapped_bytes);
    }
}

static void
test_statistics_meanwhile (void)
{
  unsigned n_turns = test_times (200000, 10000);

  n_running = 3;
  test_gang (4, run_or_look, &n_turns);
  relay_end ();
}

/* --- without a key --- */

static void
test_all_keys_taken (void)
{
  unsigned n_turns = test_times (50000, 5000);
  pthread_key_t key;

  /* The library has made its own already; nobody else gets one. */
  while (pthread_key_create (&key, NULL) == 0)
    continue;
  test_gang (3, relay_run, &n_turns);
  relay_end ();
}

/* --- what an address is, while its memory goes --- */

enum
{
  GONE = 1500, /* blocks of a turn, and their size: some extents full */
  GONE_BYTES = 1000,
  EXTENT_LEAST = 256 * 1024 /* what the allocator asks for at least */
};

static struct
{
  char *addresses[GONE];
  bool is_over;
  unsigned n_unmaps;
} gone;

/* Small extents, of which many come and go. */
static void *
small_map (const SliceSource *source G_GNUC_UNUSED, size_t bytes,
           size_t alignment)
{
  return bytes <= EXTENT_LEAST ? sli_os_map (bytes, alignment) : NULL;
}

static void
small_unmap (const SliceSource *source G_GNUC_UNUSED, void *address,
             size_t bytes)
{
  __atomic_fetch_add (&gone.n_unmaps, 1, __ATOMIC_RELAXED);
  sli_os_unmap (address, bytes);
}

static const SliceSource small_source
    = { "small", small_map, small_unmap, NULL, true, NULL };

static void
gone_give_back (unsigned n_turns)
{
  char *blocks[GONE];

  for (unsigned turn = 0; turn < n_turns; turn++)
    {
      for (unsigned i = 0; i < GONE; i++)
        {
          blocks[i] = slice_alloc (GONE_BYTES);
          __atomic_store_n (&gone.addresses[i], blocks[i], __ATOMIC_RELAXED);
        }
      for (unsigned i = 0; i < GONE; i++)
        slice_free1 (GONE_BYTES, blocks[i]);
      slice_trim (0);
    }
  __atomic_store_n (&gone.is_over, true, __ATOMIC_RELEASE);
}

/* Of any address, for nobody knows what lies there by now. */
static void
gone_ask (void)
{
  while (!__atomic_load_n (&gone.is_over, __ATOMIC_ACQUIRE))
    for (unsigned i = 0; i < GONE; i++)
      {
        char *address
            = __atomic_load_n (&gone.addresses[i], __ATOMIC_RELAXED);
        SliceBlockInfo info;

        slice_block_info (address + i % 16, &info);
        g_assert_true (info.bytes <= 2 * SLICE_SIZE_MAX);
        slice_is_ours (address + i);
        slice_debug_size (address);
      }
}

static void
gone_run (unsigned index, void *data)
{
  if (index == 0)
    gone_give_back (*(const unsigned *) data);
  else
    gone_ask ();
}

static void
check_gone (const char *options, unsigned n_turns)
{
  n_turns = test_times (n_turns, 4);

  test_options (options);
  g_assert_cmpint (slice_set_source (&small_source), ==, SLICE_SET_OK);
  test_gang (2, gone_run, &n_turns);
  g_assert_cmpuint (gone.n_unmaps, >, 0);
}

static void
test_gone (void)
{
  check_gone ("", 1000);
}

static void
test_gone_checked (void)
{
  check_gone ("checked", 400);
}

static void
test_gone_hardened (void)
{
  check_gone ("hardened", 100);
}

static void
test_gone_debug (void)
{
  check_gone ("debug", 25);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/threads/relay", test_relay);
  test_add_fresh ("/slice/threads/churn", test_churn);
  test_add_fresh ("/slice/threads/producer-consumer",
                  test_producer_consumer);
#ifndef __SANITIZE_THREAD__ /* the race detector is gone by then itself */
  test_add_fresh ("/slice/threads/late-destructors", test_late_destructors);
  test_add_fresh ("/slice/threads/thread-local-objects",
                  test_thread_local_objects);
#endif
  test_add_fresh ("/slice/threads/statistics-meanwhile",
                  test_statistics_meanwhile);
  test_add_fresh ("/slice/threads/all-keys-taken", test_all_keys_taken);
  test_add_fresh ("/slice/threads/asks-of-what-goes", test_gone);
  test_add_fresh ("/slice/threads/asks-of-what-goes-checked",
                  test_gone_checked);
  test_add_fresh ("/slice/threads/asks-of-what-goes-hardened",
                  test_gone_hardened);
  test_add_fresh ("/slice/threads/asks-of-what-goes-debug",
                  test_gone_debug);
  return g_test_run ();
}
