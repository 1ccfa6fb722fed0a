#!/bin/sh
# test-ralloc-tools.sh - memcheck sees every node of a tree to the byte
#
# SPDX-License-Identifier: MIT

: "${top_builddir:=.}" "${VALGRIND:=valgrind}"
program=$top_builddir/tests/ralloc-faults
if ! command -v "$VALGRIND" > /dev/null; then
  echo '1..0 # SKIP valgrind is not there'
  exit 0
fi
test -x "$top_builddir/libtool" && run="$top_builddir/libtool --mode=execute"
unset SLICE_OPTIONS
n=0
bad=0

# see FAULT PATTERN
see ()
{
  n=$((n + 1))
  # shellcheck disable=SC2086
  if $run "$VALGRIND" --leak-check=full --show-leak-kinds=all "$program" \
       "$1" 2>&1 | tr '\n' ' ' | grep -q -e "$2"; then
    echo "ok $n - $1"
  else
    echo "not ok $n - $1"
    bad=1
  fi
}

echo 1..9
see none 'ERROR SUMMARY: 0 errors'
see overrun 'Invalid write of size 1.*is 61 bytes inside a block'
see underrun 'Invalid write of size 1.*is 1 bytes before a block'
see read 'Invalid read of size 1.*is 61 bytes inside a block'
see freed 'Invalid write of size 1.*is 5 bytes inside a block of.*free'
see linear 'Invalid write of size 1.*is 13 bytes inside a block'
see gc 'Invalid write of size 1.*is 13 bytes inside a block'
see live 'possibly lost: 0 bytes.*reachable: [0-9,]* bytes in 5 blocks'
see lost 'definitely lost: [0-9,]* bytes in 1 blocks.*indirectly lost: [0-9,]* bytes in 4 blocks'
exit $bad
