#!/bin/sh
# soak.sh - the long form of the proof, in stages that can be stopped and
# taken up again
#
#   soak.sh [STAGE...]    runs those stages (all), then prints the table
#   soak.sh table         prints the table of what has been run
#   PARTS=PATTERN         runs only parts of such a name: 'failures-d*'
#
# A stage is cut into parts of some minutes.  What a part has counted and found
# is kept in soak/PART beside the build; a part that is there already is not
# run again unless slice/ has changed since.  A part that finds something
# leaves its words in soak/PART.log.  To start again: rm -r soak.
#
#   SOAK_SHORT=1          a hundredth of everything, kept in soak-short: shows
#                         in minutes that each stage runs; its counts are of
#                         course too few
#
# Run from the build directory, by `make soak' or `make soak-STAGE'.
#
# SPDX-License-Identifier: MIT

stages="misuse failures fuzz schedules race models seeded contexts arenas load"

# The count of a whole run of a stage; the table says where it is smaller.
whole_of ()
{
  case $1 in
  failures) echo 2000000 ;;
  fuzz) echo 1800000 ;;
  schedules) echo 600000 ;;
  race) echo 30000000 ;;
  arenas) echo 1600000000 ;;
  seeded) echo "$n_faults" ;;
  *) echo 0 ;;
  esac
}

unit_of ()
{
  case $1 in
  misuse) echo "runs of a faulty program" ;;
  failures) echo "requests for memory refused" ;;
  contexts) echo "operations on trees against a model" ;;
  arenas) echo "operations on arenas against a model" ;;
  load) echo "operations of a mixed load" ;;
  fuzz) echo "inputs executed" ;;
  schedules) echo "schedules" ;;
  race) echo "operations under the thread sanitizer" ;;
  models) echo "states" ;;
  seeded) echo "faults built in and found" ;;
  esac
}

: "${PARTS=*}"
directory=soak share=1
if test -n "$SOAK_SHORT"; then
  directory=soak-short share=100
fi
mkdir -p $directory || exit 1
ulimit -c 0
LC_ALL=C
SLICE_OPTIONS=
export LC_ALL SLICE_OPTIONS
n_faults=$(grep -oE 'SEEDED \([0-9]+\)' "$srcdir/tests/seeded/faults.patch" \
           | grep -oE '[0-9]+' | sort -n | awk '$1 <= 100' | tail -1)
sources=$(cd "$srcdir" && find slice -name '*.[ch]' ! -path 'slice/tools/*' \
          ! -path 'slice/dropin/*' | sort | xargs cat | cksum | cut -d' ' -f1)

# part NAME COUNT COMMAND...: NAME begins with its stage.  COUNT is an awk
# program that prints the number that the command's words say was done.  A
# command that fails is a finding, as many as it has lines `not ok'.
part ()
{
  name=$1 counter=$2
  shift 2
  case $name in
  $PARTS) ;;
  *) return ;;
  esac
  if test -f "$directory/$name" \
     && test "$(cut -d' ' -f4 "$directory/$name")" = "$sources"; then
    return
  fi
  started=$(date +%s)
  "$@" > "$directory/$name.log" 2>&1
  status=$?
  count=$(awk "$counter" "$directory/$name.log")
  findings=0
  if test $status != 0; then
    findings=$(grep -c '^not ok' "$directory/$name.log")
    test "$findings" != 0 || findings=1
  elif test "${count:-0}" = 0 && test "$name" != seeded-0; then
    findings=1 # what does nothing finds nothing
  fi
  echo "${name%%-*} ${count:-0} $findings $sources $(($(date +%s) - started))" \
    > "$directory/$name"
  echo "soak: $name: ${count:-0} $(unit_of "${name%%-*}"), $findings findings"
  test "$findings" != 0 || rm -f "$directory/$name.log"
}

# Of what, and by what: the table is a record without more words.
heading ()
{
  echo "soak of slice $(cd "$srcdir" \
    && git describe --always --dirty --abbrev=12 2> /dev/null \
       || echo "(no checkout)"), sources $sources"
  echo "$(uname -sm), $(getconf _NPROCESSORS_ONLN) processors;" \
    "$($CC --version | head -1);" \
    "${CLANG:+$($CLANG --version | head -1)}"
  test $share = 1 || echo "the short form: a hundredth of everything"
  echo
}

table ()
{
  heading
  printf '%-10s %12s %12s %9s %8s  %s\n' stage count whole findings seconds of
  status=0
  for stage in $stages; do
    set -- $(cat $directory/$stage-* 2> /dev/null \
             | awk -v sources="$sources" -v stage=$stage \
                 '$1 == stage { if ($4 != sources) old = 1; count += $2;
                                findings += $3; seconds += $5 }
                  END { printf "%d %d %d %d", count, findings, seconds, old }')
    whole=$(($(whole_of $stage) / share))
    printf '%-10s %12d %12d %9d %8d  %s%s%s\n' $stage "$1" "$whole" "$2" "$3" \
      "$(unit_of $stage)" "$(test "$1" -ge "$whole" || echo ': too few')" \
      "$(test "$4" = 0 || echo ' (in part of other sources)')"
    test "$1" -gt 0 && test "$1" -ge "$whole" && test "$2" = 0 || status=1
  done
  for stage in $stages; do
    awk '$1 == "'$stage'" && $3 > 0 { print "a finding: " FILENAME ".log" }' \
      $directory/$stage-* 2> /dev/null
  done
  test $status != 0 || echo "a whole run, and 0 findings"
  return $status
}

# --- the stages ---------------------------------------------------------------

sum_after ()
{
  echo "{ for (i = 2; i <= NF; i++) if (\$i ~ /^$1/) n += \$(i - 1) }
        END { print n + 0 }"
}

# programs NAME...: built by make
programs ()
{
  ${MAKE-make} "$@" > $directory/build.log 2>&1 || { cat $directory/build.log; exit 1; }
}

stage_misuse ()
{
  programs tests/misuse/misuse
  runs=$((share == 1 ? 10 : 1))
  for mode in default checked hardened debug; do
    part "misuse-$mode" "/^(not )?ok/ { n += $runs } END { print n }" \
      tests/misuse/misuse --runs=$runs --mode=$mode
  done
  # Ends of threads, forks, cancelling: thousands in one case.
  long=$(test $share != 1 || echo yes)
  for number in 50 53 57; do
    part "misuse-long-$number" '/^(not )?ok/ { n++ } END { print n }' \
      env ${long:+MISUSE_LONG=1} tests/misuse/misuse --case=$number
  done
}

stage_failures ()
{
  programs tests/whole/test-failures tests/context/memory/test-ralloc-oom \
    tests/arena/test-arena-oom
  all=$(test $share != 1 || echo --all)
  for mode in default checked hardened debug bypass-magazines debug-blocks; do
    part "failures-$mode" "$(sum_after 'failures,')" \
      tests/whole/test-failures $all --tap --mode=$mode
  done
  part failures-contexts "$(sum_after requests)" \
    tests/context/memory/test-ralloc-oom --tap
  part failures-arenas "$(sum_after requests)" \
    tests/arena/test-arena-oom --tap
}

stage_contexts ()
{
  programs tests/context/random/test-ralloc-model
  for seed in 1 2 3 4; do
    part "contexts-$seed" "$(sum_after operations)" \
      env RALLOC_MODEL_OPS=$((1000000 / share)) RALLOC_MODEL_SEED=$seed \
        tests/context/random/test-ralloc-model --tap
  done
}

stage_arenas ()
{
  programs tests/soak/arenas
  for mode in default checked hardened debug; do
    for kind in linear stack pool tlsf; do
      part "arenas-$mode-$kind" "$(sum_after 'operations,')" \
        env SLICE_OPTIONS="$(test $mode = default || echo $mode)" \
          tests/soak/arenas $kind $((100000000 / share)) 1118
    done
  done
}

stage_load ()
{
  programs tests/soak/load
  for mode in default checked hardened debug bypass-magazines trim-thread; do
    part "load-$mode" "$(sum_after 'operations;')" \
      tests/soak/load --mode=$mode --operations=$((200 / share))
  done
}

# fuzz TARGET MODE: with libFuzzer and clang, or the generator without it
fuzz ()
{
  if test -n "$CLANG"; then
    mkdir -p "fuzz-corpus/$1"
    env SLICE_OPTIONS="$2" "tests/fuzz/fuzz-$1-libfuzzer" -max_len=1024 \
      -runs=$fuzz_runs -print_final_stats=1 "fuzz-corpus/$1"
  else
    "tests/fuzz/fuzz-$1" $((fuzz_runs / 7))
  fi
}

stage_fuzz ()
{
  fuzz_runs=$((250000 / share))
  if test -n "$CLANG"; then
    programs fuzz-programs
  else
    programs $(for target in $fuzz_targets; do echo tests/fuzz/fuzz-$target
               done)
  fi
  for target in $fuzz_targets; do
    for mode in force-pool force-pool:checked force-pool:hardened; do
      part "fuzz-$target-${mode#force-pool:}" \
        '/stat::number_of_executed_units/ { n += $2 }
         /^ok .* inputs/ { n += $4 } END { print n + 0 }' fuzz $target $mode
    done
  done
}

stage_schedules ()
{
  programs tests/schedule/schedule
  for from in 0 1 2 3 4 5 6 7 8 9 10 11; do
    part "schedules-$from" '/^# .* schedules from/ { n += $2 }
                            END { print n + 0 }' \
      tests/schedule/schedule --schedules=$((50000 / share)) --seed=$((from * 50000 + 1))
  done
}

# race MODE: an operation is a block allocated or freed
race ()
{
  run=
  setarch "$(uname -m)" -R true 2> /dev/null && run="setarch $(uname -m) -R"
  env SLICE_OPTIONS="$1" TSAN_OPTIONS=detect_deadlocks=0 $run \
    $directory/handover-tsan 4 $((1250000 / share))
}

stage_race ()
{
  files=
  for source in $scheduled_sources slice/port/thread/tls.c; do
    files="$files $srcdir/$source"
  done
  $CC -std=gnu11 -g -O1 -w -fsanitize=thread -I. -I"$srcdir" \
    -iquote "$srcdir/slice" "$srcdir/tests/race/handover.c" $files \
    -o $directory/handover-tsan -pthread || exit 1
  for turn in 1 2; do
    for mode in force-pool force-pool:checked force-pool:hardened; do
      part "race-${mode#force-pool:}-$turn" \
        '/blocks handed over/ { n += 2 * $1 } END { print n + 0 }' race $mode
    done
  done
}

stage_models ()
{
  part models-spin '/^# .* states$/ { n += $3 } END { print n + 0 }' \
    sh "$srcdir/tests/model/models.sh"
}

stage_seeded ()
{
  fault=0
  while test $fault -le "$n_faults"; do
    part "seeded-$fault" '/^ok .* - fault/ { n++ } END { print n + 0 }' \
      sh "$srcdir/tests/seeded/seeded.sh" $fault
    fault=$((fault + 1))
  done
}

case $1 in
table) ;;
'') for stage in $stages; do stage_$stage; done ;;
*) for stage; do stage_$stage || exit 1; done ;;
esac
table
