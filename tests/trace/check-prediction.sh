#!/bin/sh
# check-prediction.sh - what was predicted to be saved, and what was
#
# Not run by make check: it measures times.  Each sample program is recorded,
# replayed and advised; then the same program with its hottest site changed as
# advised is measured against it, in turn, and the two are printed side by
# side.  Argument: runs of each (15).
#
# SPDX-License-Identifier: MIT

source=${top_srcdir:-.}
build=${top_builddir:-.}
trace=$(realpath "${SLICE_TRACE:-$build/slice/tools/slice-trace}")
n=${1:-15}
work=$(mktemp -d "${TMPDIR:-/tmp}/slice-prediction-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
: "${CC=cc}"
failed=0
for sample in words nodes
do
  for variant in before after
  do
    define=$([ $variant = after ] && echo -DADVISED)
    $CC -g -O2 $define -I"$source" -I"$build" \
      "$source/tests/trace/clients/$sample.c" -o "$work/$sample-$variant" \
      "$build/slice/.libs/libslice.a" -lpthread -ldl || exit 1
  done
  echo "== $sample"
  (cd "$work" && "$trace" run -o "$sample" -- "./$sample-before") \
    > "$work/out" 2> "$work/err" || { cat "$work/err"; exit 1; }
  (cd "$work" && "$trace" advise "$sample/patterns.json" \
    --times "$sample/times.json" --replay "$sample/replay.json" --text) \
    | head -n 4
  "$trace" compare -n "$n" --predicted "$work/$sample/advice.json" \
    "$work/$sample-before" "$work/$sample-after" | tee "$work/said"
  awk '/^saved/ { exit !($2 >= $5 && $2 <= $7) }' "$work/said" \
    && echo "inside the range" || { echo "outside the range"; failed=1; }
done
exit $failed
