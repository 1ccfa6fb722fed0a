/* asleep.h - does another thread sleep, and has it left no code half done?
 *
 * Layer: port.  Design: chapter 9.
 * A thread marks itself.  Later another thread may ask whether it sleeps in a
 * system call and has run no signal handler since the mark.  If so, all
 * code without system calls that it began since the mark is complete, and no
 * handler has interrupted any.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_THREAD_ASLEEP_H
#define SLI_PORT_THREAD_ASLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "port/compiler.h"

/* The data by which other threads know a thread. */
typedef struct
{
  uint64_t *word;      /* where it marks itself: its own if the system can't
                          tell whether it sleeps */
  uint64_t own_word;
  unsigned process_id; /* a forked child's threads are other ones */
  unsigned thread_id;
} Asleep;

/* The calling thread, which can't be moved in memory from now on. */
void sli_asleep_init (Asleep *thread);

/* The value of a mark: the address of what the kernel takes for a restartable
 * sequence. */
extern const struct AsleepSequence sli_asleep_sequence
    __attribute__ ((visibility ("hidden")));

/* Marks the calling thread, which runs no signal handler now. */
static inline void
asleep_mark (const Asleep *self)
{
  STORE (self->word, (uint64_t) (uintptr_t) &sli_asleep_sequence);
}

/* Returns true if another thread slept in a system call at some time during
 * this call, and no signal handler has started since it marked itself.  False
 * may mean that nothing is known.  The thread must not end meanwhile.
 * Cost: three system calls, some microseconds. */
bool sli_asleep_is (const Asleep *thread);

/* Tests only: an answer for every question; negative: the truth. */
void sli_asleep_pretend (int answer);

#endif
