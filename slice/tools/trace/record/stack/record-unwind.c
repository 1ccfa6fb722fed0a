/* record-unwind.c - walks the frames of a stack
 *
 * Tools, in the preloaded object (record-stack.h).  libunwind walks the
 * frames.  It is opened privately: in the global scope its own
 * _Unwind_RaiseException would replace libgcc's, and change the program.
 * Without libunwind, libgcc walks the frames, which takes longer.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-stack.h"
#include <dlfcn.h>
#include <unistd.h>
#include <unwind.h>

Unwinder sli_unwinder;

typedef struct
{
  void **frames;
  int n, capacity; /* n is -1 for the frame of libgcc_backtrace() itself */
} LibgccWalk;

static _Unwind_Reason_Code
libgcc_frame (struct _Unwind_Context *context, void *user)
{
  LibgccWalk *walk = user;

  if (walk->n >= 0)
    walk->frames[walk->n] = (void *) _Unwind_GetIP (context);
  walk->n++;
  return walk->n < walk->capacity ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* As unw_backtrace(). */
static __attribute__ ((noinline)) int
libgcc_backtrace (void **frames, int capacity)
{
  LibgccWalk walk = { frames, -1, capacity };

  _Unwind_Backtrace (libgcc_frame, &walk);
  /* the outermost is the end, not a call */
  while (walk.n > 0 && frames[walk.n - 1] == NULL)
    walk.n--;
  return walk.n;
}

static void
libgcc_choose (void)
{
  sli_unwinder.backtrace = libgcc_backtrace;
  sli_unwinder.entry = (uint64_t) (uintptr_t) _Unwind_Backtrace;
  sli_unwinder.libgcc_walks = true;
  sli_record.check_unwind = false; /* there is nothing to compare with */
}

static void
unwinder_choose (void)
{
  void *library = dlopen (LIBUNWIND_NAME, RTLD_NOW | RTLD_LOCAL);

  if (library != NULL)
    *(void **) &sli_unwinder.backtrace = dlsym (library, "unw_backtrace");
  sli_unwinder.entry = (uint64_t) (uintptr_t) sli_unwinder.backtrace;
  if (sli_unwinder.backtrace == NULL)
    libgcc_choose ();
}

/* Opens libunwind.  Not in our constructor, which runs before the C library's:
 * a dlopen() there would start the C library without the program's arguments.
 * So it is done at the first event after that, at the latest before main(). */
void
sli_unwind_open (void)
{
  void *frames[4];

  if (sli_unwinder.is_tried || environ == NULL)
    return;
  sli_unwinder.is_tried = true;
  sli_record_self.setup = true;
  unwinder_choose ();
  if (sli_record.head != NULL)
    sli_record.head->libgcc_walks = sli_unwinder.libgcc_walks;
  /* the first walk sets libunwind up, which allocates */
  sli_unwinder.backtrace (frames, 4);
  sli_unwinder.code = sli_module_around (sli_unwinder.entry, NULL);
  sli_record_self.setup = false;
}

/* In a child forked by a program with several threads: another thread may have
 * held libunwind's lock, so it is not called again.  libgcc takes no lock on a
 * walk. */
void
sli_unwind_single (void)
{
  libgcc_choose ();
  sli_unwinder.is_tried = true;
  sli_unwinder.code = sli_module_around (sli_unwinder.entry, NULL);
}

void
sli_unwind_reset (void)
{
  sli_record.head->libgcc_walks = sli_unwinder.libgcc_walks;
}
