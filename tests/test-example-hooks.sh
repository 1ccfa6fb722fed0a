#!/bin/sh
# test-example-hooks.sh - the examples that give interpreters our memory: Lua
# and Python, in each mode
#
# Wants lua5.4 and python3-embed of pkg-config (Debian: liblua5.4-dev,
# python3-dev); of each the example is skipped where it is not there.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/check-lib.sh"

: "${PKG_CONFIG:=pkg-config}"
libraries=$(cd "$top_builddir/slice/.libs" 2> /dev/null && pwd)
test -f "$libraries/libslice.so" || skip_all "no shared library was built"
case $CC in
*-fsanitize*) skip_all "the compiler's flags are special: $CC" ;;
esac

# built NAME PACKAGE: what the compiler says.  (Not Python's warnings.)
built ()
{
  $CC -O2 -Wall -Wextra -Wno-unused-parameter -I"$top_builddir" \
    -I"$top_srcdir" -o "$temporary/$1" "$top_srcdir/docs/examples/$1.c" \
    $($PKG_CONFIG --cflags --libs "$2" | sed 's/-I/-isystem /g') \
    "$libraries/libslice.so" 2>&1
}

# run NAME OPTIONS: what it prints
run ()
{
  LD_LIBRARY_PATH=$libraries SLICE_OPTIONS=$2 "$temporary/$1" 2>&1 \
    | tr '\n' ';'
}

# check NAME PACKAGE EXPECTED
check ()
{
  if ! $PKG_CONFIG --exists "$2" 2> /dev/null \
     || ! echo 'int main (void) { return 0; }' \
          | $CC -x c - -o "$temporary/unit" $($PKG_CONFIG --libs "$2") \
              2> /dev/null
  then
    skip "$1" "no $2"
    return
  fi
  expect_none "$1 is built" "$(built "$1" "$2")"
  for options in "" checked hardened debug; do
    equal "$1 ${options:-as it is}" "$(run "$1" "$options")" "$3"
  done
}

check lua-states lua5.4 \
  "sum 200010000;slices: more than 40000 in use, 0 at the end;"
check python-objects python3-embed \
  "sum 199990000;slices: more than 60000 in use;"
# Can it fail?  A hook that forgets the old block, in a copy.
sed '/slice_free1 (old, block);/d' "$top_srcdir/docs/examples/lua-states.c" \
  > "$temporary/lua-leaks.c"
if test -x "$temporary/lua-states"; then
  $CC -O2 -I"$top_builddir" -I"$top_srcdir" -o "$temporary/lua-leaks" \
    "$temporary/lua-leaks.c" $($PKG_CONFIG --cflags --libs lua5.4) \
    "$libraries/libslice.so"
  expect_found "what a hook leaks is seen" 'in use, [1-9][0-9]* at the end' \
    "$(run lua-leaks "")"
fi
finish
