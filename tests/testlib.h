/* testlib.h - what the tests share
 *
 * Nothing of the library is called here, so that the tests of every layer can
 * link it.
 *
 * A test of the allocator needs a process that has allocated no block yet:
 * test_add_fresh() forks one for it.  (g_test_trap_subprocess() would run the
 * program again.  A forked child stays under valgrind and the sanitizers, and
 * the signal that ends it is known.)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTLIB_H
#define TESTLIB_H

#include <glib.h>
#include <slice/source.h>

/* Sanitizers take locks of their own, for malloc and for threads, which a
 * forked child of a program with threads may find held for ever. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
# define TEST_IS_SANITIZED 1
#else
# define TEST_IS_SANITIZED 0
#endif

typedef void (*TestBody) (void);

/* As g_test_init(); also prints the seed of all random numbers. */
void test_init (int *argc, char ***argv);

/* A test in the process of the program itself. */
void test_add (const char *path, TestBody body);
/* A test in a process of its own, with the slabs in use under tools, too. */
void test_add_fresh (const char *path, TestBody body);
/* A test in a process of its own that must end by SIGABRT, after the line of
 * test_will_die() and no other. */
void test_add_death (const char *path, TestBody body);

/* The message that the process will end with: a format of printf, without the
 * line's end. */
void test_will_die (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* Sets SLICE_OPTIONS for this process; the slabs stay in use under tools.
 * Only before the first block. */
void test_options (const char *options);

/* Runs a body in a process of its own and returns what it wrote to standard
 * error; *status is as of waitpid(). */
char *test_capture (TestBody body, int *status);
/* The same for a body that must end with status 0. */
char *test_said_by (TestBody body);
/* The same for one that must write nothing, either. */
void test_says_nothing (TestBody body);

/* TRUE under a tool, where tests do fewer repetitions. */
gboolean test_is_slow (void);

/* TRUE with SLICE_TEST_TIER=2, where a test takes its full count. */
gboolean test_is_second_tier (void);
/* n, or a twentieth (at least `least`) under a tool. */
unsigned test_times (unsigned n, unsigned least);

/* The number of the calling thread, as messages show it. */
unsigned test_thread_id (void);

/* With 32 bits the system may have a GiB or two.  This limits the process, and
 * those that it starts, to a quarter of all addresses, so that SIZE_MAX / 4 is
 * too large for certain, as it is with 64 bits. */
void test_limit_space (void);
/* TRUE if the system obeys the limit.  qemu's emulation of 32 bits does not;
 * there the tests of too large sizes are left out. */
gboolean test_can_limit_space (void);
/* TRUE if a limit of addresses ends what is mapped: no emulation obeys it. */
gboolean test_obeys_limits (void);

/* Resident bytes of this process. */
size_t test_resident_bytes (void);

/* --- random numbers --- */

typedef struct
{
  guint64 state;
} TestRandom;

/* The seed of this run, printed by test_init(): SLICE_TEST_SEED, or new. */
guint64 test_seed (void);
/* A stream of its own for every `number`. */
void test_random_init (TestRandom *random, unsigned number);
guint64 test_random (TestRandom *random);
/* 0 ... n - 1. */
unsigned test_random_below (TestRandom *random, unsigned n);

/* --- many threads --- */

typedef void (*TestRun) (unsigned index, void *data);

/* Runs n threads that begin together, and waits for them. */
void test_gang (unsigned n, TestRun run, void *data);

/* Waits until a thread of this process sleeps in the kernel.  Not under
 * valgrind, where threads that wait for their turn sleep, too. */
void test_wait_asleep (unsigned thread_id);

/* --- a source of pages that can fail --- */

typedef struct
{
  SliceSource source;   /* first; its functions may be replaced */
  int n_maps;           /* calls that returned memory */
  int n_failed;
  int n_unmaps;
  int n_advised;
  int n_until_failure;  /* so many maps succeed; negative: all */
  size_t mapped_bytes;  /* now */
} TestPages;

void test_pages_init (TestPages *pages);

/* --- blocks --- */

/* The alignment that slice.h promises for a size. */
size_t test_alignment (size_t size);
/* Fills a block so that it differs from others, and checks whether it is
 * as it was. */
void test_fill (void *block, size_t size, unsigned key);
gboolean test_is_filled (const void *block, size_t size, unsigned key);
gboolean test_is_zero (const void *block, size_t size);

#endif
