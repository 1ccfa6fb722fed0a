/* record-hooks.c - records slices, contexts and arenas
 *
 * Tools, in the preloaded object.  libslice gets these hooks when it is loaded
 * (slice/hooks.h), also with a plugin.  Its events are like those of malloc,
 * with kinds of their own.  The library's own calls of malloc are counted, not
 * recorded, since its blocks are in the trace already.
 *
 * The library's own frames are dropped from the stacks, so that a site is the
 * program's call.
 *
 * Design: section 13.9.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-sample.h"
#include <link.h>
#include <slice/hooks.h>

static const uint8_t alloc_ops[]
    = { [SLICE_TRACE_SLICE] = TRACE_OP_SLICE_ALLOC,
        [SLICE_TRACE_CONTEXT] = TRACE_OP_CONTEXT_ALLOC,
        [SLICE_TRACE_LINEAR] = TRACE_OP_LINEAR_ALLOC,
        [SLICE_TRACE_STACK] = TRACE_OP_STACK_ALLOC,
        [SLICE_TRACE_POOL] = TRACE_OP_POOL_ALLOC,
        [SLICE_TRACE_TLSF] = TRACE_OP_TLSF_ALLOC };
static const uint8_t free_ops[]
    = { [SLICE_TRACE_SLICE] = TRACE_OP_SLICE_FREE,
        [SLICE_TRACE_CONTEXT] = TRACE_OP_CONTEXT_FREE,
        [SLICE_TRACE_LINEAR] = TRACE_OP_LINEAR_FREE,
        [SLICE_TRACE_STACK] = TRACE_OP_STACK_FREE,
        [SLICE_TRACE_POOL] = TRACE_OP_POOL_FREE,
        [SLICE_TRACE_TLSF] = TRACE_OP_TLSF_FREE };

static void
hook_alloc (SliceTraceKind kind, const void *block, size_t bytes)
{
  RecordThread *self = &sli_record_self;

  if (sample_passes (self, bytes))
    return;
  self->hooked = true;
  sli_record_alloc (self, alloc_ops[kind], (void *) (uintptr_t) block, bytes,
                    0);
  self->hooked = false;
}

static void
hook_free (SliceTraceKind kind, const void *block, size_t bytes)
{
  RecordThread *self = &sli_record_self;

  (void)bytes;
  if (sample_is_no_block (block))
    return;
  self->hooked = true;
  sli_record_free (self, free_ops[kind], (void *) (uintptr_t) block, 0, 0);
  self->hooked = false;
}

/* Records a resize as realloc. */
static void
hook_realloc (SliceTraceKind kind, const void *old_block, const void *block,
            size_t bytes)
{
  RecordThread *self = &sli_record_self;

  if (sample_is_no_block (old_block) && sample_passes (self, bytes))
    return;
  self->hooked = true;
  sli_record_free (self, TRACE_OP_REALLOC_FREE, (void *) (uintptr_t) old_block,
                   0, 0);
  sli_record_alloc (self, alloc_ops[kind], (void *) (uintptr_t) block, bytes,
                    0);
  self->hooked = false;
}

/* The library's own calls of malloc use up no bytes of a sampled recording:
 * those of its blocks are counted by the hooks above.  With a distance of 0
 * each call takes the path on which it is counted, and the distance is as
 * before when the outermost call ends. */
static void
hook_internal (bool begins)
{
  RecordThread *self = &sli_record_self;

  if (begins && self->inside++ == 0)
    {
      self->sample_outside = self->sample_left;
      self->sample_left = 0;
    }
  else if (!begins && --self->inside == 0)
    self->sample_left = self->sample_outside;
}

static const SliceTraceHooks hooks = { sizeof (SliceTraceHooks), hook_alloc,
                                       hook_free, hook_realloc, hook_internal };

const SliceTraceHooks *slice_trace_hooks_v1 (const void *inside);

/* Called by the loader or in the library's constructor; `inside` is an address
 * in the caller. */
RECORD_API const SliceTraceHooks *
slice_trace_hooks_v1 (const void *inside)
{
  /* a process that sleeps has its slices as fast as without a recorder */
  if (!sli_record.ready || sli_record.control != NULL)
    return NULL;
  sli_stack_library (inside);
  return &hooks;
}
