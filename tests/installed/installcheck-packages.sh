#!/bin/sh
# installcheck-packages.sh - programs that find the installed library by
# pkg-config, CMake and Meson, the sources as a subproject of Meson, and the one
# in the build tree by pkg-config
#
# Wants pkgconfigdir, libdir and includedir, and INSTALLCHECK_DESTDIR if they
# lie below that.  An installation below a DESTDIR is a moved one: CMake must
# find its way by its own folder.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

: "${PKG_CONFIG:=pkg-config}" "${INSTALLCHECK_DESTDIR=}"
DESTDIR=$INSTALLCHECK_DESTDIR
clients=$(cd "$top_srcdir/tests/installed" && pwd)
sources=$(cd "$top_srcdir" && pwd)
uninstalled=$(cd "$top_builddir" && pwd)/slice/packaging
cd "$temporary" || exit 99
export CC # CMake and Meson take it from there

LD_LIBRARY_PATH=$DESTDIR$libdir
export LD_LIBRARY_PATH
# What a program needs of libslice-ralloc's own needs.
link_path="-Wl,-rpath-link,$DESTDIR$libdir"

# runs PROGRAM PATTERN: what goes wrong
runs ()
{
  status=0
  "$1" > said 2>&1 || status=$?
  test $status = 0 || echo "$1: exit status $status"
  grep -q -e "$2" said || { echo "$1: no '$2' but"; cat said; }
}

# needs_malloc PROGRAM: what is wrong if it does not load libslice-malloc.so
needs_malloc ()
{
  LC_ALL=C readelf -d "$1" > needed 2> /dev/null
  grep -q 'NEEDED.*libslice-malloc' needed \
    || { echo "$1 does not need libslice-malloc:"; cat needed; }
}

# --- the build tree ---

# tree_flags NAME [OPTION]: what pkg-config says of a package in the build tree
tree_flags ()
{
  PKG_CONFIG_PATH=$uninstalled $PKG_CONFIG --cflags --libs "$@" 2>&1
}

# from_build_tree SOURCE PATTERN NAME [OPTION]: what goes wrong with a program
# against a package in the build tree; it must print the pattern
from_build_tree ()
{
  source=$clients/$1
  pattern=$2
  shift 2
  flags=$(tree_flags "$@")
  case "$flags " in
  *"$DESTDIR$libdir "*) echo "these are the installed library's: $flags" ;;
  esac
  # The flags are lists of words, and so may CC be.
  $CC -Wl,--as-needed -o from-tree "$source" $flags -ldl 2>&1 \
    && (unset LD_LIBRARY_PATH
        runs ./from-tree "$pattern"
        ldd ./from-tree | grep -F "=> $DESTDIR$libdir/libslice")
}
expect_none "pkg-config leads to the build tree" \
  "$(from_build_tree client.c '^slice ' slice)"
if test -f "${uninstalled%/*}/.libs/libslice-ralloc.so"; then
  expect_none "and to its slice-ralloc" \
    "$(from_build_tree ralloc.c '^ralloc 26$' slice-ralloc)"
  expect_none "and to the older header" \
    "$(from_build_tree ralloc.c '^ralloc 26$' slice-ralloc \
         --define-variable=mesa=22.3
       tree_flags slice-ralloc --define-variable=mesa=22.3 \
         | grep -v 'mesa-22.3')"
else
  skip "and to its slice-ralloc" "libslice-ralloc is not built"
fi
if test -f "${uninstalled%/*}/dropin/.libs/libslice-malloc.so"; then
  expect_none "and to its slice-malloc" \
    "$(from_build_tree malloc-of.c '^malloc of libslice-malloc' slice-malloc)"
  # client.c calls no malloc itself.
  expect_none "which stays without a call of malloc" \
    "$(from_build_tree client.c '^slice ' slice slice-malloc
       needs_malloc from-tree)"
else
  skip "and to its slice-malloc" "libslice-malloc is not built"
fi

# --- what is installed, by pkg-config ---

PKG_CONFIG_PATH=$DESTDIR$pkgconfigdir
export PKG_CONFIG_PATH
if test -n "$DESTDIR"; then
  PKG_CONFIG_SYSROOT_DIR=$DESTDIR
  export PKG_CONFIG_SYSROOT_DIR
fi

# ralloc_client [OPTION]: what goes wrong with a program of Mesa's ralloc
ralloc_client ()
{
  $CC -o ralloc "$clients/ralloc.c" \
    $($PKG_CONFIG "$@" --cflags --libs slice-ralloc) $link_path 2>&1 \
    && runs ./ralloc '^ralloc 26$'
}
if $PKG_CONFIG --exists slice-ralloc; then
  expect_none "slice-ralloc.pc: Mesa's ralloc" "$(ralloc_client)"
  expect_none "slice-ralloc.pc: the older header" \
    "$(ralloc_client --define-variable=mesa=22.3)"
else
  skip "slice-ralloc.pc: Mesa's ralloc" "libslice-ralloc is not built"
fi

# Mesa's names and slice's own in one program.
both_client ()
{
  cat > both.c << 'END'
#include <stdio.h>
#include <slice/slice.h>
#include <util/ralloc.h>

int
main (void)
{
  ralloc_free (ralloc_context (NULL));
  slice_free1 (40, slice_alloc (40));
  puts ("both");
  return 0;
}
END
  $CC -o both both.c $($PKG_CONFIG --cflags --libs slice-ralloc) \
    $link_path 2>&1 && runs ./both '^both$'
}
if $PKG_CONFIG --exists slice-ralloc; then
  expect_none "slice-ralloc.pc: a program that uses slices as well" \
    "$(both_client)"
fi

malloc_client ()
{
  $CC -o malloc-of "$clients/malloc-of.c" \
    $($PKG_CONFIG --cflags --libs slice-malloc) -ldl $link_path 2>&1 \
    && runs ./malloc-of '^malloc of libslice-malloc'
}
# client.c calls no malloc itself.
malloc_kept ()
{
  $CC -Wl,--as-needed -o malloc-kept "$clients/client.c" \
    $($PKG_CONFIG --cflags --libs slice slice-malloc) $link_path 2>&1 \
    && needs_malloc malloc-kept
}
if $PKG_CONFIG --exists slice-malloc; then
  expect_none "slice-malloc.pc: a program" "$(malloc_client)"
  expect_none "slice-malloc.pc: a program without malloc" "$(malloc_kept)"
else
  skip "slice-malloc.pc: a program" "libslice-malloc is not built"
fi

# --- CMake ---

# cmake_client FOLDER: what goes wrong with the project there
cmake_client ()
{
  rm -rf cmake-build
  if ! cmake -S "$1" -B cmake-build \
       -Dslice_DIR="$DESTDIR$libdir/cmake/slice" \
       -DCMAKE_EXE_LINKER_FLAGS="-Wl,--as-needed $link_path" \
       -DCLIENT_SOURCE="$clients/client.c" \
       -DMALLOC_SOURCE="$clients/malloc-of.c" \
       -DRALLOC_SOURCE="$clients/ralloc.c" > said 2>&1 \
     || ! cmake --build cmake-build >> said 2>&1; then
    cat said
    return
  fi
  runs cmake-build/client '^slice '
  test ! -f "$DESTDIR$libdir/libslice.a" || runs cmake-build/client-static '^slice '
  test ! -f "$DESTDIR$libdir/libslice-ralloc.so" \
    || runs cmake-build/client-ralloc '^ralloc 26$'
  if test -f "$DESTDIR$libdir/libslice-malloc.so"; then
    runs cmake-build/client-malloc '^malloc of libslice-malloc'
    runs cmake-build/client-kept '^slice '
    needs_malloc cmake-build/client-kept
  fi
}

# asks TEXT...: a project of which the answer alone is wanted
asks ()
{
  mkdir -p asks
  {
    echo 'cmake_minimum_required (VERSION 3.19)'
    echo 'project (asks C)'
    printf '%s\n' "$@"
  } > asks/CMakeLists.txt
  cmake_client asks
}

if ! command -v cmake > /dev/null 2>&1; then
  skip "CMake: a program" "no cmake"
else
  expect_none "CMake: a program" "$(cmake_client "$clients/cmake")"
  expect_found "CMake: a newer version is refused" \
    'requested version "99.0"' \
    "$(asks 'find_package (slice 99.0 CONFIG REQUIRED)')"
  version=$($PKG_CONFIG --modversion slice)
  for range in 0.0...99 "$version...<99" "0.0...$version"; do
    expect_none "CMake: a version in the range $range" \
      "$(asks "find_package (slice $range CONFIG REQUIRED)" | grep -i error)"
  done
  for range in 98...99 "0.0...<$version" 0.0...0.0.1; do
    expect_found "CMake: no version in the range $range" 'requested version' \
      "$(asks "find_package (slice $range CONFIG REQUIRED)")"
  done
  expect_found "CMake: a component that there is none of is refused" \
    'slice::none is not installed' \
    "$(asks 'find_package (slice CONFIG REQUIRED COMPONENTS none)')"
  # Moved as a whole, and no DESTDIR that tells of it.
  mkdir moved
  cp -R "$DESTDIR$libdir" "$DESTDIR$includedir" moved
  moved_libdir=$temporary/moved/${libdir##*/}
  if test "$(realpath -m --relative-to="$libdir" "$includedir")" = ../include
  then
    expect_none "CMake: an installation that was moved" \
      "$(DESTDIR=; libdir=$moved_libdir; link_path="-Wl,-rpath-link,$libdir"; \
         cmake_client "$clients/cmake"
         grep -l -r "$temporary/moved/include" cmake-build > /dev/null \
           || echo "its headers are not taken")"
  else
    skip "CMake: an installation that was moved" "headers lie elsewhere"
  fi
fi

# --- Meson ---

# meson_client: what goes wrong with the project of tests/installed/meson
meson_client ()
{
  rm -rf meson-source
  mkdir meson-source
  cp "$clients/meson/meson.build" "$clients/client.c" "$clients/ralloc.c" \
    meson-source
  if ! LDFLAGS=$link_path meson setup meson-build meson-source > said 2>&1 \
     || ! meson compile -C meson-build >> said 2>&1; then
    cat said
    return
  fi
  runs meson-build/client '^slice '
  ! $PKG_CONFIG --exists slice-ralloc \
    || runs meson-build/client-ralloc '^ralloc 26$'
  if $PKG_CONFIG --exists slice-malloc; then
    runs meson-build/client-kept '^slice '
    needs_malloc meson-build/client-kept
  fi
}
if command -v meson > /dev/null 2>&1 && command -v ninja > /dev/null 2>&1; then
  expect_none "Meson: a program" "$(meson_client)"
else
  skip "Meson: a program" "no meson or no ninja"
fi

# The sources as a subproject, with meson.build on top of them.
meson_subproject ()
{
  rm -rf meson-parent
  mkdir -p meson-parent/subprojects/slice
  cp -R "$sources/slice" meson-parent/subprojects/slice
  cp -R "$sources/docs/packaging/meson/." meson-parent/subprojects/slice
  cp "$clients/client.c" meson-parent
  cat > meson-parent/meson.build << 'END'
project ('parent', 'c',
  default_options : ['warning_level=3', 'werror=true'])
slice = subproject ('slice').get_variable ('slice_dep')
executable ('client', 'client.c', dependencies : slice)
END
  if ! meson setup meson-sub meson-parent > said 2>&1 \
     || ! meson compile -C meson-sub >> said 2>&1; then
    tail -n 40 said
    return
  fi
  grep 'warning: ' said
  (unset LD_LIBRARY_PATH; runs meson-sub/client '^slice ')
}
if command -v meson > /dev/null 2>&1 && command -v ninja > /dev/null 2>&1; then
  expect_none "Meson: a subproject" "$(meson_subproject)"
else
  skip "Meson: a subproject" "no meson or no ninja"
fi

# Can it fail?
printf 'int main (void) { return 3; }\n' > bad.c
$CC -o bad bad.c
expect_found "a client that fails is found" 'exit status 3' \
  "$(runs ./bad '^slice ')"

finish
