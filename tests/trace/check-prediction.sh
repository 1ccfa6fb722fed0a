#!/bin/sh
# check-prediction.sh - what was predicted to be saved, and what was
#
# Not run by make check: it measures times.  Each sample program is recorded,
# replayed and advised; then the same program with its hottest site changed as
# advised is measured against it, in turn, and the two are printed side by
# side.  Argument: runs of each (15).
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/trace-lib.sh"

runs=${1:-15}
failed=0
for sample in words nodes documents index
do
  for variant in before after
  do
    define=$([ $variant = after ] && echo -DADVISED)
    compile "$sample-$variant" "$sample.c" -O2 $define \
      "$build/slice/.libs/libslice.a" -lpthread -ldl
  done
  echo "== $sample"
  (cd "$work" && "$trace" run -o "$sample" -- "./$sample-before") \
    > "$work/out" 2> "$work/err" || { cat "$work/err"; exit 1; }
  (cd "$work" && "$trace" advise "$sample/patterns.json" \
    --times "$sample/times.json" --replay "$sample/replay.json" --text) \
    | head -n 4
  "$trace" compare -n "$runs" --predicted "$work/$sample/advice.json" \
    "$work/$sample-before" "$work/$sample-after" | tee "$work/said"
  awk '/^saved/ { exit !($2 >= $5 && $2 <= $7) }' "$work/said" \
    && echo "inside the range" || { echo "outside the range"; failed=1; }
done
exit $failed
