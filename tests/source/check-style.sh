#!/bin/sh
# check-style.sh - what docs/hacking.md says of the shape of code
#
# Lines of at most 80 columns, in documents too; no tabs, no blanks at the end of
# a line; in the library and its tools no file above 600 lines and no function above 60.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

# sources DIRECTORY...: C and C++ files; not Mesa's headers, whose names and
# macros are Mesa's
sources ()
{
  find "$@" -name 'mesa-*' -prune -o '(' -name '*.[ch]' -o -name '*.cc' \
    -o -name '*.hpp' ')' -print | sort
}

# shapeless FILE...: lines that are too wide, tabs, blanks at ends
shapeless ()
{
  awk '
    length ($0) > 80 { print FILENAME ":" FNR ": " length ($0) " columns" }
    /\t/ { print FILENAME ":" FNR ": a tab" }
    /[ \t]$/ { print FILENAME ":" FNR ": blanks at the end" }' "$@"
}

# wide_prose FILE...: lines of text that are too wide.  Tables, code and links
# may be.
wide_prose ()
{
  awk '
    FNR == 1 { is_code = 0 }
    /^```/ { is_code = !is_code }
    is_code || /^[|]/ || /^    / || /:\/\// || /\]\(/ { next }
    length ($0) > 80 { print FILENAME ":" FNR ": " length ($0) " columns" }' \
    "$@"
}

# lengthy FILE...: files and functions that are too long.  A function is from
# a brace in the first column, behind a line that ends with a parenthesis, to
# the next that closes.
lengthy ()
{
  awk '
    FNR == 1 && NR > 1 && n > 600 { print name ": " n " lines" }
    { name = FILENAME; n = FNR }
    /^{/ { from = before ~ /\)$/ ? FNR : 0 }
    { before = $0 }
    /^}/ && from > 0 {
      if (FNR - from + 1 > 60)
        print FILENAME ":" from ": a function of " FNR - from + 1 " lines"
      from = 0
    }
    END { if (n > 600) print name ": " n " lines" }' "$@"
}

# shellcheck disable=SC2046 # no source's name has a blank
set -- $(sources "$top_srcdir/slice")
expect_none "the library's lines have their shape" "$(shapeless "$@")"
expect_none "the library's files and functions are short" "$(lengthy "$@")"
# shellcheck disable=SC2046
set -- $(sources "$top_srcdir/tests")
expect_none "the tests' lines have their shape" "$(shapeless "$@")"
# shellcheck disable=SC2046
set -- $(find "$top_srcdir/docs" -name '*.md' | sort)
expect_none "the documents' lines have their shape" \
  "$(wide_prose "$top_srcdir/README" "$@")"

# Can it fail?
wide=$temporary/wide.c
{
  printf 'int %076d;\n\tint tab;\nint blank; \n' 0
} > "$wide"
for fault in "81 columns" "a tab" "blanks at the end"; do
  expect_found "$fault: found" ": $fault" "$(shapeless "$wide")"
done
{
  printf '```\n%081d\n```\n| %081d |\n' 0 0
  printf '%081d\n' 1
} > "$temporary/wide.md"
equal "a line of text of 81 columns is found, and no other" \
  "$(wide_prose "$temporary/wide.md" | sed 's/.*wide.md//')" ":5: 81 columns"
{
  echo 'main (void)'
  echo '{'
  seq 59
  echo '}'
  seq 600
} > "$temporary/long.c"
expect_found "a function of 61 lines is found" "of 61 lines" \
  "$(lengthy "$temporary/long.c")"
expect_found "and a file of 662" ": 662 lines" \
  "$(lengthy "$temporary/long.c" "$wide")"

finish
