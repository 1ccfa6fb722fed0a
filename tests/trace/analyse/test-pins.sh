#!/bin/sh
# test-pins.sh - slice-trace pins names who keeps a heap from shrinking
#
# Ten heaps whose memory a few blocks pin (clients/pinned.c): pins names their
# site first, and what it predicts to return is, within 10 %, what the program
# saves when these blocks have memory of their own.  Pages of slices go by
# slice_trim (0).  Speaks TAP.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

compile pinned pinned.c -lpthread
library=$(cd "$build/slice" && pwd)/.libs
compile pinned-slices pinned-slices.c -L"$library" -lslice \
  -Wl,-rpath,"$library"
t=$work/pinned.trace
found=$work/pins.json

# The malloc of the system, with its defaults.
unset MALLOC_ARENA_MAX MALLOC_TRIM_THRESHOLD_ MALLOC_TOP_PAD_ GLIBC_TUNABLES

within () # percent, one, other
{
  awk -v most="$1" -v one="$2" -v other="$3" 'BEGIN {
    apart = one > other ? one - other : other - one
    print (apart * 100 <= most * other) ? "yes" : "no: " one " " other }'
}

for heap in 1 2 3 4 5 6 7 8 9 10; do
  case $heap in
  8) malloc=purging ;; # the program trims
  *) malloc=glibc ;;
  esac
  record "$t" "$work/pinned" $heap
  "$trace" pins --malloc=$malloc -o "$found" "$t" > "$work/out" 2>&1
  equal "heap-$heap-status" $? 0
  case $heap in
  10) site=pin_aligned ;;
  *) site=pin ;;
  esac
  last=0 # of the sites that get their own memory
  if [ $heap = 9 ]; then
    last=1
    equal "heap-9-sites" "$(for i in 0 1; do
      json "$found" sites.$i.name; done | sort | tr '\n' ' ')" "pin pin_log "
  else
    equal "heap-$heap-site" "$(json "$found" sites.0.name)" $site
  fi
  saved=$(($("$work/pinned" $heap) - $("$work/pinned" $heap own)))
  equal "heap-$heap-returns" \
    "$(within 10 "$(json "$found" sites.$last.returns_together_bytes)" \
      $saved)" yes
done

# What malloc itself keeps is not a site's: 500,000 blocks in fast bins.
record "$t" "$work/pinned" 11
"$trace" pins "$t" > "$work/out"
equal bins-are-named "$(awk '/ pinned .* site$/ { getline; $1 = $2 = $3 = ""
  print }' "$work/out" | sed 's/^.*(/(/')" "(freed blocks in malloc's bins)"

# Free slices and nodes are in no bin, and slice_trim (0) returns their pages.
for kind in slices nodes; do
  record "$t" "$work/pinned-slices" $kind
  "$trace" pins "$t" > "$work/out"
  equal $kind-trim "$(grep -c '^slice_trim (0) would return [0-9.]* MB' \
    "$work/out") $(grep -c "malloc_trim\|malloc's bins" "$work/out")" "1 0"
  "$trace" pins -o "$found" "$t"
  equal $kind-pages "$(awk -v empty="$(json "$found" slices_empty_bytes)" \
    -v all="$(json "$found" empty_bytes)" \
    -v pinned="$(json "$found" sites.0.pinned_bytes)" 'BEGIN {
      print (empty == all), (empty > 15e6), (pinned < 1e6) }')" "1 1 1"
done

record "$t" "$work/pinned" 1
# A picture is well-formed, and shows what is resident.
"$trace" pins --picture "$work/pins.svg" -n 1 "$t" > "$work/out"
equal picture-status $? 0
equal picture "$(head -c 4 "$work/pins.svg")$(tail -n 1 "$work/pins.svg")" \
  "<svg</svg>"
# Nearly empty at the end, full before: both are in it, over its whole width.
equal picture-levels "$(sed -n 's/.*class="\(l[04]\)" x="\([0-9]*\)".*/\1/p' \
  "$work/pins.svg" | sort -u | tr '\n' ' ')" "l0 l4 "

# The JSON is as its schema says.
"$trace" pins -o "$found" "$t"
"$build/tests/trace/check-schema" "$source/docs/slice-trace.schema.json" \
  "$found" > "$work/said"
equal schema "$?$(head -n 1 "$work/said")" 0

# --- bad input ---
"$trace" pins --malloc=other "$t" > "$work/out" 2>&1
equal malloc-unknown "$? $(cat "$work/out")" \
  "2 slice-trace: --malloc: 'other' is not glibc or purging"
"$trace" pins /dev/null > "$work/out" 2>&1
equal no-trace $? 4

finish
