/* ralloc-misuse.h - misuses of contexts, each in a process of its own, and the
 * message that each must end with
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RALLOC_MISUSE_H
#define RALLOC_MISUSE_H

#include "tests/context/ralloc-testlib.h"

/* The parts of debug's messages that say who allocated a block, and who freed
 * it. */
#define ALLOCATED ", allocated at /*+0x* by thread *"
#define FREED ", freed at /*+0x* by thread *\n"

typedef struct
{
  const char *name;
  void (*run) (void);
  const char *message;
  bool left_to_tools; /* a memory checker reports it, with both stacks */
} Misuse;

/* Calls that the compiler may not look through. */
static void (*volatile do_free) (void *) G_GNUC_UNUSED = ralloc_free;
static void (*volatile do_steal) (const void *,
                                  void *) G_GNUC_UNUSED = ralloc_steal;
static void *(*volatile do_size) (const void *,
                                  size_t) G_GNUC_UNUSED = ralloc_size;

static inline void
misuse_test (const void *data)
{
  const Misuse *misuse = data;

  if (g_test_subprocess ())
    {
      misuse->run ();
      return;
    }
  if (misuse->left_to_tools && is_annotated ())
    {
      g_test_skip ("a memory checker reports it");
      return;
    }
  expect_death (NULL, misuse->message);
}

/* The same with the option debug. */
static inline void
misuse_test_with_debug (const void *data)
{
  if (g_test_subprocess ())
    g_assert_cmpint (slice_set_option (SLICE_OPTION_DEBUG, 1), ==,
                     SLICE_SET_OK);
  misuse_test (data);
}

/* Adds a case for each misuse of a table. */
static inline void
misuses_add (const char *prefix, const Misuse *misuses, size_t n,
             GTestDataFunc test)
{
  for (size_t i = 0; i < n; i++)
    {
      char *path = g_strdup_printf ("%s/%s", prefix, misuses[i].name);

      g_test_add_data_func (path, &misuses[i], test);
      g_free (path);
    }
}

#endif
