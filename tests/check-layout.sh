#!/bin/sh
# check-layout.sh - libslice.ld puts functions in order that there are
#
# The linker says nothing of a pattern that matches nothing, so a function that
# was renamed would silently lie among those that nobody runs.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/check-lib.sh"

# findings DIRECTORY SCRIPT: names in SCRIPT that no source of DIRECTORY has
findings ()
{
  find "$1" -name '*.[ch]' -exec sed -n 's/^\([a-z0-9_]*\) (.*/\1/p' {} + \
    | sort -u > "$temporary/defined"
  sed -n 's/^ *\*(\.text\.\(unlikely\.\)\{0,1\}\([a-z0-9_]*\) .*/\2/p' "$2" \
    | grep -v '^startup$' | sort -u > "$temporary/listed"
  comm -13 "$temporary/defined" "$temporary/listed"
}

script=$top_srcdir/slice/libslice.ld

expect_none "each function in the layout script is one of ours" \
  "$(findings "$top_srcdir/slice" "$script")"

expect_none "and it lists them: a hundred and more" \
  "$(test "$(wc -l < "$temporary/listed")" -gt 100 || echo "too few")"

sed 's/ralloc_free /ralloc_fred /' "$script" > "$temporary/renamed.ld"
expect_found "one that is no more is found" '^ralloc_fred$' \
  "$(findings "$top_srcdir/slice" "$temporary/renamed.ld")"

finish
