/* mesa-many.cpp - many programs through Mesa's GLSL compiler in one process
 *
 * Compiled and linked by mesa-ralloc.sh inside a build of Mesa; the built-in
 * functions are kept from one program to the next, as a driver does.
 *
 * usage: mesa-many [-t threads | -l blocks[,holes]] rounds version file...
 *
 * Each thread compiles all files; so a process of two does twice the work.
 * With -l the heap is full of others' blocks when the compiling begins: so
 * many mallocs of 16 to 256 bytes that live on, and among them so many that
 * were freed.  Milliseconds of CPU time of the compiling alone go to the
 * standard error (with -l 0 as well).
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include "main/mtypes.h"
#include "standalone.h"

/* Declared in builtin_functions.h, which needs half of the compiler. */
extern "C"
{
  void _mesa_glsl_builtin_functions_init_or_ref (void);
  void _mesa_glsl_builtin_functions_decref (void);
}

/* What each thread compiles, and how often. */
static standalone_options options;
static int n_rounds;
static int n_files;
static char **files;

static void
compile_all ()
{
  gl_context *context = new gl_context ();

  for (int i = 0; i < n_rounds; i++)
    for (int k = 0; k < n_files; k++)
      {
        gl_shader_program *program
            = standalone_compile_shader (&options, 1, &files[k], context);
        if (program != NULL)
          standalone_compiler_cleanup (program);
      }
  delete context;
}

/* Which of them go is random. */
static void
fill_heap (size_t n_live, size_t n_holes)
{
  std::vector<void *> blocks (n_live + n_holes);
  unsigned long state = 88172645463325252;
  auto random = [&state] (size_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % n;
  };

  for (void *&block : blocks)
    {
      size_t size = 16 + random (241);
      block = std::memset (std::malloc (size), 1, size);
    }
  for (size_t i = 0; i < n_holes; i++)
    {
      std::swap (blocks[i], blocks[i + random (n_live + n_holes - i)]);
      std::free (blocks[i]);
    }
}

static double
cpu_msec ()
{
  timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * (double) now.tv_sec + 1e-6 * (double) now.tv_nsec;
}

int
main (int argc, char **argv)
{
  std::vector<std::thread> threads;
  bool is_timed = false;
  double began;
  int n_threads = 1;

  if (argc > 2 && std::strcmp (argv[1], "-t") == 0)
    {
      n_threads = std::atoi (argv[2]);
      argc -= 2;
      argv += 2;
    }
  if (argc > 2 && std::strcmp (argv[1], "-l") == 0)
    {
      const char *comma = std::strchr (argv[2], ',');
      fill_heap (std::strtoul (argv[2], NULL, 10),
                 comma != NULL ? std::strtoul (comma + 1, NULL, 10) : 0);
      is_timed = true;
      argc -= 2;
      argv += 2;
    }
  n_rounds = std::atoi (argv[1]);
  options.glsl_version = std::atoi (argv[2]);
  options.do_link = 1;
  options.just_log = 1;
  n_files = argc - 3;
  files = argv + 3;
  began = cpu_msec ();
  _mesa_glsl_builtin_functions_init_or_ref ();
  for (int i = 1; i < n_threads; i++)
    threads.emplace_back (compile_all);
  compile_all ();
  for (std::thread &thread : threads)
    thread.join ();
  _mesa_glsl_builtin_functions_decref ();
  if (is_timed)
    std::fprintf (stderr, "%.3f\n", cpu_msec () - began);
  return 0;
}
