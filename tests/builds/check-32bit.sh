#!/bin/sh
# check-32bit.sh - the library and a test of it as 32-bit code
#
# Configured and built in a directory of its own with -m32, without GLib.
# Skipped where the compiler has no 32-bit libc (Debian: gcc-multilib).
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CXXFLAGS CPPFLAGS LDFLAGS

case $CC in
*-m32* | *-fsanitize*) skip_all "the compiler's flags are special: $CC" ;;
esac
cat > "$temporary/unit.c" <<'END'
#include <stdio.h>
int main (void) { return printf ("%d\n", (int) sizeof (void *)) < 0; }
END
$CC -m32 -o "$temporary/unit" "$temporary/unit.c" 2> /dev/null \
  || skip_all "$CC -m32 does not link (gcc-multilib?)"
test "$("$temporary/unit" 2> /dev/null)" = 4 \
  || skip_all "32-bit programs do not run here"
test ! -f "$top_srcdir/config.status" \
  || skip_all "the source tree is configured itself"

source=$(cd "$top_srcdir" && pwd)
build=$temporary/build
mkdir "$build" && cd "$build" || exit 99

step "configure" "$source/configure" --disable-static --without-tests \
  --enable-werror --build=i686-pc-linux-gnu --host=i686-pc-linux-gnu \
  CC="$CC -m32" CXX="${CXX-} -m32" PKG_CONFIG=false || finish
step "make" make slice/libslice.la || finish
# Can it fail?  Only if this is what it says it is.
case $(${READELF:-readelf} -h slice/.libs/libslice.so) in
*ELF32*) pass "the library is 32-bit" ;;
*) fail "the library is 32-bit" ;;
esac
step "the test compiles" $CC -m32 -Wall -Wextra -Werror -I. -I"$source" \
  -o test-plain "$source/tests/whole/test-plain.c" \
  slice/.libs/libslice.so -Wl,-rpath,"$build/slice/.libs" -lpthread
step "the test passes" ./test-plain

finish
