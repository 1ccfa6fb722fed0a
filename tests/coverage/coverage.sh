#!/bin/sh
# coverage.sh - what the tests have run of the library, by file
#
#   coverage.sh [missed]    in a build with --enable-coverage, after its tests
#
# Lines and branches of each file of slice/, a header's once however many files
# include it; with `missed' also every line that was never run, and how many
# branches of the others were not.  A branch is a way that a condition can go;
# that a check which ends the program was never broken counts as missed, too.
#
# SPDX-License-Identifier: MIT

: "${GCOV=gcov}" "${AWK=awk}"

find slice -name '*.gcda' ! -path '*/tools/*' ! -path '*/dropin/*' \
  -exec $GCOV -b -c -t {} + 2> /dev/null \
| $AWK -v missed="$1" '
  # "        -:    0:Source:../slice/page/page.c"
  /^ *-: *0:Source:/ {
    file = $0
    sub (/.*Source:/, "", file)
    ours = file ~ /(^|\/)slice\/.*\.[ch]$/ && file !~ /\/usr\//
    sub (/.*\/slice\//, "slice/", file)
    next
  }
  !ours { next }
  # "     1234:   56:text", "    #####:   57:text"
  /^ *[0-9#=*-]+\*?: *[0-9]+:/ {
    split ($0, field, ":")
    count = field[1]
    line = field[2] + 0
    gsub (/ /, "", count)
    if (count == "-" || line == 0) next
    key = file SUBSEP line
    if (!(key in lines)) { n_lines[file]++; lines[key] = 0; text[key] = $0 }
    if (count !~ /^[#=]/ && !lines[key]) { lines[key] = 1; n_run[file]++ }
    next
  }
  # "branch  0 taken 12 (fallthrough)", "branch  1 never executed"
  /^branch/ {
    key = file SUBSEP line SUBSEP $2
    if (!(key in branches))
      { n_branches[file]++; branches[key] = 0; ways[file, line]++ }
    if ($3 == "taken" && $4 > 0 && !branches[key])
      { branches[key] = 1; n_taken[file]++; gone[file, line]++ }
  }
  END {
    for (file in n_lines)
      {
        printf "%-34s %5d lines %6.1f %%  %5d branches %6.1f %%\n", file,
          n_lines[file], 100 * n_run[file] / n_lines[file],
          n_branches[file],
          n_branches[file] ? 100 * n_taken[file] / n_branches[file] : 100 \
          | "sort"
        all += n_lines[file]; run += n_run[file]
        all_branches += n_branches[file]; taken += n_taken[file]
      }
    close ("sort")
    if (all == 0) { print "coverage: nothing was run"; exit 1 }
    printf "%-34s %5d lines %6.1f %%  %5d branches %6.1f %%\n", "all", all,
      100 * run / all, all_branches, 100 * taken / all_branches
    if (missed != "")
      for (key in lines)
        if (!lines[key] || gone[key] < ways[key])
          {
            split (key, part, SUBSEP)
            sub (/^[^:]*:[^:]*:/, "", text[key])
            printf "%s:%d:%s%s\n", part[1], part[2],
              lines[key] ? sprintf ("%d of %d:", gone[key], ways[key]) : "", \
              text[key] | "sort -t: -k1,1 -k2,2n"
          }
  }'
