#!/bin/sh
# check-races.sh - what the race detectors say of blocks that are handed over
#
#   RACE_BLOCKS=n  for each maker (5000)
#
# helgrind and DRD with the library as it is, where each block is malloc's (they
# do not know the atomics of the pool's bitmaps); the thread sanitizer with the
# pool, and the library built into the program.  No suppressions.  In both
# programs the first call of all comes from a thread.  Resources of std::pmr are
# compared in a program that the thread sanitizer sees, and a library that it
# does not see.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

: "${RACE_BLOCKS=5000}"
lib=$(cd "$top_builddir" && pwd)/slice/.libs
include="-I$top_srcdir -I$top_builddir"

# race_program NAME: builds it
race_program ()
{
  $CC -g -O1 $include "$top_srcdir/tests/race/$1.c" -o "$temporary/$1" \
    "$lib/libslice.so" -Wl,-rpath,"$lib" -pthread \
    > "$temporary/build.log" 2>&1 || cat "$temporary/build.log"
}

# under_tool TOOL OPTIONS PROGRAM [ARGUMENT...]
under_tool ()
{
  tool=$1
  options=$2
  name="$1, $2, $3"
  shift 2
  if test -z "$VALGRIND" || ldd "$lib/libslice.so" | grep -q 'lib[at]san'; then
    skip "$name" "no valgrind"
    return
  fi
  said=$(program=$temporary/$1
         shift
         SLICE_OPTIONS=$options "$VALGRIND" --tool="$tool" "$program" "$@" 2>&1)
  expect_found "$name: it ran" ', 0 wrong$' "$said"
  expect_found "$name: 0 errors" 'ERROR SUMMARY: 0 errors' "$said"
}

race_program handover
race_program first-calls
for tool in helgrind drd; do
  for options in force-pool=0 stats; do
    under_tool $tool $options handover 2 "$RACE_BLOCKS"
  done
  for options in force-pool=0 stats; do
    under_tool $tool $options first-calls
  done
done

# resources FLAGS: builds the program that compares resources
resources ()
{
  build="$CXX -std=c++17 -g -O1 -w $include $top_srcdir/tests/race/resources.cc"
  $build $1 -DPLUGIN -shared -fPIC -fvisibility=hidden -Wl,-Bsymbolic \
    -o "$temporary/plugin.so" "$lib/libslice.so" \
    && $build $1 "$temporary/plugin.so" "$lib/libslice.so" \
         -o "$temporary/resources" -Wl,-rpath,"$temporary" -Wl,-rpath,"$lib" \
         -pthread
}

run=
setarch "$(uname -m)" -R true 2> /dev/null && run="setarch $(uname -m) -R"

if test -z "${CXX-}"; then
  skip "resources" "no C++ compiler"
else
  said=$(resources "" 2>&1)
  expect_none "resources: builds" "$said"
  for tool in helgrind drd; do
    under_tool $tool stats resources
  done
  if resources -fsanitize=thread > "$temporary/build.log" 2>&1; then
    said=$($run "$temporary/resources" 2>&1)
    expect_found "thread sanitizer, resources: it ran" '^apart, 0 wrong$' \
      "$said"
    expect_none "thread sanitizer, resources: 0 reports" \
      "$(echo "$said" | grep -A 30 WARNING)"
  else
    skip "thread sanitizer, resources" "$CXX can't"
  fi
fi

sources=
for source in $scheduled_sources slice/port/thread/tls.c; do
  sources="$sources $top_srcdir/$source"
done
if test -n "$scheduled_sources" \
   && $CC -std=gnu11 -g -O1 -w -fsanitize=thread $include \
        -iquote "$top_srcdir/slice" "$top_srcdir/tests/race/handover.c" \
        $sources -o "$temporary/tsan" -pthread \
        > "$temporary/build.log" 2>&1; then
  for options in force-pool force-pool:checked force-pool:hardened; do
    said=$(SLICE_OPTIONS=$options TSAN_OPTIONS=detect_deadlocks=0 $run \
           "$temporary/tsan" 4 "$((RACE_BLOCKS * 10))" 2>&1)
    expect_found "thread sanitizer, $options: it ran" ', 0 wrong$' "$said"
    expect_none "thread sanitizer, $options: 0 reports" \
      "$(echo "$said" | grep -A 30 WARNING)"
  done
else
  skip "thread sanitizer" "$CC can't"
fi
finish
