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

# --- a spool with little room, or none ---
compile many many.c -lpthread
in_room () # size, command...: with a file system of that size at $work/room
{
  mkdir -p "$work/room"
  unshare -m sh -c 'mount -t tmpfs -o size=$1 none "$2" && shift 2 \
    && SLICE_TRACE_SPOOL_DIR=$0 "$@"' "$work/room" "$1" "$work/room" \
    sh -c '"$@"; status=$?; ls -A "$0" >&2; exit $status' "$work/room" \
    "$trace" record -o "$t" -- "$work/many" "$2"
}
if unshare -m mount -t tmpfs -o size=64k none "$work" 2> "$work/null"; then
  for room in "1m 0" "1m 20" "4m 3"
  do
    rm -f "$t"
    in_room $room > "$work/out" 2> "$work/err"
    equal "room-$room-status" $? 0
    equal "room-$room-counted" "$("$trace" info "$t" | awk -v n="${room#* }" '
      $1 == "recorded" || $1 == "dropped-full" { sum += $2 }
      $1 == "damaged" { bad = $2 }
      END { print (sum >= 220000 + n * 200000), bad }')" "1 0"
    equal "room-$room-left" "$(grep -c '^slice-trace-' "$work/err")" 0
  done
  rm -f "$t"
  in_room 16k 0 > "$work/out" 2> "$work/err"
  equal room-none-status $? 124
  equal room-none-said "$(grep -c 'no room for the spool' "$work/err")" 1
  equal room-none-left "$(grep -c '^slice-trace-' "$work/err")" 0
else
  skip room "no file systems of its own"
fi

finish
