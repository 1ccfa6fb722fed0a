/* leaks.h - checks at exit
 *
 * Layer: observe.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_OBSERVE_LEAKS_H
#define SLI_OBSERVE_LEAKS_H

/* In hardened and debug, by the options: checks all chunks, and ends the
 * program if one is damaged; reports the blocks that were never freed. */
void sli_observe_exit (void);

#endif
