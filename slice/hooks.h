/* hooks.h - functions of a recorder that the library calls for each block
 *
 * That is, of slices, contexts and arenas.  For the blocks of heap.h, and so
 * for those of a preloaded malloc, no hook is called.
 *
 * Public, for those who write a tracer.  slice-trace(1) has a recorder with
 * such hooks; the recorded program needs none of its own.
 *
 * With hooks every call for a slice takes its slow path, as in the checking
 * modes, and so does every call for an arena that is made from then on.
 * Without hooks the inline code has no instruction for them.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_HOOKS_H
#define SLICE_HOOKS_H

#include <slice/slice.h>

SLICE_BEGIN_DECLS

/** The layer that the program called.  The blocks that a layer gets from the
 * one beneath it are internal, and no hook is called for them: a node is not a
 * slice as well. */
typedef enum
{
  SLICE_TRACE_SLICE = 0,
  SLICE_TRACE_CONTEXT, /**< nodes, and objects of linear and gc contexts */
  SLICE_TRACE_LINEAR,
  SLICE_TRACE_STACK,
  SLICE_TRACE_POOL,
  SLICE_TRACE_TLSF
} SliceTraceKind;

/** The hooks.  The library calls them in the thread that called it, and holds
 * none of its locks meanwhile.  A hook must neither call the library nor
 * longjmp(). */
typedef struct
{
  size_t struct_bytes; /**< sizeof (SliceTraceHooks) */

  /** After an allocation that returned a block.
   * bytes: the requested size. */
  void (*on_alloc) (SliceTraceKind kind, const void *block, size_t bytes);

  /** Before a block is freed.  A reset, a rollback and the end of an arena or a
   * tree call it for each block that they free.
   * bytes: the size that the call gave; 0: it gave none. */
  void (*on_free) (SliceTraceKind kind, const void *block, size_t bytes);

  /** After a block changed its size, and perhaps its address.  Both addresses
   * are still the program's. */
  void (*on_realloc) (SliceTraceKind kind, const void *old_block,
                      const void *block, size_t bytes);

  /** Before (true) and after (false) the library calls the system's malloc or
   * a page source for itself.  A recorder of malloc leaves these calls out,
   * for their memory holds the blocks above.  The calls nest. */
  void (*on_internal) (bool begins);
} SliceTraceHooks;

/** Sets the hooks.
 *
 * @param hooks  the library keeps the address for good; no function may be
 *               NULL.  NULL: no hooks from now on
 *
 * For slices the hooks take effect at once in the calling thread, and in
 * another thread after the call that it may be in.  So on_free may be called
 * for a slice that was allocated before.  An arena calls the hooks only if they
 * were set when it was made, and contexts only if they were set when the first
 * root was made.  This never changes afterwards, so on_free is called only for
 * objects that on_alloc was called for.
 *
 * When a shared libslice is loaded it calls slice_trace_hooks_v1(), if some
 * object defines that function, and sets the hooks that it returns.  So a
 * preloaded recorder also serves plugins.
 *
 * Errors: hooks whose struct_bytes is not that of this version are ignored.
 * Threads: any.  Cost: one lock.
 */
SLICE_API void slice_set_trace_hooks (const SliceTraceHooks *hooks);

SLICE_END_DECLS

#endif
