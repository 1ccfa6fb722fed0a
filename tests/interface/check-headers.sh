#!/bin/sh
# check-headers.sh - each public header compiles alone, in every language
#
# With each compiler there is, with and without optimisation, with all
# warnings as errors; and the typed macros refuse a pointer of another type.
# A program that uses them all is quiet with the warnings that C programs ask
# for, and one with those that C++ programs do, with RTTI and exceptions and
# without.
#
# SLICE_TEST_MATRIX=1: with each gcc-N and clang-N, too.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

: "${PUBLIC_HEADERS:=slice/slice.h slice/options.h slice/stats.h \
slice/source.h slice/version.h}"
flags="-Wall -Wextra -Wpedantic -Werror -c -o /dev/null"
includes="-I$top_builddir -I$top_srcdir"

# The languages; in the first tier the oldest and the newest of them.
if test "${SLICE_TEST_TIER:-1}" = 1; then
  c_standards="c99 gnu17"
  cxx_standards="c++11 c++20"
  quiet_standards="c++11 c++20"
  bare_standards=c++20
  optimisations=-O2
else
  c_standards="c99 c11 c17 gnu17 c2x"
  cxx_standards="c++11 c++14 c++17 c++20 c++2b"
  quiet_standards="c++11 c++14 c++17 c++20 c++23|c++2b"
  bare_standards=$quiet_standards
  optimisations="-O0 -O2"
fi

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
    for optimisation in $optimisations; do
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

# c89 COMPILER: what it says of the program of one header in C89.  Clang counts
# <stdbool.h>'s bool as an extension.
c89 ()
{
  case $1 in *clang*) extensions=-Wno-c99-extensions ;; *) extensions= ;; esac
  (flags="$flags $extensions"
   each_way "$1" c c89 "$temporary/alone.c")
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
    case $2:$header in
    c:*/gslice.h) ;; # GLib's headers are no C89
    c:*) expect_none "$1, C89: <$header> alone" "$(c89 "$1")" ;;
    esac
  done
  expect_none "$1, $2: typed macros check the type" \
    "$(misuses "$1" "$2" "$3")"
}

# The first of the names of a standard, A|B, that the compiler knows; none if it
# can't read its own containers in it (clang 17 with gcc 14's, C++23).
known_standard ()
{
  for name in $(echo "$2" | tr '|' ' '); do
    if printf '#include <map>\nvoid f (std::map<int, int> &m) { m[1] = 2; }\n' \
      | $1 -x c++ -std="$name" -fsyntax-only - >/dev/null 2>&1; then
      echo "$name"
      return
    fi
  done
}

# A C++ program with what the headers have: $1 is a statement of its own.
quiet_program ()
{
  {
    for header in $PUBLIC_HEADERS; do
      case $header in
      */gslice.h) ;; # GLib's macros are not ours
      *) echo "#include <$header>" ;;
      esac
    done
    cat <<END
#include <map>
#include <vector>
namespace quiet
{
struct Node { Node *next; long x; };
struct alignas (64) Wide
{
  Wide () : y (), rest () {}
  SLICE_CLASS_OPERATORS
  int y, rest[15];
};
struct Least
{
  Least () : z () {}
  SLICE_CLASS_OPERATORS_ALIGNED (32)
  int z;
};
template <typename Strategy>
int
by_strategy ()
{
  typedef slice::CustomAllocator<int, Strategy> Allocator;
  Allocator allocator;
  std::vector<int, Allocator> vector (allocator);
  vector.push_back (1);
  allocator.dispose (allocator.create (4));
  allocator.reset ();
  return vector[0];
}
int use ();
}
int
quiet::use ()
{
  Node *node = slice_new (Node);
  node->next = slice_new0 (Node);
  Node *copy = slice_dup (Node, node);
  slice_free (Node, copy);
  slice_free_chain (Node, node, next);
  SliceLinear *linear = slice_linear_new (nullptr);
  SliceStack *stack = slice_stack_new (nullptr);
  int *one = slice_linear_new_object (linear, int);
  int *many = slice_linear_new_array (linear, int, 4);
  Wide *wide = slice_stack_new_object (stack, Wide);
  wide->y = *one = many[0] = 1;
  delete new Wide;
  delete new (std::nothrow) Wide;
  delete new Least;
  slice::unique_ptr<int> owned = slice::make_unique<int> (3);
  slice::unique_ptr<Wide[]> array = slice::make_unique<Wide[]> (3);
  std::map<int, int, std::less<int>,
           slice::allocator<std::pair<const int, int>>> map;
  map[1] = 2;
  slice::llvm_allocator<> pages;
  pages.Deallocate (pages.Allocate (100, 8), 100, 8);
#ifdef SLICE_HAS_PMR
  slice::linear_resource linear_resource (linear);
  slice::stack_resource stack_resource (stack);
  std::pmr::vector<int> a (&linear_resource), b (&stack_resource),
      c (slice::default_resource ());
  a.push_back (1);
  b.push_back (2);
  c = a;
#endif
  $1
  return *owned + array[1].y + map[1] + by_strategy<slice::LinearPool> ()
         + by_strategy<slice::StackPool> () + by_strategy<slice::Pool> ()
         + by_strategy<slice::TlsfPool> ();
}
END
  } > "$temporary/quiet.cc"
}

gcc_warnings="-Wold-style-cast -Wzero-as-null-pointer-constant -Weffc++ \
-Wconversion -Wsign-conversion -Wshadow -Wuseless-cast -Wredundant-decls"
clang_warnings="-Weverything -Wno-c++98-compat -Wno-c++98-compat-pedantic"

# quiet COMPILER STANDARDS FLAGS: what it says of the program in any of them
quiet ()
{
  case $1 in *clang*) warnings=$clang_warnings ;; *) warnings=$gcc_warnings ;;
  esac
  for names in $2; do
    standard=$(known_standard "$1" "$names")
    test -n "$standard" || continue
    $1 -std="$standard" -fsyntax-only -Wall -Wextra -Wpedantic $warnings \
      $3 $includes "$temporary/quiet.cc" 2>&1 | grep -E 'warning|error'
  done
}

quiet_all ()
{
  if ! works "$1" c++; then
    skip "warnings of C++" "no compiler: ${1:-none}"
    return
  fi
  quiet_program ''
  expect_none "$1: nothing to warn of" "$(quiet "$1" "$quiet_standards" '')"
  expect_none "$1: nor without RTTI and exceptions" \
    "$(quiet "$1" "$bare_standards" '-fno-rtti -fno-exceptions')"
  quiet_program 'owned.reset ((int *) 0);'
  expect_found "$1: an old cast would be seen" 'old-style-cast' \
    "$(quiet "$1" c++11 '')"
  quiet_program '(void) typeid (Node); throw 1;'
  expect_found "$1: a need of exceptions would be seen" 'error' \
    "$(quiet "$1" c++11 '-fno-rtti -fno-exceptions')"
}

# A C program with what the headers have: $1 is a statement of its own.
quiet_c_program ()
{
  {
    for header in $PUBLIC_HEADERS; do
      case $header in
      *.hpp | */gslice.h) ;;
      *) echo "#include <$header>" ;;
      esac
    done
    cat <<END
typedef struct Node Node;
struct Node
{
  Node *next;
  int x;
};
typedef struct
{
  __attribute__ ((aligned (64))) int x;
} Wide;
int slices (int n);
int contexts (int n);
int arenas (int n);
int
slices (int n)
{
  Node *node = slice_new (Node), *zero = slice_new0 (Node);
  Node *maybe = slice_try_new (Node), *maybe0 = slice_try_new0 (Node);
  Node *copy = slice_dup (Node, node);
  Wide *wide = slice_new (Wide);
  void *block = slice_alloc ((size_t) n), *fixed = slice_alloc0 (40);
  node->next = zero;
  zero->next = maybe;
  maybe->next = maybe0;
  maybe0->next = copy;
  copy->next = NULL;
  n += copy->x + wide->x;
  slice_free (Wide, wide);
  slice_free_chain (Node, node, next);
  slice_free1 (40, fixed);
  slice_free1 ((size_t) n, block);
  fixed = slice_try_alloc ((size_t) n);
  slice_free (Node, (Node *) fixed);
  return n + (SLICE_LIKELY (n > 1) ? 1 : 0);
}
int
contexts (int n)
{
  void *root = ralloc_context (NULL);
  Node *node = ralloc (root, Node), *zero = rzalloc (node, Node);
  int *numbers = ralloc_array (node, int, 10);
  char *text = ralloc_asprintf (node, "%d", n);
  void *linear = ralloc_linear_context (root);
  Node *object = ralloc_linear_alloc (linear, Node);
  Node *object0 = ralloc_linear_zalloc (linear, Node);
  int *many = ralloc_linear_alloc_array (linear, int, 3);
  int *many0 = ralloc_linear_zalloc_array (linear, int, 3);
  RallocGc *gc = ralloc_gc_context (root);
  int *kept = ralloc_gc_alloc (gc, int, 3);
  int *kept0 = ralloc_gc_zalloc (gc, int, 3);
  Node *typed = ralloc_typed (root, Node);
  size_t length;
  numbers = reralloc (node, numbers, int, 20);
  numbers = rerzalloc (node, numbers, int, 20, 30);
  numbers[0] = rzalloc_array (node, int, 4)[1];
  length = ralloc_array_length (numbers);
  typed = ralloc_get_type (typed, Node);
  typed = ralloc_get_type_abort (typed, Node);
  ralloc_strcat (&text, "x");
  many[0] = many0[0] + kept0[0];
  kept[0] = object0->x;
  object->x = 1;
  n += zero->x + (int) length + (int) text[0] + many[0] + typed->x + kept[0];
  node = ralloc_stolen (NULL, node);
  ralloc_free (node);
  ralloc_free (root);
  $1
  return n;
}
int
arenas (int n)
{
  SlicePoolOptions options = { 0 };
  SliceLinear *linear = slice_linear_new (NULL);
  SliceStack *stack = slice_stack_new (NULL);
  SlicePool *pool = slice_pool_new (&options);
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  int *one = slice_linear_new_object (linear, int);
  int *many = slice_linear_new_array (linear, int, 4);
  Wide *wide = slice_stack_new_object (stack, Wide);
  Node *node = (Node *) slice_pool_alloc (pool);
  void *block = slice_tlsf_alloc (tlsf, 100);
  char *text = slice_linear_strdup (linear, "text");
  size_t size;
  wide->x = *one = many[0] = n;
  node->x = text[0];
  (void) slice_linear_grow (linear, 10, text);
  (void) slice_linear_grow_char (linear, 'c');
  text = (char *) slice_linear_finish (linear, &size);
  slice_stack_release (stack, wide);
  slice_tlsf_free (tlsf, block);
  slice_pool_free (pool, node);
  n += (int) size + text[0];
  slice_linear_destroy (linear);
  slice_stack_destroy (stack);
  slice_pool_destroy (pool);
  slice_tlsf_destroy (tlsf);
  return n;
}
END
  } > "$temporary/quiet.c"
}

gcc_c_warnings="-Wc++-compat -Wshadow -Wconversion -Wsign-conversion \
-Wcast-qual -Wcast-align=strict -Wbad-function-cast -Wnested-externs \
-Wmissing-prototypes -Wstrict-prototypes -Wredundant-decls -Wundef \
-Wwrite-strings -Wswitch-enum -Wlogical-op -Wjump-misses-init -Wvla"
clang_c_warnings="-Weverything -Wno-padded -Wno-unknown-warning-option \
-Wno-unsafe-buffer-usage -Wno-switch-default -Wno-pre-c11-compat \
-Wno-declaration-after-statement"

# quiet_c COMPILER FLAGS: what it says of that program in each standard
quiet_c ()
{
  case $1 in *clang*) warnings=$clang_c_warnings ;;
  *) warnings=$gcc_c_warnings ;; esac
  for standard in $c_standards; do
    for optimisation in $optimisations; do
      $1 -std="$standard" "$optimisation" -c -o /dev/null -Wall -Wextra \
        -Wpedantic $warnings $2 $includes "$temporary/quiet.c" 2>&1 \
        | grep -E 'warning|error'
    done
  done
}

quiet_c_all ()
{
  works "$1" c || return
  quiet_c_program ''
  expect_none "$1, C: nothing to warn of" "$(quiet_c "$1" '')"
  expect_none "$1, C: nor where places are marked" \
    "$(quiet_c "$1" -DRALLOC_MARKS)"
  quiet_c_program '{ const Node *n = zero; typed = (Node *) n; }'
  expect_found "$1, C: a cast would be seen" 'cast-qual' "$(quiet_c "$1" '')"
}

all "$CC" c "$c_standards"
all "${CXX-}" c++ "$cxx_standards"
# A second compiler, where there is one and it is not the first.
case $CC in *clang*) second=gcc second_cxx=g++ ;;
*) second=${CLANG-} second_cxx=${CLANGXX-} ;; esac
all "$second" c "$c_standards"
all "$second_cxx" c++ "$cxx_standards"
quiet_c_all "$CC"
quiet_c_all "$second"
quiet_all "${CXX-}"
quiet_all "$second_cxx"
if test "${SLICE_TEST_MATRIX:-0}" = 1; then
  for compiler in $(installed_compilers); do
    case $compiler in
    gcc-*) cxx=g++-${compiler#gcc-} ;;
    *) cxx=clang++-${compiler#clang-} ;;
    esac
    all "$compiler" c "$c_standards"
    quiet_c_all "$compiler"
    all "$cxx" c++ "$cxx_standards"
    quiet_all "$cxx"
  done
fi

# What a compiler has to read is what its time goes by, and the same on any
# day: bytes behind the preprocessor.
bytes_of ()
{
  echo "#include <$1>" | $CXX -std=c++17 -E -P $includes -x c++ - 2> /dev/null \
    | wc -c | tr -d ' '
}
# too_long HEADER: if it is more than twice what <memory_resource> is
too_long ()
{
  ours=$(bytes_of "$1")
  theirs=$(bytes_of memory_resource)
  test "$ours" -le $((2 * theirs)) || echo "$ours bytes, against $theirs"
}
if works "${CXX-}" c++ \
   && echo '#include <memory_resource>' \
      | $CXX -std=c++17 -x c++ -fsyntax-only - 2> /dev/null; then
  expect_none "<slice/slice.hpp> is at most twice <memory_resource>" \
    "$(too_long slice/slice.hpp)"
  expect_found "a longer header is found" ' bytes, against ' \
    "$(cp "$top_srcdir/slice/slice.hpp" "$temporary/long.hpp"
       echo '#include <regex>' >> "$temporary/long.hpp"
       echo '#include <iostream>' >> "$temporary/long.hpp"
       echo '#include <functional>' >> "$temporary/long.hpp"
       echo '#include <algorithm>' >> "$temporary/long.hpp"
       includes="$includes -I$temporary"; too_long long.hpp)"
else
  skip "<slice/slice.hpp> is at most twice <memory_resource>" "no C++17"
fi

# Mesa's header in our place, in older C, too.
mesa ()
{
  works "$1" c || return
  cat > "$temporary/mesa.c" <<'END'
#include <util/ralloc.h>
struct list { int n; double d[]; };
void *one (gc_ctx *ctx);
void *
one (gc_ctx *ctx)
{
  return gc_zalloc (ctx, struct list, 1);
}
void *many (gc_ctx *ctx);
void *
many (gc_ctx *ctx)
{
  return gc_alloc_zla (ctx, struct list, double, 3);
}
END
  for version in 22.3 26.1; do
    said=$(includes="-I$top_srcdir/slice/dropin/ralloc/mesa-$version $includes"
           each_way "$1" c "$c_standards" "$temporary/mesa.c")
    expect_none "$1: Mesa $version's header" "$said"
  done
}
mesa "$CC"
mesa "$second"

# The operators of its C++ classes, which differ between the versions.
mesa_cxx ()
{
  works "$1" c++ || return
  cat > "$temporary/mesa.cc" <<'END'
#include <util/ralloc.h>
struct Node { DECLARE_RALLOC_CXX_OPERATORS (Node) int number; };
Node *node_new (void *ctx);
Node *node_new (void *ctx) { return new (ctx) Node; }
#if SLICE_MESA_VERSION < 2601
struct Item { DECLARE_LINEAR_ZALLOC_CXX_OPERATORS (Item) int number; };
Item *item_new (void *ctx);
Item *item_new (void *ctx) { return new (linear_alloc_parent (ctx, 0)) Item; }
#else
struct Item { DECLARE_LINEAR_ZALLOC_CXX_OPERATORS (Item, (void) 0;, ) int number; };
Item *item_new (void *ctx);
Item *item_new (void *ctx) { return new (linear_context (ctx)) Item; }
#endif
END
  for version in 22.3 26.1; do
    said=$(includes="-I$top_srcdir/slice/dropin/ralloc/mesa-$version $includes"
           each_way "$1" c++ "$cxx_standards" "$temporary/mesa.cc")
    expect_none "$1: Mesa $version's header in C++" "$said"
  done
}
mesa_cxx "${CXX-}"
mesa_cxx "$second_cxx"

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
