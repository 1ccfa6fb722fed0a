#!/bin/sh
# models.sh - Spin searches the models: all that holds does, and what must
# fail does
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

models=$(cd "$(dirname "$0")" && pwd)
n_states=0

# search MODEL [FLAG]: leaves `errors: N' and what else Spin says
search ()
{
  (cd "$temporary" && rm -f pan* *.trail \
   && spin -a $2 "$models/$1.pml" > spin.log 2>&1 \
   && $CC -O2 -w -DSAFETY -DVECTORSZ=2048 -o pan pan.c > cc.log 2>&1 \
   && ./pan -m1000000 -w24 > said 2>&1)
  cat "$temporary/spin.log" "$temporary/said" 2> /dev/null
}

if ! command -v spin > /dev/null 2>&1; then
  skip "models" "no spin"
  finish
  exit
fi

for model in detach depot fork parked; do
  said=$(search $model)
  expect_found "$model.pml: no error" 'errors: 0$' "$said"
  expect_none "$model.pml: searched to its end" \
    "$(echo "$said" | grep -E 'max search depth too small|out of memory')"
  states=$(echo "$said" | sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p')
  echo "# $model.pml: $states states"
  for flag in $(sed -n '/Must/,/\*\//p' "$models/$model.pml" \
                | tr ' ,.' '\n\n\n' | grep '^-D'); do
    expect_found "$model.pml $flag fails" 'errors: [1-9]' \
      "$(search $model "$flag")"
  done
done
finish
