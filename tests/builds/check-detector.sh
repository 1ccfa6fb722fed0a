#!/bin/sh
# check-detector.sh - a program under the race detector, with the plain library
#
# The program alone is built with -fsanitize=thread: it forks before its first
# block and after it, beside threads at work, and its children allocate, free
# and trim.  (The detector of deadlocks, on by default, ends a program that
# holds more than 64 locks.)
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

libs=$(cd "$top_builddir" && pwd)/slice/.libs
test -f "$libs/libslice.so" || skip_all "no shared library"
ulimit -c 0
unset SLICE_OPTIONS TSAN_OPTIONS

cat > "$temporary/none.c" <<'END'
int main (void) { return 0; }
END
cat > "$temporary/fork.c" <<'END'
#include <slice/heap.h>
#include <slice/libslice.h>
#include <slice/ralloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static void use (void)
{
  for (int i = 1; i < 3000; i++)
    slice_free1 (i, slice_alloc (i));
  slice_heap_free (slice_heap_alloc (1000));
  ralloc_free (ralloc_context (NULL));
  slice_trim (0);
}
static void *work (void *data)
{
  use ();
  return data;
}
static void fork_once (void)
{
  int status;
  pid_t child = fork ();
  if (child == 0)
    {
      alarm (60);
      use ();
      _exit (0);
    }
  if (waitpid (child, &status, 0) != child || status != 0)
    _exit (2);
}
int main (void)
{
  pthread_t thread;
  fork_once ();
  use ();
  fork_once ();
  for (int i = 0; i < 20; i++)
    {
      pthread_create (&thread, NULL, work, NULL);
      fork_once ();
      pthread_join (thread, NULL);
    }
  return 0;
}
END

# build NAME: what goes wrong
build ()
{
  $CC -g -fsanitize=thread -w -I"$top_srcdir" -I"$top_builddir" \
    "$temporary/$1.c" -o "$temporary/$1" "$libs/libslice.so" \
    -Wl,-rpath,"$libs" 2>&1
}

build none > /dev/null && "$temporary/none" > /dev/null 2>&1 \
  || skip_all "no -fsanitize=thread, or not with this library"

# A child does not have its parent's threads: these are no leaks.
said=$(build fork) \
  && said=$(TSAN_OPTIONS=report_thread_leaks=0 "$temporary/fork" 2>&1)
status=$?
if test $status -eq 0; then pass "forks under the race detector"
else fail "forks under the race detector" "status $status
$(printf '%s\n' "$said" | head -5)"
fi

finish
