/* failing-malloc.h - malloc that fails: for one source file of a test program
 *
 * malloc and its kin are the program's own: armed, they refuse the k-th request
 * (or the k-th and all that follow), for every k, until a whole run makes fewer
 * requests than that.  fail_main() is all of such a program but its script.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FAILING_MALLOC_H
#define FAILING_MALLOC_H

#include <errno.h>
#include <glib.h>
#include <malloc.h>
#include <slice/options.h>
#include <slice/slice.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "testlib.h"

static struct
{
  long countdown;   /* the request that fails; 0: none */
  bool persistent;  /* and all after it */
  unsigned long n_refused;
  long n_live;      /* blocks, while armed */
} fault;

/* A sanitizer's malloc can't be replaced: then nothing fails. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
# define MALLOC_CAN_FAIL 0
#else
# define MALLOC_CAN_FAIL 1

extern void *__libc_malloc (size_t);
extern void *__libc_calloc (size_t, size_t);
extern void *__libc_realloc (void *, size_t);
extern void *__libc_memalign (size_t, size_t);
extern void __libc_free (void *);

static bool
refused (void)
{
  if (fault.countdown == 0)
    return false;
  if (fault.countdown > 1)
    {
      fault.countdown--;
      return false;
    }
  if (!fault.persistent)
    fault.countdown = 0;
  fault.n_refused++;
  errno = ENOMEM;
  return true;
}

void *
malloc (size_t size)
{
  void *block = refused () ? NULL : __libc_malloc (size);

  fault.n_live += block != NULL;
  return block;
}

void *
calloc (size_t n, size_t size)
{
  void *block = refused () ? NULL : __libc_calloc (n, size);

  fault.n_live += block != NULL;
  return block;
}

void *
realloc (void *old, size_t size)
{
  void *block = refused () ? NULL : __libc_realloc (old, size);

  fault.n_live += block != NULL && old == NULL;
  return block;
}

int
posix_memalign (void **block, size_t align, size_t size)
{
  int error = errno; /* which POSIX leaves alone here */

  *block = refused () ? NULL : __libc_memalign (align, size);
  fault.n_live += *block != NULL;
  errno = error;
  return *block != NULL ? 0 : ENOMEM;
}

void *
memalign (size_t align, size_t size)
{
  void *block = refused () ? NULL : __libc_memalign (align, size);

  fault.n_live += block != NULL;
  return block;
}

/* Where configure finds nothing better, pages come from here. */
void *
valloc (size_t size)
{
  return memalign ((size_t) sysconf (_SC_PAGESIZE), size);
}

void *
aligned_alloc (size_t align, size_t size)
{
  return memalign (align, size);
}

void
free (void *block)
{
  fault.n_live -= block != NULL;
  __libc_free (block);
}

#endif

/* More requests than this are made.  With slices from slabs few are, and how
 * many depends on the mode. */
static unsigned long n_points_least = 10;

/* The first tier tries all points up to POINTS_DENSE, and one in POINTS_STEP
 * behind it. */
enum { POINTS_DENSE = 40, POINTS_STEP = 5 };

static inline long
point_after (long k)
{
  return k < POINTS_DENSE || test_is_second_tier () ? k + 1 : k + POINTS_STEP;
}

/* Runs a script as often as it makes requests, each of which fails once; what
 * was allocated must be free at its end. */
static inline void
fail_each (void (*script) (void), bool persistent)
{
  unsigned long n_points = 0;
  unsigned long n_refused = fault.n_refused;
  long before;

  script (); /* what is made once */
  for (long k = 1;; k = point_after (k))
    {
      before = fault.n_live;
      fault.persistent = persistent;
      fault.countdown = k;
      script ();
      if (fault.countdown > 1) /* never reached */
        {
          fault.countdown = 0;
          break;
        }
      fault.countdown = 0;
      n_points++;
      /* What is made once may have been made only now; nothing else stays. */
      if (fault.n_live > before)
        {
          before = fault.n_live;
          script ();
          g_assert_cmpint (fault.n_live, ==, before);
        }
    }
  g_test_message ("%lu points, %lu requests refused", n_points,
                  fault.n_refused - n_refused);
  g_assert_cmpuint (n_points, >, n_points_least);
}

typedef void (*FailScript) (void);

static void
fail_once (const void *data)
{
  const FailScript *script = data;

  fail_each (*script, false);
}

static void
fail_persistently (const void *data)
{
  const FailScript *script = data;

  fail_each (*script, true);
}

/* The same with slices from slabs: there it is the pages that are refused,
 * rarely, and what is too large for a slab. */
static void
fail_slabs (const void *data)
{
  if (g_test_subprocess ())
    {
      n_points_least = 4;
      fail_once (data);
      return;
    }
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDOUT);
  g_test_trap_assert_passed ();
}

static void
fail_add (const char *name, const char *how, const FailScript *script,
          GTestDataFunc test)
{
  char *path = g_strdup_printf ("/slice/%s/%s", name, how);

  g_test_add_data_func (path, script, test);
  g_free (path);
}

/* The main() of such a program: `script`, named `name`, with every slice a
 * malloc (so that each is a request), then with slabs; and what `add_more`
 * adds, if it is not NULL. */
static inline int
fail_main (int argc, char **argv, const char *name, FailScript script,
           void (*add_more) (void))
{
  void *probe;

  if (!MALLOC_CAN_FAIL)
    {
      puts ("1..0 # SKIP built with a sanitizer");
      return 0;
    }
  g_test_init (&argc, &argv, NULL);
  if (!g_test_subprocess ())
    {
      slice_set_option (SLICE_OPTION_ALWAYS_MALLOC, 1);
      probe = slice_alloc (64);
      g_assert_false (slice_is_ours (probe));
      slice_free1 (64, probe);
    }
  fail_add (name, "once", &script, fail_once);
  fail_add (name, "persistent", &script, fail_persistently);
  fail_add (name, "slabs", &script, fail_slabs);
  if (add_more != NULL)
    add_more ();
  return g_test_run ();
}

#endif
