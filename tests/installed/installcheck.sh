#!/bin/sh
# installcheck.sh - programs outside the tree, against the installed library
#
# Wants pkgconfigdir, libdir, includedir, docdir and mandir, and INSTALLCHECK_DESTDIR if they lie below
# that.  The compiler gets only the flags of pkg-config.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

: "${PKG_CONFIG:=pkg-config}" "${INSTALLCHECK_DESTDIR=}"
DESTDIR=$INSTALLCHECK_DESTDIR
clients=$(cd "$top_srcdir/tests/installed" && pwd)
top_readme=$(cd "$top_srcdir" && pwd)/README
cd "$temporary" || exit 99

PKG_CONFIG_PATH=$DESTDIR$pkgconfigdir${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
if test -n "$DESTDIR"; then
  PKG_CONFIG_SYSROOT_DIR=$DESTDIR
  export PKG_CONFIG_SYSROOT_DIR
fi
LD_LIBRARY_PATH=$DESTDIR$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# build NAME COMPILER...: compiles and runs a client; what goes wrong
build ()
{
  source=$1
  shift
  # The flags are lists of words.
  if ! "$@" -Wall -Wextra -Werror $($PKG_CONFIG --cflags slice) \
       -o client "$clients/$source" $($PKG_CONFIG --libs slice) > said 2>&1
  then
    echo "$* $source: does not build"
    cat said
    return
  fi
  status=0
  ./client > said 2>&1 || status=$?
  if test $status != 0; then
    echo "$source: exit status $status"
    cat said
  elif ! grep -q "^slice $($PKG_CONFIG --modversion slice): " said; then
    echo "$source: another version than slice.pc"
    cat said
  fi
}

expect_none "slice.pc is found" "$($PKG_CONFIG --print-errors \
  --errors-to-stdout --exists slice || echo not found)"
# CC and CXX may hold options: lists of words.
expect_none "a C program" "$(build client.c $CC)"
expect_none "a C program without optimisation" "$(build client.c $CC -O0)"
expect_none "a C program, optimised" "$(build client.c $CC -O2)"
if test -n "${CXX-}" && echo | $CXX -x c++ -fsyntax-only - 2>/dev/null; then
  expect_none "a C++ program" "$(build client.cc $CXX -std=c++11)"
  expect_none "a C++ program, optimised" "$(build client.cc $CXX -O2)"
else
  skip "a C++ program" "no C++ compiler"
fi

# --- the README's first program, as it stands there ---

readme=$top_readme
# first FILE: the program
first ()
{
  sed -n '/^A first program$/,/^    cc /{/^    /s/^    //p;/^$/p;}' "$1" \
    | sed '/^cc /d'
}
# commands FILE: what is to be typed
commands ()
{
  sed -n '/^A first program$/,/^If libslice/s/^    \(cc .*\|\.\/first\)$/\1/p' \
    "$1"
}
first "$readme" > first.c
expect_found "the README has a program" '^main (void)' "$(cat first.c)"
commands "$readme" | sed "s|^cc |$CC |;s|pkg-config|$PKG_CONFIG|" > first.sh
said=$(sh -e ./first.sh 2>&1)
expect_found "the README's commands build and run it" '^9$' "$said"
# Where the system does not know the library: as the README says.
if test -z "$DESTDIR"; then
  said=$(unset LD_LIBRARY_PATH; sed \
    's|-o first|-Wl,-rpath,$('"$PKG_CONFIG"' --variable=libdir slice) -o first|' \
    first.sh > rpath.sh; sh -e ./rpath.sh 2>&1)
  expect_found "and with the rpath that it names" '^9$' "$said"
fi

# --- what the README names is installed ---

# unknown FILE: headers and documents that it names, and that are not there
unknown ()
{
  grep -o -E '(docs|slice)/[A-Za-z0-9_-]+(\.[a-z]+)?(/[A-Za-z0-9_.-]+)?' "$1" \
    | sed 's/[.]$//' | sort -u | while read -r name; do
    case $name in
    */NAME* | slice/dropin/* | slice/.libs*) ;; # said to be source
    docs/*) test -e "$DESTDIR$docdir/${name#docs/}" \
      || test -e "$DESTDIR$docdir/${name#docs/}c.c" || echo "$name" ;;
    slice/*.h | slice/*.hpp)
      test -e "$DESTDIR$includedir/$name" || echo "$name" ;;
    esac
  done
}
expect_none "what the README names is installed" \
  "$(unknown "$DESTDIR$docdir/README")"

# --- what documents and manuals refer to is installed ---

# dangling FILE: the manuals and results that it refers to, and programs of the
# benchmark, which are not there, unless the paragraph, or for a program any
# paragraph, says that they are in the source tree
dangling ()
{
  sed 's/\\-/-/g;s/\\f.//g;s/^[.][BI]R* *//;s/ (\([1-9]\))/(\1)/;s/^[.].*$//' \
    "$1" > text.txt
  grep -q 'source tree' text.txt || grep -o 'slice-bench' text.txt | sort -u
  awk -v RS= '!/source tree/' text.txt \
    | grep -o -E 'slice(-[a-z]+)?\([17]\)|(docs|^|[(])/?results/[a-z.-]+' \
    | sed 's/^(//;s|^docs/||' | sort -u | while read -r name; do
    case $name in
    results/*) test -e "$DESTDIR$docdir/$name" || echo "$name" ;;
    *)
      page=${name%(*} section=${name#*(}
      section=${section%)}
      test -e "$DESTDIR$mandir/man$section/$page.$section" || echo "$name" ;;
    esac
  done
}
expect_none "what documents and manuals refer to is installed" \
  "$(find "$DESTDIR$docdir" "$DESTDIR$mandir" -type f \
       \( -name README -o -name '*.md' -o -name 'slice*.[17]' \) \
     | while read -r file; do
         dangling "$file" | sed "s|^|${file##*/}: |"
       done)"

# --- manuals and the debugger's commands ---

for page in slice.7 slice-errors.7 slice-options.7; do
  expect_none "$page is installed" \
    "$(ls "$DESTDIR$mandir/man7/$page" 2>&1 > /dev/null)"
done
if ! gdb --batch -ex 'python print(1)' > /dev/null 2>&1; then
  skip "gdb finds its commands" "no gdb with Python"
else
  $CC -g -O0 $($PKG_CONFIG --cflags slice) -o first first.c \
    $($PKG_CONFIG --libs slice)
  # As docs/guide/debugging.md has it; below DESTDIR pkg-config may not know of it.
  HOME=$temporary
  export HOME
  sed -n '/^ *echo "add-auto-load/,/gdbinit$/s/^ *//p' \
    "$DESTDIR$docdir/guide/debugging.md" | sed "s|pkg-config|$PKG_CONFIG|" > trust.sh
  sh -e ./trust.sh
  echo "add-auto-load-safe-path $DESTDIR$libdir" >> .gdbinit
  expect_found "gdb can be told to trust the folder" "^add-.*$libdir\$" \
    "$(head -n 1 .gdbinit)"
  said=$(gdb --batch -ex 'break printf' \
    -ex 'run' -ex 'up' -ex 'slice-owner list' ./first 2>&1 < /dev/null)
  case $said in
  *'Breakpoint 1, '*)
    expect_found "gdb finds its commands" 'of class 16, chunk .*, out$' \
      "$said" ;;
  *) skip "gdb finds its commands" "it can't run a program here" ;;
  esac
fi

# Can it fail?
printf 'see docs/NOTHING and slice/nothing.h\n' > bad.txt
expect_found "a document that is not installed is found" '^docs/NOTHING$' \
  "$(unknown bad.txt)"
printf 'see slice-nothing(1), slice-bench and docs/results/no.txt\n' > bad.md
expect_found "a reference that leads nowhere is found" \
  '^slice-bench results/no.txt slice-nothing(1)$' \
  "$(dangling bad.md | tr '\n' ' ' | sed 's/ $//')"
expect_found "a header that is not installed is found" '^slice/nothing.h$' \
  "$(unknown bad.txt)"
clients=$temporary
printf '#include <slice/slice.h>\nint main (void) { return 3; }\n' > bad.c
expect_found "a client that fails is found" 'exit status 3' \
  "$(build bad.c $CC)"
printf 'int main (void) { return slice_missing (); }\n' > bad.c
expect_found "a client that does not build is found" 'does not build' \
  "$(build bad.c $CC)"

finish
