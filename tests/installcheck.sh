#!/bin/sh
# installcheck.sh - programs outside the tree, against the installed library
#
# Wants pkgconfigdir and libdir, and INSTALLCHECK_DESTDIR if they lie below
# that.  The compiler is told nothing but what pkg-config says.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/check-lib.sh"

: "${PKG_CONFIG:=pkg-config}" "${INSTALLCHECK_DESTDIR=}"
DESTDIR=$INSTALLCHECK_DESTDIR
clients=$(cd "$top_srcdir/tests/clients" && pwd)
cd "$temporary" || exit 99

PKG_CONFIG_PATH=$DESTDIR$pkgconfigdir${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
if test -n "$DESTDIR"; then
  PKG_CONFIG_SYSROOT_DIR=$DESTDIR
  export PKG_CONFIG_SYSROOT_DIR
fi
LD_LIBRARY_PATH=$DESTDIR$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# build NAME COMPILER...: compiles and runs a client; what goes wrong
build ()
{
  source=$1
  shift
  # The flags are lists of words.
  if ! "$@" -Wall -Wextra -Werror $($PKG_CONFIG --cflags slice) \
       -o client "$clients/$source" $($PKG_CONFIG --libs slice) > said 2>&1
  then
    echo "$* $source: does not build"
    cat said
    return
  fi
  status=0
  ./client > said 2>&1 || status=$?
  if test $status != 0; then
    echo "$source: exit status $status"
    cat said
  elif ! grep -q "^slice $($PKG_CONFIG --modversion slice): " said; then
    echo "$source: another version than slice.pc"
    cat said
  fi
}

expect_none "slice.pc is found" "$($PKG_CONFIG --print-errors \
  --errors-to-stdout --exists slice || echo not found)"
# CC and CXX may hold options: lists of words.
expect_none "a C program" "$(build client.c $CC)"
expect_none "a C program without optimisation" "$(build client.c $CC -O0)"
expect_none "a C program, optimised" "$(build client.c $CC -O2)"
if test -n "${CXX-}" && echo | $CXX -x c++ -fsyntax-only - 2>/dev/null; then
  expect_none "a C++ program" "$(build client.cc $CXX -std=c++11)"
  expect_none "a C++ program, optimised" "$(build client.cc $CXX -O2)"
else
  skip "a C++ program" "no C++ compiler"
fi

# Can it fail?
clients=$temporary
printf '#include <slice/slice.h>\nint main (void) { return 3; }\n' > bad.c
expect_found "a client that fails is found" 'exit status 3' \
  "$(build bad.c $CC)"
printf 'int main (void) { return slice_missing (); }\n' > bad.c
expect_found "a client that does not build is found" 'does not build' \
  "$(build bad.c $CC)"

finish
