/* question.c - how one unit's resources know those of another
 *
 * Layer: arena.  A resource of slice-resource.hpp may meet one of a class that
 * it does not know, perhaps its own class in another unit.  It then compares
 * that resource with a question, an object in one of the places below.  Only a
 * resource of slice recognises a question by its address, and answers.  The
 * places are in the library, which all units of a process share.
 * Design: section 8.11.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/arena.h>

#include <sched.h>
#include <string.h>
#include "port/annotate.h"
#include "port/compiler.h"

/* A place is held for one call, so a few serve all threads.  (A child process
 * lacks those that other threads held at the fork.) */
enum
{
  N_QUESTIONS = 64
};

static SliceQuestionV1 questions[N_QUESTIONS];
/* Words: gcc before 13 calls a library for smaller exchanges on riscv64. */
static uint32_t is_held[N_QUESTIONS];

SliceQuestionV1 *
slice_question_begin_v1 (void)
{
  for (;;)
    {
      for (unsigned i = 0; i < N_QUESTIONS; i++)
        if (!__atomic_exchange_n (&is_held[i], 1, __ATOMIC_ACQUIRE))
          {
            sli_annotate_take (&is_held[i]);
            memset (&questions[i], 0, sizeof questions[i]);
            return &questions[i];
          }
      sched_yield ();
    }
}

void
slice_question_end_v1 (SliceQuestionV1 *question)
{
  uint32_t *held = &is_held[question - questions];

  sli_annotate_give (held);
  /* valgrind's race detectors know a locked instruction as atomic, but no
   * store. */
  (void) __atomic_exchange_n (held, 0, __ATOMIC_RELEASE);
}

SliceQuestionV1 *
slice_question_of_v1 (const void *object)
{
  size_t offset = (uintptr_t) object - (uintptr_t) questions;

  return offset < sizeof questions
             ? &questions[offset / sizeof questions[0]]
             : NULL;
}
