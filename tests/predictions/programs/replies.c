/* replies.c - hiredis reads three replies of many texts and numbers
 *
 * SPDX-License-Identifier: MIT
 */
#include "hiredis.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ROWS 60000

static long
weigh (const redisReply *reply)
{
  long sum = reply->type == REDIS_REPLY_INTEGER ? reply->integer
                                                : (long) reply->len;

  if (reply->type == REDIS_REPLY_ARRAY)
    for (size_t i = 0; i < reply->elements; i++)
      sum += weigh (reply->element[i]);
  return sum;
}

int
main (void)
{
  char *text = malloc (8000000), *out = text, name[40];
  long sum = 0;

  out += sprintf (out, "*%d\r\n", N_ROWS);
  for (int i = 0; i < N_ROWS; i++)
    {
      sprintf (name, "user%d", i);
      out += sprintf (out, "*3\r\n$%zu\r\n%s\r\n:%d\r\n$4\r\n%04d\r\n",
                      strlen (name), name, i % 977, i % 10000);
    }
  for (int round = 0; round < 3; round++)
    {
      redisReader *reader = redisReaderCreate ();
      void *reply = NULL;

      if (redisReaderFeed (reader, text, (size_t) (out - text)) != REDIS_OK
          || redisReaderGetReply (reader, &reply) != REDIS_OK)
        return 1;
      sum += weigh (reply);
      freeReplyObject (reply);
      redisReaderFree (reader);
    }
  printf ("%ld\n", sum);
  return 0;
}
