/* coverage-hook.c - what a process has run counts however it ends
 *
 * In a build for coverage only.  A child that ends by _exit() or by the
 * library's abort() would take its counts with it; these are what the tests of
 * misuse and of failing memory consist of.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* syscall */
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Asked for by name (-u), so that this file is linked. */
extern const int sli_coverage_hook;
const int sli_coverage_hook = 1;

extern void __gcov_dump (void);

_Noreturn void
_exit (int status)
{
  __gcov_dump ();
  for (;;)
    syscall (SYS_exit_group, status);
}

static void
dump_and_die (int number)
{
  __gcov_dump ();
  signal (number, SIG_DFL);
  raise (number);
}

__attribute__ ((constructor)) static void
hook_begin (void)
{
  signal (SIGABRT, dump_and_die);
}
