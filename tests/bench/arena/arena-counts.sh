#!/bin/sh
# arena-counts.sh - instructions of the arenas' calls, as a table
#
#   arena-counts.sh PROGRAM [VALGRIND]
#
# The lines of arena-resident, which lies beside PROGRAM, come first.  Counts
# repeat exactly.  SLICE_OPTIONS has force-pool, as slices are malloc's blocks
# under valgrind otherwise.
#
# SPDX-License-Identifier: MIT

program=$1
valgrind=${2:-valgrind}
directory=$(mktemp -d) || exit 2
trap 'rm -rf "$directory"' EXIT
"${program%counts}resident" || exit 1
SLICE_OPTIONS=force-pool "$valgrind" --tool=callgrind -q \
  --callgrind-out-file="$directory/out" "$program" \
  > "$directory/log" 2>&1 || {
  cat "$directory/log"
  exit 1
}
for file in $(ls "$directory" | grep '^out\.' | sort -t. -k2 -n); do
  awk '/^desc: Trigger: Client Request: / {
         sub(/^desc: Trigger: Client Request: /, "")
         n = split ($0, part, "=")
       }
       /^(summary|totals): / && !done {
         done = 1
         printf "%-48s %9.1f\n", part[1], $2 / part[2]
       }' "$directory/$file"
done
