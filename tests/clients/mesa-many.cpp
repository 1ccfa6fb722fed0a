/* mesa-many.cpp - many programs through Mesa's GLSL compiler in one process
 *
 * Compiled and linked by mesa-ralloc.sh inside a build of Mesa; the built-in
 * functions are kept from one program to the next, as a driver does.
 *
 * usage: mesa-many rounds version file...
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "main/mtypes.h"
#include "standalone.h"

/* Declared in builtin_functions.h, which needs half of the compiler. */
extern "C"
{
  void _mesa_glsl_builtin_functions_init_or_ref (void);
  void _mesa_glsl_builtin_functions_decref (void);
}

int
main (int argc, char **argv)
{
  int rounds = std::atoi (argv[1]);
  standalone_options options;

  std::memset (&options, 0, sizeof options);
  options.glsl_version = std::atoi (argv[2]);
  options.do_link = 1;
  options.just_log = 1;
  _mesa_glsl_builtin_functions_init_or_ref ();
  for (int i = 0; i < rounds; i++)
    for (int k = 3; k < argc; k++)
      {
        static gl_context context;
        gl_shader_program *program
            = standalone_compile_shader (&options, 1, &argv[k], &context);
        if (program != NULL)
          standalone_compiler_cleanup (program);
      }
  _mesa_glsl_builtin_functions_decref ();
  return 0;
}
