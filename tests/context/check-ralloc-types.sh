#!/bin/sh
# check-ralloc-types.sh - what contexts can't align, the compiler refuses
#
# Each typed macro, and the C++ operators, with a type of the alignment that is
# given and with one of twice as much.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

includes="-I$top_builddir -I$top_srcdir"

# says COMPILER ALIGNMENT STATEMENT: what the compiler says of it
says ()
{
  cat > "$temporary/typed" <<END
#include <slice/ralloc.h>
typedef struct { int x; } __attribute__ ((aligned ($2))) Type;
Type *use (void *c, RallocLinear *l, RallocGc *g, Type *p);
Type *
use (void *c, RallocLinear *l, RallocGc *g, Type *p)
{
  (void) c;
  (void) l;
  (void) g;
  (void) p;
  return $3;
}
END
  $1 -Wall -Wextra -Werror -fsyntax-only $includes "$temporary/typed" 2>&1
}

# bound COMPILER ALIGNMENT STATEMENT: complains unless ALIGNMENT passes, and
# twice that does not
bound ()
{
  said=$(says "$1" "$2" "$3") || echo "$1 refuses $2: $3
$said"
  if said=$(says "$1" $(($2 * 2)) "$3"); then
    echo "$1 takes $(($2 * 2)): $3"
  else
    case $said in
    *aligned*more*than*) ;;
    *) echo "$1, $3: says not why: $said" ;;
    esac
  fi
}

# macros COMPILER
macros ()
{
  for statement in 'ralloc (c, Type)' 'rzalloc (c, Type)' \
    'ralloc_array (c, Type, 3)' 'rzalloc_array (c, Type, 3)' \
    'reralloc (c, p, Type, 3)' 'rerzalloc (c, p, Type, 3, 4)' \
    'ralloc_typed (c, Type)'; do
    bound "$1" 16 "$statement"
  done
  for statement in 'ralloc_linear_alloc (l, Type)' \
    'ralloc_linear_zalloc (l, Type)' 'ralloc_linear_alloc_array (l, Type, 3)' \
    'ralloc_linear_zalloc_array (l, Type, 3)'; do
    bound "$1" 8 "$statement"
  done
  bound "$1" 4096 'ralloc_gc_alloc (g, Type, 3)'
  bound "$1" 4096 'ralloc_gc_zalloc (g, Type, 3)'
}

# operators COMPILER ALIGNMENT MACRO NEW: whether the class is taken
operators ()
{
  cat > "$temporary/class" <<END
#include <slice/ralloc.h>
struct alignas ($2) Base { $3 (Base) int x; };
struct alignas (64) Derived : Base { };
void *use (void *c);
void *use (void *c) { (void) c; return $4; }
END
  $1 -Wall -Wextra -Werror -fsyntax-only $includes "$temporary/class" 2>&1
}

# classes COMPILER: complains of what is taken, or refused, wrongly
classes ()
{
  for macro in DECLARE_RALLOC_CXX_OPERATORS DECLARE_RZALLOC_CXX_OPERATORS; do
    operators "$1" 16 $macro 'new (c) Base'
    operators "$1" 16 $macro 'new Base[3]'
    operators "$1" 32 $macro 'new (c) Base' >/dev/null \
      && echo "$1, $macro: takes 32"
    operators "$1" 16 $macro 'new (c) Base[3]' >/dev/null \
      && echo "$1, $macro: takes an array"
    operators "$1" 16 $macro 'new (c) Derived' >/dev/null \
      && echo "$1, $macro: takes a derived class of more alignment"
  done
  for macro in DECLARE_LINEAR_ALLOC_CXX_OPERATORS \
    DECLARE_LINEAR_ZALLOC_CXX_OPERATORS; do
    operators "$1" 8 $macro 'new (c) Base'
    operators "$1" 8 $macro 'new (c) Base[3]'
    operators "$1" 16 $macro 'new (c) Base' >/dev/null \
      && echo "$1, $macro: takes 16"
    operators "$1" 8 $macro 'new (c) Derived[2]' >/dev/null \
      && echo "$1, $macro: takes a derived class of more alignment"
  done
}

# works COMPILER LANGUAGE
works ()
{
  test -n "$1" && echo 'int unit;' > "$temporary/unit" \
    && $1 -x "$2" -fsyntax-only "$temporary/unit" >/dev/null 2>&1
}

for compiler in "$CC" "${CLANG-}"; do
  works "$compiler" c || continue
  expect_none "$compiler: macros in C" \
    "$(macros "$compiler -x c -std=c11 -Wpedantic")"
done
for compiler in "${CXX-}" "${CLANGXX-}"; do
  works "$compiler" c++ || continue
  expect_none "$compiler: macros in C++" \
    "$(macros "$compiler -x c++ -std=c++11 -Wpedantic")"
  expect_none "$compiler: operators in C++" \
    "$(classes "$compiler -x c++ -std=c++17")"
done

# Can it fail?
expect_found "a macro that takes any type is found" 'takes 32' \
  "$(bound "$CC -x c" 16 '(Type *) ralloc_size (c, sizeof (Type))')"
expect_found "a bound that is too low is found" 'refuses 16' \
  "$(bound "$CC -x c" 16 'ralloc_linear_alloc (l, Type)')"

finish
