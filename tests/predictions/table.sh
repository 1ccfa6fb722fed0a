#!/bin/sh
# table.sh - the tables of predictions, from what was printed and from git
#
# Prints the rows of docs/results/predictions.md: for each heading of the list
# (##) the programs with what was predicted and what was measured, whether that
# lies inside, and the commits with which the two came.  The first must be
# older.  A program with an inconclusive prediction has no row; they are named
# below.
#
# SPDX-License-Identifier: MIT

cd "$(dirname "$0")" || exit 1

commit () # file
{
  git log --diff-filter=A --format=%h -1 -- "$1"
}

n_inside=0
n_rows=0
inconclusive=

# Ends a table.
count_print ()
{
  if test $n_rows -gt 0; then
    printf '\n%s of %s lie inside both intervals.\n' $n_inside $n_rows
  fi
  test -z "$inconclusive" || printf '\nInconclusive:%s.\n' "${inconclusive%,}"
  n_inside=0
  n_rows=0
  inconclusive=
}

# The row of a program.
row_of ()
{
  cat "predicted/$1.txt" "measured/$1.txt" | awk -v name="$1" \
    -v before="$(commit "predicted/$1.txt")" \
    -v after="$(commit "measured/$1.txt")" '
    $1 == "site" { sub(/.*tried on: /, ""); arena = $0 }
    $1 == "time" && $3 == "to" { low = $2; high = $4 }
    $1 == "time" && $3 == "%" { time = $2 }
    $1 == "memory" && $3 == "to" { least = $2; most = $4 }
    $1 == "memory" && $3 == "KiB" { memory = $2; peak = $5 }
    END {
      in_time = time >= low && time <= high
      in_memory = memory >= least && memory <= most
      printf "| %s | %s | %s to %s %% | %s %%%s | %s to %s KiB | %s of %s KiB%s | %s, %s |\n",
        name, arena, low, high, time, in_time ? "" : " **out**",
        least, most, memory, peak, in_memory ? "" : " **out**",
        before, after
    }'
}

while read -r name rest; do
  case $name in
  '##') count_print; printf '\n### %s\n\n' "$rest"; continue ;;
  '#'*) continue ;;
  esac
  test -s "predicted/$name.txt" || continue
  if grep -q '^[a-z]* *inconclusive' "predicted/$name.txt"; then
    what=$(sed -n 's/^\([a-z]*\) *inconclusive.*/\1/p' "predicted/$name.txt" \
      | tr '\n' ' ')
    inconclusive="$inconclusive $name ($(echo $what | sed 's/ / and /')),"
    continue
  fi
  test -s "measured/$name.txt" || continue
  row=$(row_of "$name")
  echo "$row"
  n_rows=$((n_rows + 1))
  case $row in
  *'**out**'*) ;;
  *) n_inside=$((n_inside + 1)) ;;
  esac
done < list
count_print
