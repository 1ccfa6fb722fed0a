/* entries.cc - every entry point of malloc and of operator new, 1000 times
 *
 * With an argument the C library's own calls instead, whose number it knows.
 *
 * Tests: a program to be recorded.  SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <malloc.h>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct alignas (64) Wide
{
  char bytes[64];
};

static void *volatile sink;
static void *volatile none; /* a compiler makes realloc (NULL) malloc() */

template <typename T>
static T *
keep (T *block)
{
  sink = (void *)block;
  return block;
}

/* By free_sized() where anyone has it, or by free(). */
static void
sized_entry ()
{
  using FreeSized = void (*) (void *, size_t);
  static FreeSized const free_sized
      = reinterpret_cast<FreeSized> (dlsym (RTLD_DEFAULT, "free_sized"));
  if (free_sized != nullptr)
    free_sized (keep (calloc (3, 4)), 12);
  else
    free (keep (calloc (3, 4)));
}

static void
c_entries ()
{
  void *block = nullptr;
  free (keep (malloc (10)));
  free (keep (calloc (2, 5)));
  block = keep (realloc (none, 10));
  block = keep (realloc (block, 20));
  keep (realloc (block, 0));
  free (keep (reallocarray (nullptr, 3, 4)));
  free (keep (memalign (64, 10)));
  if (posix_memalign (&block, 64, 10) == 0)
    free (keep (block));
  free (keep (aligned_alloc (64, 64)));
  free (keep (valloc (10)));
  free (keep (pvalloc (10)));
}

static void
library_entries ()
{
  free (keep (strdup ("hello")));
  char *text = nullptr;
  size_t n = 0;
  FILE *file = open_memstream (&text, &n);
  fputs ("x", file);
  fclose (file);
  free (text);
}

static void
cxx_entries ()
{
  delete keep (new int);
  delete[] keep (new int[4]);
  delete keep (new Wide);
  delete[] keep (new Wide[2]);
  delete keep (new (std::nothrow) int);
  /* fails, and throws through the recorder */
  try
    {
      keep (new char[size_t (-1) >> 2]);
    }
  catch (const std::bad_alloc &)
    {
    }
}

int
main (int argc, char **)
{
  for (int i = 0; i < 1000; i++)
    if (argc > 1)
      library_entries ();
    else
      {
        c_entries ();
        sized_entry ();
        cxx_entries ();
      }
}
