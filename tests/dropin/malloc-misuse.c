/* malloc-misuse.c - misuse of malloc's blocks, one kind by name
 *
 * Run by test-malloc-programs.sh with libslice-malloc in front, in each mode,
 * until it ends by a message.  It knows nothing of us.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The compiler must not know what becomes of a block. */
static char *volatile block;
static char *volatile other;

/* A block of some bytes, freed; another one keeps its slab or run in use. */
static void
freed (size_t size)
{
  other = malloc (size);
  block = malloc (size);
  free (block);
}

static void
twice (size_t size)
{
  freed (size);
  free (block);
}

static void
later (size_t size)
{
  freed (size);
  free (malloc (size + 2000));
  free (other);
  free (block);
}

static void
realloc_freed (size_t size)
{
  freed (size);
  block = realloc (block, 2 * size);
}

static void
interior (size_t size)
{
  block = malloc (size);
  free (block + 16);
}

static void
overrun (size_t size)
{
  block = malloc (size);
  block[size] ^= 0x55;
  free (block);
}

static void
overrun_realloc (size_t size)
{
  block = malloc (size);
  block[size] ^= 0x55;
  block = realloc (block, 2 * size);
}

/* C23; older C libraries have it from the preloaded library alone. */
extern void free_sized (void *block, size_t size) __attribute__ ((weak));

static void
sized (size_t size)
{
  block = malloc (size);
  if (free_sized != NULL)
    free_sized (block, size + 1000);
}

static void
write_freed (size_t size)
{
  freed (size);
  block[size / 2] ^= 0x55;
  for (int i = 0; i < 100; i++)
    free (malloc (size));
}

static void
stack (size_t size)
{
  char here[64];

  block = here + size % 16;
  free (block);
}

static void
realloc_stack (size_t size)
{
  char here[64];

  block = here;
  block = realloc (block, size);
}

static const struct
{
  const char *name;
  void (*act) (size_t size);
} acts[] = { { "twice", twice },
             { "later", later },
             { "realloc-freed", realloc_freed },
             { "interior", interior },
             { "overrun", overrun },
             { "overrun-realloc", overrun_realloc },
             { "sized", sized },
             { "write-freed", write_freed },
             { "stack", stack },
             { "realloc-stack", realloc_stack } };

int
main (int argc, char **argv)
{
  for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
    if (argc == 3 && strcmp (argv[1], acts[i].name) == 0)
      {
        acts[i].act ((size_t) atol (argv[2]));
        puts ("nothing was noticed");
        return 0;
      }
  return 99;
}
