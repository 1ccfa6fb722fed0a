/* hooks.h - what a recorder hears of slices, contexts and arenas
 *
 * Public, for those who write a tracer; slice-trace(1) is one, and a program
 * that runs under it need do nothing.
 *
 * A set of hooks makes every call of the slices take its slow path, as the
 * checking modes do, and has new arenas ask at every call, too.  Without
 * hooks nothing is different, by not one instruction of the inline code.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_HOOKS_H
#define SLICE_HOOKS_H

#include <slice/slice.h>

SLICE_BEGIN_DECLS

/** Who gave a block to the program.  What a layer takes from the one below is
 * its on_internal affair and told to nobody: a node is no slice as well. */
typedef enum
{
  SLICE_TRACE_SLICE = 0,
  SLICE_TRACE_CONTEXT, /**< nodes, and objects of linear and gc contexts */
  SLICE_TRACE_LINEAR,
  SLICE_TRACE_STACK,
  SLICE_TRACE_POOL,
  SLICE_TRACE_TLSF
} SliceTraceKind;

/** What is called, in the thread that makes the call and with no lock of the
 * library held.  A hook must not call the library, nor longjmp. */
typedef struct
{
  size_t struct_bytes; /**< sizeof (SliceTraceHooks) */

  /** The program got a block: after it was taken.  NULL is not told.
   * bytes: as asked for. */
  void (*on_alloc) (SliceTraceKind kind, const void *block, size_t bytes);

  /** It goes back: before it may be handed out again.  A reset, a rollback
   * and the end of an arena or a tree call this for each that goes.
   * bytes: as the freeing code gave them; 0: it did not say. */
  void (*on_free) (SliceTraceKind kind, const void *block, size_t bytes);

  /** It has another size, and perhaps another place: while both are the
   * program's. */
  void (*on_realloc) (SliceTraceKind kind, const void *old_block,
                 const void *block, size_t bytes);

  /** Begins, or ends, a call to the system's malloc or a page source that is
   * the library's on_internal: it holds what is told of elsewhere.  They nest. */
  void (*on_internal) (bool begins);
} SliceTraceHooks;

/** Sets the hooks.
 *
 * @param hooks  kept by reference, for good; none of its functions may be
 *               NULL; NULL ends the telling
 *
 * Slices are told of from here on, whatever was done before: the calling
 * thread's next call is, and that of each other thread after the one it may
 * be in.  An arena is if it was made while hooks were set, contexts are if
 * hooks were set when the first root was made: both for good, for a layer's
 * objects are told of from their birth or not at all.  So a death may be told
 * of a slice whose birth was not.
 *
 * A shared libslice asks for hooks itself when it is loaded, of a function
 * slice_trace_hooks_v1() if there is one: so a recorder that is preloaded
 * serves plugins, too.
 *
 * Errors: a struct_bytes that is not that of this version is ignored, and
 *   nothing set.
 * Threads: any.  Cost: one lock.
 */
SLICE_API void slice_set_trace_hooks (const SliceTraceHooks *hooks);

SLICE_END_DECLS

#endif
