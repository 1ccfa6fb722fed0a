# timers.sh - libevent runs many timers
package=libevent
version=2.1.12-stable-8
sources="timers.c buffer.c bufferevent.c bufferevent_filter.c
  bufferevent_pair.c bufferevent_ratelim.c bufferevent_sock.c epoll.c event.c
  evmap.c evthread.c evutil.c evutil_rand.c evutil_time.c listener.c log.c
  poll.c select.c signal.c strlcpy.c"
flags="-Iinclude -DHAVE_CONFIG_H -D_GNU_SOURCE"
prepare ()
{
  ./configure -q --disable-openssl --disable-thread-support --disable-samples \
    --disable-libevent-regress
  sed -f make-event-config.sed config.h > include/event2/event-config.h
}
