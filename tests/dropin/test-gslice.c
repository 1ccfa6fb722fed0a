/* test-gslice.c - the drop-in as a program's g_slice calls
 *
 * Linked with libslice-gslice before GLib, as one way of using it; the other,
 * preloading, is tested by test-dropin.sh.  Modes are read once in a process,
 * so each is tried in a child with an environment of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
/* Its calls are what is tested here. */
#define GLIB_DISABLE_DEPRECATION_WARNINGS 1
#include <glib.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slice/slice.h>
#include <slice/stats.h>

#include "tests/hang.h"

enum
{
  SIZE_LAST = 4096,
  CHILD_USEC = 60 * 1000000
};

typedef struct
{
  GSList *next;
  char rest[40];
} Node;

/* --- children ------------------------------------------------------------ */

/* Runs this test again in a child, with variables NAME=VALUE or NAME (unset)
 * up to a NULL.  True in the parent, afterwards. */
static gboolean
in_child (const char *const *variables)
{
  if (g_test_subprocess ())
    return FALSE;
  for (; *variables != NULL; variables++)
    {
      const char *equals = strchr (*variables, '=');
      char *name = equals == NULL
                       ? g_strdup (*variables)
                       : g_strndup (*variables, equals - *variables);

      if (equals == NULL)
        g_unsetenv (name);
      else
        g_setenv (name, equals + 1, TRUE);
      g_free (name);
    }
  g_test_trap_subprocess (NULL, CHILD_USEC, G_TEST_SUBPROCESS_DEFAULT);
  g_unsetenv ("G_SLICE");
  g_unsetenv ("G_DEBUG");
  g_unsetenv ("SLICE_RUN");
  g_unsetenv ("SLICE_RUN_G_SLICE");
  g_unsetenv ("SLICE_OPTIONS");
  return TRUE;
}

#define IN_CHILD(...) in_child ((const char *const[]){ __VA_ARGS__, NULL })

/* As slice-run does: GLib on malloc, `setting' for us. */
#define AS_SLICE_RUN "SLICE_RUN=1", "G_SLICE=always-malloc"

static gint64
option (SliceOption which)
{
  int64_t value;

  g_assert_true (slice_get_option (which, &value));
  return value;
}

static guint64
live_blocks (void)
{
  SliceStats stats;

  slice_get_stats (&stats);
  return stats.live_blocks;
}

/* --- blocks -------------------------------------------------------------- */

static void
test_is_ours (void)
{
  static const char *const names[]
      = { "g_slice_alloc",         "g_slice_alloc0",
          "g_slice_copy",          "g_slice_free1",
          "g_slice_set_config",    "g_slice_free_chain_with_offset",
          "g_slice_get_config",    "g_slice_get_config_state" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      Dl_info info;
      void *address = dlsym (RTLD_DEFAULT, names[i]);

      g_assert_nonnull (address);
      g_assert_cmpint (dladdr (address, &info), !=, 0);
      g_assert_nonnull (strstr (info.dli_fname, "libslice-gslice"));
    }
}

static gboolean
is_filled (const char *bytes, gsize n, char with)
{
  for (gsize i = 0; i < n; i++)
    if (bytes[i] != with)
      return FALSE;
  return TRUE;
}

static void
test_sizes (void)
{
  const void *volatile null = NULL;

  g_assert_null (g_slice_alloc (0));
  g_assert_null (g_slice_alloc0 (0));
  g_assert_null (g_slice_copy (0, NULL));
  g_assert_null (g_slice_copy (40, (const void *) null));
  for (gsize n = 1; n <= SIZE_LAST; n++)
    {
      char *dirty = g_slice_alloc (n), *zero, *copy;

      g_assert_nonnull (dirty);
      g_assert_cmpuint ((gsize) dirty % 16, ==, 0);
      g_assert_true (slice_is_ours (dirty) == (n <= SLICE_SIZE_MAX));
      memset (dirty, 'x', n);
      copy = g_slice_copy (n, dirty);
      g_assert_cmpmem (copy, n, dirty, n);
      g_slice_free1 (n, dirty);
      zero = g_slice_alloc0 (n);
      g_assert_true (is_filled (zero, n, 0));
      g_slice_free1 (n, zero);
      g_slice_free1 (n, copy);
    }
  g_assert_cmpuint (live_blocks (), ==, 0);
}

static void
test_macros (void)
{
  struct
  {
  } *empty;
  Node *node = g_slice_new0 (Node), *copy;

  node->rest[39] = 'r';
  copy = g_slice_dup (Node, node);
  g_assert_cmpmem (copy, sizeof *copy, node, sizeof *node);
  g_slice_free (Node, copy);
  g_slice_free (Node, node);
  /* GLib 2.74's macro asks for 0 bytes here, and may get NULL. */
  empty = g_slice_alloc (sizeof *empty);
  g_assert_null (empty);
}

static void
null_is_nothing (void)
{
  g_slice_free1 (0, NULL);
  g_slice_free1 (24, NULL);
  g_slice_free1 (100000, NULL);
  g_slice_free_chain_with_offset (24, NULL, 8);
  g_slice_free_chain_with_offset (0, NULL, 0);
}

static void
test_null (void)
{
  static const char *const modes[]
      = { "G_SLICE", "G_SLICE=always-malloc", "G_SLICE=debug-blocks",
          "G_SLICE=all", "G_DEBUG=gc-friendly" };

  if (g_test_subprocess ())
    {
      null_is_nothing ();
      g_slice_free1 (24, g_slice_alloc (24));
      null_is_nothing ();
      return;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      IN_CHILD (modes[i]);
      g_test_trap_assert_passed ();
    }
}

/* A chain with GLib's nodes among ours. */
static void
test_chain (void)
{
  GSList *chain = NULL;

  for (int i = 0; i < 100000; i++)
    {
      GSList *node = i % 5 == 0 ? g_slist_alloc () : g_slice_new (GSList);

      node->next = chain;
      chain = node;
    }
  g_assert_cmpuint (live_blocks (), ==, 80000);
  g_slice_free_chain (GSList, chain, next);
  g_assert_cmpuint (live_blocks (), ==, 0);
}

/* --- the border ---------------------------------------------------------- */

/* GLib's blocks, freed by the program. */
static void
glib_to_us (void)
{
  for (int i = 0; i < 100; i++)
    {
      g_slice_free1 (sizeof (GList), g_list_alloc ());
      g_slice_free (GSList, g_slist_alloc ());
    }
}

/* Our blocks, freed inside GLib. */
static void
us_to_glib (void)
{
  for (int i = 0; i < 100; i++)
    {
      GList *chain = NULL;

      g_slist_free_1 (g_slice_new0 (GSList));
      for (int j = 0; j < 3; j++)
        {
          GList *node = g_slice_new0 (GList);

          node->next = chain;
          chain = node;
        }
      g_list_free (chain);
      g_free (g_slice_alloc (3000));
    }
}

static void
test_passes_on (void)
{
  static const char *const modes[] = { "G_SLICE", "G_SLICE=debug-blocks" };

  if (g_test_subprocess ())
    {
      glib_to_us ();
      return;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      IN_CHILD (modes[i], "SLICE_OPTIONS=stats");
      g_test_trap_assert_passed ();
      g_test_trap_assert_stderr ("*: 200 blocks of GLib's passed on, 0 of*");
    }
  /* Under `all' GLib's own checks of its own blocks are on. */
  IN_CHILD ("G_SLICE=all", "SLICE_OPTIONS=stats");
  g_test_trap_assert_passed ();
}

/* Both ways, with GLib on malloc. */
static void
test_both_ways (void)
{
  /* Chunks only: a large block that GLib frees is malloc's. */
  static const char *const modes[]
      = { "SLICE_RUN_G_SLICE", "SLICE_RUN_G_SLICE=",
          "SLICE_OPTIONS=stats:bypass-magazines" };

  if (g_test_subprocess ())
    {
      glib_to_us ();
      us_to_glib ();
      g_assert_cmpuint (live_blocks (), ==, 0);
      return;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      IN_CHILD (AS_SLICE_RUN, "SLICE_OPTIONS=stats", modes[i]);
      g_test_trap_assert_passed ();
      g_test_trap_assert_stderr (
          "*: 200 blocks of GLib's passed on, 400 of ours came*");
    }
}

static void
test_both_ways_registered (void)
{
  static const char *const checking_options[]
      = { "SLICE_OPTIONS=stats:checked", "SLICE_OPTIONS=stats:hardened",
          "SLICE_OPTIONS=stats:debug" };

  if (g_test_subprocess ())
    {
      glib_to_us ();
      us_to_glib ();
      return;
    }
  /* The registry knows large ones, too. */
  IN_CHILD (AS_SLICE_RUN, "SLICE_OPTIONS=stats",
            "SLICE_RUN_G_SLICE=debug-blocks");
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr (
      "*: 200 blocks of GLib's passed on, 500 of ours came*");
  IN_CHILD (AS_SLICE_RUN, "SLICE_OPTIONS=stats", "SLICE_RUN_G_SLICE=all");
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr (
      "*: 200 blocks of GLib's passed on, 500 of ours came*");
  IN_CHILD (AS_SLICE_RUN, "SLICE_RUN_G_SLICE=always-malloc");
  g_test_trap_assert_passed ();
  for (gsize i = 0; i < G_N_ELEMENTS (checking_options); i++)
    {
      IN_CHILD (AS_SLICE_RUN, checking_options[i]);
      g_test_trap_assert_passed ();
      g_test_trap_assert_stderr (
          "*: 200 blocks of GLib's passed on, 500 of ours came*");
    }
}

/* Ours are malloc's while GLib has slices: only the registry can tell.  Since
 * 2.76 GLib's are malloc's, too, and there is nothing to tell. */
static void
test_malloc_beside_slices (void)
{
  if (g_test_subprocess ())
    {
      glib_to_us ();
      for (gsize n = 1; n < SIZE_LAST; n++)
        g_slice_free1 (n, g_slice_alloc (n));
      return;
    }
  IN_CHILD ("SLICE_OPTIONS=always-malloc:stats");
  g_test_trap_assert_passed ();
  if (glib_check_version (2, 76, 0) != NULL)
    g_test_trap_assert_stderr ("*: 200 blocks of GLib's passed on, 0 of*");
}

/* --- settings ------------------------------------------------------------ */

static void
test_config (void)
{
  gint64 *state;
  guint n = 99;

  if (IN_CHILD ("G_SLICE"))
    {
      g_test_trap_assert_passed ();
      g_test_trap_assert_stderr (
          "*g_slice_set_config: blocks have been handed out*");
      g_test_trap_assert_stderr_unmatched ("*CRITICAL*");
      return;
    }
  g_slice_set_config (G_SLICE_CONFIG_BYPASS_MAGAZINES, TRUE);
  g_slice_set_config (G_SLICE_CONFIG_WORKING_SET_MSECS, 5000);
  g_slice_set_config (G_SLICE_CONFIG_COLOR_INCREMENT, 0x7fffffff);
  g_slice_set_config (G_SLICE_CONFIG_CHUNK_SIZES, 7); /* not to be set */
  g_slice_set_config ((GSliceConfig) 77, 7);
  g_slice_free1 (24, g_slice_alloc (24));
  g_assert_cmpint (option (SLICE_OPTION_BYPASS_MAGAZINES), ==, 1);
  g_assert_cmpint (g_slice_get_config (G_SLICE_CONFIG_BYPASS_MAGAZINES), ==,
                   1);
  g_assert_cmpint (g_slice_get_config (G_SLICE_CONFIG_WORKING_SET_MSECS), ==,
                   5000);
  /* It is kept, and nothing follows from it. */
  g_assert_cmpint (g_slice_get_config (G_SLICE_CONFIG_COLOR_INCREMENT), ==,
                   0x7fffffff);
  g_assert_cmpint (g_slice_get_config (G_SLICE_CONFIG_ALWAYS_MALLOC), ==, 0);
  g_assert_cmpint (g_slice_get_config (G_SLICE_CONFIG_CHUNK_SIZES), ==,
                   SLICE_N_CLASSES - 1);
  g_assert_cmpint (g_slice_get_config ((GSliceConfig) 77), ==, 0);
  state = g_slice_get_config_state (G_SLICE_CONFIG_CONTENTION_COUNTER, 2, &n);
  g_assert_cmpuint (n, ==, 3);
  g_assert_cmpint (state[0], ==, 24);
  g_free (state);
  g_assert_null (g_slice_get_config_state (G_SLICE_CONFIG_CONTENTION_COUNTER,
                                           SLICE_N_CLASSES, &n));
  g_assert_cmpuint (n, ==, 0);
  g_assert_null (g_slice_get_config_state (G_SLICE_CONFIG_CHUNK_SIZES, 0, &n));
  /* Too late. */
  g_slice_set_config (G_SLICE_CONFIG_BYPASS_MAGAZINES, FALSE);
  g_assert_cmpint (g_slice_get_config (G_SLICE_CONFIG_BYPASS_MAGAZINES), ==,
                   1);
}

static void
test_config_eager (void)
{
  enum
  {
    N = 2000
  };
  void *blocks[N];
  SliceStats stats;

  if (IN_CHILD ("G_SLICE"))
    {
      g_test_trap_assert_passed ();
      return;
    }
  g_slice_set_config (G_SLICE_CONFIG_WORKING_SET_MSECS, 0);
  for (int i = 0; i < N; i++)
    blocks[i] = g_slice_alloc (64);
  for (int i = 0; i < N; i++)
    g_slice_free1 (64, blocks[i]);
  slice_get_stats (&stats);
  g_assert_cmpuint (stats.classes[SLICE_CLASS_V1 (64)].n_cached_depot, ==, 0);
}

static void
test_config_malloc (void)
{
  void *block;

  if (IN_CHILD ("G_SLICE"))
    {
      g_test_trap_assert_passed ();
      return;
    }
  g_slice_set_config (G_SLICE_CONFIG_ALWAYS_MALLOC, TRUE);
  block = g_slice_alloc (64);
  g_assert_false (slice_is_ours (block));
  g_slice_free1 (64, block);
  /* The contention of a class that is never used is 0, no crash. */
  g_free (g_slice_get_config_state (G_SLICE_CONFIG_CONTENTION_COUNTER, 0,
                                    NULL));
}

typedef struct
{
  const char *value;   /* of G_SLICE; NULL: unset */
  gboolean mallocs, checks;
} Setting;

static const Setting settings[] = {
  { NULL, FALSE, FALSE },
  { "", FALSE, FALSE },
  { "always-malloc", TRUE, FALSE },
  { "debug-blocks", FALSE, TRUE },
  { "all", TRUE, TRUE },
  { "always-malloc:debug-blocks", TRUE, TRUE },
  { "always-malloc;debug-blocks", TRUE, TRUE },
  { "always-malloc,debug-blocks", TRUE, TRUE },
  { "always-malloc debug-blocks", TRUE, TRUE },
  { "always-malloc\tdebug-blocks", TRUE, TRUE },
  { ":, debug-blocks ;;", FALSE, TRUE },
  { "Always_Malloc", TRUE, FALSE },
  { "all,always-malloc", FALSE, TRUE },
  { "nonsense", FALSE, FALSE },
  { "always-mallocs:always", FALSE, FALSE },
  { "nonsense:debug-blocks", FALSE, TRUE },
  { "help", FALSE, FALSE },
  { "help:always-malloc", TRUE, FALSE }
};

/* The child finds the case's number in its environment. */
static void
check_setting (void)
{
  const Setting *setting = &settings[atoi (g_getenv ("TEST_SETTING"))];
  void *block;

  block = g_slice_alloc (40);
  g_assert_true (slice_is_ours (block) == !setting->mallocs);
  g_assert_cmpint (option (SLICE_OPTION_ALWAYS_MALLOC), ==, setting->mallocs);
  /* What is called at once may be found with both on malloc without it. */
  g_assert_cmpint (option (SLICE_OPTION_CHECKED), ==, setting->checks);
  g_assert_cmpuint (slice_debug_size (block), ==, setting->checks ? 40 : 0);
  g_assert_cmpint (g_slice_get_config (G_SLICE_CONFIG_ALWAYS_MALLOC), ==,
                   setting->mallocs);
  g_slice_free1 (40, block);
}

static void
try_setting (gsize i, gboolean as_slice_run)
{
  const char *value = settings[i].value;
  char *number = g_strdup_printf ("TEST_SETTING=%zu", i);
  char *setting = value == NULL
                      ? NULL
                      : g_strconcat (as_slice_run ? "SLICE_RUN_G_SLICE="
                                                  : "G_SLICE=",
                                     value, NULL);

  if (as_slice_run)
    IN_CHILD (number, AS_SLICE_RUN, setting);
  else
    IN_CHILD (number, setting);
  g_test_trap_assert_passed ();
  if (value != NULL && strstr (value, "help") != NULL)
    g_test_trap_assert_stderr ("*always-malloc debug-blocks all help*");
  else
    g_test_trap_assert_stderr_unmatched ("*always-malloc debug-blocks*");
  g_free (number);
  g_free (setting);
}

static void
test_environment (void)
{
  if (g_test_subprocess ())
    {
      check_setting ();
      return;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (settings); i++)
    {
      try_setting (i, FALSE);
      try_setting (i, TRUE);
    }
}

static void
test_gc_friendly (void)
{
  char *block;

  if (IN_CHILD ("G_DEBUG=gc-friendly"))
    {
      g_test_trap_assert_passed ();
      return;
    }
  block = g_slice_alloc (64);
  memset (block, 'x', 64);
  g_slice_free1 (64, block);
  /* It lies in our slab: it may be read. */
  g_assert_true (is_filled (block, 64, 0));
  /* The next block of its class is zero, too. */
  block = g_slice_alloc (64);
  g_assert_true (is_filled (block, 64, 0));
  g_slice_free1 (64, block);
}

/* --- misuse, with debug-blocks ------------------------------------------- */

static void
misuse (const char *pattern, void (*act) (void))
{
  if (g_test_subprocess ())
    {
      act ();
      return;
    }
  IN_CHILD ("G_SLICE=debug-blocks");
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr (pattern);
}

static void
free_twice (void)
{
  void *block = g_slice_alloc (40), *other = g_slice_alloc (40);

  g_slice_free1 (40, block);
  g_slice_free1 (40, other);
  g_slice_free1 (40, block);
}

static void
free_wrong_size (void)
{
  g_slice_free1 (48, g_slice_alloc (40));
}

static void
free_wrong_large_size (void)
{
  g_slice_free1 (3001, g_slice_alloc (3000));
}

static void
free_interior (void)
{
  char *block = g_slice_alloc (64);

  g_slice_free1 (32, block + 32);
}

static void
free_chain_twice (void)
{
  GSList *first = g_slice_new (GSList), *second = g_slice_new (GSList);

  first->next = second;
  second->next = first;
  g_slice_free_chain (GSList, first, next);
}

/* C23's; our drop-in has them wherever it runs. */
void free_sized (void *block, size_t size);
void free_aligned_sized (void *block, size_t alignment, size_t size);

static void
free_by_free_twice (void)
{
  void *volatile block = g_slice_alloc (40);

  free (block);
  free (block);
}

static void
free_sized_twice (void)
{
  void *volatile block = g_slice_alloc (40);

  free (block);
  free_sized (block, 40);
}

static void
free_aligned_twice (void)
{
  void *volatile block = g_slice_alloc (40);

  free (block);
  free_aligned_sized (block, 16, 40);
}

/* Messages name the call that the program made. */
static void
misuse_by_free (const char *call, void (*act) (void))
{
  static const char *const modes[]
      = { "SLICE_OPTIONS=", "SLICE_OPTIONS=checked",
          "SLICE_OPTIONS=hardened", "SLICE_OPTIONS=debug" };
  char *pattern;

  if (g_test_subprocess ())
    {
      act ();
      return;
    }
  pattern = g_strdup_printf ("slice: error 105: %s: block is free already*",
                             call);
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      IN_CHILD (modes[i]);
      g_test_trap_assert_failed ();
      g_test_trap_assert_stderr (pattern);
    }
  g_free (pattern);
}

static void
test_misuse_free (void)
{
  misuse_by_free ("free", free_by_free_twice);
}

static void
test_misuse_free_sized (void)
{
  misuse_by_free ("free_sized", free_sized_twice);
}

static void
test_misuse_free_aligned (void)
{
  misuse_by_free ("free_aligned_sized", free_aligned_twice);
}

static void
test_misuse_twice (void)
{
  misuse ("*slice: error 105: g_slice_free1: *", free_twice);
}

static void
test_misuse_size (void)
{
  misuse ("*slice: error 103: g_slice_free1: *48*40*", free_wrong_size);
}

static void
test_misuse_large (void)
{
  misuse ("*slice: error 109: g_slice_free1: *3001*3000*",
          free_wrong_large_size);
}

static void
test_misuse_interior (void)
{
  misuse ("*slice*104*", free_interior);
}

static void
test_misuse_chain (void)
{
  misuse ("*slice*105*", free_chain_twice);
}

/* Nothing of the program's or of GLib's begins at any of these. */
static const char *const wild_blocks[]
    = { "0x1238", "0x2000", "0xdeadbeefcafe0", "0xdfdfdfdfdfdfdfdf",
        "odd" };

/* An address of WILD; "odd": within a block of malloc's. */
static void *
wild_block (void)
{
  const char *wild = g_getenv ("WILD");

  return strcmp (wild, "odd") == 0
             ? (char *) g_malloc (64) + 7
             : (char *) (guintptr) g_ascii_strtoull (wild, NULL, 16);
}

static void
free_wild_chain (void)
{
  const gsize sizes[] = { sizeof (Node), 5000 };
  gsize size = sizes[g_getenv ("LARGE") != NULL];
  Node *first = g_slice_alloc (size), *second = g_slice_alloc (size);

  first->next = (GSList *) second;
  second->next = wild_block ();
  g_slice_free_chain_with_offset (size, first, offsetof (Node, next));
}

static void
free_wild (void)
{
  g_slice_free1 (g_getenv ("LARGE") != NULL ? 5000 : 40, wild_block ());
}

static void
misuse_wild (const char *pattern, void (*act) (void))
{
  static const char *const modes[]
      = { "G_SLICE=debug-blocks", "SLICE_OPTIONS=checked",
          "SLICE_OPTIONS=hardened", "SLICE_OPTIONS=debug",
          "SLICE_OPTIONS=checked,always-malloc" };
  static const char *const sizes[] = { "LARGE", "LARGE=1" };

  if (g_test_subprocess ())
    {
      act ();
      return;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (wild_blocks); i++)
    for (gsize mode = 0; mode < G_N_ELEMENTS (modes); mode++)
      for (gsize size = 0; size < G_N_ELEMENTS (sizes); size++)
        {
          char *wild = g_strconcat ("WILD=", wild_blocks[i], NULL);

          IN_CHILD (modes[mode], sizes[size], wild);
          g_test_trap_assert_failed ();
          g_test_trap_assert_stderr (pattern);
          g_unsetenv ("SLICE_OPTIONS");
          g_free (wild);
        }
}

/* A link to where no block is ends in a message, not in a fault. */
static void
test_misuse_wild_chain (void)
{
  misuse_wild ("*slice: error 10?: g_slice_free_chain_with_offset: not a *",
               free_wild_chain);
}

/* So does a block that is nobody's: it is not passed on to GLib. */
static void
test_misuse_wild (void)
{
  misuse_wild ("*slice: error 10?: g_slice_free1: not a *", free_wild);
}

/* --- no memory ------------------------------------------------------------ */

/* Volatile, or the compiler warns of a size that no object has. */
static volatile gsize huge_bytes = G_MAXSIZE / 4 * 3;

static void
alloc_huge (void)
{
  g_slice_alloc (huge_bytes);
}

static void
alloc0_huge (void)
{
  g_slice_alloc0 (huge_bytes);
}

static void
copy_huge (void)
{
  g_slice_copy (huge_bytes, "");
}

/* The message names the program's call, in each mode. */
static void
no_memory (void (*act) (void))
{
  static const char *const modes[]
      = { "SLICE_OPTIONS=", "SLICE_OPTIONS=checked", "SLICE_OPTIONS=debug",
          "SLICE_OPTIONS=always-malloc" };

  if (g_test_subprocess ())
    {
      act ();
      return;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      IN_CHILD (modes[i]);
      g_test_trap_assert_failed ();
      g_test_trap_assert_stderr (
          "*slice: error 120: g_slice_alloc: out of memory: *");
    }
}

static void
test_no_memory_alloc (void)
{
  no_memory (alloc_huge);
}

static void
test_no_memory_alloc0 (void)
{
  no_memory (alloc0_huge);
}

static void
test_no_memory_copy (void)
{
  no_memory (copy_huge);
}

/* --- threads and processes ----------------------------------------------- */

enum
{
  N_FORKS = 50,
  N_CHURNERS = 2,
  TLS_ROUNDS = 3
};

static gint churn_stop;

static gpointer
churn (gpointer data)
{
  while (!g_atomic_int_get (&churn_stop))
    g_slice_free1 (64, g_slice_alloc (64));
  return data;
}

static void
test_fork (void)
{
  GThread *threads[N_CHURNERS];

  if (IN_CHILD (AS_SLICE_RUN))
    {
      g_test_trap_assert_passed ();
      return;
    }
  for (int i = 0; i < N_CHURNERS; i++)
    threads[i] = g_thread_new ("churn", churn, NULL);
  for (int i = 0; i < N_FORKS; i++)
    {
      void *mine = g_slice_alloc (64);
      pid_t pid = fork ();
      int status;

      g_assert_cmpint (pid, >=, 0);
      if (pid == 0)
        {
          hang_after (30); /* a child that hangs ends by a signal */
          for (int j = 0; j < 1000; j++)
            g_slice_free1 (64, g_slice_alloc (64));
          g_slice_free1 (64, mine);
          g_slist_free_1 (g_slice_new0 (GSList));
          _exit (0);
        }
      g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
      g_assert_cmpint (status, ==, 0);
      g_slice_free1 (64, mine);
    }
  g_atomic_int_set (&churn_stop, 1);
  for (int i = 0; i < N_CHURNERS; i++)
    g_thread_join (threads[i]);
}

static pthread_key_t late_key;

/* Sets itself again, as often as there are rounds. */
static void
late_destructor (void *data)
{
  gsize round = GPOINTER_TO_SIZE (data);
  char *block = g_slice_alloc (round * 100);

  memset (block, 1, round * 100);
  g_slice_free1 (round * 100, block);
  if (round < TLS_ROUNDS)
    pthread_setspecific (late_key, GSIZE_TO_POINTER (round + 1));
}

static gpointer
use_late (gpointer data)
{
  pthread_setspecific (late_key, GSIZE_TO_POINTER (1));
  g_slice_free1 (24, g_slice_alloc (24));
  return data;
}

static void
test_late_destructors (void)
{
  guint64 live_before;

  g_slice_free1 (24, g_slice_alloc (24));
  live_before = live_blocks ();
  g_assert_cmpint (pthread_key_create (&late_key, late_destructor), ==, 0);
  for (int i = 0; i < 200; i++)
    g_thread_join (g_thread_new ("late", use_late, NULL));
  pthread_key_delete (late_key);
  g_assert_cmpuint (live_blocks (), ==, live_before);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/gslice/is-ours", test_is_ours);
  g_test_add_func ("/slice/gslice/sizes", test_sizes);
  g_test_add_func ("/slice/gslice/macros", test_macros);
  g_test_add_func ("/slice/gslice/null-is-nothing", test_null);
  g_test_add_func ("/slice/gslice/mixed-chain", test_chain);
  g_test_add_func ("/slice/gslice/passes-on", test_passes_on);
  g_test_add_func ("/slice/gslice/both-ways", test_both_ways);
  g_test_add_func ("/slice/gslice/both-ways-registered",
                   test_both_ways_registered);
  g_test_add_func ("/slice/gslice/malloc-beside-slices",
                   test_malloc_beside_slices);
  g_test_add_func ("/slice/gslice/config", test_config);
  g_test_add_func ("/slice/gslice/config-eager", test_config_eager);
  g_test_add_func ("/slice/gslice/config-malloc", test_config_malloc);
  g_test_add_func ("/slice/gslice/environment", test_environment);
  g_test_add_func ("/slice/gslice/gc-friendly", test_gc_friendly);
  g_test_add_func ("/slice/gslice/misuse-twice", test_misuse_twice);
  g_test_add_func ("/slice/gslice/misuse-free", test_misuse_free);
  g_test_add_func ("/slice/gslice/misuse-free-sized", test_misuse_free_sized);
  g_test_add_func ("/slice/gslice/misuse-free-aligned",
                   test_misuse_free_aligned);
  g_test_add_func ("/slice/gslice/misuse-size", test_misuse_size);
  g_test_add_func ("/slice/gslice/misuse-large", test_misuse_large);
  g_test_add_func ("/slice/gslice/misuse-interior", test_misuse_interior);
  g_test_add_func ("/slice/gslice/misuse-chain", test_misuse_chain);
  g_test_add_func ("/slice/gslice/misuse-wild", test_misuse_wild);
  g_test_add_func ("/slice/gslice/misuse-wild-chain", test_misuse_wild_chain);
  g_test_add_func ("/slice/gslice/no-memory-alloc", test_no_memory_alloc);
  g_test_add_func ("/slice/gslice/no-memory-alloc0", test_no_memory_alloc0);
  g_test_add_func ("/slice/gslice/no-memory-copy", test_no_memory_copy);
  g_test_add_func ("/slice/gslice/fork", test_fork);
  g_test_add_func ("/slice/gslice/late-destructors", test_late_destructors);
  return g_test_run ();
}
