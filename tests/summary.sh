#!/bin/sh
# summary.sh - counts what Automake's harness wrote down
#
#   summary.sh FILE add STAGE TEST...   adds the results of the tests to FILE
#   summary.sh FILE print               prints them; fails if a test failed
#
# A test is tests/test-x or tests/check-x.sh, its results are in the .trs
# beside its log; a test without results has failed.
#
# SPDX-License-Identifier: MIT

set -u
file=$1
action=$2
shift 2

case $action in
add)
  stage=$1
  shift
  for test; do
    trs=${test%.sh}.trs
    echo ":test: $test"
    cat "$trs" 2> /dev/null
  done | awk -v stage="$stage" '
    # The exit status of a test that has failed results says nothing new; an
    # error without any, and a test without a result, is a failure.
    function done ()
    {
      if (failures == 0 && (errors > 0 || results == 0)) failures = 1
      failed += failures
      failures = errors = results = 0
    }
    /^:test:/ {
      if (n_tests++ > 0) done()
    }
    /^:test-result:/ {
      results++
      if ($2 == "PASS" || $2 == "XFAIL") passed++
      else if ($2 == "SKIP") skipped++
      else if ($2 == "ERROR") errors++
      else failures++
    }
    END {
      if (n_tests > 0) done()
      print stage, passed + 0, failed + 0, skipped + 0
    }' >> "$file"
  ;;
print)
  awk '
    {
      printf "%-12s %5d passed, %d failed, %d skipped\n", $1 ":", $2, $3, $4
      passed += $2
      failed += $3
    }
    END {
      printf "%d passed, %d failed\n", passed, failed
      exit failed > 0 || passed == 0
    }' "$file"
  ;;
*)
  echo "summary.sh: unknown action: $action" >&2
  exit 2
  ;;
esac
