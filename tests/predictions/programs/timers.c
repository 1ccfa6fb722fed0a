/* timers.c - libevent runs many timers, each of which frees its event
 *
 * SPDX-License-Identifier: MIT
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#define N_TIMERS 150000

static struct event *timers[N_TIMERS];
static long sum;

static void
expire (evutil_socket_t fd, short what, void *data)
{
  struct event **timer = data;

  (void) fd;
  (void) what;
  sum += timer - timers;
  event_free (*timer);
}

int
main (void)
{
  struct event_base *base = event_base_new ();

  for (int i = 0; i < N_TIMERS; i++)
    {
      struct timeval after = { 0, i * 7919L % 1000 };

      timers[i] = event_new (base, -1, 0, expire, &timers[i]);
      if (timers[i] == NULL || event_add (timers[i], &after) != 0)
        return 1;
    }
  event_base_dispatch (base);
  event_base_free (base);
  printf ("%ld\n", sum);
  return 0;
}
