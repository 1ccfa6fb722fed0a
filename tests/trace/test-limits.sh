#!/bin/sh
# test-limits.sh - no room, no output, nothing to record; source lines
#
# Speaks TAP.  SPDX-License-Identifier: MIT

. "$(dirname "$0")/trace-lib.sh"

t=$work/recorded

# --- source lines: as the program is without them ---
clients=$source/tests/trace/clients
for flags in -O0 -O2
do
  $CC $flags -Wall -Werror -I"$source" -I"$build" "$clients/lines.c" \
    "$build/slice/.libs/libslice.a" -o "$work/lines" -lpthread -ldl -lm \
    > "$work/err" 2>&1
  equal "lines-compiled$flags" "$(head -n 3 "$work/err")" ""
  "$work/lines" > "$work/said"
  equal "lines-evaluated-once$flags" $? 0
  equal "lines-counted$flags" "$(awk '{ print $1, $2 }' "$work/said" \
    | sort | tr '\n' ' ')" "1 1 1 2 1 3 1 4 1 4 1 7 1 8 "
done
$CXX -Wall -Werror -I"$source" -I"$build" "$clients/lines-cxx.cc" \
  -o "$work/lines-cxx" > "$work/err" 2>&1
equal lines-cxx-compiled "$(head -n 3 "$work/err")" ""
"$work/lines-cxx"
equal lines-cxx $? 0

finish
