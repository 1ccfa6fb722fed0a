#!/bin/sh
# check-bench-arena.sh - the arenas' benchmarks run; TLSF's worst case is flat
#
# Steps and instructions are counted, so nothing here depends on time.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../../check-lib.sh"
directory=$temporary
bench=$top_builddir/tests/bench/arena
expect ()
{
  name=$1
  shift
  "$@" > "$directory/log" 2>&1
  status=$?
  if test $status -eq 77; then
    skip "$name" "$(cat "$directory/log")"
  elif test $status -eq 0; then
    pass "$name"
  else
    fail "$name" "$(cat "$directory/log")"
  fi
}

expect 'TLSF: steps are flat' "$bench/tlsf/tlsf-worst-steps" 200000
expect 'TLSF: instructions are flat' "$bench/tlsf/tlsf-worst-instructions" 1 300
# Small arenas' blocks: of a compiler's, at least three quarters are objects.
replay ()
{
  command -v xz > /dev/null || {
    echo 'no xz'
    return 77
  }
  xz -dc "$top_srcdir/tests/data/mesa-compile.trace.xz" > "$directory/trace" \
    && "$bench/linear-replay" 75 < "$directory/trace"
}
expect 'linear arenas of a recorded compile' replay
expect 'memory over time' "$bench/memory/arena-memory" "$directory" 2
expect 'constant costs' "$bench/arena-constant" 1
expect 'fragmentation' "$bench/tlsf/tlsf-fragmentation" 10000
if test -x "$bench/arena-bench"; then
  expect 'against peers' "$bench/arena-bench" 1
  expect 'what is counted' "$bench/arena-counts"
  expect 'what is resident' "$bench/memory/arena-resident"
else
  skip 'against peers' 'no C++ compiler'
fi
finish
