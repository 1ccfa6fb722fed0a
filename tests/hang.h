/* hang.h - the end of a process that hangs, however busy the machine is: for
 * one source file of a test program
 *
 * It hangs if it has used no processor time for so many seconds, or many times
 * as much; how late it is does not count.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HANG_H
#define HANG_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

enum
{
  HANG_LOOKS = 10, /* without any progress between them */
  HANG_IDLE_CLOCKS = CLOCKS_PER_SEC / 1000
};

static void
hang_look (int number)
{
  static clock_t before;
  static int n_idle;
  clock_t now = clock ();

  n_idle = now - before < HANG_IDLE_CLOCKS ? n_idle + 1 : 0;
  before = now;
  if (n_idle < HANG_LOOKS)
    return;
  signal (number, SIG_DFL);
  raise (number);
}

/* By SIGALRM if it waits, by SIGXCPU if it runs. */
static void
hang_after (unsigned seconds)
{
  struct sigaction look = { .sa_handler = hang_look, .sa_flags = SA_RESTART };
  struct itimerval often = { .it_interval = { seconds / HANG_LOOKS, 0 },
                             .it_value = { seconds / HANG_LOOKS, 0 } };
  struct rlimit limit;

  getrlimit (RLIMIT_CPU, &limit);
  if (limit.rlim_max > seconds * HANG_LOOKS)
    limit.rlim_cur = seconds * HANG_LOOKS;
  setrlimit (RLIMIT_CPU, &limit);
  sigaction (SIGALRM, &look, NULL);
  setitimer (ITIMER_REAL, &often, NULL);
}

#endif
