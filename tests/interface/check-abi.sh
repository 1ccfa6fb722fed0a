#!/bin/sh
# check-abi.sh - programs that were compiled against an earlier version still
# run: the frozen layouts, and the whole interface against the recorded one
#
# tests/data/libslice-x86-64.abi.xz is what abidw wrote of the last release, or
# before the first one of what it will be.  `make record-abi' writes it anew;
# SLICE_ABI_RECORD=FILE makes this script do that and nothing else.
#
# Wants libabigail's abidw and abidiff (Debian: abigail-tools), x86-64, gcc and
# debug information; without them the frozen layouts alone are checked.
# Design: abi.md.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

recorded=$top_srcdir/tests/data/libslice-x86-64.abi.xz
ignored=$top_srcdir/tests/interface/libslice.abignore
library=$top_builddir/slice/.libs/libslice.so
frozen_sum=40521f4f

# write_abi LIBRARY: its interface, as far as public headers declare it
write_abi ()
{
  abidw --exported-interfaces-only --drop-private-types --no-elf-needed \
    --no-corpus-path --no-comp-dir-path --no-show-locs --type-id-style hash \
    --suppressions "$ignored" --headers-dir "$temporary/headers" "$1"
}

# Of the headers abidw wants one folder.
gather_headers ()
{
  mkdir -p "$temporary/headers/slice"
  cp "$top_srcdir"/slice/*.h "$top_builddir/slice/version.h" \
    "$temporary/headers/slice"
}

# why_not: why the interfaces can't be compared, or nothing
why_not ()
{
  command -v abidw > /dev/null 2>&1 && command -v abidiff > /dev/null 2>&1 \
    || { echo "no abidw and abidiff (Debian: abigail-tools)"; return; }
  test -f "$library" || { echo "no shared library was built"; return; }
  case $CC in
  *-fsanitize*) echo "the compiler's flags are special: $CC"; return ;;
  esac
  test "$($CC -dumpmachine | sed 's/-.*//')" = x86_64 \
    || { echo "what is recorded is x86-64's"; return; }
  $CC --version | grep -q clang && { echo "what is recorded is gcc's"; return; }
  ${READELF:-readelf} -SW "$library" | grep -q ' \.debug_info ' \
    || echo "no debug information"
}

# differences OLD NEW: what breaks a program; what is new does not, nor what the
# C library's FILE has in it
differences ()
{
  printf '[suppress_type]\n  name_regexp = ^_IO_\n' > "$temporary/theirs"
  abidiff --suppressions "$temporary/theirs" --no-added-syms --harmless "$1" "$2" > "$temporary/differs" 2>&1 \
    || cat "$temporary/differs"
}

# frozen FILE: what the compiler says to it, or what else its functions are
frozen ()
{
  if $CC -I"$top_builddir" -I"$top_srcdir" -o "$temporary/frozen" "$1" 2>&1
  then
    sum=$("$temporary/frozen")
    test "$sum" = $frozen_sum || echo "the sum is $sum, not $frozen_sum"
  fi
}

gather_headers
if test -n "${SLICE_ABI_RECORD-}"; then
  reason=$(why_not)
  test -z "$reason" || { echo "record-abi: $reason" >&2; exit 1; }
  write_abi "$library" > "$temporary/new.abi" || exit
  xz -9 -c "$temporary/new.abi" > "$SLICE_ABI_RECORD"
  exit
fi

expect_none "the layouts of version 1 are as they were frozen" \
  "$(frozen "$top_srcdir/tests/interface/frozen.c")"
sed 's/WORDS (SlicePoolV1, 3)/WORDS (SlicePoolV1, 4)/' \
  "$top_srcdir/tests/interface/frozen.c" > "$temporary/other.c"
expect_found "another size is found" 'the size of SlicePoolV1' \
  "$(frozen "$temporary/other.c")"
sed 's/? 56 : 40/? 64 : 48/' "$top_srcdir/tests/interface/frozen.c" \
  > "$temporary/other.c"
expect_found "another size of a mark is found" 'the size of SliceMark' \
  "$(frozen "$temporary/other.c")"
sed 's/SLICE_CLASS_V1 (size)/(size == 40 ? 0 : SLICE_CLASS_V1 (size))/' \
  "$top_srcdir/tests/interface/frozen.c" > "$temporary/other.c"
expect_found "another class is found" 'the sum is' \
  "$(frozen "$temporary/other.c")"

reason=$(why_not)
if test -n "$reason"; then
  skip "the interface is the recorded one, or more" "$reason"
  finish
fi
xz -dc "$recorded" > "$temporary/old.abi"
write_abi "$library" > "$temporary/new.abi"
expect_none "the interface is the recorded one, or more (make record-abi)" \
  "$(differences "$temporary/old.abi" "$temporary/new.abi")"
expect_none "no private type is recorded" \
  "$(grep -o "class-decl name='[A-Z][A-Za-z]*'" "$temporary/new.abi" \
     | grep -v -E "'(Slice|Ralloc)")"

# Can it fail?  An older interface that had more, or other types.
sed -e "s/\(<elf-symbol name='slice_\)alloc'/\1gone'/" \
  "$temporary/new.abi" > "$temporary/bad.abi"
expect_found "a function that is gone is found" 'slice_gone' \
  "$(differences "$temporary/bad.abi" "$temporary/new.abi")"
sed "/<class-decl name='SliceMark'/s/size-in-bits='[0-9]*'/size-in-bits='384'/" \
  "$temporary/new.abi" > "$temporary/bad.abi"
expect_found "a struct of another size is found" 'type size changed from 384' \
  "$(differences "$temporary/bad.abi" "$temporary/new.abi")"
sed "/<class-decl name='_IO_FILE'/s/size-in-bits='[0-9]*'/size-in-bits='384'/" \
  "$temporary/new.abi" > "$temporary/bad.abi"
expect_found "(the C library's FILE is another in a copy)" differ \
  "$(cmp "$temporary/bad.abi" "$temporary/new.abi")"
expect_none "which is no matter of ours" \
  "$(differences "$temporary/bad.abi" "$temporary/new.abi")"
sed "s/<enumerator name='SLICE_KEEP_FIRST' value='1'/<enumerator name='SLICE_KEEP_FIRST' value='7'/" \
  "$temporary/new.abi" > "$temporary/bad.abi"
expect_found "an enumerator of another value is found" \
  "SLICE_KEEP_FIRST' from value '7' to '1'" \
  "$(differences "$temporary/bad.abi" "$temporary/new.abi")"

finish
