/* record-cxx.c - the entry points of C++: operator new and delete
 *
 * Tools, in the preloaded object.  An operator here marks the thread and calls
 * the program's own operator or the runtime's, and the malloc or free inside
 * is recorded as this operator.  If there was none (an operator with a pool of
 * its own), the mark is removed afterwards.  A block that a sampled recording
 * leaves out needs no mark.
 *
 * Compiled with -fexceptions: std::bad_alloc passes through here, and takes
 * the mark with it.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-sample.h"
#include <stdlib.h>

#define NEW_NAMES(word)                                                       \
 "_Zn" word "m", "_Zn" word "mRKSt9nothrow_t", "_Zn" word "mSt11align_val_t", \
     "_Zn" word "mSt11align_val_tRKSt9nothrow_t"
#define DELETE_NAMES(word)                                                    \
 "_Zd" word "Pv", "_Zd" word "Pvm", "_Zd" word "PvRKSt9nothrow_t",            \
     "_Zd" word "PvSt11align_val_t", "_Zd" word "PvmSt11align_val_t",         \
     "_Zd" word "PvSt11align_val_tRKSt9nothrow_t"

enum
{
  NEW,
  NEW_NOTHROW,
  NEW_ALIGNED,
  NEW_ALIGNED_NOTHROW,
  N_NEW
};

enum
{
  DELETE,
  DELETE_SIZED,
  DELETE_NOTHROW,
  DELETE_ALIGNED,
  DELETE_ALIGNED_SIZED,
  DELETE_ALIGNED_NOTHROW,
  N_DELETE
};

static const char *const new_names[2][N_NEW]
    = { { NEW_NAMES ("w") }, { NEW_NAMES ("a") } };
static const char *const delete_names[2][N_DELETE]
    = { { DELETE_NAMES ("l") }, { DELETE_NAMES ("a") } };

static void *next_new[2][N_NEW];
static void *next_delete[2][N_DELETE];

/* Two threads may look up a function at once, with the same result. */
static inline void *
next_of (void **place, const char *name)
{
  void *found = __atomic_load_n (place, __ATOMIC_RELAXED);

  if (UNLIKELY (found == NULL))
    {
      found = sli_record_next (name);
      __atomic_store_n (place, found, __ATOMIC_RELAXED);
    }
  return found;
}

/* Sets the mark in the outermost operator only: the runtime's array and sized
 * forms call the plain ones, which come here again. */
static bool
tag_set (unsigned op)
{
  bool outermost = sli_record_self.tag == 0;

  if (outermost)
    sli_record_self.tag = (uint8_t)op;
  return outermost;
}

static void
tag_clear (const bool *outermost)
{
  if (*outermost)
    sli_record_self.tag = 0;
}

#define TAGGED(op)                                                            \
 const bool outermost __attribute__ ((cleanup (tag_clear), unused))           \
 = tag_set (op)

/* Returns true if malloc() will leave such a block out. */
static inline bool
new_is_left_out (size_t size)
{
  return sample_is_beyond (&sli_record_self, size) || record_asleep ();
}

typedef void *NewPlain (size_t);
typedef void Delete (void *, size_t, size_t);

static __attribute__ ((noinline)) void *
new_tagged (NewPlain *call, unsigned op, size_t size)
{
  TAGGED (op);
  return call == NULL ? malloc (size) : call (size);
}

static inline void *
new_plain (int array, int kind, unsigned op, size_t size)
{
  NewPlain *call = next_of (&next_new[array][kind], new_names[array][kind]);

  return new_is_left_out (size) && call != NULL
             ? call (size)
             : new_tagged (call, op, size);
}

static __attribute__ ((noinline)) void *
new_with_tagged (void *(*call) (size_t, size_t), int kind, unsigned op,
                 size_t size, size_t argument)
{
  TAGGED (op);
  if (call != NULL)
    return call (size, argument);
  return kind == NEW_NOTHROW ? malloc (size) : aligned_alloc (argument, size);
}

static void *
new_with (int array, int kind, unsigned op, size_t size, size_t argument)
{
  void *(*call) (size_t, size_t)
      = next_of (&next_new[array][kind], new_names[array][kind]);

  if (new_is_left_out (size) && call != NULL)
    return call (size, argument);
  return new_with_tagged (call, kind, op, size, argument);
}

static void *
new_aligned_nothrow (int array, unsigned op, size_t size, size_t alignment,
                     const void *nothrow)
{
  void *(*call) (size_t, size_t, const void *)
      = next_of (&next_new[array][NEW_ALIGNED_NOTHROW],
                 new_names[array][NEW_ALIGNED_NOTHROW]);

  TAGGED (op);
  return call == NULL ? aligned_alloc (alignment, size)
                      : call (size, alignment, nothrow);
}

RECORD_API void *
_Znwm (size_t size)
{
  return new_plain (0, NEW, TRACE_OP_NEW, size);
}

RECORD_API void *
_Znam (size_t size)
{
  return new_plain (1, NEW, TRACE_OP_NEW_ARRAY, size);
}

RECORD_API void *
_ZnwmRKSt9nothrow_t (size_t size, const void *nothrow)
{
  return new_with (0, NEW_NOTHROW, TRACE_OP_NEW, size, (size_t)nothrow);
}

RECORD_API void *
_ZnamRKSt9nothrow_t (size_t size, const void *nothrow)
{
  return new_with (1, NEW_NOTHROW, TRACE_OP_NEW_ARRAY, size, (size_t)nothrow);
}

RECORD_API void *
_ZnwmSt11align_val_t (size_t size, size_t alignment)
{
  return new_with (0, NEW_ALIGNED, TRACE_OP_NEW_ALIGNED, size, alignment);
}

RECORD_API void *
_ZnamSt11align_val_t (size_t size, size_t alignment)
{
  return new_with (1, NEW_ALIGNED, TRACE_OP_NEW_ARRAY_ALIGNED, size,
                   alignment);
}

RECORD_API void *
_ZnwmSt11align_val_tRKSt9nothrow_t (size_t size, size_t alignment,
                                    const void *nothrow)
{
  return new_aligned_nothrow (0, TRACE_OP_NEW_ALIGNED, size, alignment,
                              nothrow);
}

RECORD_API void *
_ZnamSt11align_val_tRKSt9nothrow_t (size_t size, size_t alignment,
                                    const void *nothrow)
{
  return new_aligned_nothrow (1, TRACE_OP_NEW_ARRAY_ALIGNED, size, alignment,
                              nothrow);
}

/* --- delete: the arguments after the block are passed on as they came --- */

static __attribute__ ((noinline)) void
delete_tagged (Delete *call, unsigned op, void *block, size_t a, size_t b)
{
  TAGGED (op);
  if (call != NULL)
    call (block, a, b);
  else
    free (block);
}

static inline void
delete_with (int array, int kind, unsigned op, void *block, size_t a, size_t b)
{
  Delete *call
      = next_of (&next_delete[array][kind], delete_names[array][kind]);

  if ((sample_is_no_block (block) || record_asleep ()) && call != NULL)
    call (block, a, b);
  else
    delete_tagged (call, op, block, a, b);
}

RECORD_API void
_ZdlPv (void *block)
{
  delete_with (0, DELETE, TRACE_OP_DELETE, block, 0, 0);
}

RECORD_API void
_ZdaPv (void *block)
{
  delete_with (1, DELETE, TRACE_OP_DELETE_ARRAY, block, 0, 0);
}

RECORD_API void
_ZdlPvm (void *block, size_t size)
{
  delete_with (0, DELETE_SIZED, TRACE_OP_DELETE_SIZED, block, size, 0);
}

RECORD_API void
_ZdaPvm (void *block, size_t size)
{
  delete_with (1, DELETE_SIZED, TRACE_OP_DELETE_ARRAY_SIZED, block, size, 0);
}

RECORD_API void
_ZdlPvRKSt9nothrow_t (void *block, size_t nothrow)
{
  delete_with (0, DELETE_NOTHROW, TRACE_OP_DELETE, block, nothrow, 0);
}

RECORD_API void
_ZdaPvRKSt9nothrow_t (void *block, size_t nothrow)
{
  delete_with (1, DELETE_NOTHROW, TRACE_OP_DELETE_ARRAY, block, nothrow, 0);
}

RECORD_API void
_ZdlPvSt11align_val_t (void *block, size_t alignment)
{
  delete_with (0, DELETE_ALIGNED, TRACE_OP_DELETE, block, alignment, 0);
}

RECORD_API void
_ZdaPvSt11align_val_t (void *block, size_t alignment)
{
  delete_with (1, DELETE_ALIGNED, TRACE_OP_DELETE_ARRAY, block, alignment, 0);
}

RECORD_API void
_ZdlPvmSt11align_val_t (void *block, size_t size, size_t alignment)
{
  delete_with (0, DELETE_ALIGNED_SIZED, TRACE_OP_DELETE_SIZED, block, size,
               alignment);
}

RECORD_API void
_ZdaPvmSt11align_val_t (void *block, size_t size, size_t alignment)
{
  delete_with (1, DELETE_ALIGNED_SIZED, TRACE_OP_DELETE_ARRAY_SIZED, block,
               size, alignment);
}

RECORD_API void
_ZdlPvSt11align_val_tRKSt9nothrow_t (void *block, size_t alignment,
                                     size_t nothrow)
{
  delete_with (0, DELETE_ALIGNED_NOTHROW, TRACE_OP_DELETE, block, alignment,
               nothrow);
}

RECORD_API void
_ZdaPvSt11align_val_tRKSt9nothrow_t (void *block, size_t alignment,
                                     size_t nothrow)
{
  delete_with (1, DELETE_ALIGNED_NOTHROW, TRACE_OP_DELETE_ARRAY, block,
               alignment, nothrow);
}
