# noglib-tests.sh - unit tests built from the sources, without make and GLib
#
# Read by `.' after check-lib.sh, by scripts that test another processor or
# another C library.  The compiler's flags are in $flags; config.h is found by
# them.  The objects go to $objects.
#
# SPDX-License-Identifier: MIT

noglib_flags="-std=gnu11 -D_GNU_SOURCE -w -O1 -iquote $top_srcdir/slice
  -I$top_srcdir -I$top_srcdir/tests/noglib -iquote $top_srcdir/tests
  -fvisibility=hidden -ftls-model=initial-exec -pthread"

# Left out: what needs GLib's trees, a process that starts anew, the library of one
# layer alone, or the libraries as files.
: "${noglib_tests=asleep lock os-linux os-module os-posix shard
  diag list option sizeclass map map-notes meta page source granuleset slab
  depot adapt alloc block-registry fork checking misuse oom threads
  trim dump stats walk block-info batch hooks sizes
  ralloc ralloc-free ralloc-gc ralloc-linear ralloc-references
  ralloc-string ralloc-threads
  arena/context arena/linear arena/pool arena/stack arena/tlsf}"

# build_objects COMPILER...: the library and what the tests share
build_objects ()
{
  mkdir -p "$objects"
  for source in $(cd "$top_srcdir" && find slice/port slice/base slice/page \
                    slice/slab slice/depot slice/magazine slice/checking \
                    slice/alloc slice/observe slice/context slice/arena \
                    slice/heap -name '*.c' | sort) \
                tests/testlib.c tests/noglib/noglib-test.c \
                tests/noglib/noglib-data.c; do
    "$@" $flags $noglib_flags -c "$top_srcdir/$source" \
      -o "$objects/$(echo "$source" | tr / -).o" || return
  done
}

# test_sources TEST: its files
test_sources ()
{
  case $1 in
  arena/*) find "$top_srcdir/tests/arena" -name "test-${1#*/}.c"
    echo "$top_srcdir/tests/arena/arena-test.c" ;;
  *) find "$top_srcdir/tests" -name "test-$1.c" ;;
  esac
}

# build_test TEST COMPILER...: the program $objects/TEST
build_test ()
{
  program=$objects/test-${1##*/}
  source=$(test_sources "$1")
  shift
  "$@" $flags $noglib_flags $source "$objects"/*.o -o "$program" \
    $static -lpthread -ldl
}

# run_tests NAME RUNNER COMPILER...: builds and runs each of $noglib_tests; a
# line each, and RUNNER (which may be empty) in front
run_tests ()
{
  name=$1
  runner=$2
  shift 2
  for test in $noglib_tests; do
    if ! build_test "$test" "$@" > "$temporary/log" 2>&1; then
      fail "$name: $test is built" "$(tail -n 20 "$temporary/log")"
    elif timeout 240 $runner "$program" --tap > "$temporary/log" 2>&1 \
         && grep -q '^1\.\.' "$temporary/log"; then
      pass "$name: $test, $(grep -c '^ok' "$temporary/log") of them"
    else
      fail "$name: $test" "$(grep -v '^ok' "$temporary/log" | tail -n 20)"
    fi
    rm -f "$program"
  done
}
