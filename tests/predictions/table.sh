#!/bin/sh
# table.sh - the table of predictions, from what was printed and from git
#
# Prints the rows of docs/results/predictions.md: for each program of the list
# what was predicted and what was measured, whether that lies inside, and the
# commits with which the two came.  The first must be older.
#
# SPDX-License-Identifier: MIT

cd "$(dirname "$0")" || exit 1

commit () # file
{
  git log --diff-filter=A --format=%h -1 -- "$1"
}

n_inside=0
n_rows=0
while read -r name rest; do
  case $name in
  '#'*) continue ;;
  esac
  test -s "predicted/$name.txt" && test -s "measured/$name.txt" || continue
  row=$(cat "predicted/$name.txt" "measured/$name.txt" | awk -v name="$name" \
    -v before="$(commit "predicted/$name.txt")" \
    -v after="$(commit "measured/$name.txt")" '
    $1 == "site" { sub(/.*tried on: /, ""); arena = $0 }
    $1 == "time" && $3 == "to" { low = $2; high = $4 }
    $1 == "time" && $3 == "%" { time = $2 }
    $1 == "memory" && $3 == "to" { least = $2; most = $4 }
    $1 == "memory" && $3 == "KiB" { memory = $2; peak = $5 }
    END {
      in_time = time >= low && time <= high
      in_memory = memory >= least && memory <= most
      printf "| %s | %s | %s to %s %% | %s %%%s | %s to %s KiB | %s of %s KiB%s | %s, %s |",
        name, arena, low, high, time, in_time ? "" : " **out**",
        least, most, memory, peak, in_memory ? "" : " **out**",
        before, after
    }')
  echo "$row"
  n_rows=$((n_rows + 1))
  case $row in
  *'**out**'*) ;;
  *) n_inside=$((n_inside + 1)) ;;
  esac
done < list
echo
echo "$n_inside of $n_rows lie inside both intervals."
