#!/bin/sh
# check-cxx.sh - slice.hpp without exceptions and RTTI, coroutines, and in each
# language
#
# Without exceptions, no memory ends the program by the library's own words,
# after the failure handler was asked.  In the second tier test-containers.cc
# with optimisation, which the build's own program goes without, and
# test-allocators.cc; with SLICE_TEST_MATRIX=1 in C++11 to C++23 by each compiler
# with each standard library, with their checks, and with the sanitizers.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

# The levels of optimisation; in the first tier those that inline most.
if test "${SLICE_TEST_TIER:-1}" = 1; then
  frame_levels=-O2
  large_levels=-O2
else
  frame_levels="-O0 -O2"
  large_levels="-O0 -O1 -O2 -Os"
fi

flags="-I$top_builddir -I$top_srcdir -pthread"
libs="-L$top_builddir/slice/.libs -lslice -Wl,-rpath,$PWD/slice/.libs"
libs="$libs -Wl,-rpath,$top_builddir/slice/.libs"

cat > "$temporary/plain.cc" <<'END'
#include <slice/slice.hpp>
#include <slice/ralloc.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static bool
give_up (std::size_t size, std::size_t alignment, void *data)
{
  int *n = static_cast<int *> (data);
  std::fprintf (stderr, "handler: %zu %zu\n", size, alignment);
  return --*n > 0;
}

struct Large
{
  SLICE_CLASS_OPERATORS
  int x;
};

struct Node
{
  DECLARE_RALLOC_CXX_OPERATORS (Node)
  int x;
};

struct Object
{
  DECLARE_RALLOC_LINEAR_CXX_OPERATORS_TEMPLATE (Object,
                                                ralloc_linear_alloc_child)
  int x;
};

int
main (int, char **argv)
{
  int n = 2;
  slice_set_failure_handler (give_up, &n);
  std::size_t huge = std::strtoul (argv[2], nullptr, 0);
  slice::allocator<int> ints;
  SliceArenaOptions options = SliceArenaOptions ();
  options.limit_bytes = 10000;
  slice::LinearPool linear (&options);
  slice::StackPool stack (&options);
  switch (argv[1][0])
    {
    case 'a':
      ints.allocate (huge);
      break;
    case 'l':
      linear.allocate (huge, 64);
      break;
    case 's':
      stack.allocate (huge, 8);
      break;
    case 't':
      n = 1000;
      ints.allocate (huge);
      break;
    case 'e':
      n = 1000;
      options.first_bytes = 1;
      slice::LinearPool (&options).allocate (1, 8);
      break;
    case 'n':
      return Large::operator new (huge, std::nothrow) == nullptr ? 7 : 0;
    case 'o':
      Large::operator new (huge);
      break;
    case 'c':
      Node::operator new (huge, ralloc_context (nullptr));
      break;
    case 'i':
      Object::operator new (huge, ralloc_linear_context (nullptr));
      break;
    case 'r':
      {
#ifdef SLICE_HAS_PMR
        SliceTlsf *tlsf = slice_tlsf_new (nullptr);
        slice::tlsf_resource one (tlsf), other (tlsf);
        slice::memory_resource slices;
        SliceLinear *arena = slice_linear_new (nullptr);
        slice::linear_resource bump (arena);
        bool right = one == other && slices == *slice::default_resource ()
                     && !(one == slices) && !(slices == bump)
                     && !(bump == one);
        return right ? 7 : 0;
#else
        return 7;
#endif
      }
    }
  return 0;
}
END

# plain COMPILER FLAGS: builds the program
plain ()
{
  $1 -std=c++17 $2 -fno-exceptions $flags "$temporary/plain.cc" $libs \
    -o "$temporary/plain" 2>&1
}

# says NAME ARGUMENTS: what the program says, and how it ends
says ()
{
  ("$temporary/plain" "$@" 2>&1; echo "status $?") | grep -v '^Aborted'
}

without ()
{
  expect_none "$1 $2 -fno-exceptions: builds" "$(plain "$1" "$2")"
  huge=4611686018427387000
  expect_found "allocator: asks the handler" \
    "handler: 4000000000000000000 4" "$(says a 1000000000000000000)"
  expect_found "allocator: ends by 120" \
    'slice: error 120: slice_out_of_memory: out of memory: 4000000000000000000 bytes' \
    "$(says a 1000000000000000000)"
  expect_found "allocator: a product that does not fit" \
    'slice: error 120: slice_out_of_memory: out of memory: 18446744073709551615 bytes' \
    "$(says a $huge)"
  expect_found "a product that does not fit: the handler is asked once" '^1$' \
    "$(says t $huge | grep -c '^handler')"
  expect_found "options out of range: 340, no matter what the handler says" \
    'slice: error 340: ' "$(says e 1)"
  expect_found "an arena at its limit: ends by 120" \
    'slice: error 120: slice_out_of_memory: out of memory: 20000 bytes, alignment 64' \
    "$(says l 20000)"
  expect_found "a stack at its limit: ends by 120" \
    'slice: error 120: slice_out_of_memory: out of memory: 20000 bytes, alignment 8' \
    "$(says s 20000)"
  expect_found "operator new: ends by 120" \
    "slice: error 120: slice_out_of_memory: out of memory: $huge bytes" "$(says o $huge)"
  expect_found "a context's operator new: asks the handler" \
    "handler: $huge 0" "$(says c $huge)"
  expect_found "a context's operator new: ends by 120" \
    "slice: error 120: slice_out_of_memory: out of memory: $huge bytes" "$(says c $huge)"
  expect_found "a linear context's operator new: ends by 120" \
    "slice: error 120: slice_out_of_memory: out of memory: $huge bytes" "$(says i $huge)"
  expect_found "nothrow new: nullptr" 'status 7' "$(says n $huge)"
  expect_found "resources are equal, or not" 'status 7' "$(says r 1)"
}

if test "$(getconf LONG_BIT)" = 64; then
  without "$CXX" -fno-rtti
  without "$CXX" -frtti
else
  skip "without exceptions" "sizes are those of 64 bits"
fi

# Units with and without exceptions and RTTI in one program: each keeps its
# own way.
cat > "$temporary/with.cc" <<'END'
#include <slice/slice.hpp>

volatile std::size_t huge = SIZE_MAX / 2 + 1;
void *without (bool fail);
#ifdef SLICE_HAS_PMR
std::pmr::memory_resource *resource_without (SliceLinear *arena);
#endif

int
main (int n, char **)
{
  if (n > 1)
    without (true);
  int n_thrown = 0;
  try
    {
      slice::allocator<char> ().allocate (huge);
    }
  catch (const std::bad_alloc &)
    {
      n_thrown++;
    }
  bool right = without (false) != nullptr;
#ifdef SLICE_HAS_PMR
  SliceLinear *arena = slice_linear_new (nullptr);
  slice::linear_resource one (arena), other (arena);
  right = right && one == other;
  std::pmr::memory_resource *made = resource_without (arena);
  made->is_equal (one);
  one.is_equal (*made);
#endif
  return right && n_thrown == 1 ? 7 : 0;
}
END
cat > "$temporary/without.cc" <<'END'
#include <slice/slice.hpp>

extern volatile std::size_t huge;

void *
without (bool fail)
{
  std::size_t bytes = fail ? static_cast<std::size_t> (huge) : 1;
  return slice::allocator<char> ().allocate (bytes);
}

#ifdef SLICE_HAS_PMR
std::pmr::memory_resource *resource_without (SliceLinear *arena);
std::pmr::memory_resource *
resource_without (SliceLinear *arena)
{
  static slice::linear_resource resource (arena);
  return &resource;
}
#endif
END

# compile UNIT OBJECT FLAGS: compiles a unit once for its flags
compile ()
{
  test -f "$temporary/$2" \
    || $CXX -std=c++17 $3 $flags_here "$temporary/$1.cc" -o "$temporary/$2"
}

# name_of FLAGS: as a part of a file's name
name_of ()
{
  printf %s "$*" | tr -d ' '
}

# mixed FIRST SECOND FLAGS [ARGUMENT]: how a program of both, in that order,
# ends
mixed ()
{
  with=with.o without=without$(name_of "$3").o
  compile with $with -c && compile without "$without" "$3 -c" || return
  eval "first=\$$1 second=\$$2"
  $CXX "$temporary/$first" "$temporary/$second" $libs -pthread \
    -o "$temporary/mixed" \
    && ("$temporary/mixed" ${4-}; echo "status $?") 2>&1
}

here=$PWD
flags_here="-I$here/$top_builddir -I$here -pthread"
case $top_srcdir in
  /*) flags_here="$flags_here -I$top_srcdir" ;;
  *) flags_here="$flags_here -I$here/$top_srcdir" ;;
esac
case $top_builddir in /*) flags_here="$flags_here -I$top_builddir" ;; esac
for flag in -fno-exceptions -fno-rtti "-fno-exceptions -fno-rtti"; do
  expect_found "one program, $flag last" 'status 7' \
    "$(mixed with without "$flag")"
  expect_found "one program, $flag first" 'status 7' \
    "$(mixed without with "$flag")"
done
expect_found "one program: without exceptions it ends by 120" \
  'slice: error 120: ' "$(mixed with without -fno-exceptions fail)"

# A program and a plugin that it loads have virtual tables of their own; their
# resources are equal all the same, and no other class is taken for them.
cat > "$temporary/plugin.h" <<'END'
#include <slice/slice.hpp>
#include <new>

#ifdef SLICE_HAS_PMR
struct Resources
{
  Resources (SliceLinear *l, SliceTlsf *t, SlicePool *p)
      : linear (l), tlsf (t), pool (p, 48), derived (), wrapper ()
  {
  }
  struct Derived : slice::memory_resource
  {
  };
  /* Passes everything on, the comparison as well. */
  struct Wrapper : std::pmr::memory_resource
  {
    void *do_allocate (std::size_t n, std::size_t a) override
    {
      return slice::default_resource ()->allocate (n, a);
    }
    void do_deallocate (void *b, std::size_t n, std::size_t a) override
    {
      slice::default_resource ()->deallocate (b, n, a);
    }
    bool
    do_is_equal (const std::pmr::memory_resource &o) const noexcept override
    {
      return this == &o || slice::default_resource ()->is_equal (o);
    }
  };
  slice::memory_resource slices;
  slice::linear_resource linear;
  slice::tlsf_resource tlsf;
  slice::pool_resource pool;
  Derived derived;
  Wrapper wrapper;
};

struct Row
{
  std::pmr::memory_resource *resources[7];
};

static inline Row
make_row (SliceLinear *l, SliceTlsf *t, SlicePool *p)
{
  Resources *r = new Resources (l, t, p);
  return { { &r->slices, &r->linear, &r->tlsf, &r->pool, &r->derived,
             &r->wrapper, std::pmr::new_delete_resource () } };
}
#endif
END
cat > "$temporary/plugin.cc" <<'END'
#include "plugin.h"
#ifdef SLICE_HAS_PMR
extern "C" __attribute__ ((visibility ("default"))) void
plugin_row (Row *row, SliceLinear *l, SliceTlsf *t, SlicePool *p)
{
  *row = make_row (l, t, p);
}
#endif
END
cat > "$temporary/host.cc" <<'END'
#include "plugin.h"
#include <dlfcn.h>
#include <cstdio>
#include <list>

/* With a second argument the plugin has a library of its own: none is equal. */
int
main (int n, char **argv)
{
  bool apart = n > 2;
#ifdef SLICE_HAS_PMR
  void *handle = dlopen (argv[1], RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return 1;
  auto *plugin_row
      = reinterpret_cast<void (*) (Row *, SliceLinear *, SliceTlsf *,
                                   SlicePool *)> (dlsym (handle,
                                                         "plugin_row"));
  SliceLinear *l = slice_linear_new (nullptr);
  SliceTlsf *t = slice_tlsf_new (nullptr);
  SlicePool *p = slice_pool_new_plain (48);
  Row mine = make_row (l, t, p), theirs, others;
  plugin_row (&theirs, l, t, p);
  plugin_row (&others, slice_linear_new (nullptr), slice_tlsf_new (nullptr),
              slice_pool_new_plain (48));
  for (int i = 0; i < 5; i++)
    for (int k = 0; k < 7; k++)
      {
        auto &a = *mine.resources[i], &b = *theirs.resources[k];
        bool want = i == k && i < 4 && !apart;
        if (a.is_equal (b) != want
            || (k < 5 && b.is_equal (a) != want))
          std::printf ("%d and %d: wrong\n", i, k);
        want = i == 0 && k == 0 && !apart;
        if (a.is_equal (*others.resources[k]) != want)
          std::printf ("%d and another %d: wrong\n", i, k);
      }
  if (apart)
    {
      std::puts ("apart");
      return 0;
    }
  std::fflush (stdout); /* splice() may abort */
  std::pmr::list<int> a (mine.resources[0]), b (theirs.resources[0]);
  a.push_back (1);
  b.push_back (2);
  a.splice (a.end (), b);
  std::printf ("spliced %zu\n", a.size ());
#else
  std::puts (apart ? "apart" : "spliced 2");
#endif
}
END

# loaded HOST_FLAGS PLUGIN_FLAGS: what the host says of the plugin
loaded ()
{
  host=host$(name_of "$1") plugin=plugin$(name_of "$2").so
  compile plugin "$plugin" "-O1 $2 -shared -fPIC" \
    && compile host "$host.o" "-O1 $1 -c" \
    && $CXX "$temporary/$host.o" $libs -pthread -ldl -o "$temporary/host" \
    && "$temporary/host" "$temporary/$plugin" 2>&1
}

for host_flag in -frtti -fno-rtti; do
  for plugin_flag in -frtti "-fno-rtti -fno-exceptions" -fvisibility=hidden; do
    found=$(loaded "$host_flag" "$plugin_flag")
    expect_none "resources of a plugin, $host_flag and $plugin_flag" \
      "$(echo "$found" | grep -v '^spliced 2$')"
    expect_found "lists of both are spliced" '^spliced 2$' "$found"
  done
done

# contain HOST_FLAGS PLUGIN_LIBRARY: the same with libslice.a in the host, and
# the plugin linked with what is given
contain ()
{
  $CXX -std=c++17 -O1 $flags_here -shared -fPIC "$temporary/plugin.cc" $2 \
    -Wl,--exclude-libs,ALL -o "$temporary/plugin.so" \
    && compile host hidden.o "-O1 -fvisibility=hidden -c" \
    && $CXX "$temporary/hidden.o" -pthread -ldl $1 -o "$temporary/host"
}

# contained [ARGUMENT]: what they say
contained ()
{
  "$temporary/host" "$temporary/plugin.so" "$@" 2>&1
}

archive=$top_builddir/slice/.libs/libslice.a
if test -f "$archive"; then
  found=$(contain "$archive" "$archive" 2>&1 && contained apart)
  expect_none "two copies of the library: no resource is equal" \
    "$(echo "$found" | grep -v '^apart$')"
  expect_found "two copies: the host has compared them" '^apart$' "$found"
  expect_found "two copies are found to be two" 'wrong$' \
    "$(contained)"
  found=$(contain "-rdynamic -Wl,--whole-archive $archive \
    -Wl,--no-whole-archive" "" 2>&1 && contained)
  expect_none "a plugin that uses its program's copy: they are equal" \
    "$(echo "$found" | grep -v '^spliced 2$')"
  expect_found "and lists are spliced" '^spliced 2$' "$found"
else
  skip "two copies of the library" "no static library was built"
fi

# A coroutine with one argument, a pointer: its frame is a slice, and does not
# overwrite what the pointer points to.  Frames of all sizes are aligned.  With
# FAILS a promise makes the result where there is no memory for the frame.
cat > "$temporary/frame.cc" <<'END'
#include <slice/slice.hpp>
#include <coroutine>
#include <cstdint>
#include <cstring>
#include <sys/resource.h>

struct Task
{
  struct promise_type
  {
    OPERATORS
    Task
    get_return_object ()
    {
      return { std::coroutine_handle<promise_type>::from_promise (*this) };
    }
#ifdef FAILS
    static Task
    get_return_object_on_allocation_failure ()
    {
      return { nullptr };
    }
#endif
    std::suspend_always
    initial_suspend () noexcept
    {
      return {};
    }
    std::suspend_always
    final_suspend () noexcept
    {
      return {};
    }
    void
    return_void ()
    {
    }
    void
    unhandled_exception ()
    {
    }
  };
  std::coroutine_handle<promise_type> handle;
};

struct Named
{
  char name[256];
};

/* Not inlined: clang would put the frame on the stack. */
template <typename Place>
__attribute__ ((noinline)) Task
rename (Place *place)
{
  std::strcpy (static_cast<Named *> (place)->name, "new");
  co_return;
}

template <typename Place>
bool
run ()
{
  Named named = { "old" };
  Task task = rename<Place> (&named);
  bool right = slice_is_ours (task.handle.address ())
               && std::strcmp (named.name, "old") == 0;
  task.handle.resume ();
  right = right && std::strcmp (named.name, "new") == 0;
  task.handle.destroy ();
  return right;
}

template <std::size_t bytes>
struct Bytes
{
  char bytes_[bytes];
};

/* What is used after the pause is in the frame. */
template <std::size_t bytes>
__attribute__ ((noinline)) Task
keep (void (*look) (void *))
{
  Bytes<bytes> kept;
  look (&kept);
  co_await std::suspend_always ();
  look (&kept);
}

static void
clear (void *place)
{
  *static_cast<char *> (place) = 0;
}

template <std::size_t bytes>
bool
aligned ()
{
  const std::size_t n = 4;
  std::uintptr_t bits = 0;
  std::coroutine_handle<> frames[n];
  for (std::size_t i = 0; i < n; i++)
    {
      frames[i] = keep<bytes> (clear).handle;
      bits |= reinterpret_cast<std::uintptr_t> (frames[i].address ());
    }
  for (std::size_t i = 0; i < n; i++)
    frames[i].destroy ();
  return bits % __STDCPP_DEFAULT_NEW_ALIGNMENT__ == 0;
}

static bool
all_aligned ()
{
  return aligned<8> () && aligned<16> () && aligned<24> () && aligned<32> ()
         && aligned<72> () && aligned<80> ();
}

#ifdef FAILS
/* A frame that is larger than what the system gives, and not than the stack:
 * clang has a copy there. */
static bool
fails ()
{
  const rlimit limit = { 1 << 20, RLIM_INFINITY };
  setrlimit (RLIMIT_DATA, &limit);
  Task task = keep<(4 << 20)> (clear);
  return task.handle == nullptr;
}
#else
static bool
fails ()
{
  return true;
}
#endif

int
main ()
{
  return !run<Named> () || !run<void> () ? 1
         : !all_aligned ()               ? 2
         : !fails ()                     ? 3
                                         : 7;
}
END

# frame COMPILER OPERATORS FLAGS: what building and running it says
frame ()
{
  ($1 -std=c++20 -DOPERATORS=$2 $3 $flags "$temporary/frame.cc" \
     $libs -o "$temporary/frame" && "$temporary/frame"; echo "status $?") 2>&1
}

# frames COMPILER
frames ()
{
  if ! printf '%s\n' '#include <coroutine>' 'std::suspend_always pause;' \
      | $1 -std=c++20 -x c++ -fsyntax-only - 2>/dev/null; then
    skip "$1: coroutines" "not known here"
    return
  fi
  for level in $frame_levels; do
    expect_found "$1 $level: a coroutine's frame is a slice, and aligned" \
      'status 7' "$(frame "$1" SLICE_PROMISE_OPERATORS $level)"
    expect_found "$1 $level: a frame without memory is the promise's matter" \
      'status 7' \
      "$(frame "$1" SLICE_PROMISE_OPERATORS_NOTHROW "$level -DFAILS")"
  done
  expect_found "$1: a promise with the operators of a class does not build" \
    'error: .*\(get_return_object\|non-static member\)' \
    "$(frame "$1" SLICE_CLASS_OPERATORS -fsyntax-only)"
}

for compiler in "$CXX" "${CLANGXX-}"; do
  test -z "$compiler" || frames "$compiler"
done

# Where gcc stops to inline in the middle of a function, as it does in a large
# one, new and delete still match.
cat > "$temporary/large.cc" <<'END'
#include <slice/slice.hpp>

struct Page
{
  SLICE_CLASS_OPERATORS
  char bytes[20000];
};

struct Line
{
  SLICE_CLASS_OPERATORS_ALIGNED (64)
  char bytes[64];
};

void use (void *object);
void some ();

template <typename T>
static inline void
once ()
{
  T *object = new T;
  use (object);
  delete object;
  object = new (std::nothrow) T;
  use (object);
  delete object;
}

void
some ()
{
  once<Page> ();
  once<Line> ();
}
END

# large FLAGS: what is said of it
large ()
{
  $CXX -std=c++11 -Wall -Wextra $1 $flags -c "$temporary/large.cc" \
    -o "$temporary/large.o" 2>&1
}

limit="-fno-early-inlining --param large-function-insns=0"
limit="$limit --param large-function-growth=0"
case $($CXX --version) in *clang*) limit= ;; esac
for level in $large_levels "-O2 $limit"; do
  expect_none "no warning: $level" "$(large "$level")"
done

# containers SOURCE COMPILER FLAGS: what it says beside its results
containers ()
{
  ($2 $3 -O1 -g1 $flags "$1" $libs \
     -o "$temporary/containers" && "$temporary/containers" \
     || echo "status $?") 2>&1 | grep -vE '^ok|^1\.\.[0-9]*$'
}

# in_language COMPILER FLAGS: the containers
in_language ()
{
  if ! echo 'int main () { return 0; }' \
    | $1 $2 -x c++ - -o "$temporary/works" 2>/dev/null; then
    skip "containers: $1 $2" "not known here"
    return
  fi
  for program in test-containers test-allocators; do
    expect_none "$program: $1 $2" \
      "$(containers "$top_srcdir/tests/cxx/$program.cc" "$1" "$2")"
  done
}

if test "${SLICE_TEST_TIER:-1}" != 1; then
  in_language "$CXX" -std=c++17
  # Can it fail?
  mkdir -p "$temporary/stays/slice"
  sed 's/true_type \(propagate_on_container_swap\)/false_type \1/' \
    "$top_srcdir/slice/slice-strategy.hpp" \
    > "$temporary/stays/slice/slice-strategy.hpp"
  expect_found "an allocator that a swap leaves behind is found" \
    'containers take an owner along' \
    "$(containers "$top_srcdir/tests/cxx/test-allocators.cc" "$CXX" \
       "-std=c++17 -fsyntax-only -I$temporary/stays")"
fi

# The sanitizer's run time of clang is in the program; the library sees it by
# -rdynamic.
sanitize="-fsanitize=address,undefined -rdynamic"
if test -n "${SLICE_TEST_MATRIX-}"; then
  for compiler in "$CXX" "${CLANGXX-}" "$(libcxx_compiler) -stdlib=libc++"; do
    case $compiler in '' | ' '*) continue ;; esac
    for standard in 11 14 17 20 23; do
      in_language "$compiler" "-std=c++$standard"
    done
    in_language "$compiler" "-std=c++2b"
    in_language "$compiler" "-std=c++17 $sanitize"
    in_language "$compiler" "-std=c++17 -O3"
  done
  in_language "$CXX" "-std=c++17 -D_GLIBCXX_DEBUG"
  in_language "$(libcxx_compiler)" "-std=c++20 -stdlib=libc++ $sanitize \
-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_DEBUG"
fi

finish
