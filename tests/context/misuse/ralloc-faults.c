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
  WIPE_BYTES = 8192
};

static void *volatile kept;

/* Asked for through these, so that the compiler does not see the faults. */
static volatile size_t size = 61;
static volatile size_t small_size = 13;

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
  char buffer[WIPE_BYTES];

  memset (buffer, 0, sizeof buffer);
  __asm__ volatile ("" : : "r"(buffer) : "memory");
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
  object = ralloc_size (root, size);
  if (strcmp (fault, "overrun") == 0)
    object[size] = 1;
  else if (strcmp (fault, "underrun") == 0)
    object[(ptrdiff_t) (size - 62)] = 1;
  else if (strcmp (fault, "read") == 0)
    return object[size] == 7;
  else if (strcmp (fault, "linear") == 0)
    {
      object = ralloc_linear_alloc_child (ralloc_linear_context (root),
                                          small_size);
      object[small_size] = 1;
    }
  else if (strcmp (fault, "gc") == 0)
    {
      object = ralloc_gc_alloc_size (ralloc_gc_context (root), small_size, 8);
      object[small_size] = 1;
    }
  ralloc_free (root);
  if (strcmp (fault, "freed") == 0)
    object[size - 56] = 1;
  return 0;
}
