#!/bin/sh
# test-examples.sh - the examples that want more than a compiler: hooks of Lua
# and Python, coroutines, LLVM; in each mode
#
# Wants lua5.4 and python3-embed of pkg-config (Debian: liblua5.4-dev,
# python3-dev), C++20, llvm-config (llvm-14-dev); an example is skipped where its
# own is not there.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

: "${PKG_CONFIG:=pkg-config}"
libraries=$(cd "$top_builddir/slice/.libs" 2> /dev/null && pwd)
test -f "$libraries/libslice.so" || skip_all "no shared library was built"
case $CC in
*-fsanitize*) skip_all "the compiler's flags are special: $CC" ;;
esac

# built NAME COMPILER...: what it says.  LLVM's and Python's own warnings are
# theirs.
built ()
{
  source=$(ls "$top_srcdir/docs/examples/$1".c*)
  name=$1
  shift
  "$@" -O2 -Wall -Wextra -Wno-unused-parameter -I"$top_builddir" \
    -I"$top_srcdir" -o "$temporary/$name" "$source" \
    $(echo "$flags" | sed 's/-I/-isystem /g') "$libraries/libslice.so" 2>&1
}

# run NAME OPTIONS: what it prints
run ()
{
  LD_LIBRARY_PATH=$libraries SLICE_OPTIONS=$2 "$temporary/$1" 2>&1 \
    | tr '\n' ';'
}

# check NAME EXPECTED COMPILER...: with $flags
check ()
{
  name=$1
  expected=$2
  shift 2
  expect_none "$name is built" "$(built "$name" "$@")"
  for options in "" checked hardened debug; do
    equal "$name ${options:-as it is}" "$(run "$name" "$options")" \
      "$expected"
  done
}

# has_package PACKAGE: of pkg-config, for this compiler; sets $flags
has_package ()
{
  flags=$($PKG_CONFIG --cflags --libs "$1" 2> /dev/null) \
    && echo 'int main (void) { return 0; }' \
         | $CC -x c - -o "$temporary/unit" $($PKG_CONFIG --libs "$1") \
             2> /dev/null
}

# compiles TEXT COMPILER...: with $flags
compiles ()
{
  echo "$1" > "$temporary/unit.cc"
  shift
  "$@" -c -o "$temporary/unit" "$temporary/unit.cc" $flags 2> /dev/null
}

if has_package lua5.4; then
  check lua-states \
    "sum 200010000;slices: more than 40000 in use, 0 at the end;" $CC
else
  skip lua-states "no lua5.4"
fi
if has_package python3-embed; then
  check python-objects \
    "sum 199990000;slices: more than 60000 in use;" $CC
else
  skip python-objects "no python3-embed"
fi

flags=
for cxx in "${CXX-}" "${CLANGXX-}"; do
  if test -n "$cxx" && compiles '#include <coroutine>
std::suspend_always pause;' $cxx -std=c++20; then
    check generators "sum 385000, 0 bytes of frames are left,\
 requests for blocks: few;" $cxx -std=c++20
  else
    skip generators "no C++20 compiler${cxx:+: $cxx}"
  fi
done

for config in llvm-config-14 llvm-config none; do
  ! command -v $config > /dev/null 2>&1 || break
done
flags="-I$($config --includedir 2> /dev/null) $($config --ldflags --libs \
  2> /dev/null | tr '\n' ' ')"
if test -n "${CXX-}" \
   && compiles '#include <llvm/IR/IRBuilder.h>' $CXX -std=c++17; then
  check llvm-front-end "8 instructions, 1 slab of 4096 bytes;" $CXX -std=c++17
else
  skip llvm-front-end "no headers of LLVM's"
fi

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
