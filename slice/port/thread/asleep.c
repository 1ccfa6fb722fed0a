/* asleep.c - does another thread sleep, and has it left no code half done?
 *
 * Layer: port.  No locks.  Design: chapter 9.
 *
 * Since version 2.35 glibc registers an area for restartable sequences for
 * each thread.  A thread that begins such a sequence stores the address of its
 * description there.  The kernel sets the word to NULL when it preempts the
 * thread or delivers a signal outside of that sequence (<linux/rseq.h>).  The
 * mark is the address of a sequence that no thread is ever in.  So it is gone
 * once a signal handler has started.  Preempted threads lose it, too, and have
 * it again when they mark themselves the next time.
 *
 * /proc tells which system call a thread is blocked in.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "asleep.h"
#include "port/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int pretended = -1;

#ifdef HAVE_RSEQ
# include <sys/rseq.h>
#endif

/* On 32 bits the word is two, and can't be stored at once.  Where the C library
 * names no signature (glibc 2.36 on RISC-V), no sequence can be registered. */
#if defined(RSEQ_SIG) && UINTPTR_MAX > UINT32_MAX

/* The kernel requires a signature in front of the address at which it would
 * continue an interrupted sequence.  It never continues there: this is not
 * code. */
static const struct
{
  uint32_t signature;
  uint32_t abort;
  uint32_t sequence;
} places = { RSEQ_SIG, 0, 0 };

struct AsleepSequence
{
  _Alignas (32) struct
  {
    uint32_t version;
    uint32_t flags;
    const void *start;
    uint64_t bytes;
    const void *abort;
  } description;
};

const struct AsleepSequence sli_asleep_sequence
    = { { .start = &places.sequence, .bytes = 1, .abort = &places.abort } };

COMMON_TEXT static struct rseq *
own_area (void)
{
  char *thread = __builtin_thread_pointer ();

  return (struct rseq *) (void *) (thread + __rseq_offset);
}

/* The kernel must know the area, because nothing else removes the mark. */
COMMON_TEXT static bool
is_registered (const struct rseq *area)
{
  return (int) LOAD (&area->cpu_id) >= 0;
}

COMMON_TEXT void
sli_asleep_init (Asleep *thread)
{
  struct rseq *area = own_area ();

  thread->own_word = 0;
  thread->word = &thread->own_word;
  thread->process_id = (unsigned) getpid ();
  thread->thread_id = sli_os_thread_id ();
  if (is_registered (area))
    thread->word = (uint64_t *) (void *) &area->rseq_cs;
}

static bool
is_marked (const Asleep *thread)
{
  const struct rseq *area
      = (const struct rseq *) (const void *) ((const char *) thread->word
                                              - offsetof (struct rseq,
                                                          rseq_cs));

  return thread->word != &thread->own_word && is_registered (area)
         && LOAD_ACQUIRE (thread->word)
                == (uint64_t) (uintptr_t) &sli_asleep_sequence;
}

/* Does /proc count threads as this process does?  In a namespace of its own
 * that has another's /proc it does not. */
static bool
proc_is_ours (void)
{
  char expected[64], found[64];
  ssize_t bytes = readlink ("/proc/thread-self", found, sizeof found - 1);

  if (bytes < 0)
    return false;
  found[bytes] = '\0';
  (void) snprintf (expected, sizeof expected, "%u/task/%u",
                   (unsigned) getpid (), sli_os_thread_id ());
  return strcmp (found, expected) == 0;
}

/* A child of vfork() runs on its parent's stack and with its parent's magazines
 * while the parent waits in the call. */
static bool
call_may_lend_the_stack (long number)
{
  static const long lends[] = {
# ifdef SYS_vfork
    SYS_vfork,
# endif
# ifdef SYS_clone3
    SYS_clone3,
# endif
    SYS_clone
  };

  for (size_t i = 0; i < sizeof lends / sizeof lends[0]; i++)
    if (lends[i] == number)
      return true;
  return false;
}

/* The kernel says "running"; "-1" and two addresses for a thread that waits
 * for something else than a system call, as a page; or the call's number and
 * arguments. */
static bool
is_in_call (unsigned thread_id)
{
  char path[64], said[32] = "";
  ssize_t bytes;
  int file;

  (void) snprintf (path, sizeof path, "/proc/self/task/%u/syscall", thread_id);
  file = open (path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  bytes = read (file, said, sizeof said - 1);
  close (file);
  return bytes > 0 && said[0] >= '0' && said[0] <= '9'
         && !call_may_lend_the_stack (strtol (said, NULL, 10));
}

/* The mark is looked at last: a handler that had started before the thread was
 * seen asleep has taken it away. */
bool
sli_asleep_is (const Asleep *thread)
{
  int error = errno;
  bool is_asleep;

  if (LOAD (&pretended) >= 0)
    return LOAD (&pretended) != 0;
  is_asleep = is_marked (thread)
              && thread->process_id == (unsigned) getpid ()
              && proc_is_ours () && is_in_call (thread->thread_id)
              && is_marked (thread);
  errno = error; /* what it reads may be missing */
  return is_asleep;
}

#else

struct AsleepSequence
{
  char none;
};

const struct AsleepSequence sli_asleep_sequence;

COMMON_TEXT void
sli_asleep_init (Asleep *thread)
{
  *thread = (Asleep){ .word = &thread->own_word };
}

bool
sli_asleep_is (const Asleep *thread UNUSED)
{
  return LOAD (&pretended) > 0;
}

#endif

void
sli_asleep_pretend (int answer)
{
  STORE (&pretended, answer);
}
