/* coverage-hook.c - what a process has run counts however it ends
 *
 * In a build for coverage only.  A child that ends by _exit(), by the
 * library's abort() or at a guard page would take its counts with it; these
 * are what the tests of misuse and of failing memory consist of.  And a forked
 * child counts from its first handler on, where gcov's own fork() forgets what
 * the handlers did.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* syscall */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Asked for by name (-u), so that this file is linked. */
extern const int sli_coverage_hook;
const int sli_coverage_hook = 1;

extern void __gcov_dump (void);
extern void __gcov_reset (void);

/* A dump that fails in the middle, where a test has taken the memory away,
 * must not wait for itself. */
static volatile sig_atomic_t is_dumping;

static void
dump_once (void)
{
  if (is_dumping)
    return;
  is_dumping = 1;
  __gcov_dump ();
  is_dumping = 0;
}

_Noreturn void
_exit (int status)
{
  dump_once ();
  for (;;)
    syscall (SYS_exit_group, status);
}

static void
dump_and_die (int number)
{
  signal (number, SIG_DFL);
  dump_once ();
  raise (number);
}

/* The compiler puts __gcov_fork() for fork(); this name it does not know. */
extern pid_t bare_fork (void) __asm__ ("fork");
extern pid_t __gcov_fork (void);

pid_t
__gcov_fork (void)
{
  return bare_fork ();
}

/* Before the library's constructor: handlers of a child run in the order in
 * which they were registered. */
__attribute__ ((constructor (101))) static void
hook_begin (void)
{
  pthread_atfork (NULL, NULL, __gcov_reset);
  signal (SIGABRT, dump_and_die);
  signal (SIGSEGV, dump_and_die);
  signal (SIGBUS, dump_and_die);
}
