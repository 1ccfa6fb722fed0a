#!/bin/sh
# check-arena-examples.sh - the arenas' examples run and print what they should:
# the three arrangements of owners and consumers, a pool, a TLSF heap, std::pmr
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

expect ()
{
  if test ! -x "$top_builddir/docs/examples/$1"; then
    skip "$1" "no C++ compiler"
    return
  fi
  equal "$1" "$("$top_builddir/docs/examples/$1")" "$2"
}

expect one-owner 'one owner, a stack: 4096 subsets'
expect owner-and-consumer 'owner and consumer, linear: depths add up to 200'
expect many-consumers 'many consumers, a pool: 5000 nodes, sum 50005000'
expect events \
  'a pool: 500 events live, all in order, 0 blocks asked for since'
expect messages 'TLSF: full at times, sound; all logged'
expect words 'pmr on a linear arena: 7000'
finish
