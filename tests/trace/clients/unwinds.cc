/* unwinds.cc - stacks that are left and entered in unusual ways
 *
 * Tests: blocks that are asked for in destructors while an exception passes,
 * on coroutines' stacks, after longjmp(), in frames of varying size and in a
 * recursion that is deeper than what is recorded of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <alloca.h>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <ucontext.h>

#define NOINLINE __attribute__ ((noinline))

static volatile unsigned sink;

NOINLINE static void
blocks_take (unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    {
      void *block = malloc (16 + i % 64);
      memset (block, 1, 16);
      free (block);
    }
  sink = sink + n;
}

struct Guard
{
  unsigned n;
  NOINLINE ~Guard () { blocks_take (n); }
};

NOINLINE static void
exception_throw (unsigned depth)
{
  Guard guard = { 2 };
  if (depth == 0)
    throw std::runtime_error (std::string (100, 'x'));
  exception_throw (depth - 1);
}

NOINLINE static void
exceptions (unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    try
      {
        exception_throw (i % 20);
      }
    catch (const std::exception &error)
      {
        blocks_take ((unsigned)strlen (error.what ()) % 7);
      }
}

static ucontext_t at_home, at_work[2];

NOINLINE static void
coroutine_deeper (int self, unsigned depth)
{
  blocks_take (3);
  if (depth > 0)
    coroutine_deeper (self, depth - 1);
  else
    swapcontext (&at_work[self], &at_home);
  blocks_take (2);
}

static void
coroutine (int self)
{
  for (unsigned i = 0;; i++)
    coroutine_deeper (self, i % 9);
}

static void
coroutines (unsigned n)
{
  static char stacks[2][256 * 1024];
  for (int i = 0; i < 2; i++)
    {
      getcontext (&at_work[i]);
      at_work[i].uc_stack.ss_sp = stacks[i];
      at_work[i].uc_stack.ss_size = sizeof stacks[i];
      at_work[i].uc_link = &at_home;
      makecontext (&at_work[i], reinterpret_cast<void (*) ()> (coroutine), 1,
                   i);
    }
  for (unsigned i = 0; i < n; i++)
    {
      swapcontext (&at_home, &at_work[i & 1]);
      blocks_take (1);
    }
}

static jmp_buf back;

NOINLINE static void
jump_from (unsigned depth)
{
  blocks_take (1);
  if (depth == 0)
    longjmp (back, 1);
  jump_from (depth - 1);
  blocks_take (1);
}

NOINLINE static void
jumps (unsigned n)
{
  for (volatile unsigned i = 0; i < n; i++)
    {
      if (setjmp (back) == 0)
        jump_from (i % 30);
      blocks_take (2);
    }
}

/* Its size is known when it runs; it calls with one stale frame below. */
NOINLINE static void
frame_of (unsigned bytes)
{
  char *buffer = static_cast<char *> (alloca (bytes));
  memset (buffer, 0, bytes);
  blocks_take (2);
  sink = sink + static_cast<unsigned> (buffer[bytes / 2]);
}

NOINLINE static void
frames (unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    frame_of (16 + 48 * (i * 7 % 50));
}

NOINLINE static void
recursion (unsigned depth)
{
  if (depth > 0)
    recursion (depth - 1);
  blocks_take (1);
}

int
main (int argc, char **argv)
{
  unsigned n = argc > 1 ? (unsigned)atoi (argv[1]) : 300;
  exceptions (n);
  coroutines (n);
  jumps (n);
  frames (n);
  recursion (400);
  return 0;
}
