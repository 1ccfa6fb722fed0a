/* handlers.h - the program's functions for lack of memory and for misuse
 *
 * Public; slice.h includes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_HANDLERS_H
#define SLICE_HANDLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <slice/version.h>

SLICE_BEGIN_DECLS

/** Called when there is no memory, before the program is ended.
 *
 * @param size       bytes that were requested (SIZE_MAX: a product that does
 *                   not fit)
 * @param alignment  the requested alignment; 0 if none
 * @param data       the handler's own
 * @return           true: something was freed, try again; false: give up.
 *                   Where size and alignment together exceed PTRDIFF_MAX,
 *                   which can never fit, the handler is called once, and its
 *                   answer is ignored.
 *
 * It may use slices (free some), longjmp away or end the program; no lock is
 * held when it is called. */
typedef bool (*SliceFailureHandler) (size_t size, size_t alignment,
                                     void *data);

/** Sets the failure handler.
 *
 * @param handler  NULL: none, the default
 * @param data     handed to it
 *
 * Threads: any; one handler for the process.  Cost: one lock.
 */
SLICE_API void slice_set_failure_handler (SliceFailureHandler handler,
                                          void *data);

/** What the plain names do when there is no memory, for libraries that
 * build on slices: it calls the failure handler, and ends the program with
 * error 120 if there is no handler or the handler gives up.  It returns if the
 * handler says to try again.
 *
 * @param size       bytes that were requested (SIZE_MAX: a product that does
 *                   not fit)
 * @param alignment  the requested alignment; 0 if none
 *
 * Errors: 120.
 * Threads: any.  Cost: one lock.
 */
SLICE_API void slice_out_of_memory (size_t size, size_t alignment);

/** Called when a misuse or a fault ends the program: after its line is on
 * standard error, and before abort().
 *
 * @param number   the message's number, as in slice-errors(7)
 * @param message  the line, without its end; it is gone when the handler
 *                 returns
 * @param data     the handler's own
 *
 * It is called once in a process.  It is not called for a second fault that it
 * causes itself, nor for a fault of another thread; that thread waits for it,
 * ten seconds at most.  It may run in any thread, in a signal handler, and
 * while the thread holds locks of slice or malloc.  So it may do only what a
 * signal handler may do (write(2), _exit(2)), and must not use slices.  It
 * returns or ends the program; it must not longjmp or throw.  Warnings do not
 * call it. */
typedef void (*SliceAbortHandler) (int number, const char *message,
                                   void *data);

/** Sets the abort handler: for a crash reporter, or to flush a log.
 *
 * @param handler  NULL: none, the default
 * @param data     handed to it
 *
 * Threads: any; one handler for the process.  A fault in another thread at
 *   the same moment may still call the previous handler.
 * Cost: one lock.
 */
SLICE_API void slice_set_abort_handler (SliceAbortHandler handler,
                                        void *data);

SLICE_END_DECLS

#endif
