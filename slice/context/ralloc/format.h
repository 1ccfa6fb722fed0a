/* format.h - texts of contexts, for other files of the layer
 *
 * Layer: context.  No locks.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_RALLOC_FORMAT_H
#define SLI_CONTEXT_RALLOC_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

#include <slice/ralloc.h>

/* Ends the program (210) if a pointer is NULL. */
void sli_context_require_string (const void *pointer, const char *operation);
/* Formats a text of `length' bytes into a block of length + 1 bytes, which the
 * caller frees by slice_free1().  For texts that may be made from the string
 * that they are written to, before that string moves.  NULL: no memory. */
char *sli_context_format (size_t length, const char *fmt, va_list args)
    SLICE_ATTR_PRINTF (2, 0);

#endif
