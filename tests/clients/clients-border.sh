#!/bin/sh
# clients-border.sh - ten million blocks between GLib and us, many threads
#
#   BORDER_CROSSINGS  how many; 10000000
#   BORDER_THREADS    from so many threads; 16
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"
. "$(dirname "$0")/clients-lib.sh"

have_dropin || skip_all "no drop-in was built, or with a sanitizer"
border=$top_builddir/tests/dropin/border
test -x "$border" || skip_all "no GLib to build the program with"
said=$temporary/said
n=$((${BORDER_CROSSINGS:-10000000} / 2))
threads=${BORDER_THREADS:-16}

# The last with fewer: it takes a lock at each call of free().
for mode in plain trim-thread debug-blocks; do
  option=
  test $mode = plain || option=--$mode
  test $mode != debug-blocks || n=$((n / 10))
  code=0
  sh "$slice_run" --stats $option "$border" "$n" "$threads" \
    >"$said" 2>&1 || code=$?
  expect_none "twice $n crossings by $threads threads, $mode" \
    "$(test $code = 0 || { echo "ended with $code"; cat "$said"; }
       border_findings "$said" $mode)"
  sed -n 's/^\(freed\|passed on\|came home\|large\|live\|malloc\|slice-gslice\):/# &/p' "$said"
done

# Can it fail?  Without slice-run GLib keeps what is ours, or ends.
said=$temporary/bare
LD_PRELOAD=$SLICE_RUN_PRELOAD SLICE_OPTIONS=stats "$border" 100000 2 \
  >"$said" 2>&1
expect_none "preloaded alone, blocks are lost, and this is seen" \
  "$(found=$(border_findings "$said" plain 2>&1); test -n "$found" \
       || echo 'nothing was found')"
finish
