#!/bin/sh
# test-headers.sh - what is inline in headers is no site of its own
#
# A site is where the program called slice or the standard library, or its own
# function that these called, at each level of optimisation, with and without
# debugging information.
#
# Speaks TAP.  SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

clients=$source/tests/trace/clients
link="-L$build/slice/.libs -Wl,-rpath,$build/slice/.libs -lslice"

# the functions of sites that are not the runtime's, without their arguments
names () # patterns
{
  json "$1" 'sites.*' calls name | awk '$1 >= 500 {
    sub (/^[0-9]*\t/, ""); sub (/ <.*/, ""); sub (/\(.*/, ""); print }' \
    | LC_ALL=C sort -u | tr '\n' ' '
}

all="c_site class_site compare_site counted_array_site counted_site"
all="$all function_site generate_site list_site resource_site thread_site"
all="$all unique_site vector_site "
for flags in "-O0" "-O0 -g" "-Og -g" "-O1 -g" "-O2 -g"
do
  name=headers$(echo "$flags" | tr -d ' ')
  if ! $CXX -std=c++17 $flags -fno-optimize-sibling-calls -I"$source" \
    -I"$build" "$clients/headers.cc" -o "$work/headers" $link -lpthread \
    2> "$work/err"
  then
    skip "$name" "no C++17"
    continue
  fi
  record "$work/t" "$work/headers"
  "$trace" patterns "$work/t" -o "$work/p.json"
  # the lambda of the second thread is a site as well, under several names
  equal "$name" "$(names "$work/p.json" \
    | tr ' ' '\n' | grep '_site$' | tr '\n' ' ')" "$all"
  equal "$name-inner" "$(names "$work/p.json" | tr ' ' '\n' \
    | grep -c -e slice:: -e operator)" 0
  case $flags in
    *-g)
      equal "$name-lambda" "$(names "$work/p.json" | grep -c lambda)" 1
      equal "$name-files" "$(json "$work/p.json" 'sites.*.frames.0.file' \
        | sed 's/.*\///' | sort -u)" headers.cc;;
  esac
done

# --- before and after the change: one site ---
for flags in "-O2" "-O2 -g" "-O0 -g"
do
  name=before-after$(echo "$flags" | tr -d ' ')
  for which in BEFORE AFTER
  do
    $CC $flags -D$which -I"$source" -I"$build" "$clients/before-after.c" \
      -o "$work/$which" $link || exit 1
    record "$work/$which.trace" "$work/$which"
  done
  "$trace" diff "$work/BEFORE.trace" "$work/AFTER.trace" > "$work/out"
  equal "$name" "$(awk '$NF == "work" { print $1, $2 }' "$work/out")" \
    "1000 1000"
done

# --- what one function allocates itself, and through the library ---
for which in BEFORE AFTER
do
  $CC -O1 -g -D$which "$clients/through.c" -o "$work/$which" || exit 1
  record "$work/$which.trace" "$work/$which"
done
"$trace" diff "$work/BEFORE.trace" "$work/AFTER.trace" > "$work/out"
equal diff-own "$(awk '$NF == "main" { print $1, $2 }' "$work/out")" "3 2"
equal diff-through "$(awk '$NF ~ /strdup/ { print $1, $2 }' "$work/out")" "0 5"
finish
