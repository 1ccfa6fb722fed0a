/* diag.h - one line to the user, and the end
 *
 * Layer: base.  Messages go to file descriptor 2 by write(2): no stdio, no
 * locale, no memory.  Each has the form
 *
 *   slice: error NUMBER: what: details [thread N]
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_BASE_DIAG_H
#define SLI_BASE_DIAG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "errors.h"

/* Formats like a very small printf: %s, %u (unsigned), %d (int), %z (size_t),
 * %p (pointer), %a (an address of code: FILE+0xOFFSET, as addr2line takes
 * both), %%.  Cuts at room - 1 characters; returns the length. */
size_t sli_diag_format (char *to, size_t room, const char *format, ...);
size_t sli_diag_vformat (char *to, size_t room, const char *format,
                         va_list arguments);

/* Writes "slice: error NUMBER: ..." with the format above and aborts. */
_Noreturn void sli_diag_abort (int number, const char *format, ...);
/* Writes "slice: warning NUMBER: ..." and returns. */
void sli_diag_warn (int number, const char *format, ...);

/* The misuse of a block.  operation is the function the user called;
 * given_bytes the size it was given, DIAG_SIZE_UNKNOWN if it takes none;
 * real_bytes what the block's size is in truth, 0 if unknown. */
#define DIAG_SIZE_UNKNOWN SIZE_MAX
_Noreturn void sli_diag_misuse (ErrorNumber number, const char *operation,
                                const void *block, size_t given_bytes,
                                size_t real_bytes);
/* With some more words (at most DIAG_MORE_BYTES), which begin with ", ": room
 * for two addresses of code and their files' names. */
enum
{
  DIAG_FILE_BYTES = 512, /* longest name of a file that is shown */
  DIAG_MORE_BYTES = 2 * DIAG_FILE_BYTES + 160
};

_Noreturn void sli_diag_misuse_more (ErrorNumber number,
                                     const char *operation,
                                     const void *block, size_t given_bytes,
                                     size_t real_bytes, const char *more);
/* An invariant does not hold (see check.h). */
_Noreturn void sli_diag_broken (const char *file, int line,
                                const char *condition);

/* Tests: called with each message instead of writing it; it may longjmp away
 * from a fatal one.  NULL: none. */
typedef void (*DiagHook) (int number, const char *line);
void sli_diag_set_hook (DiagHook hook);

/* The program's own, called once, after the line and before abort().  The
 * caller sees to it that no two threads set it at once. */
typedef void (*DiagLastWords) (int number, const char *line, void *data);
void sli_diag_set_last_words (DiagLastWords call, void *data);

#endif
