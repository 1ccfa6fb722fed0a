/* ralloc-faults.c - one fault a run, for a memory checker to report
 *
 * Run by test-ralloc-tools.sh.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include <slice/ralloc.h>

enum
{
  SIZE = 61,
  WIPE_BYTES = 8192
};

static void *volatile kept;

static void __attribute__ ((noinline))
make_tree (int is_lost)
{
  void *root = ralloc_size (NULL, 100);
  void *a = ralloc_size (root, 50);
  void *b = ralloc_size (root, 60);

  ralloc_size (a, 50);
  ralloc_size (b, 7);
  kept = is_lost ? NULL : root;
}

/* So that no copy of the root's address is left on the stack. */
static void __attribute__ ((noinline))
wipe (void)
{
  char room[WIPE_BYTES];

  memset (room, 0, sizeof room);
  __asm__ volatile ("" : : "r"(room) : "memory");
}

int
main (int argc, char **argv)
{
  const char *fault = argc > 1 ? argv[1] : "";
  volatile char *object;
  void *root;

  if (strcmp (fault, "live") == 0 || strcmp (fault, "lost") == 0)
    {
      make_tree (strcmp (fault, "lost") == 0);
      wipe ();
      return 0;
    }
  root = ralloc_context (NULL);
  object = ralloc_size (root, SIZE);
  if (strcmp (fault, "overrun") == 0)
    object[SIZE] = 1;
  else if (strcmp (fault, "underrun") == 0)
    object[-1] = 1;
  else if (strcmp (fault, "read") == 0)
    return object[SIZE] == 7;
  else if (strcmp (fault, "linear") == 0)
    {
      object = ralloc_linear_alloc_child (ralloc_linear_context (root), 13);
      object[13] = 1;
    }
  else if (strcmp (fault, "gc") == 0)
    {
      object = ralloc_gc_alloc_size (ralloc_gc_context (root), 13, 8);
      object[13] = 1;
    }
  ralloc_free (root);
  if (strcmp (fault, "freed") == 0)
    object[5] = 1;
  return 0;
}
