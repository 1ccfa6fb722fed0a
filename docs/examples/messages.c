/* messages.c - TLSF: any size in any order, each call in bounded time
 *
 * A control loop keeps messages of any length over a buffer of its own: no
 * call is a system call, and a full buffer is an answer, not an end.  What is
 * logged of them lies in a second heap, which grows and belongs to a context:
 * it ends with that.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include <slice/arena.h>
#include <slice/ralloc.h>

enum
{
  BUFFER_BYTES = 64 * 1024,
  N_MESSAGES = 256,
  N_ROUNDS = 20000
};

typedef struct
{
  size_t length;
  char text[];
} Message;

static char buffer[BUFFER_BYTES];

static Message *
message_new (SliceTlsf *heap, size_t length)
{
  Message *message = slice_tlsf_alloc (heap, sizeof (Message) + length);

  if (message == NULL)
    return NULL;
  message->length = length;
  memset (message->text, 'm', length);
  return message;
}

int
main (void)
{
  static Message *messages[N_MESSAGES];
  SliceTlsf *heap = slice_tlsf_new_fixed (buffer, sizeof buffer);
  void *session = ralloc_context (NULL);
  SliceTlsf *log = slice_tlsf_new_in (session, NULL);
  char *lines = NULL;
  unsigned random = 1;
  size_t n_lines = 0;
  size_t n_refused = 0;
  SliceTlsfStats stats;

  if (heap == NULL || log == NULL)
    {
      perror ("messages");
      return 1;
    }
  for (int i = 0; i < N_ROUNDS; i++)
    {
      Message **place;
      char *more;

      random = random * 1103515245u + 12345u;
      place = &messages[(random >> 16) % N_MESSAGES];
      slice_tlsf_free (heap, *place);
      *place = message_new (heap, (random >> 8) % 700);
      if (*place != NULL)
        continue;
      n_refused++;
      more = slice_tlsf_resize (log, lines, (n_lines + 1) * 8);
      if (more == NULL)
        break;
      lines = more;
      memcpy (lines + n_lines++ * 8, "refused", 8);
    }
  slice_tlsf_get_stats (heap, &stats);
  printf ("TLSF: %s, %s; %s\n", n_refused > 0 ? "full at times" : "never full",
          slice_tlsf_is_valid (heap, NULL) ? "sound" : "damaged",
          n_lines == n_refused && stats.arena.held_bytes <= sizeof buffer
              ? "all logged"
              : "not all logged");
  slice_tlsf_destroy (heap);
  ralloc_free (session); /* and the log with it */
  return 0;
}
