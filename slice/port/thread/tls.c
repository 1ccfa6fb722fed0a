/* tls.c - a call when a thread ends; a word and a tag for each thread
 *
 * Layer: port.  Destructors of keys run in the order of the keys.  The library
 * creates its key when it is loaded, so its destructor runs early, and those
 * of the program can still allocate, without magazines.
 * Design: chapter 9.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tls.h"
#include "port/compiler.h"

#include <errno.h>
#include <pthread.h>

static struct
{
  pthread_key_t key;
  bool is_open; /* key is ours; 0 is a valid key of other code */
} tls;

/* The address of errno is different in each thread, and needs no thread-local
 * storage of our own, which is scarce.  The addresses are at equal distances,
 * perhaps a large power of two: the product spreads them. */
COMMON_TEXT uint16_t
sli_tls_tag (void)
{
  uint32_t bits = (uint32_t) ((uintptr_t) &errno >> 4);

  return (uint16_t) ((bits * 2654435761u) >> 16);
}

COMMON_TEXT bool
sli_tls_open (void (*leave) (void *value))
{
  if (!tls.is_open)
    tls.is_open = pthread_key_create (&tls.key, leave) == 0;
  return tls.is_open;
}

COMMON_TEXT bool
sli_tls_watch (void *value)
{
  return tls.is_open && pthread_setspecific (tls.key, value) == 0;
}

/* --- a word for each thread ---------------------------------------------- */

static struct
{
  pthread_once_t once;
  pthread_key_t key;
  bool is_open;
} word_of = { .once = PTHREAD_ONCE_INIT };

CONTEXT_TEXT static void
word_open (void)
{
  word_of.is_open = pthread_key_create (&word_of.key, NULL) == 0;
}

CONTEXT_TEXT void *
sli_tls_word (void)
{
  pthread_once (&word_of.once, word_open);
  return word_of.is_open ? pthread_getspecific (word_of.key) : NULL;
}

CONTEXT_TEXT bool
sli_tls_set_word (void *word)
{
  pthread_once (&word_of.once, word_open);
  return word_of.is_open && pthread_setspecific (word_of.key, word) == 0;
}
