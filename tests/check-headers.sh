#!/bin/sh
# check-headers.sh - each public header compiles alone, in every language
#
# With each compiler there is, with and without optimisation, with all
# warnings as errors; and the typed macros refuse a pointer of another type.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/check-lib.sh"

: "${PUBLIC_HEADERS:=slice/slice.h slice/options.h slice/stats.h \
slice/source.h slice/version.h}"
flags="-Wall -Wextra -Wpedantic -Werror -c -o /dev/null"
includes="-I$top_builddir -I$top_srcdir"

# Languages: standard, and the compiler's name for the language.
c_standards="c99 c11 c17 gnu17"
cxx_standards="c++11 c++17 c++20"

# works COMPILER LANGUAGE: true if there is such a compiler
works ()
{
  test -n "$1" \
    && echo 'int slice_unit;' > "$temporary/unit" \
    && $1 -x "$2" -fsyntax-only "$temporary/unit" >/dev/null 2>&1
}

# compile COMPILER LANGUAGE STANDARD OPTIMISATION FILE: what it says
compile ()
{
  $1 -x "$2" -std="$3" "$4" $flags $includes "$5" 2>&1 \
    || echo "$1 -std=$3 $4: failed"
}

# each_way COMPILER LANGUAGE STANDARDS FILE: what any of them says
each_way ()
{
  for standard in $3; do
    for optimisation in -O0 -O2; do
      compile "$1" "$2" "$standard" "$optimisation" "$4"
    done
  done
}

# A program of one header, twice, without the macros that others bring.
alone ()
{
  cat > "$temporary/alone.c" <<END
#undef MAX
#undef MIN
#include <$1>
#include <$1>
int main (void);
int
main (void)
{
  return 0;
}
END
}

# The typed macros; $1 is the type of the pointer that they are given.
typed ()
{
  cat > "$temporary/typed.c" <<END
#include <slice/slice.h>
struct right { struct right *next; int x; };
struct wrong { struct wrong *next; double x; };
void use (void);
void
use (void)
{
  struct $1 *block = slice_new (struct $1);
  struct right *copy = NULL;
  (void) block;
  (void) copy;
  $2
}
END
}

# misuse COMPILER LANGUAGE STANDARD STATEMENT: says which statement a
# compiler takes with the wrong type, or refuses with the right one
misuse ()
{
  typed right "$4"
  said=$(compile "$1" "$2" "$3" -O2 "$temporary/typed.c")
  test -z "$said" || echo "$1 -std=$3 refuses: $4
$said"
  typed wrong "$4"
  said=$(compile "$1" "$2" "$3" -O2 "$temporary/typed.c")
  test -n "$said" || echo "$1 -std=$3 takes the wrong type: $4"
}

misuses ()
{
  for standard in $3; do
    misuse "$1" "$2" "$standard" 'slice_free (struct right, block);'
    misuse "$1" "$2" "$standard" \
      'slice_free_chain (struct right, block, next);'
    misuse "$1" "$2" "$standard" 'copy = slice_dup (struct right, block);'
  done
}

# all COMPILER LANGUAGE STANDARDS
all ()
{
  if ! works "$1" "$2"; then
    skip "headers as $2" "no compiler: ${1:-none}"
    return
  fi
  for header in $PUBLIC_HEADERS; do
    case $2:$header in c:*.hpp) continue ;; esac # for C++ alone
    alone "$header"
    expect_none "$1, $2: <$header> alone" \
      "$(each_way "$1" "$2" "$3" "$temporary/alone.c")"
  done
  expect_none "$1, $2: typed macros check the type" \
    "$(misuses "$1" "$2" "$3")"
}

all "$CC" c "$c_standards"
all "${CXX-}" c++ "$cxx_standards"
# A second compiler, where there is one and it is not the first.
case $CC in *clang*) second=gcc second_cxx=g++ ;;
*) second=${CLANG-} second_cxx=${CLANGXX-} ;; esac
all "$second" c "$c_standards"
all "$second_cxx" c++ "$cxx_standards"

# Can it fail?
mkdir -p "$temporary/bad"
includes="-I$temporary $includes"
echo 'size_t slice_needs_stddef (void);' > "$temporary/bad/bad.h"
alone bad/bad.h
expect_found "a header that needs another one is found" 'size_t' \
  "$(each_way "$CC" c "$c_standards" "$temporary/alone.c")"
echo 'typedef int slice_twice; enum { slice_one };' > "$temporary/bad/bad.h"
alone bad/bad.h
expect_found "a header without a guard is found" 'failed' \
  "$(each_way "$CC" c "$c_standards" "$temporary/alone.c")"
expect_found "a macro that checks no type is found" 'takes the wrong type' \
  "$(misuse "$CC" c c11 'slice_free1 (sizeof (struct right), block);')"
expect_found "a macro that refuses the right type is found" 'refuses' \
  "$(misuse "$CC" c c11 'slice_free (struct wrong, block);')"

finish
