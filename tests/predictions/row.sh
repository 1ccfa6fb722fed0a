#!/bin/sh
# row.sh - makes a row of the table of predictions again
#
# Not run by make check: it measures times.  For a program of the list beside
# this script, predicts what its arena saves; or changes the program as
# changes/NAME.diff says, and measures both in turn.
#
#   row.sh NAME predict    what slice-trace predicts
#   row.sh NAME measure    what the change saves (ROUNDS=31)
#   row.sh NAME            both
#
# SPDX-License-Identifier: MIT

set -u
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
build=$(cd "${top_builddir:-$source/build}" && pwd)
trace=$build/slice/tools/slice-trace
: "${CC=cc}" "${CXX=c++}" "${ROUNDS=31}"
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

name=$1
stage=${2-both}
options=$(sed -n "s/^$name\( \|\$\)//p" "$here/list")
grep -q "^$name\( \|\$\)" "$here/list" || { echo "$name: not in the list"; exit 2; }
file=$(cd "$here/programs" && ls "$name".*)
case $file in
*.c) compiler=$CC ;;
*) compiler=$CXX ;;
esac

# A program of Debian's, in the list of packages that the program's file names.
folder=$here/programs
package=$(sed -n "s/^$name //p" "$here/packages")
if test -n "$package"; then
  folder=$work/${package%% *}
  mkdir -p "$folder" "$work/lists/partial"
  echo "deb-src http://deb.debian.org/debian bookworm main" > "$work/sources"
  (cd "$folder" && get="apt-get -qq -o Dir::Etc::SourceList=$work/sources
    -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$work/lists
    -o APT::Sandbox::User=root"
  $get update && $get source "${package%% *}" && mv ./*/*.[ch] .) \
    > "$work/fetched" 2>&1 || { cat "$work/fetched"; exit 1; }
  cp "$here/programs/$file" "$folder"
fi
cd "$folder" || exit 1

# build_program OUTPUT FILE
build_program ()
{
  $compiler -g -O2 -Wl,--build-id -I. -I"$source" -I"$build" "$2" \
    -o "$work/$1" "$build/slice/.libs/libslice.a" -lpthread -ldl -lm || exit 1
}

$compiler -g -O2 -Wl,--build-id -I. "$file" -o "$work/before" -lm || exit 1
if test "$stage" != measure; then
  "$trace" record -q -o "$work/trace" -- "$work/before" > "$work/output"
  "$trace" predict $options "$work/trace" "$work/before"
fi
if test "$stage" != predict; then
  mkdir "$work/changed"
  cp ./*.[ch]* "$work/changed" && cd "$work/changed" || exit 1
  patch -s -p1 < "$here/changes/$name.diff" || exit 1
  build_program after "$file"
  "$work/before" > "$work/output"
  "$work/after" | cmp - "$work/output" || exit 1
  "$trace" compare -n "$ROUNDS" --medians "$work/before" "$work/after"
fi
