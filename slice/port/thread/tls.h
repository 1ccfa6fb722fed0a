/* tls.h - a call when a thread ends; a word and a tag for each thread
 *
 * Layer: port.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_THREAD_TLS_H
#define SLI_PORT_THREAD_TLS_H

#include <stdbool.h>
#include <stdint.h>

/* Registers `leave', which is called when a thread that has called
 * sli_tls_watch() ends.  To be called once; false if the system has no key
 * left. */
bool sli_tls_open (void (*leave) (void *value));
/* Makes the end of the calling thread call `leave' with this value (not NULL).
 * False if the system can't. */
bool sli_tls_watch (void *value);

/* A word for each thread, NULL at first.  It uses a key, which is slower than
 * thread-local storage; but that is scarce for libraries that are loaded
 * late. */
void *sli_tls_word (void);
/* False if the system has no key left or no memory. */
bool sli_tls_set_word (void *word);

/* A number that is different in most threads; a later thread may have the same
 * one. */
uint16_t sli_tls_tag (void);

#endif
