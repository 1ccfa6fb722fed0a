/* mesa-many.cpp - many programs through Mesa's GLSL compiler in one process
 *
 * Compiled and linked by mesa-ralloc.sh inside a build of Mesa; the built-in
 * functions are kept from one program to the next, as a driver does.
 *
 * usage: mesa-many [-t threads] rounds version file...
 *
 * Each thread compiles all files; so a process of two does twice the work.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

int
main (int argc, char **argv)
{
  std::vector<std::thread> threads;
  int n_threads = 1;

  if (argc > 2 && std::strcmp (argv[1], "-t") == 0)
    {
      n_threads = std::atoi (argv[2]);
      argc -= 2;
      argv += 2;
    }
  n_rounds = std::atoi (argv[1]);
  options.glsl_version = std::atoi (argv[2]);
  options.do_link = 1;
  options.just_log = 1;
  n_files = argc - 3;
  files = argv + 3;
  _mesa_glsl_builtin_functions_init_or_ref ();
  for (int i = 1; i < n_threads; i++)
    threads.emplace_back (compile_all);
  compile_all ();
  for (std::thread &thread : threads)
    thread.join ();
  _mesa_glsl_builtin_functions_decref ();
  return 0;
}
