/* shard.c - which of a few shards the caller should use
 *
 * Layer: port.  Design: chapter 9.
 * Since version 2.35 glibc registers an area for restartable sequences for
 * each thread.  The kernel keeps the number of the processor there, so to read
 * it is one load.  Nothing here is a restartable sequence: only the number is
 * used, and it may be out of date or wrong.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "shard.h"
#include "port/compiler.h"
#include "tls.h"

#include <stddef.h>

#ifdef HAVE_RSEQ
# include <sys/rseq.h>
#endif

/* The number of the processor on which the caller runs; negative: unknown. */
typedef int (*Processor) (void);

#ifdef HAVE_RSEQ

/* Negative where the kernel has no such area, or a tool keeps the thread from
 * registering it (valgrind does). */
COMMON_TEXT static int
processor_now (void)
{
  const char *thread = __builtin_thread_pointer ();
  const struct rseq *area
      = (const struct rseq *) (const void *) (thread + __rseq_offset);

  return (int) LOAD (&area->cpu_id);
}

#else

COMMON_TEXT static int
processor_now (void)
{
  return -1;
}

#endif

static Processor processor_of = processor_now;

COMMON_TEXT unsigned
sli_shard (void)
{
  int processor = LOAD (&processor_of) ();

  /* Of a tag the upper bits differ most from thread to thread. */
  return LIKELY (processor >= 0) ? (unsigned) processor % SHARDS
                                 : sli_tls_tag () >> (16 - SHARD_BITS);
}

void
sli_shard_pretend (Processor processor)
{
  STORE (&processor_of, processor != NULL ? processor : processor_now);
}
