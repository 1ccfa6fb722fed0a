#!/bin/sh
# check-rtti.sh - units with and without RTTI in one program
#
# Two units, one of each kind, make resources of every class, in either order of
# the linker.  Each unit compares its resources with those of the other and with
# a class that uses dynamic_cast, and frees what the other has allocated.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

# The levels of optimisation; in the first tier the one that inlines most.
if test "${SLICE_TEST_TIER:-1}" = 1; then levels=-O2; else levels="-O0 -O2"; fi

flags="-std=c++17 -g -I$top_builddir -I$top_srcdir -pthread"
libs="-L$top_builddir/slice/.libs -lslice -Wl,-rpath,$PWD/slice/.libs"
libs="$libs -Wl,-rpath,$top_builddir/slice/.libs"

cat > "$temporary/both.h" <<'END'
#include <slice/slice.hpp>
#include <cstddef>
#include <memory_resource>

enum { n_kinds = 5 };

struct Arenas
{
  SliceLinear *linear;
  SliceTlsf *tlsf;
  SlicePool *pool;
  SliceStack *stack;
};

struct Set
{
  std::pmr::memory_resource *of[n_kinds];
};

/* Each unit has this; the resources are copies, too. */
static inline Set
make_set (const Arenas &arenas)
{
  slice::linear_resource linear (arenas.linear);
  slice::tlsf_resource tlsf (arenas.tlsf);
  slice::pool_resource pool (arenas.pool, 48);
  slice::memory_resource slices;
  return { { new slice::memory_resource (slices),
             new slice::linear_resource (linear),
             new slice::tlsf_resource (tlsf), new slice::pool_resource (pool),
             new slice::stack_resource (arenas.stack) } };
}

/* As a program writes it; a unit with RTTI has its functions. */
class Own : public std::pmr::memory_resource
{
public:
  Own () = default;
  virtual ~Own ();

private:
  void *do_allocate (std::size_t bytes, std::size_t alignment) override;
  void do_deallocate (void *block, std::size_t bytes,
                      std::size_t alignment) override;
  bool
  do_is_equal (const std::pmr::memory_resource &other) const noexcept override;
};

/* The unit without RTTI. */
Set set_without (const Arenas &arenas);
bool equal_without (const std::pmr::memory_resource &one,
                    const std::pmr::memory_resource &other);
int use_without (std::pmr::memory_resource *one,
                 std::pmr::memory_resource *other);
std::pmr::memory_resource *default_without ();

/* Blocks of a resource are freed by another; returns 0. */
static inline int
use (std::pmr::memory_resource *one, std::pmr::memory_resource *other)
{
  static const std::size_t sizes[] = { 1, 24, 48, 100, 3000 };
  for (std::size_t bytes : sizes)
    {
      void *block = one->allocate (bytes, 8);
      static_cast<char *> (block)[bytes - 1] = 1;
      other->deallocate (block, bytes, 8);
      block = other->allocate (bytes, 32);
      one->deallocate (block, bytes, 32);
    }
  return 0;
}
END
cat > "$temporary/without.cc" <<'END'
#include "both.h"

#ifdef __cpp_rtti
# error "this unit is compiled without RTTI"
#endif

Set
set_without (const Arenas &arenas)
{
  return make_set (arenas);
}

bool
equal_without (const std::pmr::memory_resource &one,
               const std::pmr::memory_resource &other)
{
  return one.is_equal (other);
}

int
use_without (std::pmr::memory_resource *one, std::pmr::memory_resource *other)
{
  return use (one, other);
}

std::pmr::memory_resource *
default_without ()
{
  return slice::default_resource ();
}
END
cat > "$temporary/with.cc" <<'END'
#include "both.h"
#include <cstdio>
#include <list>
#include <typeinfo>

Own::~Own ()
{
}

void *
Own::do_allocate (std::size_t bytes, std::size_t alignment)
{
  return slice::default_resource ()->allocate (bytes, alignment);
}

void
Own::do_deallocate (void *block, std::size_t bytes, std::size_t alignment)
{
  slice::default_resource ()->deallocate (block, bytes, alignment);
}

bool
Own::do_is_equal (const std::pmr::memory_resource &other) const noexcept
{
  return dynamic_cast<const Own *> (&other) != nullptr;
}

static void
check (bool holds, const char *what, int i, int k)
{
  if (!holds)
    std::printf ("wrong: %s, %d and %d\n", what, i, k);
}

/* As each unit sees it. */
static void
check_equal (const std::pmr::memory_resource &one,
             const std::pmr::memory_resource &other, bool want, int i, int k)
{
  check (one.is_equal (other) == want, "equal with", i, k);
  check (equal_without (one, other) == want, "equal without", i, k);
  check (other.is_equal (one) == want, "equal back with", i, k);
  check (equal_without (other, one) == want, "equal back without", i, k);
}

/* Every class by its own type information. */
static void
check_types (const Set &mine, const Set &theirs)
{
  check (dynamic_cast<slice::memory_resource *> (mine.of[0]) != nullptr,
         "slices", 0, 0);
  check (dynamic_cast<slice::linear_resource *> (mine.of[1]) != nullptr,
         "linear", 1, 1);
  check (dynamic_cast<slice::tlsf_resource *> (mine.of[2]) != nullptr, "TLSF",
         2, 2);
  check (dynamic_cast<slice::pool_resource *> (mine.of[3]) != nullptr, "pool",
         3, 3);
  check (dynamic_cast<slice::stack_resource *> (mine.of[4]) != nullptr,
         "stack", 4, 4);
  const std::pmr::memory_resource &null = *std::pmr::null_memory_resource (),
                                  &slices = *slice::default_resource ();
  check (typeid (slices) == typeid (slice::memory_resource), "default", 0, 0);
  for (int i = 0; i < n_kinds; i++)
    {
      std::pmr::memory_resource *a = mine.of[i], *b = theirs.of[i];
      check (dynamic_cast<Own *> (a) == nullptr, "no Own", i, i);
      check (dynamic_cast<Own *> (b) == nullptr, "no Own without", i, i);
      check (dynamic_cast<void *> (b) == b, "the whole", i, i);
      check (dynamic_cast<slice::memory_resource *> (b) == nullptr,
             "a class of its own", i, i);
      check (typeid (*b) == typeid (null), "its type", i, i);
    }
}

int
main ()
{
  Arenas arenas = { slice_linear_new (nullptr), slice_tlsf_new (nullptr),
                    slice_pool_new_plain (48), slice_stack_new (nullptr) };
  Set mine = make_set (arenas), theirs = set_without (arenas);
  Own own, other_own;
  check_types (mine, theirs);
  check_equal (own, other_own, true, -1, -1);
  check_equal (*slice::default_resource (), *default_without (), true, 0, 0);
  for (int i = 0; i < n_kinds; i++)
    {
      for (int k = 0; k < n_kinds; k++)
        {
          check_equal (*mine.of[i], *theirs.of[k], i == k && i != 4, i, k);
          check_equal (*mine.of[i], *mine.of[k], i == k, i, k);
          check_equal (*theirs.of[i], *theirs.of[k], i == k, i, k);
        }
      check_equal (own, *mine.of[i], false, -1, i);
      check_equal (own, *theirs.of[i], false, i, -1);
      if (i == 4)
        continue;
      check (use (mine.of[i], theirs.of[i]) == 0, "use with", i, i);
      check (use_without (mine.of[i], theirs.of[i]) == 0, "use without", i, i);
      std::pmr::list<int> a (mine.of[i]), b (theirs.of[i]);
      a.push_back (1);
      b.push_back (2);
      a.splice (a.end (), b);
      check (a.size () == 2, "splice", i, i);
    }
  std::puts ("end");
  for (int i = 0; i < n_kinds; i++)
    check (use (mine.of[i], mine.of[i]) == 0
               && use_without (theirs.of[i], theirs.of[i]) == 0,
           "use", i, i);
  return 0;
}
END

# unit COMPILER FLAGS NAME: compiles a unit
unit ()
{
  $1 $flags $2 -c "$temporary/$3.cc" -o "$temporary/$3.o" 2>&1
}

# both COMPILER FLAGS FIRST SECOND: what the program of two units says
both ()
{
  ($1 $2 "$temporary/$3.o" "$temporary/$4.o" $libs -pthread \
     -o "$temporary/both" && "$temporary/both"; echo "status $?") 2>&1
}

# orders COMPILER FLAGS NAME: in either order of the units
orders ()
{
  expect_found "$3, with RTTI first" '^end$' "$(both "$1" "$2" with without)"
  for order in "with without" "without with"; do
    expect_none "$3: $order" \
      "$(both "$1" "$2" $order | grep -vE '^(end|status 0)$')"
  done
}

# compiler COMPILER FLAGS
compiler ()
{
  if test -z "$1" || ! echo '#include <memory_resource>' \
    | $1 $flags $2 -x c++ -fsyntax-only - 2> /dev/null; then
    skip "${1:-a second compiler} $2" "no std::pmr here"
    return
  fi
  for level in $levels; do
    expect_none "$1 $2 $level: the units" \
      "$(unit "$1" "$2 $level" with; unit "$1" "$2 $level -fno-rtti" without)"
    orders "$1" "$2" "$1 $2 $level"
  done
  # The sanitizer looks for the type of each object that is called.
  unit "$1" "$2 -O1 -fsanitize=undefined -fno-sanitize-recover=all" with \
    > "$temporary/log"
  expect_found "$1 $2: with -fsanitize=undefined" '^end$' \
    "$(both "$1" "$2 -fsanitize=undefined" without with)"
}

compiler "$CXX" ''
compiler "${CLANGXX-}" ''
compiler "$(libcxx_compiler)" -stdlib=libc++

# Can it fail?  A class without type information, as one of a program's own.
cat > "$temporary/without.cc" <<'END'
#include "both.h"
struct Bare : slice::memory_resource
{
};
Set
set_without (const Arenas &)
{
  return { { new Bare, new Bare, new Bare, new Bare, new Bare } };
}
bool
equal_without (const std::pmr::memory_resource &,
               const std::pmr::memory_resource &)
{
  return false;
}
int
use_without (std::pmr::memory_resource *, std::pmr::memory_resource *)
{
  return 0;
}
std::pmr::memory_resource *
default_without ()
{
  return new Bare;
}
END
unit "$CXX" -O1 with
unit "$CXX" "-O1 -fno-rtti" without
expect_found "a class without type information is found" \
  '^status [1-9]\|^wrong: ' "$(both "$CXX" '' with without)"

finish
