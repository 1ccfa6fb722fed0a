#!/bin/sh
# row.sh - makes a row of the table of predictions again
#
# Not run by make check: it measures times.  For a program of the list beside
# this script, predicts what its arena saves; or changes the program as
# changes/NAME.diff says, and measures both in turn.
#
#   row.sh NAME sites      what slice-trace finds in the program
#   row.sh NAME predict    what slice-trace predicts
#   row.sh NAME measure    what the change saves (ROUNDS=31)
#   row.sh NAME            the last two
#
# A program of Debian's has a recipe, programs/NAME.sh, which sets
#
#   package, version  the source package; it is fetched, unless the folder
#                     SOURCES has package-version unpacked
#   sources           the files to compile, in the unpacked package, where
#                     programs/NAME.c is copied if there is one
#   flags             of the compiler
#   libraries         that it is linked with, if there are any
#   arguments         of the program; its standard input is the file "input"
#                     if there is one
#
# and may define prepare (), which makes what the sources need, and input (),
# which prints the input.
#
# SPDX-License-Identifier: MIT

set -u
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
build=$(cd "${top_builddir:-$source/build}" && pwd)
trace=$build/slice/tools/slice-trace
: "${CC=cc}" "${CXX=c++}" "${ROUNDS=31}" "${SOURCES=}"
# WORK: a folder that keeps what is built and recorded for the next call
work=${WORK:-$(mktemp -d)}
mkdir -p "$work"
test -n "${WORK:-}" || trap 'rm -rf "$work"' EXIT

name=$1
stage=${2-both}
options=$(sed -n "s/^$name\( \|\$\)//p" "$here/list")
grep -q "^$name\( \|\$\)" "$here/list" \
  || test "$stage" = sites || { echo "$name: not in the list"; exit 2; }

package= version= flags= arguments= libraries=
prepare () { :; }
input () { :; }
sources=$(cd "$here/programs" && ls "$name".c "$name".cc 2> /dev/null)
compiler=$CC
case $sources in
*.cc) compiler=$CXX ;;
esac
test ! -f "$here/programs/$name.sh" || . "$here/programs/$name.sh"

# Unpacks the package in $work/unpacked.
fetch ()
{
  mkdir -p "$work/fetch" "$work/lists/partial"
  echo "deb-src http://deb.debian.org/debian bookworm main" > "$work/sources"
  (cd "$work/fetch" && get="apt-get -qq -o Dir::Etc::SourceList=$work/sources
    -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$work/lists
    -o APT::Sandbox::User=root"
  $get update && $get source "$package=$version") \
    > "$work/fetched" 2>&1 || { cat "$work/fetched"; exit 1; }
  for folder in "$work"/fetch/*/; do
    mv "$folder" "$work/unpacked"
  done
}

if test -d "$work/unpacked"; then
  :
elif test -z "$package"; then
  mkdir "$work/unpacked"
elif test -d "$SOURCES/$package-$version"; then
  cp -r "$SOURCES/$package-$version" "$work/unpacked"
else
  fetch
fi
cd "$work/unpacked" || exit 1

# compile OUTPUT LIBRARY...: the sources of this folder.  Each function begins
# at a multiple of 64 bytes, so that the change does not move the loops of other
# functions across lines of the cache: that cost onig a tenth of its time.
compile ()
{
  output=$1
  shift
  objects=
  for file in $sources; do
    object=$work/objects/$(echo "$file" | tr / _).o
    $compiler -g -O2 -w -falign-functions=64 -I. $flags -I"$source" -I"$build" -c "$file" \
      -o "$object" || exit 1
    objects="$objects $object"
  done
  $compiler -Wl,--build-id $objects -o "$work/$output" "$@" -lpthread -ldl \
    -lm $libraries || exit 1
}

# The command that runs a program, for the shell.
command_of ()
{
  echo "cd $work && exec ./$1 $arguments < $work/input"
}

if test ! -x "$work/before"; then
  mkdir -p "$work/objects"
  cp "$here/programs/$name".c* . 2> /dev/null
  (prepare) > "$work/prepared" 2>&1 || { cat "$work/prepared"; exit 1; }
  (input) > "$work/input"
  compile before
fi
case $stage in
both | predict | sites)
  test -s "$work/trace" \
    || (cd "$work" && sh -c "$trace record -q -o $work/trace -- ./before \
      $arguments < $work/input > $work/output") || exit 1 ;;
esac
case $stage in
sites)
  "$trace" hot "$work/trace" | head -n 40; time -p sh -c "$(command_of before)" > /dev/null ;;
both | predict)
  eval "set -- $options"
  "$trace" predict "$@" "$work/trace" "$(command_of before)" || exit ;;
esac
case $stage in
both | measure)
  rm -rf "$work/changed" && cp -r . "$work/changed" && cd "$work/changed" \
    || exit 1
  patch -s -p1 < "$here/changes/$name.diff" || exit 1
  compile after "$build/slice/.libs/libslice.a"
  sh -c "$(command_of before)" > "$work/output" || exit 1
  sh -c "$(command_of after)" | cmp - "$work/output" || exit 1
  "$trace" compare -n "$ROUNDS" --medians "$(command_of before)" \
    "$(command_of after)" ;;
esac
