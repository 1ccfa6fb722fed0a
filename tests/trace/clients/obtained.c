/* obtained.c - two callers that take their memory through one function
 *
 * Tests: a program to be recorded.  SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#define N_BLOCKS 300

__attribute__ ((noinline)) void *
obtain (size_t size)
{
  char *block = malloc (size);

  if (block != NULL)
    block[0] = 1; /* no call that the compiler may make a jump of */
  return block;
}

__attribute__ ((noinline)) static void
first_caller (void)
{
  for (int i = 0; i < N_BLOCKS; i++)
    free (obtain (24));
}

__attribute__ ((noinline)) static void
second_caller (void)
{
  void *blocks[N_BLOCKS];

  for (int i = 0; i < N_BLOCKS; i++)
    blocks[i] = obtain (40);
  for (int i = 0; i < N_BLOCKS; i++)
    free (blocks[i]);
}

int
main (void)
{
  for (int i = 0; i < 10; i++)
    {
      first_caller ();
      second_caller ();
    }
  return 0;
}
