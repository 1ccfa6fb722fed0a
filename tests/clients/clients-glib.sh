#!/bin/sh
# clients-glib.sh - the slice tests of Debian's libglib2.0-tests on the drop-in
#
# Each must end well, say nothing critical, and get its blocks from us: with
# the option `count' the drop-in counts its calls.  Three of them set a mode
# first, which GLib itself has refused since 2.46; here the mode must hold.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"
. "$(dirname "$0")/clients-lib.sh"

have_dropin || skip_all "no drop-in was built, or with a sanitizer"
missing=$(need_packages libglib2.0-tests)
test -z "$missing" || skip_all "not installed: $missing"

# name and the least number of allocations; GLib's documentation of the modes
tests="slice:170000 slice-known-pages:400 slice-concurrent:400000
  slice-color:2000 slice-glib:10000000 slice-slab:10000000
  slice-malloc:10000000 slice-eager-freeing:10000000"

# run NAME OPTION...: leaves what was said in $said
run ()
{
  said=$temporary/$1
  code=0
  run_name=$1
  shift
  sh "$slice_run" "$@" "$installed_tests/$run_name" >"$said" 2>&1 || code=$?
}

findings ()
{
  test $code = 0 || echo "ended with $code"
  grep -i -e critical -e '^not ok' -e set_config "$said"
}

for test in $tests; do
  name=${test%:*}
  least=${test#*:}
  SLICE_OPTIONS=count run "$name" --stats
  n=$(n_allocated "$said")
  expect_none "$name: ${n:-0} blocks allocated, $(n_freed "$said") freed" \
    "$(findings; test "${n:-0}" -ge "$least" || cat "$said")"
done

# column NAME HEADING: a column of the table of statistics
column ()
{
  awk -v heading="$2" '
    $1 == "size" { for (i = 1; i <= NF; i++) if ($i == heading) at = i; next }
    at && $1 ~ /^[0-9]+$/ { sum += $at }
    END { print sum + 0 }' "$temporary/$1"
}

expect_none "slice-glib goes through magazines and depot" \
  "$(test "$(column slice-glib hits)" -gt 1000000 \
       && test "$(column slice-glib depot)" -gt 0 || cat "$temporary/slice-glib")"
expect_none "slice-slab bypasses the magazines" \
  "$(test "$(column slice-slab hits)" = 0 \
       && test "$(column slice-slab slabs)" != "" \
       && test "$(column slice-slab pushes)" = 0 \
       && grep -q '^slice: [1-9][0-9]* regions' "$temporary/slice-slab" \
       || cat "$temporary/slice-slab")"
expect_none "slice-malloc holds no region: every block is malloc's" \
  "$(grep -q '^slice: 0 regions' "$temporary/slice-malloc" \
       || cat "$temporary/slice-malloc")"
expect_none "slice-eager-freeing leaves nothing in the depot" \
  "$(test "$(column slice-eager-freeing depot)" = 0 \
       && test "$(column slice-eager-freeing hits)" -gt 1000000 \
       || cat "$temporary/slice-eager-freeing")"

# The short ones again, checked; and all of GLib's that use slices by way of
# lists, trees and variants, for what crosses the border.
for name in slice slice-known-pages slice-concurrent list slist queue hash \
    tree array-test gvariant memchunk sequence; do
  test -x "$installed_tests/$name" || continue
  run "$name" --stats --debug-blocks
  expect_none "$name, --debug-blocks" "$(findings)"
done
finish
