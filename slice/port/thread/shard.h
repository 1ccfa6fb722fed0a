/* shard.h - which of a few shards the caller should use
 *
 * Layer: port.  Data for which threads would compete exists SHARDS times, and
 * a thread uses the shard of the processor on which it runs.
 * Design: chapter 9.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_THREAD_SHARD_H
#define SLI_PORT_THREAD_SHARD_H

enum
{
  SHARD_BITS = 2,
  SHARDS = 1 << SHARD_BITS /* processors beyond these share */
};

/* The shard of the processor on which the caller runs; where the system can't
 * tell cheaply, that of its thread.  A hint: the caller may run elsewhere by
 * now, and other threads may use the same shard, so shards have locks. */
unsigned sli_shard (void);

/* Tests only: a function that returns the number of the processor instead, or
 * a negative one where there is none; NULL: the real one. */
void sli_shard_pretend (int (*processor) (void));

#endif
