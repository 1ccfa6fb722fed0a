#!/bin/sh
# test-stress.sh - slice-test in short: every mode verified, the recording
# replayed, lies caught, bad input refused
#
# Nothing here depends on how fast anything is.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

: "${SLICE_TEST:=$top_builddir/tests/stress/slice-test}"
recording=$top_srcdir/tests/data/mesa-compile.trace.xz
said=$temporary/said

# In the first tier fewer rounds.
if test "${SLICE_TEST_TIER:-1}" = 1; then n_rounds=5; else n_rounds=20; fi

# expect CODE NAME ARGUMENT...: slice-test must end with that code; what it
# says is left in $said.  A mode that this machine lacks is skipped.
expect ()
{
  expect_code=$1
  expect_name=$2
  shift 2
  code=0
  "$SLICE_TEST" --quiet "$@" >"$said" 2>&1 || code=$?
  if test $code = 77 && test "$expect_code" = 0; then
    skip "$expect_name" "$(head -n 1 "$said")"
  elif test $code = "$expect_code"; then
    pass "$expect_name"
  else
    fail "$expect_name" "slice-test $*
ended with $code instead of $expect_code:
$(cat "$said")"
  fi
}

# expect_said NAME TEXT: it must have said that
expect_said ()
{
  expect_found "$1" "$2" "$(cat "$said")"
}

# --- the walk ---

for mode in slice calls slab malloc gslice limit; do
  expect 0 "$mode: what is handed out is whole and nobody else's" \
    --mode=$mode --check --share --threads=3 --rounds=$n_rounds
done
# Of large blocks fewer: each is filled and read whole.
for size in 1 2 8 100 512 1024 3000 70000; do
  n_blocks=$((size > 3000 ? 400 : 2000))
  expect 0 "slice: sizes up to $size" \
    --check --share --threads=2 --max-size=$size --rounds=4 --blocks=$n_blocks
done
for order in announced random rows; do
  expect 0 "slice: $order order, fast laps" \
    --order=$order --rounds=20 --touch --threads=2
done
expect 0 "slice: literal modulus" --literal-modulus --rounds=20
expect 0 "slice: eager freeing" --eager --check --threads=2 --rounds=10
expect 0 "slice: statistics are printed" --counters --rounds=10
expect_none "slice: and they are a table" \
  "$(test "$(wc -l <"$said")" -gt 6 || cat "$said")"
expect 0 "loop: runs" --mode=loop --rounds=10

# --- the checks find what they are for ---

expect 1 "a changed byte is noticed" --check --sabotage=byte --rounds=1
expect_said "and said" 'has changed near byte'
expect 1 "a changed byte is noticed in malloc's blocks, too" \
  --mode=malloc --check --sabotage=byte --rounds=1
if test -z "${SLICE_TEST_SANITIZED:-}"; then
  expect 1 "a forgotten block is noticed" --check --sabotage=leak --rounds=1
  expect_said "and said" 'blocks alive'
  code=0
  "$SLICE_TEST" --check --sabotage=leak --rounds=1 >"$said" 2>&1 || code=$?
  expect_none "and nothing else is said of them" \
    "$(grep 'no block alive' "$said")"
fi

# --- lies ---

expect 0 "every lie is caught" --expect-caught=3 --threads=1
expect_said "and named" 'caught 24 of 24 lies'
expect 0 "every lie about a large block is caught" \
  --expect-caught=1 --max-size=9000 --blocks=1000
if test -z "${SLICE_TEST_SANITIZED:-}"; then
  expect 1 "a lie that can't be caught is reported as such" \
    --expect-caught=1 --lie=size-up --max-size=1
fi

# --- recordings ---

if command -v xz >/dev/null 2>&1; then
  for mode in slice slab malloc; do
    expect 0 "$mode: the recording" --mode=$mode --replay="$recording" \
      --check --rounds=1
  done
  expect 0 "slice: the recording with its arenas, two threads" \
    --replay="$recording" --with-arenas --check --threads=2 --rounds=1
  expect 0 "slice: the recording, fast laps" --replay="$recording" --rounds=2
  expect_said "it is the one we know" \
    '215737 allocations (169260 zeroed, 1080 resizes), at most 54162 live'
  printf '\3757zXZ\0broken' >"$temporary/broken.xz"
  expect 1 "a broken recording" --replay="$temporary/broken.xz"
else
  skip "the recording" "xz is not installed (Debian: xz-utils)"
fi

# replayed NAME LINES WHAT [ARGUMENT...]: what a recording expands to
replayed ()
{
  printf "$2" >"$temporary/trace"
  replayed_name=$1
  replayed_what=$3
  shift 3
  expect 0 "$replayed_name" --replay="$temporary/trace" --check --rounds=1 \
    "$@"
  expect_said "$replayed_name: counted" "$replayed_what"
}

replayed "a tree goes with its root" \
  'a 1 0 24\nz 2 1 40\na 3 2 8\nf 1\na 4 0 8\nf 4\n' \
  '4 allocations (1 zeroed, 0 resizes), at most 3 live, 0 left'
replayed "what was moved away stays" \
  'a 1 0 24\na 2 1 40\na 3 2 8\ns 2 0\nf 1\n' \
  '3 allocations (0 zeroed, 0 resizes), at most 3 live, 2 left'
replayed "what was adopted goes with its new parent" \
  'a 1 0 24\na 2 0 40\na 3 1 8\na 4 1 8\no 2 1\nf 2\n' \
  '4 allocations (0 zeroed, 0 resizes), at most 4 live, 1 left'
replayed "resizes, from and to nothing as well" \
  'a 1 0 0\nr 1 30\nr 1 60\nr 1 0\n' \
  '2 allocations (0 zeroed, 1 resizes), at most 1 live, 0 left'
replayed "arenas are left out" \
  'a 1 0 8\np 2 1 0\nl 2 64\nG 3 1 100\ng 4 3 24 8\nx 4\nf 1\n' \
  '1 allocations (0 zeroed, 0 resizes), at most 1 live, 0 left'
replayed "arenas are taken in" \
  'a 1 0 8\np 2 1 0\nl 2 64\nG 3 1 100\ng 4 3 24 8\nx 4\nf 1\n' \
  '4 allocations (0 zeroed, 0 resizes), at most 4 live, 0 left' --with-arenas
replayed "a sweep frees what was not marked" \
  'G 1 0 0\ng 2 1 8 8\ng 3 1 8 8\nS 1\ng 4 1 8 8\nm 2\nE 1\n' \
  '3 allocations (0 zeroed, 0 resizes), at most 3 live, 2 left' --with-arenas
replayed "headers are added" 'a 1 0 0\n' \
  '1 allocations (0 zeroed, 0 resizes), at most 1 live, 1 left' --header=48

# refused NAME LINES MESSAGE: a recording that makes no sense
refused ()
{
  printf "$2" >"$temporary/trace"
  expect 1 "$1" --replay="$temporary/trace" --rounds=1
  expect_said "$1: said" "$3"
}

refused "an unknown operation" 'a 1 0 8\nq 1\n' 'trace:2: no such operation'
refused "an unknown block" 'a 1 0 8\nf 2\n' 'trace:2: there never was'
refused "a block freed twice" 'a 1 0 8\nf 1\nf 1\n' 'trace:3: .*been freed'
refused "an id used twice" 'a 1 0 8\na 1 0 8\n' 'trace:2: .*used before'
refused "a cycle" 'a 1 0 8\na 2 1 8\ns 1 2\n' 'trace:3: .*own ancestor'
refused "a number missing" 'a 1 0\n' 'trace:1: not the numbers'
refused "a number too large" 'a 1 0 4294967296\n' 'trace:1: not the numbers'
refused "a size too large" 'a 1 0 4294967295\n' 'trace:1: the size'
refused "an empty recording" '' 'no operations'

# --- the command line ---

# usage MESSAGE ARGUMENT...
usage ()
{
  usage_message=$1
  shift
  expect 2 "usage: $*" "$@"
  expect_said "usage: $*: said" "$usage_message"
}

usage "'0' is no number from 1 to 256" --threads=0
usage "'x' is no number" --seed=x
usage "'0' is no number above 0" --seconds=0
usage "there is no 'fast'" --mode=fast
usage "there is no 'white'" --lie=white
usage "are for slices" --mode=malloc --lie
usage "need --replay" --with-arenas
usage "need --table" --quick
usage "can't be combined" --table --check
usage "is not an option" table
expect 0 "--help" --help
expect_said "--help: shows the modes" '--mode=MODE'
expect 0 "--version" --version
for arguments in --help --version --rounds=10 "--rounds=10 --json"; do
  code=0
  "$SLICE_TEST" --quiet $arguments > /dev/full 2> "$said" || code=$?
  expect_none "$arguments: output that can't be written is noticed" \
    "$(test $code = 1 && grep -q 'could not be written' "$said" \
       || { echo "ended with $code"; cat "$said"; })"
done

# --- the table, its figures aside ---

expect 0 "the table" --table --quick --rounds=1 --seconds=0.002 --threads=1
expect_said "the table: slice takes part" '^ .* slice  *calls  *slab  *malloc'
expect_said "the table: has a verdict" '^announced 1024, 2 thr\.'
expect 0 "the table as JSON" --table --quick --json --rounds=1 \
  --seconds=0.002
json_get=$top_builddir/tests/trace/json-get
if test -x "$json_get"; then
  expect_found "the table as JSON: has figures" '^slice	[1-9]' \
    "$("$json_get" "$said" 'cells.*.runs.*' column cpu_nsec_per_pair)"
else
  skip "the table as JSON: has figures" "slice-trace's libraries are missing"
fi

finish
