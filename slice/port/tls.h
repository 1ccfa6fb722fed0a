/* tls.h - a call when a thread ends; a word and a number for each thread
 *
 * Layer: port.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_TLS_H
#define SLI_PORT_TLS_H

#include <stdbool.h>
#include <stdint.h>

/* From now on `leave` is called with the thread's value when a thread that
 * called sli_tls_watch() ends.  To be called once; false if the system has no
 * key left. */
bool sli_tls_open (void (*leave) (void *value));
/* Have the end of the calling thread told, with this value (not NULL).
 * False if that can't be had: the caller must do without. */
bool sli_tls_watch (void *value);

/* One word of the calling thread's own, NULL at first, by a key of its own:
 * slower than thread-local storage, which is scarce where libraries are loaded
 * late.  Setting fails if the system has no key left or no memory. */
void *sli_tls_word (void);
bool sli_tls_set_word (void *word);

/* A number that tells the calling thread from most others; a thread that
 * comes later may have it again. */
uint16_t sli_tls_tag (void);

#endif
