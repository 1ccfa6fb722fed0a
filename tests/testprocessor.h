/* testprocessor.h - a processor on which all threads believe they run
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTPROCESSOR_H
#define TESTPROCESSOR_H

#include "port/thread/shard.h"

static int processor;

static inline int
pretended_processor (void)
{
  return __atomic_load_n (&processor, __ATOMIC_RELAXED);
}

#endif
