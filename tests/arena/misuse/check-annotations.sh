#!/bin/sh
# check-annotations.sh - valgrind and AddressSanitizer see overruns, and uses
# after release, reset, rollback and free, in every kind of arena; and nothing
# else
#
# AddressSanitizer: the program is built with it, the library is the plain
# one.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../../check-lib.sh"
directory=$temporary
program=$top_builddir/tests/arena/misuse/annotate-misuse
cases=$("$program" --list)

# result STATUS NAME: 0 is ok
result ()
{
  if test "$1" -eq 0; then pass "$2"; else fail "$2"; fi
}

# memcheck CASE [OPTION ...]
memcheck ()
{
  case=$1
  shift
  "$top_builddir/libtool" --mode=execute "$VALGRIND" --tool=memcheck --quiet \
    --error-exitcode=99 "$@" "$program" "$case" > "$directory/log" 2>&1
}
if test -n "$VALGRIND" && test "${SLICE_TEST_SANITIZED:-0}" != 1; then
  memcheck --good
  result $? 'memcheck: no error without a fault'
  memcheck --reachable --leak-check=full --errors-for-leak-kinds=definite,possible
  result $? 'memcheck: arenas and their contexts are no leaks'
  for name in $cases; do
    memcheck "$name"
    test $? -eq 99 && grep -q 'Invalid read of size 1' "$directory/log"
    result $? "memcheck: $name"
  done
else
  for name in good reachable $cases; do
    skip "memcheck: $name" 'no valgrind'
  done
fi

library=$top_builddir/slice/.libs
asan=$directory/asan
if $CC -g -O1 -fsanitize=address -I"$top_builddir" -I"$top_srcdir" \
     "$top_srcdir/tests/arena/misuse/annotate-misuse.c" -o "$asan" \
     -L"$library" -lslice -Wl,-rpath,"$(cd "$library" && pwd)" \
     > "$directory/log" 2>&1 \
   && "$asan" --list > "$directory/log" 2>&1; then
  "$asan" --good > "$directory/log" 2>&1
  result $? 'AddressSanitizer: no error without a fault'
  for name in $cases; do
    "$asan" "$name" > "$directory/log" 2>&1
    test $? -ne 0 \
      && grep -q -e use-after-poison -e buffer-overflow "$directory/log"
    result $? "AddressSanitizer: $name"
  done
else
  for name in good $cases; do
    skip "AddressSanitizer: $name" 'the compiler has none'
  done
fi
finish
