/* kept-text.h - texts that the program gives and nodes keep by address
 *
 * Layer: context.  No locks.  The library that such a text was in may be
 * unloaded, and something else may lie there when a report prints the text.  So
 * a sum of the text is kept with its address.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_RALLOC_KEPT_TEXT_H
#define SLI_CONTEXT_RALLOC_KEPT_TEXT_H

#include <stdint.h>

/* A sum of the first bytes of a text. */
uint32_t sli_kept_sum (const char *text);
/* The text at an address if it still has the sum there, in the lowest `bits'
 * bits; words in its place if it has not, or can't be read. */
const char *sli_kept_text (const char *text, uint32_t sum, unsigned bits);

#endif
