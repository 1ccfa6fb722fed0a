/* ralloc-testlib.h - what the tests of the contexts share
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RALLOC_TESTLIB_H
#define RALLOC_TESTLIB_H

#include <glib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slice/options.h>
#include <slice/ralloc.h>
#include <slice/slice.h>
#include <slice/stats.h>

/* A small generator (Marsaglia's xorshift64*): seeded, the same everywhere. */
typedef struct
{
  uint64_t state;
} Random;

static inline uint64_t
random_next (Random *random)
{
  random->state ^= random->state >> 12;
  random->state ^= random->state << 25;
  random->state ^= random->state >> 27;
  return random->state * UINT64_C (0x2545f4914f6cdd1d);
}

static inline size_t
random_below (Random *random, size_t n)
{
  return (size_t) ((random_next (random) >> 11) % n);
}

/* A destructor that counts. */
static unsigned n_destroyed G_GNUC_UNUSED;

static inline void
count_destroyed (void *node)
{
  (void) node;
  n_destroyed++;
}

/* Are nodes laid out for a memory checker (valgrind, a sanitizer, the option
 * always-malloc)?  Then slices are mallocs, and some figures differ. */
static inline bool
is_annotated (void)
{
  void *probe = slice_alloc (64);
  bool watched = !slice_is_ours (probe);

  slice_free1 (64, probe);
  return watched;
}

/* Is an option on, as the environment says?  Checking modes put bytes behind
 * payloads, fill what is freed, and look all blocks up. */
static inline bool
is_on (SliceOption option)
{
  int64_t value = 0;

  return slice_get_option (option, &value) && value != 0;
}

static inline bool
is_checking (void)
{
  return is_on (SLICE_OPTION_CHECKED) || is_on (SLICE_OPTION_HARDENED)
         || is_on (SLICE_OPTION_DEBUG);
}

/* Blocks that the program holds; 0 when watched, where nobody counts. */
static inline uint64_t
live_blocks (void)
{
  SliceStats *stats = g_new0 (SliceStats, 1);
  uint64_t n;

  slice_get_stats (stats);
  n = stats->live_blocks;
  g_free (stats);
  return n;
}

/* A number of the environment. */
static inline unsigned long
number_from (const char *variable, unsigned long otherwise)
{
  const char *text = g_getenv (variable);

  return text != NULL ? strtoul (text, NULL, 10) : otherwise;
}

/* A body that is run in a process of its own with options. */
typedef struct
{
  void (*body) (void);
  const char *options;
  GTestSubprocessFlags flags;
} ModeCase;

static inline void
mode_case_run (const void *data)
{
  const ModeCase *mode = data;

  if (g_test_subprocess ())
    {
      mode->body ();
      return;
    }
  g_setenv ("SLICE_OPTIONS", mode->options, TRUE);
  g_test_trap_subprocess (NULL, 0, mode->flags);
  g_test_trap_assert_passed ();
}

/* Adds a case for each of the options; NULL ends them. */
static inline void
add_modes (const char *name, void (*body) (void),
           const char *const *options, GTestSubprocessFlags flags)
{
  for (; *options != NULL; options++)
    {
      ModeCase *mode = g_new (ModeCase, 1);
      char *path = g_strdup_printf ("%s/%s", name,
                                    **options == '\0' ? "default" : *options);

      *mode = (ModeCase){ body, *options, flags };
      g_test_add_data_func_full (path, mode, mode_case_run, g_free);
      g_free (path);
    }
}

/* Runs a case of this program in a child that has to end with a message that
 * matches. */
static inline void
expect_death (const char *path, const char *message)
{
  g_test_trap_subprocess (path, 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr (message);
}

#endif
