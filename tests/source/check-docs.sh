#!/bin/sh
# check-docs.sh - what is public is documented
#
# Every function of the public headers has a doc comment (names that end in
# _v1, the inline code's own, excepted); every option is in slice-options(7),
# with the range and default of the code's table; every error number is in
# slice-errors(7).
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

: "${PUBLIC_HEADERS:=slice/slice.h slice/options.h slice/stats.h \
slice/source.h}"
man=$top_srcdir/docs/man

# sourceless FILE...: files of the tests or of the build that a document names
# without saying that they are in the source tree
sourceless ()
{
  for document; do
    grep -q 'source tree' "$document" \
      || grep -o -E '(^|[^A-Za-z0-9_./-])(tests|m4|[.]ci)/[a-zA-Z0-9_./-]+' \
           "$document" | sed "s|^[^a-z.]||;s|^|$document: |" | sort -u
  done
}

# uncommented FILE...: functions, at their first declaration, with no doc
# comment right above
uncommented ()
{
  awk '
    FNR == 1 { above = ""; inside = 0 }
    /^[ \t]*\/\*\*/ { above = "doc" }
    /\*\// { next }
    above == "doc" && /^ \*/ { next }
    /^(SLICE|RALLOC)_([A-Z]+_)?(API|INLINE) .*\(/ {
      line = $0
      sub (/[ \t]*\(.*/, "", line)
      sub (/.*[^A-Za-z0-9_]/, "", line)
      if (!(line in seen) && line !~ /_v[0-9]+$/ && above != "doc")
        print FILENAME ":" FNR ": " line
      seen[line] = 1
    }
    /^[ \t]*$/ || /[;}]$/ { above = "" }' "$@"
}

# options HEADER: the names of the options and page sources, from their
# comments
options ()
{
  sed -n -E \
    's/^ *SLICE_(OPTION|PAGES)_.*\/\*\*< \[([a-z0-9_-]*)\].*/\2/p' "$1"
}

# unnamed HEADER: options without a name
unnamed ()
{
  grep -E '^ *SLICE_OPTION_[A-Z0-9_]+( = [0-9]+)?,' "$1" \
    | grep -v '/\*\*< \[[a-z0-9-]*\]'
}

# ranges: reads text with an option's name in brackets, as in "[leaks] 0 or 1; 1
# by default"; says "leaks 0 1 1"
ranges ()
{
  tr -s '\n ' '  ' \
    | grep -o -E '[[][a-z0-9-]+[]] [0-9]+[0-9a-z, ]*; [0-9]+ by default' \
    | sed -E 's/^.(.*)\] ([0-9]+).* ([0-9]+); ([0-9]+) .*/\1 \2 \3 \4/' | sort
}

# header_ranges HEADER, manual_ranges MANUAL: what they say of each option
header_ranges () { ranges < "$1"; }
manual_ranges ()
{
  sed 's/\\-/-/g; s/^[.]B \([a-z0-9-]*\)$/[\1]/' "$1" | ranges
}

# table_ranges HEADER SOURCE: the same of the table of the options; constants
# are numbers or products
table_ranges ()
{
  awk '
    function value (text,  factors, n, i, product)
    {
      gsub (/[ \t]/, "", text)
      if (text in constant)
        return constant[text]
      n = split (text, factors, "*")
      product = 1
      for (i = 1; i <= n; i++)
        product *= factors[i]
      return product
    }
    $2 == "=" && $1 ~ /^[A-Z0-9_]+$/ {
      number = $0
      sub (/^[^=]*= */, "", number)
      sub (/,? *(\/\*.*)?$/, "", number)
      constant[$1] = value(number)
    }
    $1 == "#" && $2 == "define" && NF == 4 { constant[$3] = $4 }
    /^ *[{] SLICE_OPTION_/ { row = "" ; inside = 1 }
    inside { row = row " " $0 }
    inside && /[}]/ {
      inside = 0
      if (split (row, field, ",") >= 6 && field[2] !~ /UNIT_SOURCE/)
        {
          gsub (/[ "]/, "", field[3])
          printf "%s %d %d %d\n", field[3], value(field[4]), value(field[5]),
            value(field[6])
        }
    }' "$@" | sort
}

# errors HEADER...: the numbers of the messages
errors ()
{
  sed -n -E 's/^ *(ERROR|ARENA_[A-Z]+)_[A-Z0-9_]* *= *([0-9]+).*/\2/p' "$@"
}

# disordered HEADER: the numbers that do not follow a smaller one
disordered ()
{
  errors "$1" | awk '$1 <= last { print $1 ": after " last } { last = $1 }'
}

# reporters HEADER FILE...: the numbers that each file names, as HEADER lists
# them
reporters ()
{
  awk '
    FNR == 1 { n_files++; name = FILENAME }
    n_files == 1 {
      if ($2 == "=" && $1 ~ /^(ERROR|ARENA_MISUSE)_/)
        number[$1] = $3 + 0
      next
    }
    {
      for (rest = $0; match (rest, /(ERROR|ARENA_MISUSE)_[A-Z_]+/);
           rest = substr (rest, RSTART + RLENGTH))
        {
          word = substr (rest, RSTART, RLENGTH)
          if (word in number && !((name, word) in seen))
            print name, number[word]
          seen[name, word]
        }
    }' "$@" | sed 's,^[.]/,,' | sort -k 1,1 -k 2,2n \
    | awk '
        $1 != name { if (NR > 1) print line; name = $1; line = $1 ":" }
        { line = line " " $2 }
        END { if (NR > 0) print line }'
}

# listed_reporters HEADER: the same, from the comment of HEADER
listed_reporters ()
{
  sed -n -E 's,^ [*]   ([a-z/-]+[.][ch]: [0-9 ]+)$,\1,p' "$1" | sort
}

# unlike FILE FILE: lines that only one of them has
unlike ()
{
  diff "$1" "$2" | grep '^[<>]'
}

# unlisted FOLDER: Markdown files that no fragment of the make installs
unlisted ()
{
  for fragment in "$1"/docs/*.mk "$1"/docs/*/*.mk; do
    test ! -f "$fragment" || folder=$(dirname "${fragment#"$1/"}") \
      && sed "s,%D%,$folder," "$fragment" 2> /dev/null
  done > "$temporary/fragments"
  (cd "$1" && find docs -name '*.md' | sort) | while read -r file; do
    grep -q -E -e "(^|[[:space:]])$file([[:space:]]|\$)" \
      "$temporary/fragments" || echo "$file: not installed"
  done
}

# dead_links FOLDER: links of the documents that lead to no file
dead_links ()
{
  find "$1/docs" -name '*.md' | while read -r file; do
    grep -o '](\([^)]*\))' "$file" | sed 's/^](//; s/)$//; s/#.*//' \
      | grep -v -e '^$' -e '^[a-z]*:' | sort -u | while read -r link; do
          test -e "$(dirname "$file")/$link" \
            || echo "${file#"$1"/}: no $link"
        done
  done
}

# dead_names FOLDER FILE...: documents that sources name and that there are
# not; chapters of the design, too
dead_names ()
{
  folder=$1
  shift
  grep -o -H -E 'docs/(design|decisions|guide)/[a-z0-9_-]+\.md' "$@" \
    < /dev/null | while IFS=: read -r file name; do
      test -e "$folder/$name" || echo "$file: no $name"
    done
  grep -o -h -i -E '(design|chapter|chapters)[: ]+[a-z ]*[0-9]+' "$@" \
    < /dev/null | grep -i -o -E 'chapters? [0-9]+' | sort -u \
    | while read -r word number; do
        test -n "$(find "$folder/docs/design" -name "$(printf %02d \
          "$number")-*.md")" || echo "$word $number: no such chapter"
      done
  grep -o -h -E 'decisions/[0-9]{4}' "$@" < /dev/null | sort -u \
    | while read -r name; do
        test -n "$(find "$folder/docs/decisions" -name "${name#*/}-*.md")" \
          || echo "no $name"
      done
}

# dead_paths FOLDER: source files that the documents for developers name and
# that there are not
dead_paths ()
{
  (cd "$1" && find slice tests -type f) > "$temporary/paths"
  grep -o -H -E '`[a-z0-9_-]+(/[a-z0-9_-]+)+[.](c|h|hpp|sh|py)`' \
    "$1"/docs/hacking.md "$1"/docs/design/[0-9]*.md \
    "$1"/docs/decisions/*.md | sort -u | tr -d '`' \
    | while IFS=: read -r file name; do
        grep -q -E "(^|/)$name\$" "$temporary/paths" \
          || echo "${file#"$1"/}: no $name"
      done
}

# outdated FOLDER LIST: mutants of tests/mutate/equivalent.txt whose file has no
# such line any more
outdated ()
{
  sed -n 's/ => .*//; s/^\([a-z0-9/_-]*[.][ch]\): /\1|/p' "$2" \
    | while IFS='|' read -r file line; do
        grep -q -F -e "$line" "$1/$file" 2> /dev/null || echo "$file: no $line"
      done
}

# absent FILE: reads words; says which ones FILE does not have as a word
absent ()
{
  # A manual writes - as \-.
  sed 's/\\-/-/g' "$1" > "$temporary/manual"
  while read -r word; do
    grep -q -E -e "(^|[^a-z0-9_-])$word([^a-z0-9_-]|\$)" "$temporary/manual" \
      || echo "$word: not in $(basename "$1")"
  done
}

files=
for header in $PUBLIC_HEADERS; do
  test -f "$top_srcdir/$header" && files="$files $top_srcdir/$header"
done
expect_none "every public function has a doc comment" "$(uncommented $files)"

header=$top_srcdir/slice/options.h
expect_none "every option has its name in options.h" \
  "$(unnamed "$header")"
if test -f "$man/slice-options.7"; then
  expect_none "every option is in slice-options(7)" \
    "$(options "$header" | absent "$man/slice-options.7")"
else
  skip "every option is in slice-options(7)" "no such manual yet"
fi

table_ranges "$top_srcdir/slice/base/option.h" \
  "$top_srcdir/slice/base/option.c" > "$temporary/table"
# Each is read but page-source, whose values are names.
expect_none "the table of the options can be read" \
  "$(test "$(wc -l < "$temporary/table")" \
     -eq $(($(grep -c '^ *SLICE_OPTION_' "$header") - 1)) || echo incomplete)"
header_ranges "$header" > "$temporary/ranges"
expect_none "options.h has the ranges and defaults of the table" \
  "$(unlike "$temporary/table" "$temporary/ranges")"
manual_ranges "$man/slice-options.7" > "$temporary/ranges"
expect_none "slice-options(7) has them" \
  "$(unlike "$temporary/table" "$temporary/ranges")"

header=$top_srcdir/slice/base/errors.h
if test -f "$man/slice-errors.7" && test -f "$header"; then
  expect_none "the error numbers can be read" \
    "$(test -n "$(errors "$header")" || echo none)"
  expect_none "every error is in slice-errors(7)" \
    "$(errors "$header" | absent "$man/slice-errors.7")"
  expect_none "the error numbers are in order" "$(disordered "$header")"
else
  skip "every error is in slice-errors(7)" "no such manual yet"
fi

listed_reporters "$header" > "$temporary/listed"
(cd "$top_srcdir/slice" && find . -name '*.[ch]' ! -path './base/*' | sort \
   > "$temporary/files"
 # shellcheck disable=SC2046 # no source's name has a blank
 reporters base/errors.h $(cat "$temporary/files")) | sort \
  > "$temporary/reporting"
expect_none "errors.h lists the files that report each number" \
  "$(unlike "$temporary/listed" "$temporary/reporting")"

expect_none "the equivalent mutants are of lines that there are" \
  "$(outdated "$top_srcdir" "$top_srcdir/tests/mutate/equivalent.txt")"

expect_none "documents say that what they name is in the source tree" \
  "$(sourceless "$top_srcdir"/docs/*.md "$top_srcdir"/docs/*/*.md)"
expect_none "every document is installed" "$(unlisted "$top_srcdir")"
expect_none "links between documents lead somewhere" \
  "$(dead_links "$top_srcdir")"
sources=$(find "$top_srcdir/slice" "$top_srcdir/tests" -type f \
            -name '*.[chps]*' ! -name '*.o' ! -name check-docs.sh)
expect_none "documents that the sources name are there" \
  "$(dead_names "$top_srcdir" $sources)"

expect_none "files that the design names are there" \
  "$(dead_paths "$top_srcdir")"

doxyfile=$top_builddir/docs/Doxyfile
if ! command -v doxygen > /dev/null || test ! -f "$doxyfile" \
   || test ! -f "$top_srcdir/docs/README.md"; then
  skip "the site has no link that leads nowhere" "no doxygen, or no front page"
else
  said=$({ cat "$doxyfile"
           echo "OUTPUT_DIRECTORY = $temporary/site"
           echo "GENERATE_MAN = NO"; } | doxygen - 2>&1)
  expect_none "the site has no link that leads nowhere" \
    "$(echo "$said" | grep -E 'unable to|not exist|not a readable|grouping')"
  expect_none "and has a front page" \
    "$(test -s "$temporary/site/html/index.html" || echo "$said")"
fi
expect_none "every public header has a topic in the reference" \
  "$(for file in "$top_srcdir"/slice/*.h "$top_srcdir"/slice/*.hpp; do
       awk -f "$top_srcdir/docs/doxygen-filter.awk" "$file" 2>&1 > /dev/null
     done)"

# Can it fail?
echo 'Run `tests/trace/some.sh`, or .ci/run.' > "$temporary/says-not.md"
echo 'Run `tests/trace/some.sh` in the source tree.' > "$temporary/says.md"
expect_found "a file that is not installed is found" '^says-not.md: tests/trace' \
  "$(cd "$temporary" && sourceless says-not.md says.md)"
expect_none "no other" \
  "$(cd "$temporary" && sourceless says.md)"
mkdir -p "$temporary/bad/docs/design" "$temporary/bad/docs/decisions"
echo 'dist_doc_DATA = %D%/listed.md' > "$temporary/bad/docs/local.mk"
echo 'see [it](listed.md#here), [that](gone.md), [web](https://x.org/y.md)' \
  > "$temporary/bad/docs/listed.md"
echo > "$temporary/bad/docs/design/03-apart.md"
echo > "$temporary/bad/docs/design/listed.md"
cat > "$temporary/bad/source.c" <<'END'
/* Design: chapter 3.  Design: chapter 77.  docs/design/03-apart.md
 * docs/design/03-absent.md, decisions/0042 */
END
found=$(unlisted "$temporary/bad")
for name in 03-apart listed; do
  expect_found "a document that is not installed is found: $name" \
    "^docs/design/$name" "$found"
done
expect_none "installed ones are not found" \
  "$(echo "$found" | grep -E '^docs/listed')"
expect_found "a link to no document is found" 'listed\.md: no gone\.md$' \
  "$(dead_links "$temporary/bad")"
expect_none "other links are not found" \
  "$(dead_links "$temporary/bad" | grep -v gone)"
found=$(dead_names "$temporary/bad" "$temporary/bad/source.c")
expect_found "a header without a topic is found" 'bad.h has no group' \
  "$(echo '/* bad.h - x */' > "$temporary/bad.h"
     awk -f "$top_srcdir/docs/doxygen-filter.awk" "$temporary/bad.h" 2>&1)"
for name in 03-absent 'chapter 77' decisions/0042; do
  expect_found "a name that leads nowhere is found: $name" "$name" \
    "$found"
done
mkdir -p "$temporary/bad/slice/slab" "$temporary/bad/tests"
: > "$temporary/bad/slice/slab/slab.c"
echo 'see `slab/slab.c` and `slab/flag.c`' > "$temporary/bad/docs/hacking.md"
echo > "$temporary/bad/docs/decisions/0001-one.md"
equal "a source file that is gone is found, and no other" \
  "$(dead_paths "$temporary/bad")" 'docs/hacking.md: no slab/flag.c'
expect_none "other names are not found" \
  "$(echo "$found" | grep -E '03-apart|chapter 3')"
cat > "$temporary/bad.h" <<'END'
/** Is documented. */
SLICE_API void slice_documented (void);
SLICE_API void slice_undocumented (void);

/* No doc comment. */
SLICE_API int *slice_remark (int x,
                             int y);

/** Is documented,
 * in two lines. */
SLICE_INLINE void *slice_long (size_t size)
    SLICE_ATTR_MALLOC;
SLICE_INLINE void *
slice_long (size_t size)
{
}
/** Somebody else's. */

SLICE_API void slice_apart (void);

SLICE_ARENA_INLINE void *slice_inlined (void);
typedef enum
{
  SLICE_OPTION_SEEN = 1, /**< [seen] */
  SLICE_OPTION_UNSEEN,   /**< [un-seen] */
  SLICE_OPTION_UNNAMED,
  SLICE_N_OPTIONS
} SliceOption;
  ERROR_SEEN = 901,
  ERROR_UNSEEN = 902
END
cat > "$temporary/option.c" <<'END'
  SEEN_MAX = 2 * 3,   /* not 5 */
  { SLICE_OPTION_SEEN, UNIT_SWITCH, "seen", 0, SEEN_MAX,
    1, "a word" },
END
table_ranges "$temporary/option.c" > "$temporary/table"
expect_none "the table is read" \
  "$(echo 'seen 0 6 1' | diff "$temporary/table" -)"
printf '/**< [seen] 0 to 5;\n 1 by default.  It */\n' > "$temporary/range.h"
printf '.B seen\n0 to 6; 0 by default.\n' > "$temporary/range.7"
header_ranges "$temporary/range.h" > "$temporary/ranges"
expect_found "another range in the header is found" '^> seen 0 5 1' \
  "$(unlike "$temporary/table" "$temporary/ranges")"
manual_ranges "$temporary/range.7" > "$temporary/ranges"
expect_found "another default in the manual is found" '^> seen 0 6 0' \
  "$(unlike "$temporary/table" "$temporary/ranges")"
printf 'order.c: a || b => a && b\nwhy\n\nnone.c: c => d\nwhy\n' \
  > "$temporary/equivalent"
echo 'if (a || b)' > "$temporary/order.c"
expect_found "a mutant of a line that is gone is found" '^none.c: no c$' \
  "$(outdated "$temporary" "$temporary/equivalent")"
expect_none "another is not found" \
  "$(outdated "$temporary" "$temporary/equivalent" | grep order)"
printf '  ERROR_A = 902,\n  ERROR_B = 901\n' > "$temporary/order.h"
expect_found "a number out of order is found" '^901: after 902' \
  "$(disordered "$temporary/order.h")"
printf 'the option seen\nand 901 but not 9020\n' > "$temporary/bad.7"
expect_found "an option without a name is found" UNNAMED \
  "$(unnamed "$temporary/bad.h")"
found=$(uncommented "$temporary/bad.h")
for name in undocumented remark apart inlined; do
  expect_found "slice_$name, without a doc comment, is found" \
    "slice_$name\$" "$found"
done
expect_none "documented ones are not found" \
  "$(echo "$found" | grep -E 'slice_(documented|long)$')"
expect_found "an option that the manual lacks is found" '^un-seen: not' \
  "$(options "$temporary/bad.h" | absent "$temporary/bad.7")"
expect_found "an error that the manual lacks is found" '^902: not' \
  "$(errors "$temporary/bad.h" | absent "$temporary/bad.7")"
cat > "$temporary/reports.c" <<'END'
  report (ERROR_UNSEEN, ERROR_SEEN, ERROR_SEEN, ERROR_OTHER);
END
(cd "$temporary" && reporters bad.h reports.c) > "$temporary/reporting"
expect_none "a file's numbers are read, each once" \
  "$(echo 'reports.c: 901 902' | diff - "$temporary/reporting")"
echo ' *   reports.c: 901' > "$temporary/listing.h"
listed_reporters "$temporary/listing.h" > "$temporary/listed"
expect_found "a number that errors.h does not list is found" \
  '^> reports.c: 901 902' \
  "$(unlike "$temporary/listed" "$temporary/reporting")"
expect_none "what the manual has is not found" \
  "$({ options "$temporary/bad.h"; errors "$temporary/bad.h"; } \
       | absent "$temporary/bad.7" | grep -E '^(seen|901)')"

finish
