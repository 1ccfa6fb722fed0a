#!/bin/sh
# run-test.sh - runs one test with a limit of time, under valgrind if asked to
#
#   run-test.sh PROGRAM [ARGUMENT...]
#
# SLICE_TEST_TIMEOUT     seconds of processor time that each process of a test
#                        may take (300); a test that waits for good ends after
#                        twenty times as long
# SLICE_TEST_VALGRIND=1  run it under memcheck, with ten times as long
# SLICE_TEST_SANITIZED=1 it is built with a sanitizer: ten times as long, too
# SLICE_TEST_MATRIX=1    it builds all again, more than once: likewise
#
# SPDX-License-Identifier: MIT

limit=${SLICE_TEST_TIMEOUT:-300}
: "${TIMEOUT=timeout}"

case $1 in
*.sh | */sh | sh | */bash | */dash) tap= ;;
*) tap=--tap ;;
esac

tool=
if test "${SLICE_TEST_VALGRIND:-0}" = 1 && test -n "$tap"; then
  limit=$((limit * 10))
  # A program of libslice.la is a script of libtool's: look through it.
  tool="$top_builddir/libtool --mode=execute
    ${VALGRIND:-valgrind} --tool=memcheck --quiet --error-exitcode=99
    --leak-check=full --show-leak-kinds=definite,indirect
    --errors-for-leak-kinds=definite,indirect --num-callers=30
    --suppressions=$top_srcdir/tests/valgrind.supp --log-fd=9"
  # Its words go to the log, not among those that a test reads of a child.
  exec 9>&2
  # GLib's own slices and caches would hide or invent errors.
  G_SLICE=always-malloc
  export G_SLICE
fi

if test "${SLICE_TEST_MATRIX:-0}" = 1; then
  limit=$((limit * 10))
fi

# Sanitizers: the thread sanitizer wants its addresses where they are without
# randomisation.
if test "${SLICE_TEST_SANITIZED:-0}" = 1; then
  limit=$((limit * 10))
  setarch "$(uname -m)" -R true 2>/dev/null \
    && tool="setarch $(uname -m) -R"
  # Sizes that no malloc has are asked for on purpose.
  ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}
  UBSAN_OPTIONS=print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}
  # Its deadlock detector gives up at 64 locks held, and fork holds more; the
  # order of locks is what --enable-debug checks.
  TSAN_OPTIONS=detect_deadlocks=0:die_after_fork=0:allocator_may_return_null=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}
  export ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS
fi

# A test that is stuck ends with a signal, and so as an error; one on a machine
# that is busy takes its time.
ulimit -S -t "$limit"
if test -n "$TIMEOUT"; then
  exec "$TIMEOUT" --kill-after=10 $((limit * 20)) $tool "$@" $tap
else
  exec $tool "$@" $tap
fi
