#!/bin/sh
# check-aliasing.sh - the attributes of the public headers tell the truth
#
# clients/aliasing.c has cases with one right result each.  It runs as compiled
# by each compiler at each level of optimisation, with and without link-time
# optimisation, as C and as C++.  Then gcc's warnings that the attributes are
# for: a block that goes to the wrong function.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

libraries=$(cd "$top_builddir" && pwd)/slice/.libs
test -f "$libraries/libslice.so" || skip_all "no shared library was built"
if $NM -D "$libraries/libslice.so" | grep -q -E ' U __(asan|tsan|ubsan)_'; then
  skip_all "instrumented by a sanitizer"
fi
source=$top_srcdir/tests/interface/aliasing.c
: "${includes:=-I$top_builddir -I$top_srcdir}"

# works COMPILER: true if there is such a compiler, and it links
works ()
{
  test -n "$1" && echo 'int main (void) { return 0; }' \
    > "$temporary/unit.c" \
    && $1 "$temporary/unit.c" -o "$temporary/unit" > /dev/null 2>&1
}

# result FLAGS: what goes wrong with the program so compiled
result ()
{
  # A compiler with its flags, and flags: lists of words.
  $1 $includes "$source" -o "$temporary/aliasing" -x none \
    "$libraries/libslice.so" -Wl,-rpath,"$libraries" 2>&1 \
    && "$temporary/aliasing" 2>&1 || echo "failed: $1"
}

# each_level COMPILER LANGUAGE
each_level ()
{
  if ! works "$1"; then
    skip "$1, as $2" "no such compiler"
    return
  fi
  for level in -O0 -O1 -O2 -O3; do
    for link in '' -flto; do
      if test -n "$link" && ! works "$1 -flto"; then
        skip "$1 $level $link, as $2" "no link-time optimisation"
        continue
      fi
      expect_none "$1 $level $link, as $2" \
        "$(result "$1 -x $2 $level $link -Wall -Wextra -Werror")"
    done
  done
}

each_level "$CC" c
each_level "${CXX-}" c++
case $CC in *clang*) second=gcc second_cxx=g++ ;;
*) second=${CLANG-} second_cxx=${CLANGXX-} ;; esac
each_level "${second:-clang}" c
each_level "${second_cxx:-clang++}" c++

# Can it fail?  Each false promise that a compiler makes use of is found: the
# attribute, put back to a function that copies, constructs or shows its
# objects otherwise.
# lied HEADER DECLARATION: what the cases say when it promises too much
lied ()
{
  echo "__attribute__ ((malloc)) $2" > "$temporary/lie.h"
  result "gcc -x c -O2 -include $top_srcdir/slice/$1 -include $temporary/lie.h"
}
if works gcc; then
  expect_found "a copy that is called fresh is found" 'copy ralloc_memdup' \
    "$(lied ralloc.h \
       'void *ralloc_memdup (const void *, const void *, size_t);')"
  expect_found "an object of a walked heap that is called the only one, too" \
    'heap walked' "$(lied tlsf.h \
       'void *slice_tlsf_alloc (SliceTlsf *, size_t);')"
  expect_found "and memory that the program sees otherwise" \
    'buffer linear_alloc_n' "$(lied linear.h \
       'void *slice_linear_alloc_n (SliceLinear *, size_t, size_t);')"
fi

# --- the wrong deallocator -------------------------------------------------

# warned LEVEL STATEMENT: what gcc says of it
warned ()
{
  cat > "$temporary/wrong.c" <<END
#include <stdlib.h>
#include <slice/slice.h>
typedef struct { _Alignas (64) char bytes[64]; } Line;
void use (void);
void
use (void)
{
  $2
}
END
  gcc "$1" -Wall -c -o /dev/null $includes "$temporary/wrong.c" 2>&1
}

# wrong LEVEL STATEMENT: gcc must warn
wrong ()
{
  expect_found "gcc $1 warns of: $2" 'Wmismatched-dealloc' "$(warned "$1" "$2")"
}

# right LEVEL STATEMENT: gcc must not
right ()
{
  expect_none "gcc $1 takes: $2" "$(warned "$1" "$2")"
}

if works gcc && test "$(gcc -dumpversion | sed 's/\..*//')" -ge 11; then
  wrong -O0 'free (slice_new (int));'
  wrong -O0 'free (slice_new0 (int));'
  wrong -O0 'free (slice_try_new (int));'
  wrong -O0 'free (slice_alloc (100));'
  wrong -O0 'slice_free (int, (int *) malloc (sizeof (int)));'
  for level in -O0 -O2; do
    wrong $level 'free (slice_alloc_n (3, 4));'
    wrong $level 'free (slice_new (Line));'
    wrong $level 'slice_free (Line, (Line *) malloc (sizeof (Line)));'
    right $level 'slice_free (int, slice_new (int));'
    right $level 'slice_free (int, slice_new0 (int));'
    right $level 'slice_free (Line, slice_try_new0 (Line));'
    right $level 'slice_free_n (3, 4, slice_alloc0_n (3, 4));'
  done
  wrong -O2 'slice_free (int, (int *) malloc (sizeof (int)));'
else
  skip "the wrong deallocator" "no gcc 11 or later"
fi

finish
