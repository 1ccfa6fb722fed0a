/* answers-lib.c - a private library between a program and malloc
 *
 * Tests: a shared library for answers.c.  SPDX-License-Identifier: MIT
 */
#include "answers-lib.h"
#include <stdlib.h>

#define APART __attribute__ ((noinline, noclone)) static

APART void *
chunk_take (size_t size)
{
  void *volatile chunk = malloc (size);

  return chunk;
}

APART void *
object_init (size_t size)
{
  void *volatile object = chunk_take (size);

  return object;
}

void *
foo_create (size_t size)
{
  void *volatile object = object_init (size);

  return object;
}

void
foo_destroy (void *object)
{
  free (object);
}

void *
foo_context_alloc (void *context, size_t size)
{
  void *volatile object;

  (void)context;
  object = object_init (size);
  return object;
}

void
foo_each (int n, void (*visit) (int number))
{
  for (int i = 0; i < n; i++)
    visit (i);
}
