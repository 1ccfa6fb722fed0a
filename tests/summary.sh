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
    if test -f "$trs" && grep -q '^:test-result:' "$trs"; then
      cat "$trs"
    else
      echo ":test-result: ERROR $test has no results"
    fi
  done | awk -v stage="$stage" '
    /^:test-result:/ {
      if ($2 == "PASS" || $2 == "XFAIL") passed++
      else if ($2 == "SKIP") skipped++
      else failed++
    }
    END {
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
