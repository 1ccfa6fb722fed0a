/* raising.cc - malloc and operator new that raise a signal
 *
 * Tests: a library that a program needs, behind the recorder.  They raise it
 * for one block of the size that the program sets.
 *
 * SPDX-License-Identifier: MIT
 */
#include <csignal>
#include <cstdlib>
#include <new>
#include <unistd.h>

extern "C" void *__libc_malloc (std::size_t size);
extern "C" std::size_t raised_by_malloc, raised_by_new;
std::size_t raised_by_malloc, raised_by_new;

static inline __attribute__ ((always_inline)) void
raise_at (std::size_t size, std::size_t &at)
{
  if (size != at)
    return;
  at = 0;
  kill (getpid (), SIGUSR1);
}

extern "C" void *
malloc (std::size_t size)
{
  raise_at (size, raised_by_malloc);
  return __libc_malloc (size);
}

void *
operator new (std::size_t size)
{
  raise_at (size, raised_by_new);
  return malloc (size);
}

void
operator delete (void *block) noexcept
{
  free (block);
}
