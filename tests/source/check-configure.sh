#!/bin/sh
# check-configure.sh - what configure finds out, somebody reads
#
# Each macro of config.h that configure.ac asks for is read by a source, each
# variable by a makefile or by configure itself, and each condition by a makefile.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

# arguments MACRO FILE...: the words of the first argument of each call
arguments ()
{
  macro=$1
  shift
  cat "$@" | sed 's/^dnl.*//;s/[[:space:]]#.*//' | tr '\n' ' ' \
    | grep -oE "\<($macro)\(\[[^]]*\]" | sed 's/^[^[]*\[//;s/\]$//' \
    | tr -s ' ' '\n' | grep . | sort -u
}

# The macros of config.h.
macros ()
{
  arguments 'AC_CHECK_(HEADERS|FUNCS)' "$@" | tr 'a-z./' 'A-Z__' \
    | sed 's/^/HAVE_/'
  arguments 'AC_DEFINE' "$@"
}

variables ()
{
  arguments 'AC_SUBST|AC_CHECK_TOOL|AC_(CHECK|PATH)_PROGS' "$@"
  arguments 'SLICE_APPEND_(C|LD)FLAGS' "$@"
  arguments 'PKG_CHECK_MODULES' "$@" | sed 's/$/_CFLAGS/;p;s/_CFLAGS$/_LIBS/'
}

# findings DIRECTORY
findings ()
{
  ours="$1/configure.ac $1/m4/slice.m4"
  find "$1/slice" "$1/tests" "$1/docs" -name '*.[ch]' -o -name '*.cc' \
    -o -name '*.hpp' | xargs cat > "$temporary/sources"
  find "$1/Makefile.am" "$1/slice" "$1/tests" "$1/docs" -name '*.am' \
    -o -name '*.mk' -o -name '*.in' | xargs cat > "$temporary/makefiles"
  for name in $(macros $ours); do
    grep -qw -e "$name" "$temporary/sources" || echo "no source reads $name"
  done
  for name in $(variables $ours | sort -u); do
    grep -qE "[@({]$name[@)}]" "$temporary/makefiles" \
      || cat $ours | grep -qE "(\"|=|\`|^|[^:=]) ?\\\$\{?$name\>" \
      || echo "nobody reads $name"
  done
  for name in $(arguments AM_CONDITIONAL $ours); do
    grep -qE "^if !?$name\$" "$temporary/makefiles" \
      || echo "no makefile asks for $name"
  done
}

expect_none "all that configure finds is read" "$(findings "$top_srcdir")"
expect_none "and it was looked at" "$(
  for name in HAVE_MEMALIGN HAVE_SYS_SDT_H SLICE_DEBUG; do
    macros "$top_srcdir/configure.ac" | grep -qx $name || echo $name
  done
  for name in TIMEOUT LIBDW_LIBS SLICE_LIB_CFLAGS; do
    variables "$top_srcdir/configure.ac" | grep -qx $name || echo $name
  done)"

mkdir "$temporary/tree"
cp -R "$top_srcdir/configure.ac" "$top_srcdir/Makefile.am" "$top_srcdir/m4" \
  "$top_srcdir/slice" "$temporary/tree"
mkdir "$temporary/tree/tests" "$temporary/tree/docs"
cp "$top_srcdir"/tests/*.mk "$top_srcdir"/tests/*.c "$temporary/tree/tests"
cat >> "$temporary/tree/configure.ac" <<'END'
AC_CHECK_FUNCS([posix_memalign
  vfork])
AC_CHECK_HEADERS([sys/unused.h])
AC_DEFINE([SLICE_UNUSED], [1], [Nobody.])
AC_SUBST([SLICE_NOBODY], [1])
AC_CHECK_PROGS([TROFF], [troff])
AM_CONDITIONAL([WITH_NOBODY], [true])
END
found=$(findings "$temporary/tree")
for name in HAVE_VFORK HAVE_SYS_UNUSED_H SLICE_UNUSED SLICE_NOBODY TROFF \
  WITH_NOBODY; do
  expect_found "one that nobody reads is found: $name" " $name\$" "$found"
done

# --- folders that can't be linked with ---

configure=$(cd "$top_srcdir" && pwd)/configure
mkdir "$temporary/refused"
for option in --prefix=/usr,local --prefix=/usr:local '--prefix=/usr local' \
  --exec-prefix=/usr,local --libdir=/usr/lib,64; do
  expect_found "$option is refused" "^configure: error: a prefix or libdir" \
    "$(cd "$temporary/refused" && sh "$configure" "$option" 2>&1)"
done

finish
