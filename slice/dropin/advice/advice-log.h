/* advice-log.h - messages of libslice-advice
 *
 * Layer: dropin.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_ADVICE_LOG_H
#define SLI_DROPIN_ADVICE_LOG_H

/* One line on standard error, after "libslice-advice: ", without malloc.
 * errno stays. */
void sli_advice_log (const char *format, ...)
    __attribute__ ((format (printf, 1, 2)));

#endif
