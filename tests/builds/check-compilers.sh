#!/bin/sh
# check-compilers.sh - the library by gcc and clang, not and fully optimized,
# and with -flto
#
# SLICE_TEST_MATRIX=1: at each level; by each gcc-N and clang-N; as C23 with the
# distributions' hardening; and a program linked statically and as PIE.
# SLICE_TEST_COMPILERS='gcc-13 clang-17': these, and no other; in the first tier
# of each the two libraries that differ most: -O3, and C23 with the hardening.
#
# Each is compiled from the sources and takes the place of the one that the
# tests were linked with; tests of each of its parts run on it.  How the public
# headers are compiled is other checks' matter.
#
# LIBRARY_SOURCES, SLICE_LIB_CFLAGS, SLICE_LIB_LDFLAGS, LAYOUT_SCRIPT: as the
# library is made.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

test -n "${LIBRARY_SOURCES-}" || skip_all "to be run by make"
case "$CC ${LIBRARY_CFLAGS-}" in
*-fsanitize* | *--coverage* | *-m32*) skip_all "the flags are special" ;;
esac
test -f "$top_builddir/slice/.libs/libslice.so.0" \
  || skip_all "no shared library was built"

tests="whole/test-plain whole/test-sizes whole/test-model context/test-ralloc
  context/free/test-ralloc-free context/test-ralloc-linear
  context/test-ralloc-string context/random/test-ralloc-model
  arena/linear/test-linear arena/pool/test-pool arena/stack/test-stack
  arena/tlsf/test-tlsf"

standard=gnu11

# compile DIRECTORY COMPILER...: the objects, in both ways of libslice's
# local.mk
compile ()
{
  out=$1
  shift
  for source in $LIBRARY_SOURCES; do
    case $source in
    */exit-link.c) last=-fno-lto ;; # as in slice/local.mk
    *.c) last= ;;
    *) continue ;;
    esac
    "$@" $last $SLICE_LIB_CFLAGS -std=$standard -fPIC -w -DHAVE_CONFIG_H \
      -iquote "$top_srcdir/slice" -I"$top_builddir" -I"$top_srcdir" \
      -c "$top_srcdir/$source" -o "$out/$(echo "$source" | tr / -).o" \
      || return
  done
}

# link_each_way NAME COMPILER...: a program of its own with these objects
link_each_way ()
{
  way_name=$1
  shift
  for way in $ways; do
    compiled=-fPIE
    test $way = -pie || compiled=-fno-pie
    if "$@" -w $compiled $way -I"$top_builddir" -I"$top_srcdir" \
         -o "$out/plain" "$top_srcdir/tests/whole/test-plain.c" "$out"/*.o \
         -lpthread > "$temporary/log" 2>&1 \
       && "$out/plain" > "$temporary/log" 2>&1; then
      pass "$way_name: a program, $way"
    else
      fail "$way_name: a program, $way" "$(tail -n 20 "$temporary/log")"
    fi
  done
}

# links_with FLAGS COMPILER: does it make programs with these flags?
links_with ()
{
  echo 'int main (void) { return 0; }' \
    | $2 -x c - $1 -o "$temporary/unit" 2> /dev/null
}

# archive_at_exit LINKER COMPILER...: what a program says at exit with these
# objects in an archive
archive_at_exit ()
{
  linker=$1
  shift
  case $1 in
  *clang*) archiver=$("$1" -print-prog-name=llvm-ar) ;; # it reads bitcode
  *) archiver=${AR:-ar} ;;
  esac
  echo '#include <slice/slice.h>
int main (void) { return slice_alloc (40) == NULL; }' > "$temporary/exits.c"
  rm -f "$out/libslice.a"
  "$archiver" cr "$out/libslice.a" "$out"/*.o \
    && "$@" -fuse-ld="$linker" -w -I"$top_builddir" -I"$top_srcdir" -o "$out/exits" \
         "$temporary/exits.c" "$out/libslice.a" -lpthread \
    && SLICE_OPTIONS=stats "$out/exits"
}

# check NAME COMPILER...: a library by it, and the tests on it
check ()
{
  name=$1
  shift
  out=$temporary/$(echo "$name" | tr -d ' ')
  mkdir "$out"
  if compile "$out" "$@" > "$temporary/log" 2>&1 \
     && "$@" -shared -fPIC -w $SLICE_LIB_LDFLAGS -Wl,-soname,libslice.so.0 \
          -Wl,--version-script="$top_srcdir/slice/packaging/libslice.map" \
          ${LAYOUT_SCRIPT:+-Wl,-T,"$LAYOUT_SCRIPT"} \
          -o "$out/libslice.so.0" "$out"/*.o -lpthread \
          > "$temporary/log" 2>&1; then
    pass "$name: the library is built"
  else
    fail "$name: the library is built" "$(tail -n 20 "$temporary/log")"
    return
  fi
  test "${ways-}" = "" || link_each_way "$name" "$@"
  case $* in
  *-flto*)
    for linker in bfd gold lld; do
      at_exit="$name: an archive has what happens at exit, by ld.$linker"
      if links_with "-flto -fuse-ld=$linker" "$1"; then
        expect_found "$at_exit" '^slice: ' \
          "$(archive_at_exit "$linker" "$@" 2>&1)"
      else
        skip "$at_exit" "it is missing, or can't read such objects"
      fi
    done ;;
  esac
  rm -f "$out"/*.o
  for test in $tests; do
    program=$(dirname "$top_builddir/tests/$test")/.libs/$(basename "$test")
    test -x "$program" || program=$top_builddir/tests/$test
    tap=--tap
    test "$test" != whole/test-plain || tap=
    if LD_LIBRARY_PATH=$out "$program" $tap > "$temporary/log" 2>&1 \
       && ! grep -q '^not ok' "$temporary/log"; then
      pass "$name: $test"
    else
      fail "$name: $test" "$(grep -v '^ok' "$temporary/log" | tail -n 20)"
    fi
  done
}

# Can it fail?  Not if the tests run on another library.
is_used ()
{
  LD_LIBRARY_PATH=$out LD_TRACE_LOADED_OBJECTS=1 \
    "$top_builddir/tests/whole/.libs/test-plain" | grep "libslice.so.0 => $out/"
}

only=${SLICE_TEST_COMPILERS-}
if test -z "$only"; then
  check "gcc -O0" $CC -O0
  expect_found "the tests run on what was built" "libslice" "$(is_used)"
  check "gcc -O2 -flto" $CC -O2 -flto=auto
fi
if test -n "${LAYOUT_SCRIPT-}" && test -z "$only"; then
  LIBRARY_CFLAGS=-O2 sh "$top_srcdir/tests/interface/check-layout.sh" \
    "$out/libslice.so.0" > "$temporary/layout" 2>&1
  expect_none "gcc -O2 -flto: functions are where they are marked to be" \
    "$(grep -A 9 '^not ok' "$temporary/layout")"
  expect_found "gcc -O2 -flto: so says a check that ran" '^1\.\.' \
    "$(cat "$temporary/layout")"
fi

test -z "${CLANG-}" || test -n "$only" || check "clang -O3" $CLANG -O3

# What a distribution adds.
hardening="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong
  -fstack-clash-protection -fcf-protection -fno-plt"

if test "${SLICE_TEST_MATRIX:-0}" = 1; then
  test -n "$only" || for level in 1 2 3; do
    check "gcc -O$level" $CC -O$level
    test $level = 2 || check "gcc -O$level -flto" $CC -O$level -flto=auto
  done
  test -z "${CLANG-}" || test -n "$only" || for level in 0 1 2; do
    check "clang -O$level" $CLANG -O$level
  done
  for compiler in $(installed_compilers); do
    levels=all
    test -z "$only" || test "${SLICE_TEST_TIER:-1}" != 1 || levels=two
    test $levels = two || check "$compiler -O0" $compiler -O0
    ways="-static -no-pie -pie"
    check "$compiler -O3" $compiler -O3
    expect_found "$compiler: the tests run on what was built" "libslice" \
      "$(is_used)"
    ways=
    standard=gnu2x
    check "$compiler -O2, C23, hardening" $compiler -O2 $hardening
    standard=gnu11
    test $levels = all || continue
    if links_with -flto $compiler; then
      check "$compiler -O2 -flto" $compiler -O2 -flto
    else
      skip "$compiler -O2 -flto" "it does not link with -flto"
    fi
  done
fi

finish
