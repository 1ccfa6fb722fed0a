#!/bin/sh
# check-arena-examples.sh - the three arrangements of owners and consumers run
# and print what they should
#
# SPDX-License-Identifier: MIT

echo 1..3
n=0
expect ()
{
  n=$((n + 1))
  got=$("$top_builddir/docs/examples/$1")
  if test "$got" = "$2"; then
    echo "ok $n $1"
  else
    echo "not ok $n $1: $got"
  fi
}

expect one-owner 'one owner, a stack: 4096 subsets'
expect owner-and-consumer 'owner and consumer, linear: depths add up to 200'
expect many-consumers 'many consumers, a pool: 5000 nodes, sum 50005000'
