/* test-ralloc-notes.c - a large node moves while there is no memory to note it
 *
 * malloc, realloc and mmap are the program's own: realloc moves the node to
 * where nothing was ever noted, and before it returns no more memory can be
 * mapped, and another thread has noted a node where nothing was noted either.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <errno.h>
#include <malloc.h>
#include <slice/ralloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/testlib.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) \
    || UINTPTR_MAX <= UINT32_MAX
# define CAN_REPLACE 0
#else
# define CAN_REPLACE 1

enum { PLACES = 2, PLACE_BYTES = 1 << 20, FIRST_BYTES = 200000 };

extern void *__libc_malloc (size_t);
extern void *__libc_realloc (void *, size_t);
extern void __libc_free (void *);

static char *places[PLACES]; /* leaves of their own */
static bool is_armed;        /* the next realloc is special */
static bool no_memory;
static bool give_place;      /* malloc returns the second place */
static void *theirs;         /* the other thread's node */

void *
mmap (void *address, size_t bytes, int protection, int flags, int fd,
      off_t offset)
{
  if (no_memory)
    {
      errno = ENOMEM;
      return MAP_FAILED;
    }
  return (void *) syscall (SYS_mmap, address, bytes, protection, flags, fd,
                           offset);
}

void *
malloc (size_t bytes)
{
  if (!give_place)
    return __libc_malloc (bytes);
  give_place = false;
  return places[1];
}

void *
realloc (void *block, size_t bytes)
{
  void *root;

  if (!is_armed)
    return __libc_realloc (block, bytes);
  is_armed = false;
  root = ralloc_context (NULL);
  memcpy (places[0], block, malloc_usable_size (block));
  __libc_free (block);
  no_memory = true;
  give_place = true;
  theirs = ralloc_size (root, 4000); /* as another thread would */
  return places[0];
}

void
free (void *block)
{
  for (int i = 0; i < PLACES; i++)
    if (block == places[i])
      return;
  __libc_free (block);
}

/* Memory of a leaf of the map in which there is nothing else. */
static char *
place_new (uintptr_t hint)
{
  char *place = (char *) syscall (SYS_mmap, hint, PLACE_BYTES,
                                  PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, (off_t) 0);

  g_assert_true (place != MAP_FAILED);
  return place;
}

static void
test_moves (void)
{
  void *root = ralloc_context (NULL);
  char *node = ralloc_size (root, FIRST_BYTES);

  if (test_is_slow ())
    {
      g_test_skip ("under a tool");
      return;
    }
  places[0] = place_new ((uintptr_t) 1 << 40);
  places[1] = place_new ((uintptr_t) 2 << 40);
  memset (node, 'n', FIRST_BYTES);
  is_armed = true;
  node = reralloc_size (root, node, FIRST_BYTES + 100000);
  no_memory = false;
  g_assert_false (is_armed);
  g_assert_true (node > places[0] && node < places[0] + PLACE_BYTES);
  g_assert_true (ralloc_parent (node) == root);
  for (int i = 0; i < FIRST_BYTES; i++)
    g_assert_cmpint (node[i], ==, 'n');
  node = reralloc_size (root, node, 1000); /* aborts if it is unknown */
  g_assert_cmpint (node[999], ==, 'n');
  ralloc_free (root);
  g_assert_null (theirs); /* the reserve is not theirs */
}

#endif

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
#if CAN_REPLACE
  g_test_add_func ("/slice/ralloc/notes-when-memory-is-out", test_moves);
#endif
  return g_test_run ();
}
