/* test-os-module.c - slice/port/os/os-module.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "port/os/os.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Code of the C library's, which is no program of ours.  No sanitizer has a
 * function of its own for it. */
static const void *
foreign_code (void)
{
  return (const void *) (uintptr_t) div;
}

/* The file of an address, and the offset in it. */
static bool
module_of (const void *address, char *name, size_t name_bytes,
           uintptr_t *offset)
{
  OsModule module;

  if (!sli_os_module_find (address, &module))
    {
      g_assert_null (module.name);
      return false;
    }
  *offset = (uintptr_t) address - module.base;
  return sli_os_module_name (&module, name, name_bytes);
}

static void
test_program (void)
{
  char name[512], own[512] = "";
  uintptr_t offset = 0, other = 0;
  const char *code = (const char *) (uintptr_t) test_program;

  g_assert_cmpint (readlink ("/proc/self/exe", own, sizeof own - 1), >, 0);
  g_assert_true (module_of (code, name, sizeof name, &offset));
  g_assert_cmpstr (name, ==, own);
  g_assert_cmpuint (offset, >, 0);
  g_assert_true (module_of (code + 3, name, sizeof name, &other));
  g_assert_cmpuint (other, ==, offset + 3);
}

static void
test_library (void)
{
  char name[512];
  uintptr_t offset = 0;

  g_assert_true (
      module_of (foreign_code (), name, sizeof name, &offset));
  /* (musl is one file with the loader, and has its name.) */
  g_assert_true (strstr (name, "libc") != NULL
                 || strstr (name, "musl") != NULL);
  g_assert_cmpuint (offset, <, (uintptr_t) foreign_code ());
}

static void
test_nowhere (void)
{
  static char data[16];
  char name[512];
  uintptr_t offset;
  void *pages = sli_os_map (4096, 4096);

  g_assert_false (module_of (NULL, name, sizeof name, &offset));
  g_assert_false (module_of (pages, name, sizeof name, &offset));
  g_assert_false (module_of (name, name, sizeof name, &offset));
  sli_os_unmap (pages, 4096);
  /* Data are the program's as well. */
  g_assert_true (module_of (data, name, sizeof name, &offset));
}

/* What does not fit is no name, and nothing is written past the buffer. */
static void
test_size (void)
{
  char name[8];
  uintptr_t offset;

  memset (name, 'x', sizeof name);
  g_assert_false (module_of (foreign_code (), name, 4, &offset));
  g_assert_cmpint (name[0], ==, '\0');
  g_assert_cmpint (name[4], ==, 'x');
}

/* Nothing here is libslice's: what is not is left alone. */
static void
test_caller (void)
{
  const void *here = __builtin_return_address (0);

  OsModule module, other;

  g_assert_true (sli_os_caller_outside (here, &module) == here);
  g_assert_true (sli_os_module_find (here, &other));
  g_assert_true (module.name == other.name && module.base == other.base);
  g_assert_true (sli_os_caller_outside (NULL, &module) == NULL);
  g_assert_null (module.name);
  g_assert_true (sli_os_caller_outside (foreign_code (), &module)
                 == foreign_code ());
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/os-module/program", test_program);
  test_add ("/slice/os-module/library", test_library);
  test_add ("/slice/os-module/nowhere", test_nowhere);
  test_add ("/slice/os-module/size", test_size);
  test_add ("/slice/os-module/caller", test_caller);
  return g_test_run ();
}
