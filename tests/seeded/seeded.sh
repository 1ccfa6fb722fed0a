#!/bin/sh
# seeded.sh - builds the library with one fault after the other and shows which
# stage of the tests finds it
#
#   make seeded            all of them, and without a fault
#   seeded.sh [FAULT...]   those alone; 0: none is built in.  Without arguments
#                          (make check): all, but not 0, which is all other
#                          tests
#
# The faults are in faults.patch, applied to a copy of the sources.  A stage that still passes
# with the fault has not found it; one that nobody finds is a hole in the
# tests.  Without a fault every stage must pass.
#
# All faults are built in once; the environment chooses the one that is on
# (fault.c).  A stage that passes does so in seconds; with a fault it may take
# all of a processor, or sleep for ever.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"
. "$(dirname "$0")/seeded-lib.sh"
srcdir=$top_srcdir
tree=$temporary/tree
: "${glib_flags=$(${PKG_CONFIG:-pkg-config} --cflags --libs glib-2.0)}"
test -n "$scheduled_sources" || skip_all "to be run by make"
ulimit -c 0
SLICE_OPTIONS=
export SLICE_OPTIONS

flags="-std=gnu11 -O1 -w -I. -I$srcdir -iquote $tree/slice -pthread
  -include $seeded/fault.h"
sources="$scheduled_sources slice/port/thread/tls.c"
unit_tests="page/test-page observe/test-walk alloc/test-fork whole/test-model"

# --- building ------------------------------------------------------------------

# object SET SOURCE: two files may have one name
object ()
{
  echo "$temporary/$1/$(echo "$2" | tr / -).o"
}

# compile SET SOURCE...: into a set of objects: plain, or with the points of the
# schedule explorer
compile ()
{
  set=$1
  shift
  mkdir -p "$temporary/$set"
  for source; do
    case $set:$source in
    scheduled:slice/port/thread/tls.c) continue ;; # the explorer has its own
    scheduled:*) more=-DSLICE_SCHEDULE ;;
    plain:tests/misuse/*) more='-O0 -fno-builtin' ;;
    plain:*) more= ;;
    esac
    case $source in
    slice/*) from=$tree ;;
    *) from=$srcdir ;;
    esac
    $CC $flags $glib_flags $more -c "$from/$source" -o "$(object $set "$source")" || exit 99
  done
}

link ()
{
  program=$1
  shift
  $CC "$@" -o "$temporary/$program" -pthread $glib_flags -ldl || exit 99
}

build_all ()
{
  seeded_tree "$tree"
  misuse_sources=$(cd "$srcdir" && echo tests/misuse/*.c)
  sources="$sources tests/seeded/fault.c"
  compile plain $sources $misuse_sources tests/testlib.c \
    $(for test in $unit_tests; do echo "tests/$test.c"; done)
  compile scheduled $sources tests/schedule/schedule.c
  library=$(for source in $sources; do object plain "$source"; done)
  link schedule "$temporary"/scheduled/*.o
  link misuse $library $(for source in $misuse_sources; do
                           object plain "$source"
                         done)
  for test in $unit_tests; do
    link ${test#*/} $library "$(object plain "tests/$test.c")" \
      "$(object plain tests/testlib.c)"
  done
}

# --- the stages, quickest first ---------------------------------------------------

stages="page walk schedule fork model misuse"

# Which found it the last time: a guess that saves time.
likely_stage ()
{
  case $1 in
  2 | 3 | 4 | 7 | 8) echo walk ;;
  5) echo misuse-121 ;;
  12) echo misuse-30 ;;
  13 | 16) echo model ;;
  14 | 20 | 21) echo page ;;
  15 | 19) echo fork ;;
  *) echo schedule ;;
  esac
}

# run_stage STAGE FAULT
run_stage ()
(
  SEEDED_FAULT=$2
  export SEEDED_FAULT
  ulimit -S -t 600
  case $1 in
  schedule) set -- schedule --schedules=1500 ;;
  misuse) set -- misuse ;;
  misuse-*) set -- misuse --case="${1#*-}" ;;
  *) set -- "test-$1" --tap ;;
  esac
  program=$1
  shift
  # The signal goes to all of its children too.
  timeout -s KILL 120 "$temporary/$program" "$@" > "$temporary/said" 2>&1
)

# Every stage passes.
without_fault ()
{
  for stage in $stages; do
    if run_stage $stage 0; then
      pass "without a fault: $stage passes"
    else
      fail "without a fault: $stage passes" \
        "$(grep -E '^(not ok|#)' "$temporary/said" | head -5)"
    fi
  done
}

# find FAULT: some stage does not
find_fault ()
{
  where=$(seeded_files "$1")
  test -n "$where" || { fail "fault $1: in no source"; return; }
  found=
  for stage in $(likely_stage "$1") $stages; do
    if ! run_stage $stage "$1"; then
      found=$stage
      break
    fi
  done
  if test -n "$found"; then
    pass "fault $1 in $(echo $where): found by $found"
  else
    fail "fault $1 in $(echo $where): nobody finds it"
  fi
}

last=$(seeded_last)
case $* in
'') set -- $(seq 1 "$last") ;;
all) set -- $(seq 0 "$last") ;;
esac
build_all
for fault; do
  case $fault in
  0) without_fault ;;
  *) find_fault "$fault" ;;
  esac
done
finish
