#!/bin/sh
# check-guide.sh - what the guide and the README show works as it stands there
#
# In docs/guide, what stands between ``` is taken by the language that it says:
#
#   c, cpp    a whole program (one with a main) is compiled without warnings
#   sh        is run, in the order of the chapter, in one folder that has the
#             chapter's programs under the names that their first lines say
#   output    is what the program or the commands right above print; addresses
#             and numbers of threads may differ, and with 32 bits how much a
#             context holds
#
# Every name of a function, type or constant of slice's is one of the headers
# or manuals.  (Links are looked at by check-docs.sh.)
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

: "${CXX:=}"
: "${PKG_CONFIG:=pkg-config}"
# By its path: the name is that of a script below.
PKG_CONFIG=$(command -v "$PKG_CONFIG" || echo false)
case " $CC ${LIBRARY_CFLAGS-} " in
*-fsanitize* | *--coverage* | *-m32*) skip_all "the flags are special" ;;
esac
source=$(cd "$top_srcdir" && pwd)
build=$(cd "$top_builddir" && pwd)
libs=$build/slice/.libs
test -f "$libs/libslice.so" || skip_all "no shared library"
ulimit -c 0
unset SLICE_OPTIONS G_SLICE

# --- the commands of an installation, for what is in the build tree ---

bin=$temporary/bin
mkdir "$bin"
# command NAME: its script comes from standard input
command_is ()
{
  { echo '#!/bin/sh'; cat; } > "$bin/$1"
  chmod +x "$bin/$1"
}
echo "exec $CC \"\$@\"" | command_is cc
test -z "$CXX" || echo "exec $CXX \"\$@\"" | command_is c++
echo "exec '$build/slice/dropin/slice-run' \"\$@\"" | command_is slice-run
command_is pkg-config <<END_OF_SCRIPT
case "\$*" in
*--variable=libdir*) echo '$libs' ;;
*slice*)
  for word; do
    case \$word in
    --cflags) echo "-I$build -I$source" ;;
    --libs) echo "-L$libs -Wl,-rpath,$libs -lslice" ;;
    slice | --*) ;;
    *) $PKG_CONFIG --cflags --libs "\$word" ;;
    esac
  done | tr '\n' ' ' ;;
*) exec $PKG_CONFIG "\$@" ;;
esac
END_OF_SCRIPT
tool=$build/slice/tools/slice-trace
if test -x "$tool"; then
  echo "exec '$tool' \"\$@\"" | command_is slice-trace
fi
PATH=$bin:$PATH
SLICE_TRACE_RECORDER=$build/slice/tools/.libs/slice-trace-record.so
export PATH SLICE_TRACE_RECORDER

# --- a chapter's blocks ---

# blocks FILE FOLDER: writes FOLDER/NN.LANGUAGE for each that says a language
blocks ()
{
  awk -v folder="$2" '
    !inside && /^```/ {
      inside = 1
      file = $0 == "```" ? "" : sprintf ("%s/%02d.%s", folder, ++n,
                                         substr ($0, 4))
      next
    }
    inside && /^```$/ { inside = 0; if (file != "") close (file); next }
    inside && file != "" { print > file }' "$1"
}

# name_of BLOCK: what a program is called
name_of ()
{
  name=$(sed -n -E '1s/^(\/\*|\/\/) ([a-z0-9-]+\.(c|cc)) .*/\2/p' "$1")
  case $1 in
  *.c) echo "${name:-example.c}" ;;
  *) echo "${name:-example.cc}" ;;
  esac
}

# program BLOCK: compiles it, says what the compiler says; ./NAME is there then
program ()
{
  name=$(name_of "$1")
  cp "$1" "$name"
  packages=slice
  if grep -q '<glib' "$1"; then packages="slice glib-2.0"; fi
  case $1 in
  *.c) compile="cc -std=gnu11" ;;
  *) compile="c++ -std=c++17" ;;
  esac
  $compile -Wall -Wextra -Werror -O2 "$name" -o "${name%.*}" \
    $(pkg-config --cflags --libs $packages) -pthread 2>&1
}

# same: standard input, with what differs from run to run made alike, and
# without the shell's own word of a program that was ended
same ()
{
  sed -E "/^Aborted/d; s/0x[0-9a-f]+/0xADDRESS/g; s/thread [0-9]+/thread N/g
          $same_sizes"
}
same_sizes=
if test "$(echo __SIZEOF_POINTER__ | $CC -E -P -)" = 4; then
  same_sizes='s/[0-9]+ bytes held/N bytes held/g'
fi

# compared EXPECTED SAID: how they differ
compared ()
{
  same < "$1" > expected.txt
  same < "$2" | diff expected.txt -
}

# missing BLOCK: a program that it calls and that need not be there
missing ()
{
  for optional in slice-trace valgrind gdb addr2line; do
    grep -q -E "(^|[ (])$optional " "$1" || continue
    command -v $optional > /dev/null 2>&1 || echo $optional
  done
}

# unserved BLOCK: what this machine lacks for it
unserved ()
{
  case $1 in
  *.cpp) test -n "$CXX" || echo "C++" ;;
  *.sh) missing "$1" ;;
  esac
  if grep -q -e '<glib' -e ' glib-2.0' -e '^slice-run' "$1"; then
    $PKG_CONFIG --exists glib-2.0 2> /dev/null || echo "GLib"
  fi
}

# run BLOCK OUTPUT: one block, with what it should print if OUTPUT is there
run ()
{
  case $1 in
  *.sh)
    if test -f "$2"; then
      sh "$1" > said.txt 2>&1
      compared "$2" said.txt
    else
      sh -e "$1" > said.txt 2>&1 || cat said.txt /dev/null "$1"
    fi ;;
  *)
    grep -q -E '^(int )?main \(' "$1" || return
    program "$1"
    test ! -f "$2" && return
    "./${name%.*}" > said.txt 2>&1 || echo "$name: exit status $?"
    compared "$2" said.txt ;;
  esac
}

# faults FILE: of all the blocks of a chapter
faults ()
{
  folder=$(mktemp -d "$temporary/chapter.XXXXXX")
  mkdir "$folder/blocks" "$folder/work"
  blocks "$1" "$folder/blocks"
  (
    cd "$folder/work" || exit
    for block in "$folder"/blocks/*.c "$folder"/blocks/*.cpp \
      "$folder"/blocks/*.sh; do
      test ! -f "$block" || echo "$block"
    done | sort > ../order
    while read -r block; do
      lacking=$(unserved "$block")
      if test -n "$lacking"; then
        echo "$lacking" >> "$temporary/lacking"
        continue
      fi
      number=$(basename "$block")
      number=${number%%.*}
      next=$(printf %02d $((1${number} - 99)))
      found=$(run "$block" "$folder/blocks/$next.output" < /dev/null)
      test -z "$found" || printf '%s\n%s\n' "block ${block##*/}:" "$found"
    done < ../order
  )
}

# --- names ---

cat "$source"/slice/*.h "$source"/slice/*.hpp "$source"/slice/version.h.in \
  "$source"/docs/man/* "$source"/m4/slice.m4 2> /dev/null | sed 's/\\-/-/g' \
  | tr -c 'A-Za-z0-9_' '\n' | sort -u > "$temporary/known"

# unknown FILE: names that look like slice's and are not
unknown ()
{
  tr -c 'A-Za-z0-9_' '\n' < "$1" \
    | grep -E '^(slice|ralloc|rzalloc|reralloc|rerzalloc|SLICE|RALLOC)_.*[^_]$' \
    | sort -u | comm -23 - "$temporary/known"
}

# --- the guide ---

for chapter in "$source"/docs/guide/*.md; do
  name=guide/$(basename "$chapter")
  : > "$temporary/lacking"
  expect_none "$name: its programs and commands work" "$(faults "$chapter")"
  if test -s "$temporary/lacking"; then
    skip "$name: all of them" \
      "there is no $(sort -u "$temporary/lacking" | tr '\n' ' ')"
  fi
  expect_none "$name: its names exist" "$(unknown "$chapter")"
done

# --- the README's first program, as a block of each kind ---

# As a chapter: its program, its commands and what they print.
readme ()
{
  echo '```c'
  sed -n '/^A first program$/,/^    cc /{/^    /s/^    //p;/^$/p;}' "$1" \
    | sed -e '/^cc /d' -e '1s,^,/* first.c */\n,'
  printf '```\n```sh\n'
  sed -n '/^A first program$/,/^[A-Z].*found/s/^    \(cc .*\|\.\/first\)$/\1/p' \
    "$1"
  printf '```\n```output\n9\n```\n'
}
readme "$source/README" > "$temporary/readme.md"
expect_found "the README has a program" '^main (void)' \
  "$(cat "$temporary/readme.md")"
expect_none "the README's program and commands work" \
  "$(faults "$temporary/readme.md")"
expect_none "the README's names exist" "$(unknown "$source/README")"

# --- can it fail? ---

cat > "$temporary/bad.md" <<'END_OF_CHAPTER'
See slice_unheard_of().

```c
/* warned.c - does not compile without warnings */
#include <slice/slice.h>
int
main (void)
{
  int unused_here;
  return 0;
}
```

```c
/* prints.c - prints something else */
#include <stdio.h>
int
main (void)
{
  puts ("0x12 is one");
  return 0;
}
```

```output
0x34 is two
```

```sh
echo 0x12 on thread 7
```

```output
0x34 on thread 8
```

```sh
test -x prints
false
```
END_OF_CHAPTER
found=$(faults "$temporary/bad.md")
expect_found "a program that does not compile is found" 'unused_here' "$found"
expect_found "output that differs is found" '^< 0xADDRESS is two' "$found"
expect_found "a command that fails is found" '^block 06.sh' "$found"
expect_none "an address that differs is not found" \
  "$(echo "$found" | grep thread)"
expect_found "a name that is none is found" '^slice_unheard_of$' \
  "$(unknown "$temporary/bad.md")"

finish
