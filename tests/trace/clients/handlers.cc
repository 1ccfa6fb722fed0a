/* handlers.cc - malloc in a signal handler that interrupts an allocator
 *
 * Tests: a program to be recorded, with raising.cc.  An argument: the handler
 * runs on an alternate stack.
 *
 * SPDX-License-Identifier: MIT
 */
#include <csignal>
#include <cstdlib>
#include <new>

enum
{
  N = 100,
  STACK_BYTES = 1 << 16,
  IN_HANDLER = 24,
  IN_FUNCTION = 40,
  IN_MALLOC = 56,
  IN_NEW = 72
};

extern "C" std::size_t raised_by_malloc, raised_by_new;

static void *volatile kept;
static char stack[STACK_BYTES];

extern "C" void
handle (int)
{
  kept = malloc (IN_HANDLER);
}

extern "C" __attribute__ ((noinline)) void
function_interrupted ()
{
  void *volatile block = malloc (IN_FUNCTION);

  raise (SIGUSR1);
  free (kept);
  free (block);
}

extern "C" __attribute__ ((noinline)) void
malloc_interrupted ()
{
  void *volatile block;

  raised_by_malloc = IN_MALLOC;
  block = malloc (IN_MALLOC);
  free (kept);
  free (block);
}

extern "C" __attribute__ ((noinline)) void
new_interrupted ()
{
  void *volatile block;

  raised_by_new = IN_NEW;
  block = operator new (IN_NEW);
  free (kept);
  operator delete (block);
}

int
main (int argc, char **)
{
  struct sigaction action = {};
  stack_t other = {};

  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  action.sa_handler = handle;
  if (argc > 1 && sigaltstack (&other, nullptr) == 0)
    action.sa_flags = SA_ONSTACK;
  sigaction (SIGUSR1, &action, nullptr);
  for (int i = 0; i < N; i++)
    {
      function_interrupted ();
      malloc_interrupted ();
      new_interrupted ();
    }
}
