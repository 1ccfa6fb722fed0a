#!/bin/sh
# driver.sh - runs one test for Automake's harness, and says one line of it
#
#   driver.sh TAP-DRIVER OPTION... -- COMMAND...
#
# The results go to the log and the .trs, as Automake's TAP driver writes them;
# on the screen is how the test went, with the processor time that it took
# (user and system, all its processes; also the field :cpu-seconds: of the
# .trs).  Where it failed, the line is followed by what failed and by what to
# type next.
#
# SLICE_TEST_STAGE  what these tests are run as: their logs are kept in
#                   check-logs/STAGE, where the next stage leaves them alone
#
# SPDX-License-Identifier: MIT

set -u
tap_driver=$1
shift

name=
log=
trs=
option=
for word; do
  case $option in
  --test-name) name=${word#./} ;;
  --log-file) log=$word ;;
  --trs-file) trs=$word ;;
  esac
  test "$word" != -- || break
  option=$word
done

${CONFIG_SHELL-/bin/sh} "$tap_driver" "$@" > /dev/null
status=$?

# Of the shell itself, then of its children; not in a shell of its own, which
# would have none.
times > "$log.times"
seconds=$(tr 'ms\n' '   ' < "$log.times" \
          | awk '{ printf "%.1f", $5 * 60 + $6 + $7 * 60 + $8 }')
rm -f "$log.times"
test -f "$trs" || : > "$trs"
echo ":cpu-seconds: $seconds" >> "$trs"

kept=$log
if test -n "${SLICE_TEST_STAGE-}"; then
  kept=check-logs/$SLICE_TEST_STAGE/$log
  mkdir -p "${kept%/*}"
  cp "$log" "$kept"
  cp "$trs" "${kept%.log}.trs"
fi

# How to run it once more: with the same options, and from the same seed.
again ()
{
  for variable in SLICE_TEST_TIER SLICE_TEST_VALGRIND SLICE_TEST_SANITIZED \
    SLICE_TEST_MATRIX SLICE_TEST_OPTIONS SLICE_TEST_TIMEOUT; do
    eval "value=\${$variable-}"
    test -z "$value" || printf "%s='%s' " "$variable" "$value"
  done
  seed=$(sed -n 's/^# \(SLICE_TEST_SEED=[0-9]*\)$/\1 /p' "$log" | head -n 1)
  echo "${seed}make -s -C $(pwd) check-one T=$name"
}

awk -v name="$name" -v seconds="$seconds" -v status=$status \
  -v again="$(again)" -v log_file="$(pwd)/$kept" '
  /^(FAIL|XPASS|ERROR): / && n_said++ < 10 { failed = failed "      " $0 "\n" }
  $1 != ":test-result:" { next }
  $2 == "PASS" || $2 == "XFAIL" { passed++; next }
  $2 == "SKIP" { skipped++; next }
  { n_failed++ }
  END {
    word = "PASS"
    if (n_failed || status || passed + skipped == 0) word = "FAIL"
    else if (!passed) word = "SKIP"
    line = sprintf("%s  %-36s %7s s  %4d passed", word, name, seconds, passed)
    if (n_failed) line = line ", " n_failed " failed"
    if (skipped) line = line ", " skipped " skipped"
    print line
    if (word == "FAIL")
      printf "%s      it alone: %s\n      its log:  %s\n", failed, again,
        log_file
  }' "$trs" "$log"
exit $status
