#!/bin/sh
# summary.sh - counts what the harness wrote down
#
#   summary.sh STAGE TEST...   the results of the tests of a stage, from
#                              check-logs/STAGE to check-logs/STAGE.count
#   summary.sh print [STAGE...]  those of these stages, or of all: a line each,
#                              the names of the tests that failed, and in the
#                              last line the totals; fails if a test failed
#
# To be run where the build is.  A test is tests/page/test-map, say, or
# tests/source/check-style.sh; one without results has failed.
#
# SPDX-License-Identifier: MIT

set -u
logs=check-logs

if test "${1-print}" != print; then
  stage=$1
  shift
  mkdir -p "$logs"
  for test; do
    echo ":test: $test"
    cat "$logs/$stage/${test%.sh}.trs" 2> /dev/null
  done | awk -v stage="$stage" '
    # The exit status of a test that has failed results says nothing new; an
    # error without any, and a test without a result, is a failure.
    function done ()
    {
      if (failures == 0 && (errors > 0 || results == 0)) failures = 1
      if (failures > 0) print "failed", stage, name, failures
      failed += failures
      failures = errors = results = 0
    }
    /^:test:/ {
      if (n_tests++ > 0) done()
      name = $2
    }
    /^:cpu-seconds:/ { seconds += $2 }
    /^:test-result:/ {
      results++
      if ($2 == "PASS" || $2 == "XFAIL") passed++
      else if ($2 == "SKIP") skipped++
      else if ($2 == "ERROR") errors++
      else failures++
    }
    END {
      if (n_tests > 0) done()
      print "stage", stage, passed + 0, failed + 0, skipped + 0, seconds + 0
    }' > "$logs/$stage.count"
  exit
fi

shift
cd "$logs" || exit 1
test $# -gt 0 || set -- *.count
for stage; do
  cat "${stage%.count}.count" 2> /dev/null
done | awk '
  $1 == "failed" {
    names = names sprintf("FAIL  %s (%s, %d)\n", $3, $2, $4)
  }
  $1 == "stage" {
    printf "%-10s %5d passed, %d failed, %d skipped, %d s of processor time\n",
      $2 ":", $3, $4, $5, $6
    passed += $3
    failed += $4
  }
  END {
    printf "%s%d passed, %d failed\n", names, passed, failed
    exit failed > 0 || passed == 0
  }'
