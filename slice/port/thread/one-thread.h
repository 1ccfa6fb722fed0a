/* one-thread.h - has the process a single thread?
 *
 * Layer: port.  Then an atomic operation that waits for other processors may
 * be a plain one.
 * Source: the GNU C library's <sys/single_threaded.h>.
 * Design: chapter 4.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_THREAD_ONE_THREAD_H
#define SLI_PORT_THREAD_ONE_THREAD_H

#include <stdbool.h>

#include "port/compiler.h"

#ifdef HAVE_SYS_SINGLE_THREADED_H
# include <sys/single_threaded.h>
#endif

/* True only if no other thread can run library code until the caller itself
 * makes one.  pthread_create() makes it false before the thread begins; in
 * glibc 2.36 it stays false, also in children.  False where the system can't
 * tell, and to the schedule explorer, whose threads are fibers of one.  A
 * signal handler may not call the library, so it needs no atomic operations
 * either. */
static inline bool
sli_has_one_thread (void)
{
#ifdef HAVE_SYS_SINGLE_THREADED_H
  return !SCHEDULE_IS_ON && __libc_single_threaded;
#else
  return false;
#endif
}

#endif
