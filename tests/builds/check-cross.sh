#!/bin/sh
# check-cross.sh - the library for other processors: built by a cross compiler,
# tested under qemu's emulation of a user's program
#
# The compiler is Debian's gcc-*-linux-gnu, or clang where the packages
# libc6-dev-*-cross, libgcc-12-dev-*-cross and binutils-*-linux-gnu are
# installed.  For arm64 once more with all addresses beyond the tables, as a
# machine with 52 bits has them.  For arm64 and ppc64el once more with pages of 16
# and 64 KiB, as their kernels may have them, if the emulator can have others than
# its host (up to version 8).
#
# In the second tier arm64 alone, and of the unit tests a few.
# SLICE_TEST_MATRIX=1 (`make check-cross'): each processor, and each test.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

top_srcdir=$(cd "$top_srcdir" && pwd)
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CONFIG_SITE
: "${SLICE_TEST_MATRIX:=0}"
native_clang=${CLANG:-clang}

case $CC in
*-fsanitize*) skip_all "the compiler's flags are special: $CC" ;;
esac
test ! -f "$top_srcdir/config.status" \
  || skip_all "the source tree is configured itself"

# Debian's name, GNU's, qemu's with arguments, and what readelf says.
processors='arm64 aarch64-linux-gnu aarch64 AArch64'
few=
if test "$SLICE_TEST_MATRIX" = 1; then
  processors="$processors
armhf arm-linux-gnueabihf arm ARM
i386 i686-linux-gnu i386 Intel
riscv64 riscv64-linux-gnu riscv64 RISC-V
ppc64el powerpc64le-linux-gnu ppc64le PowerPC64
s390x s390x-linux-gnu s390x IBM"
else
  noglib_tests="page slab alloc ralloc arena/tlsf"
fi
. "$top_srcdir/tests/noglib/noglib-tests.sh"

# Not under the emulator: it does not fork a process of threads, give memory
# back, show what is resident, or keep a thread on a processor as Linux does.
kept=
for test in $noglib_tests; do
  case $test in
  os-linux | shard | block-registry | fork | oom | threads | trim | walk) ;;
  *) kept="$kept $test" ;;
  esac
done
noglib_tests=$kept

# links COMPILER...: does it make programs?
links ()
{
  printf '#include <stdio.h>\nint main (void) { return puts ("") < 0; }\n' \
    > "$temporary/unit.c"
  "$@" -o "$temporary/unit" "$temporary/unit.c" 2> /dev/null
}

# find_compiler TRIPLET: sets $compiler, a list of words
find_compiler ()
{
  for compiler in "$1-gcc" "$1-gcc-14" "$1-gcc-12" \
                  "$native_clang --target=$1"; do
    command -v "${compiler%% *}" > /dev/null 2>&1 && links $compiler && return
  done
  return 1
}

# built NAME TRIPLET COMPILER MACHINE: configure and make, in $build
built ()
{
  step "$1: configure" "$top_srcdir/configure" -q --without-tests \
    --disable-static --without-trace --enable-werror --host="$2" \
    --build="$(sh "$top_srcdir/build-aux/config.guess")" CC="$3" CXX=false \
    PKG_CONFIG=false || return
  step "$1: make" ${MAKE:-make} -s slice/libslice.la \
    tests/stress/slice-test || return
  # Can it fail?  Only if this is what it says it is.
  expect_found "$1: the library is for it" "Machine: *$4" \
    "$(LC_ALL=C ${READELF:-readelf} -h slice/.libs/libslice.so)"
}

# check NAME TRIPLET QEMU MACHINE
check ()
{
  if ! command -v "qemu-$3" > /dev/null 2>&1; then
    skip "$1" "no qemu-$3 (Debian: qemu-user)"
    return
  fi
  if ! find_compiler "$2"; then
    skip "$1" "no $2-gcc (Debian: gcc-$2), no libraries for clang"
    return
  fi
  runner="qemu-$3 -L /usr/$2"
  build=$temporary/$1
  mkdir "$build"
  cd "$build" || exit 99
  echo "# $1: $compiler, $runner"
  built "$1" "$2" "$compiler" "$4" || return
  step "$1: test-plain is built" $compiler -I. -I"$top_srcdir" -o test-plain \
    "$top_srcdir/tests/whole/test-plain.c" slice/.libs/libslice.so -lpthread
  step "$1: test-plain" $runner -E LD_LIBRARY_PATH=slice/.libs ./test-plain
  step "$1: slice-test" $runner -E LD_LIBRARY_PATH=slice/.libs \
    "tests/stress/$(test ! -f tests/stress/.libs/slice-test \
      || echo .libs/)slice-test" --check --share --threads=2 --seconds=3
  objects=$build/objects flags=-I. static=
  if step "$1: the unit tests' objects" build_objects $compiler; then
    run_tests "$1" "$runner" $compiler
  fi
  case $1 in
  arm64)
    far_tests "$1" "$runner"
    page_tests "$1" "$2" "$3" 16
    test "$SLICE_TEST_MATRIX" != 1 || page_tests "$1" "$2" "$3" 64
    ;;
  ppc64el) page_tests "$1" "$2" "$3" 64 ;;
  esac
  cd "$temporary" || exit 99
  rm -rf "$build"
}

# far_tests NAME RUNNER: all addresses beyond the tables (check-far.sh)
far_tests ()
{
  objects=$build/far flags="-I. -DADDRESS_BITS_USUAL=32"
  noglib_all=$noglib_tests
  noglib_tests="map page alloc ralloc"
  test "$SLICE_TEST_MATRIX" = 1 || noglib_tests="map page"
  if step "$1, far addresses: objects" build_objects $compiler; then
    run_tests "$1, far addresses" "$2" $compiler
  fi
  noglib_tests=$noglib_all
}

# page_tests NAME TRIPLET QEMU KIB: pages of that size; the objects are there
page_tests ()
{
  objects=$build/objects flags=-I.
  paged="qemu-$3 -p $(($4 * 1024)) -L /usr/$2"
  printf '%s\n' '#include <stdio.h>' '#include <unistd.h>' 'int main (void)' \
    '{ return printf ("%ld\n", sysconf (_SC_PAGESIZE)) < 0; }' \
    > "$temporary/unit.c"
  $compiler -o "$temporary/unit" "$temporary/unit.c"
  if test "$($paged "$temporary/unit" 2> /dev/null)" != $(($4 * 1024)); then
    skip "$1, pages of $4 KiB" "qemu-$3 has its host's pages"
    return
  fi
  noglib_all=$noglib_tests
  test "$SLICE_TEST_MATRIX" = 1 || noglib_tests="page alloc"
  step "$1, pages of $4 KiB: slice-test" $paged -E LD_LIBRARY_PATH=slice/.libs \
    "tests/stress/$(test ! -f tests/stress/.libs/slice-test \
      || echo .libs/)slice-test" --check --share --threads=2 --seconds=3
  run_tests "$1, pages of $4 KiB" "$paged" $compiler
  noglib_tests=$noglib_all
}

while read -r name triplet qemu machine; do
  test -n "$name" || continue
  case " ${SLICE_TEST_PROCESSORS:-$name} " in
  *" $name "*) check "$name" "$triplet" "$qemu" "$machine" < /dev/null ;;
  esac
done << END
$processors
END

finish
