/* test-tool.c - slice/port/tool.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "port/os/os.h"

static const char *
expected_tool (void)
{
  if (g_strcmp0 (g_getenv ("SLICE_TEST_VALGRIND"), "1") == 0)
    return "valgrind";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "sanitizer";
#else
  return NULL;
#endif
}

static void
test_memory_tool (void)
{
  g_assert_cmpstr (sli_os_memory_tool (), ==, expected_tool ());
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/tool/memory-tool", test_memory_tool);
  return g_test_run ();
}
