/* record-check.c - walks each stack a second time, by another unwinder
 *
 * Tools, in the preloaded object; only for --check-unwind.  libunwind caches
 * its results for a return address; libgcc reads the tables again at each
 * frame.  An error that both make in the same way is not found, but they share
 * no code.
 *
 * The innermost frames that both have are compared.  At the outer end they
 * differ by a frame: one shows the entry point, the other stops before it.  A
 * walk that ends two frames and more before the other is a difference.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "tools/trace/record/record.h"
#include <dlfcn.h>
#include <unwind.h>

#define OUTER_FRAMES_MAX 1
/* This file's frames, and those that libunwind's walk does not have. */
#define MORE_FRAMES 8

typedef struct
{
  void *pcs[RECORD_DEPTH_MAX + 3 * MORE_FRAMES];
  uint32_t n, capacity;
} Walk;

static _Unwind_Reason_Code (*walk) (_Unwind_Trace_Fn, void *);

static _Unwind_Reason_Code
frame_note (struct _Unwind_Context *context, void *user)
{
  Walk *self = user;

  self->pcs[self->n++] = (void *) _Unwind_GetIP (context);
  return self->n < self->capacity ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void
difference_note (uint32_t place, uint64_t ours, uint64_t theirs)
{
  SpoolHead *head = sli_record.head;

  if (atomic_fetch_add (&head->n_unwind_differs, 1) == 0)
    {
      head->unwind_position = place;
      head->unwind_pcs[0] = ours;
      head->unwind_pcs[1] = theirs;
    }
}

/* pcs    the stack, without the recorder's own frames
 * limit  the most there may be, these included: the walk was cut there */
void
sli_unwind_check (const uint64_t *pcs, uint32_t n, uint32_t limit)
{
  Walk again = { .capacity = limit + MORE_FRAMES };
  uint32_t own, n_theirs, common, more;
  const void *const *theirs;

  if (walk == NULL)
    {
      void *library = dlopen ("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);

      *(void **) &walk
          = library == NULL ? NULL : dlsym (library, "_Unwind_Backtrace");
      if (walk == NULL)
        return;
    }
  walk (frame_note, &again);
  own = sli_stack_own_frames (&sli_record_self, again.pcs, again.n,
                              OWN_FRAMES_MAX + MORE_FRAMES);
  theirs = (const void *const *) again.pcs + own;
  n_theirs = again.n - own;
  common = n < n_theirs ? n : n_theirs;
  more = (n < n_theirs ? n_theirs : n) - common;
  atomic_fetch_add (&sli_record.head->n_unwind_checked, 1);
  for (uint32_t i = 0; i < common; i++)
    if (pcs[i] != (uint64_t) theirs[i])
      {
        difference_note (i, pcs[i], (uint64_t) theirs[i]);
        return;
      }
  if (more > OUTER_FRAMES_MAX && n + own < limit && again.n < again.capacity)
    difference_note (common, n > common ? pcs[common] : 0,
                     n > common ? 0 : (uint64_t) theirs[common]);
}
