/* leaks.h - checks at exit
 *
 * Layer: observe.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_OBSERVE_LEAKS_H
#define SLI_OBSERVE_LEAKS_H

/* In hardened and debug, as the options say: ends the program if a chunk is
 * damaged, and reports the blocks that were never freed. */
void sli_observe_exit (void);

#endif
