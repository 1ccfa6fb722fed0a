#!/bin/sh
# check-modules.sh - slice.hpp in C++20's modules: as a header unit, and in the
# global fragment of a module that exports parts of it
#
# Each compiler as far as it can: gcc (from 12 on) header units, clang (from 17
# on) both; gcc exports no template that is another namespace's before 15.
# SLICE_TEST_MATRIX=1: with each gcc-N and clang-N, too.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

top_srcdir=$(cd "$top_srcdir" && pwd)
top_builddir=$(cd "$top_builddir" && pwd)
flags="-std=c++20 -I$top_builddir -I$top_srcdir"
library=$top_builddir/slice/.libs/libslice.so
test -f "$library" || skip_all "no shared library was built"
case $CC in
*-fsanitize*) skip_all "the compiler's flags are special: $CC" ;;
esac
LD_LIBRARY_PATH=$top_builddir/slice/.libs
export LD_LIBRARY_PATH
cd "$temporary" || exit 99

cat > memory.cppm <<'END'
module;
#include <slice/slice.hpp>
export module memory;
export namespace memory
{
using slice::allocator;
using slice::make_unique;
using slice::unique_ptr;
}
END
cat > body.h <<'END'
int
main ()
{
  lib::unique_ptr<int> three = lib::make_unique<int> (3);
  std::vector<int, lib::allocator<int>> numbers;
  numbers.push_back (*three);
  return numbers[0] == 3 ? 0 : 1;
}
END
sed '1i #include <memory>\n#include <vector>\nimport memory;
1i namespace lib = memory;' body.h > module.cc
sed '1i #include <vector>\nimport <slice/slice.hpp>;\nnamespace lib = slice;' \
  body.h > unit.cc

# header_unit COMPILER: what goes wrong
header_unit ()
{
  rm -rf gcm.cache program
  case $1 in
  *clang*)
    $1 $flags -fmodule-header=system -xc++-header slice/slice.hpp \
      -o slice.pcm 2>&1 \
      && $1 $flags -Wno-experimental-header-units -fmodule-file=slice.pcm \
           unit.cc -o program "$library" 2>&1 ;;
  *)
    $1 $flags -fmodules-ts -x c++-system-header slice/slice.hpp 2>&1 \
      && $1 $flags -fmodules-ts unit.cc -o program "$library" 2>&1 ;;
  esac
  ./program 2>&1 || echo "status $?"
}

# exported COMPILER: what goes wrong
exported ()
{
  rm -rf gcm.cache program
  case $1 in
  *clang*)
    $1 $flags --precompile memory.cppm -o memory.pcm 2>&1 \
      && $1 $flags -Wno-unused-command-line-argument \
           -fprebuilt-module-path=. module.cc memory.pcm -o program \
           "$library" 2>&1 ;;
  *)
    $1 $flags -fmodules-ts -x c++ memory.cppm module.cc -o program \
      "$library" 2>&1 ;;
  esac
  ./program 2>&1 || echo "status $?"
}

# at_least COMPILER VERSION
at_least ()
{
  test "$($1 -dumpversion 2> /dev/null | sed 's/\..*//')" -ge "$2" 2> /dev/null
}

# check COMPILER: what it can
check ()
{
  case $1 in
  *clang*) first_unit=17 first_module=17 ;;
  *) first_unit=12 first_module=15 ;;
  esac
  if at_least "$1" $first_unit; then
    expect_none "$1: a header unit" "$(header_unit "$1")"
  else
    skip "$1: a header unit" "not before version $first_unit"
  fi
  if at_least "$1" $first_module; then
    expect_none "$1: a module that exports parts" "$(exported "$1")"
  else
    skip "$1: a module that exports parts" "not before version $first_module"
  fi
}

for compiler in "${CXX-}" "${CLANGXX-}"; do
  test -z "$compiler" || check "$compiler"
done
if test "${SLICE_TEST_MATRIX:-0}" = 1; then
  for compiler in $(installed_compilers); do
    case $compiler in
    gcc-*) compiler=g++-${compiler#gcc-} ;;
    *) compiler=clang++-${compiler#clang-} ;;
    esac
    ! command -v $compiler > /dev/null 2>&1 || check "$compiler"
  done
fi

# Can it fail?
sed -i 's/numbers\[0\] == 3/numbers[0] == 4/' unit.cc
if at_least "${CXX:-none}" 12; then
  case $CXX in
  *clang*) ;;
  *) expect_found "a program that fails is found" 'status 1' \
       "$(header_unit "$CXX")" ;;
  esac
fi
finish
