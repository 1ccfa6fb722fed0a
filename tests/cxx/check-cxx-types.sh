#!/bin/sh
# check-cxx-types.sh - what C++ types the headers refuse, and why
#
# What is not trivially copyable is not copied by its bytes; an allocator has a
# strategy.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

flags="-Wall -Wextra -fsyntax-only -I$top_builddir -I$top_srcdir"

# says COMPILER STANDARD STATEMENT: what the compiler says of it
says ()
{
  cat > "$temporary/types.cc" <<END
extern "C" {
#include <slice/slice.h>
}
#include <slice/slice.hpp>
#include <string>
struct Plain { int x; };
struct MovesOnly
{
  MovesOnly (const MovesOnly &) = delete;
  MovesOnly (MovesOnly &&) = default;
  int x;
};
struct Incomplete;
typedef std::pair<int, int> Pair;
typedef slice::CustomAllocator<int, slice::TlsfPool> Allocator;
template <typename T> T *copy_of (T *p) { return slice_dup (T, p); }
void use (Plain *plain, Pair *pair, std::string *text, MovesOnly *moves,
          Incomplete *incomplete, void *bytes);
void
use (Plain *plain, Pair *pair, std::string *text, MovesOnly *moves,
     Incomplete *incomplete, void *bytes)
{
  static_cast<void> (plain);
  static_cast<void> (pair);
  static_cast<void> (text);
  static_cast<void> (moves);
  static_cast<void> (incomplete);
  static_cast<void> (bytes);
  $3;
}
END
  $1 -std="$2" $flags "$temporary/types.cc" 2>&1
}

# refused and taken COMPILER STANDARD: statements that don't build, that do
refused ()
{
  for statement in 'slice_dup (std::string, text)' 'copy_of (text)' \
    'slice_copy (sizeof *text, text)'; do
    expect_found "$1 $2 refuses: $statement" 'not trivially copyable' \
      "$(says "$1" "$2" "$statement")"
  done
  for statement in 'Allocator a (nullptr)' 'Allocator a (0)'; do
    expect_found "$1 $2 refuses: $statement" 'error: .*deleted' \
      "$(says "$1" "$2" "$statement")"
  done
}

# All in one program: an error names the line.
taken ()
{
  expect_none "$1 $2 takes what may be copied" \
    "$(says "$1" "$2" '
  slice_dup (Plain, plain);
  copy_of (plain);
  slice_dup (Pair, pair);
  slice_dup (MovesOnly, moves);
  slice_copy (sizeof *plain, plain);
  slice_copy (4, incomplete);
  slice_copy (4, "abc");
  slice_copy (4, bytes);
  slice_copy (0, nullptr);
  void *(*f) (size_t, const void *) = slice_copy;
  f (4, bytes)' | grep error)"
}

for compiler in "$CXX" "${CLANGXX-}"; do
  test -n "$compiler" || continue
  for standard in c++11 c++20; do
    refused "$compiler" $standard
    taken "$compiler" $standard
  done
done

finish
