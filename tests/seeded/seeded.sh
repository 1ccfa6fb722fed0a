#!/bin/sh
# seeded.sh - builds the library with one fault after the other and shows which
# stage of the tests finds it
#
#   make seeded
#   seeded.sh [FAULT...]   those alone; 0: none is built in
#
# The faults are where the sources say SEEDED (n).  A stage that still passes
# with the fault has not found it; one that nobody finds is a hole in the
# tests.  Without a fault every stage must pass.
#
# SPDX-License-Identifier: MIT

temporary=$(mktemp -d "${TMPDIR:-/tmp}/slice-seeded.XXXXXX") || exit 1
trap 'rm -rf "$temporary"' EXIT
ulimit -c 0
SLICE_OPTIONS=
export SLICE_OPTIONS

flags="-std=gnu11 -g -O1 -w -I. -I$srcdir -iquote $srcdir/slice -pthread"

# build BUG: the programs of all stages, with that fault
build ()
{
  plain=
  scheduled=
  for source in $scheduled_sources; do
    scheduled="$scheduled $srcdir/$source"
  done
  plain="$scheduled $srcdir/slice/port/tls.c"
  $CC $flags -DSLICE_SEEDED_BUG="$1" -DSLICE_SCHEDULE \
    "$srcdir/tests/schedule/schedule.c" $scheduled \
    -o "$temporary/schedule" || return 1
  rm -rf "$temporary/objects"
  mkdir "$temporary/objects"
  for source in $plain; do
    $CC $flags -DSLICE_SEEDED_BUG="$1" -c "$source" \
      -o "$temporary/objects/$(basename "$source" .c).o" || return 1
  done
  $CC $flags -O0 -fno-builtin "$srcdir"/tests/misuse/*.c \
    "$temporary"/objects/*.o -o "$temporary/misuse" $glib_flags -ldl \
    || return 1
  for test in walk fork model; do
    $CC $flags "$srcdir/tests/test-$test.c" "$srcdir/tests/testlib.c" \
      "$temporary"/objects/*.o -o "$temporary/test-$test" $glib_flags -ldl \
      || return 1
  done
}

# The stages, quickest first.
run_stage ()
{
  case $1 in
  schedule) timeout 120 "$temporary/schedule" --schedules=1500 ;;
  walk) timeout 60 "$temporary/test-walk" --tap ;;
  misuse) timeout 300 "$temporary/misuse" ;;
  fork) timeout 120 "$temporary/test-fork" --tap ;;
  model) timeout 120 "$temporary/test-model" --tap ;;
  esac > "$temporary/said" 2>&1
}

stages="walk schedule fork model misuse"
last=$(cd "$srcdir" && grep -rhoE 'SEEDED \([0-9]+\)' slice \
       | grep -oE '[0-9]+' | sort -n | tail -1)
n_found=0
status=0

# Every stage passes.
without_fault ()
{
  build 0 || exit 1
  for stage in $stages; do
    if run_stage $stage; then
      echo "ok - without a fault: $stage passes"
    else
      echo "not ok - without a fault: $stage fails"
      grep -E '^(not ok|#)' "$temporary/said" | head -5
      status=1
    fi
  done
}

# find FAULT: some stage does not
find_fault ()
{
  build "$1" || exit 1
  found=
  for stage in $stages; do
    if ! run_stage $stage; then
      found=$stage
      break
    fi
  done
  where=$(cd "$srcdir" && grep -rl "SEEDED ($1)" slice | head -1)
  if test -n "$found"; then
    echo "ok - fault $1 in $where: found by $found"
    n_found=$((n_found + 1))
  else
    echo "not ok - fault $1 in $where: nobody finds it"
    status=1
  fi
}

test $# != 0 || set -- $(seq 0 "$last")
n_faults=0
for fault; do
  if test "$fault" = 0; then
    without_fault
  else
    find_fault "$fault"
    n_faults=$((n_faults + 1))
  fi
done
echo "$n_found of $n_faults seeded faults found"
exit $status
