#!/bin/sh
# run-test.sh - runs one test with a time limit, under valgrind if asked to
#
#   run-test.sh PROGRAM [ARGUMENT...]
#
# SLICE_TEST_TIMEOUT     seconds that a test may take (300)
# SLICE_TEST_VALGRIND=1  run it under memcheck, with ten times as long
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
  tool="${VALGRIND:-valgrind} --tool=memcheck --quiet --error-exitcode=99
    --leak-check=full --show-leak-kinds=definite,indirect
    --errors-for-leak-kinds=definite,indirect --num-callers=30
    --child-silent-after-fork=yes"
  # GLib's own slices and caches would hide or invent errors.
  G_SLICE=always-malloc
  export G_SLICE
fi

# A test that is stuck ends with a signal, and so as an error.
if test -n "$TIMEOUT"; then
  exec "$TIMEOUT" --kill-after=10 "$limit" $tool "$@" $tap
else
  exec $tool "$@" $tap
fi
