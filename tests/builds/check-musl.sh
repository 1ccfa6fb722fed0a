#!/bin/sh
# check-musl.sh - the library on another C library: musl
#
# configure and make as one who packages it would call them, then a program of
# all functions, the stress program, and unit tests that need no GLib.  musl
# loads the library's initial-exec variable with a program that is linked to
# it, and refuses it in dlopen().
#
# Wants musl-gcc (Debian: musl-tools).  SLICE_TEST_MATRIX=1: all unit tests.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

top_srcdir=$(cd "$top_srcdir" && pwd)
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CONFIG_SITE
command -v musl-gcc > /dev/null 2>&1 || skip_all "no musl-gcc"
test ! -f "$top_srcdir/config.status" \
  || skip_all "the source tree is configured itself"

test "${SLICE_TEST_MATRIX:-0}" = 1 \
  || noglib_tests="page slab ralloc fork trim arena/linear"
. "$top_srcdir/tests/noglib/noglib-tests.sh"

mkdir "$temporary/build"
cd "$temporary/build" || exit 99
step "configure" "$top_srcdir/configure" -q --without-tests \
  --enable-werror --disable-static CC=musl-gcc CXX=false PKG_CONFIG=false \
  || finish
step "make" ${MAKE:-make} -s slice/libslice.la tests/stress/slice-test \
  || finish
# Can it fail?  Only if musl it is.
equal "the library is musl's" \
  "$(LC_ALL=C ${READELF:-readelf} -d slice/.libs/libslice.so \
     | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | tr '\n' ' ')" "libc.so "
step "test-plain is built" musl-gcc -I. -I"$top_srcdir" -o test-plain \
  "$top_srcdir/tests/whole/test-plain.c" slice/.libs/libslice.so
LD_LIBRARY_PATH=$PWD/slice/.libs
export LD_LIBRARY_PATH
step "test-plain" ./test-plain
step "slice-test" "tests/stress/$(test ! -f tests/stress/.libs/slice-test \
  || echo .libs/)slice-test" --check --share --threads=2 --seconds=3
objects=$PWD/objects flags=-I. static=
if step "the unit tests' objects" build_objects musl-gcc; then
  run_tests musl "" musl-gcc
fi
finish
