#!/bin/sh
# seeded.sh - builds the library with one fault after the other and shows which
# stage of the tests finds it
#
#   make seeded
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

build 0 || exit 1
for stage in $stages; do
  if ! run_stage $stage; then
    echo "not ok - without a fault: $stage fails"
    grep -E '^(not ok|#)' "$temporary/said" | head -5
    status=1
  fi
done

bug=1
while test "$bug" -le "$last"; do
  build "$bug" || exit 1
  found=
  for stage in $stages; do
    if ! run_stage $stage; then
      found=$stage
      break
    fi
  done
  where=$(cd "$srcdir" && grep -rl "SEEDED ($bug)" slice | head -1)
  if test -n "$found"; then
    echo "ok - fault $bug in $where: found by $found"
    n_found=$((n_found + 1))
  else
    echo "not ok - fault $bug in $where: nobody finds it"
    status=1
  fi
  bug=$((bug + 1))
done
echo "$n_found of $last seeded faults found"
exit $status
