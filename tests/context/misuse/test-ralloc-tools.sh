#!/bin/sh
# test-ralloc-tools.sh - memcheck sees every node of a tree to the byte
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../../check-lib.sh"
: "${VALGRIND:=valgrind}"
program=$top_builddir/tests/context/misuse/ralloc-faults
command -v "$VALGRIND" > /dev/null || skip_all "valgrind is not there"
test -x "$top_builddir/libtool" && run="$top_builddir/libtool --mode=execute"
unset SLICE_OPTIONS

# see FAULT PATTERN
see ()
{
  # shellcheck disable=SC2086
  expect_found "$1" "$2" "$($run "$VALGRIND" --leak-check=full \
    --show-leak-kinds=all "$program" "$1" 2>&1 | tr '\n' ' ')"
}

see none 'ERROR SUMMARY: 0 errors'
see overrun 'Invalid write of size 1.*is 61 bytes inside a block'
see underrun 'Invalid write of size 1.*is 1 bytes before a block'
see read 'Invalid read of size 1.*is 61 bytes inside a block'
see freed 'Invalid write of size 1.*is 5 bytes inside a block of.*free'
see linear 'Invalid write of size 1.*is 13 bytes inside a block'
see gc 'Invalid write of size 1.*is 13 bytes inside a block'
see live 'possibly lost: 0 bytes.*reachable: [0-9,]* bytes in 5 blocks'
see lost 'definitely lost: [0-9,]* bytes in 1 blocks.*indirectly lost: [0-9,]* bytes in 4 blocks'
finish
