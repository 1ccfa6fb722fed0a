/* record-stack.h - shared by the parts of the recorder's stacks
 *
 * Tools, in the preloaded object.  record-stack.c has the tree of stacks,
 * record-unwind.c the walk of the frames, record-modules.c the loaded modules.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_RECORD_STACK_RECORD_STACK_H
#define SLI_TRACE_RECORD_STACK_RECORD_STACK_H

#include "tools/trace/record/record.h"
#include <link.h>

/* --- record-modules.c --- */

typedef struct
{
  uint64_t low, high; /* low: 0 for none */
} CodeRange;

/* Finds the range of a module; false if it has neither code nor data. */
bool sli_module_range (const struct dl_phdr_info *info, CodeRange *range);
/* The range of the module that an address is in.
 *
 * is_program  set if that is the program itself; may be NULL
 */
CodeRange sli_module_around (uint64_t address, bool *is_program);
/* Returns true if a place is in a module that is known and still loaded. */
bool sli_module_known (uint64_t pc);
/* Tags the frames in places that more than one module has had. */
void sli_modules_tag (uint64_t *pcs, uint32_t n);
/* In a forked child: forgets all modules. */
void sli_modules_forget (void);

static inline bool
range_has (const CodeRange *range, uint64_t address)
{
  return address >= range->low && address < range->high;
}

/* --- record-unwind.c --- */

typedef struct
{
  int (*backtrace) (void **buffer, int size);
  uint64_t entry; /* a place within it */
  CodeRange code; /* of its module */
  bool is_tried;  /* to open it */
  bool libgcc_walks;
} Unwinder;

extern Unwinder sli_unwinder __attribute__ ((visibility ("hidden")));

/* Walks the stack from the caller outwards; returns the frames, 0 if it can't
 * be walked.  Inline: each frame of the recorder's own takes time to walk. */
static inline __attribute__ ((always_inline)) uint32_t
unwind (RecordThread *self, uint64_t *pcs, uint32_t capacity)
{
  int got;

  if (UNLIKELY (!sli_unwinder.is_tried))
    sli_unwind_open ();
  if (sli_unwinder.backtrace == NULL)
    return 0;
  self->setup = !self->walked; /* the first walk of a thread allocates */
  got = sli_unwinder.backtrace ((void **) pcs, (int) capacity);
  self->setup = false;
  self->walked = true;
  return got > 0 ? (uint32_t) got : 0;
}

/* In a forked child. */
void sli_unwind_reset (void);

#endif
