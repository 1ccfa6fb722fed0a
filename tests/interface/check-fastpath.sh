#!/bin/sh
# check-fastpath.sh - the inline code is what it is meant to be
#
# A pair of slice_new() and slice_free() as a program, a position-independent
# one and a plugin have it, as C and as C++: no call but the two slow ones,
# none before the function's first return, no __tls_get_addr, and so many
# instructions a pair by callgrind, for a size that is a constant, for one that
# is not, and for one that the free gets anew.  Then the ways it is reached that
# are not inline: addresses, -O0, LTO, hidden visibility, static.  For each rule
# the header is broken on purpose, and the check must find it.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

library=$(cd "$top_builddir" && pwd)/slice/.libs/libslice.so
archive=$(cd "$top_builddir" && pwd)/slice/.libs/libslice.a
instructions_max=16
sized_max=18
apart_max=21
case $($CC -dumpmachine) in
i?86*) sized_max=19 apart_max=22 ;; # it has fewer registers
esac

test -f "$library" || skip_all "no shared library was built"
if $NM -D "$library" | grep -q -E ' U __(asan|tsan|ubsan)_'; then
  skip_all "instrumented by a sanitizer"
fi
test -n "${OBJDUMP-}" || skip_all "no objdump"

includes="-I$(cd "$top_builddir" && pwd) -I$(cd "$top_srcdir" && pwd)"
rpath=-Wl,-rpath,$(dirname "$library")

cat > "$temporary/pair.h" <<'END'
typedef struct Node Node;
struct Node { Node *next; long data[3]; };
#ifdef __cplusplus
extern "C" {
#endif
void one_pair (void);
void first_of_each (void);
void many_pairs (long n);
void many_nothings (long n);
void many_sized (long n);
void many_apart (long n);
void many_sizes (long n);
#ifdef __cplusplus
}
#endif
END
cat > "$temporary/pair.c" <<'END'
#include <slice/slice.h>
#include "pair.h"
void
one_pair (void)
{
  Node *node = slice_new (Node);
  __asm__ volatile ("" : "+r" (node) : : "memory");
  slice_free (Node, node);
}
void
many_pairs (long n)
{
  for (long i = 0; i < n; i++)
    {
      Node *node = slice_new (Node);
      __asm__ volatile ("" : "+r" (node), "+r" (i) : : "memory");
      slice_free (Node, node);
    }
}
/* The loop alone.  (A compiler that knows i may unroll it.) */
void
many_nothings (long n)
{
  for (long i = 0; i < n; i++)
    {
      Node *node = 0;
      __asm__ volatile ("" : "+r" (node), "+r" (i) : : "memory");
    }
}
/* Sizes that the compiler does not know. */
static unsigned long sizes[4] = { 60, 8, 1000, 60 };
void
first_of_each (void)
{
  for (int i = 0; i < 4; i++)
    slice_free1 (sizes[i], slice_alloc (sizes[i]));
}
void
many_sized (long n)
{
  for (long i = 0; i < n; i++)
    {
      unsigned long size = ((volatile unsigned long *) sizes)[i & 3];
      void *block = slice_alloc (size);
      __asm__ volatile ("" : "+r" (block), "+r" (i) : : "memory");
      slice_free1 (size, block);
    }
}
/* Nor that it is the same at the free. */
void
many_apart (long n)
{
  for (long i = 0; i < n; i++)
    {
      unsigned long size = ((volatile unsigned long *) sizes)[i & 3];
      void *block = slice_alloc (size);
      __asm__ volatile ("" : "+r" (block), "+r" (i), "+r" (size)
                           : : "memory");
      slice_free1 (size, block);
    }
}
void
many_sizes (long n)
{
  for (long i = 0; i < n; i++)
    {
      unsigned long size = ((volatile unsigned long *) sizes)[i & 3];
      __asm__ volatile ("" : "+r" (i), "+r" (size) : : "memory");
    }
}
END
cp "$temporary/pair.c" "$temporary/pair.cc"
cat > "$temporary/main.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include "pair.h"
int
main (int argc, char **argv)
{
  long n = argc > 2 ? atol (argv[2]) : 1000;
  one_pair ();
  first_of_each ();
  if (argc > 1 && strcmp (argv[1], "pairs") == 0)
    many_pairs (n);
  else if (argc > 1 && strcmp (argv[1], "sized") == 0)
    many_sized (n);
  else if (argc > 1 && strcmp (argv[1], "apart") == 0)
    many_apart (n);
  else if (argc > 1 && strcmp (argv[1], "sizes") == 0)
    many_sizes (n);
  else
    many_nothings (n);
  return 0;
}
END

# code OBJECT FUNCTION: its instructions
code ()
{
  $OBJDUMP -dr --no-show-raw-insn "$1" \
    | sed -n "/^[0-9a-f]* <$2>:/,/^\$/p"
}

own_place='__x86.get_pc_thunk|_GLOBAL_OFFSET_TABLE_'

# findings OBJECT: what is wrong with the pair in it
findings ()
{
  code "$1" one_pair > "$temporary/code"
  test -s "$temporary/code" || echo "no code"
  # Only the slow paths may be called (as relocations have it), and what tells
  # 32-bit code where it is.
  grep -E 'R_[A-Z0-9_]*(PLT|PC32|GOTPC|TLSGD|TLSLD)' "$temporary/code" \
    | grep -v -E "slice_(alloc|free)_slow_v1|GOTTPOFF|$own_place"
  grep -E '__tls_get_addr|TLSGD|TLSLD|_ZTW|_ZTH' "$temporary/code"
  # A call's relocation is on the next line.
  awk -v own_place="$own_place" '
    call != "" && $0 !~ own_place { print "called on the way: " call }
    { call = "" }
    /\tret/ { exit }
    /\tcall/ { call = $0 }
    END { if (call != "") print "called on the way: " call }' \
    "$temporary/code"
}

# compile COMPILER FLAGS OUTPUT SOURCE [HEADERS]: headers are broken ones
compile ()
{
  $1 $2 ${5:+-I"$5"} $includes -I"$temporary" -c -o "$temporary/$3" \
    "$temporary/$4"
}

have_cxx=
if test -n "${CXX-}" && compile "$CXX" -O2 probe.o pair.cc 2> /dev/null; then
  have_cxx=1
fi

case $(uname -m) in
x86_64) ;;
*) skip_all "the machine code of $(uname -m) is not known here" ;;
esac

# --- the code --------------------------------------------------------------

for flags in "-O2 -fno-pie" "-O2 -fPIE" "-O2 -fPIC" "-O3 -fPIC"
do
  compile "$CC" "$flags" c.o pair.c
  expect_none "C, $flags: nothing is called" "$(findings "$temporary/c.o")"
  if test -n "$have_cxx"; then
    compile "$CXX" "$flags" cc.o pair.cc
    expect_none "C++, $flags: nothing is called" \
      "$(findings "$temporary/cc.o")"
  else
    skip "C++, $flags: nothing is called" "no C++ compiler"
  fi
done

# broken NAME SED: a copy of the headers with a rule broken
broken ()
{
  rm -rf "$temporary/broken"
  mkdir -p "$temporary/broken/slice"
  cp "$top_srcdir"/slice/*.h "$top_builddir"/slice/version.h \
    "$temporary/broken/slice"
  sed "$2" "$top_srcdir/slice/slice.h" > "$temporary/broken/slice/slice.h"
  if cmp -s "$top_srcdir/slice/slice.h" "$temporary/broken/slice/slice.h"
  then
    fail "$1: the header could be broken" "sed $2 changed nothing"
  fi
}

broken "model" 's/__attribute__ ((tls_model ("initial-exec")))//'
compile "$CC" "-O2 -fPIC" bad.o pair.c "$temporary/broken"
expect_found "without the initial-exec model the call is found" \
  'tls_get_addr\|TLSGD\|TLSLD' "$(findings "$temporary/bad.o")"

cat > "$temporary/call.c" <<'END'
void *slice_alloc_call (unsigned long);
void one_pair (void);
void one_pair (void) { slice_alloc_call (8); slice_alloc_call (8); }
END
compile "$CC" "-O2 -fPIC" bad.o call.c
expect_found "a call on the way is found" 'called on the way' \
  "$(findings "$temporary/bad.o")"

if test -n "$have_cxx"; then
  broken "thread_local" \
    's/extern SLICE_API __thread \(.*\)/extern SLICE_API thread_local \1/'
  compile "$CXX" "-O2 -fPIC" bad.o pair.cc "$temporary/broken" 2> /dev/null
  expect_found "a thread_local's wrapper is found" '_ZTW\|_ZTH' \
    "$(findings "$temporary/bad.o")"
fi

# --- instructions ----------------------------------------------------------

# instructions PROGRAM WHAT N: by callgrind
instructions ()
{
  SLICE_OPTIONS=force-pool $VALGRIND --tool=callgrind \
    --callgrind-out-file=/dev/null "$1" "$2" "$3" 2>&1 \
    | sed -n 's/.*Collected *: *//p'
}

# inside PROGRAM WHAT: instructions of a loop of the program, many_WHAT, and of
# what it calls; in hundredths a round
rounds=20000
inside ()
{
  n=$(SLICE_OPTIONS=force-pool $VALGRIND --tool=callgrind \
        --callgrind-out-file=/dev/null --toggle-collect="many_$2" \
        "$1" "$2" $rounds 2>&1 | sed -n 's/.*Collected *: *//p')
  echo $((n / (rounds / 100)))
}

# check_pairs NAME PROGRAM PAIRS NOTHINGS MAX: NOTHINGS are those of the loop
check_pairs ()
{
  n=$(($(inside "$2" $3) - $4))
  echo "# $1, $3: $n hundredths of an instruction a pair"
  if test "$n" -gt 0 && test "$n" -le $(($5 * 100)); then
    pass "$1, $3: at most $5 instructions a pair"
  else
    fail "$1, $3: at most $5 instructions a pair" "$n / 100"
  fi
}

# check_count NAME PROGRAM
check_count ()
{
  sizes=$(inside "$2" sizes)
  check_pairs "$1" "$2" pairs "$(inside "$2" nothings)" $instructions_max
  check_pairs "$1" "$2" sized "$sizes" $sized_max
  check_pairs "$1" "$2" apart "$sizes" $apart_max
}

link_and_count ()
{
  compiler=$1 suffix=$2
  compile "$compiler" "-O2 -fPIE" "e-$suffix.o" "pair.$suffix"
  compile "$CC" "-O2" main.o main.c
  $compiler -o "$temporary/program-$suffix" "$temporary/main.o" \
    "$temporary/e-$suffix.o" "$library" "$rpath"
  check_count "$suffix, program" "$temporary/program-$suffix"
  compile "$compiler" "-O2 -fPIC" "p-$suffix.o" "pair.$suffix"
  $compiler -shared -o "$temporary/libplugin-$suffix.so" \
    "$temporary/p-$suffix.o" "$library" "$rpath"
  $CC -o "$temporary/host-$suffix" "$temporary/main.o" \
    "$temporary/libplugin-$suffix.so" "$library" "$rpath" \
    -Wl,-rpath,"$temporary"
  check_count "$suffix, plugin" "$temporary/host-$suffix"
}

# A pool's free and the next allocation: the program prints nothing and makes
# $1 pairs.
cat > "$temporary/pool.c" <<'END'
#include <stdlib.h>
#include <slice/arena.h>
int
main (int argc, char **argv)
{
  SlicePool *pool = slice_pool_new_plain (24);
  void *object = slice_pool_alloc (pool);
  for (long i = atol (argv[argc - 1]); i > 0; i--)
    {
      slice_pool_free (pool, object);
      object = slice_pool_alloc (pool);
      __asm__ volatile ("" : "+r"(object) : : "memory");
    }
  slice_pool_destroy (pool);
  return 0;
}
END

# A string of 64 bytes that grows by 8.
cat > "$temporary/string.c" <<'END'
#include <stdlib.h>
#include <slice/arena.h>
int
main (int argc, char **argv)
{
  SliceLinear *linear = slice_linear_new (NULL);
  for (long i = atol (argv[argc - 1]); i > 0; i--)
    {
      for (int j = 0; j < 8; j++)
        slice_linear_grow (linear, 8, "12345678");
      char *string = slice_linear_finish (linear, NULL);
      __asm__ volatile ("" : "+r"(string) : : "memory");
    }
  slice_linear_destroy (linear);
  return 0;
}
END

# check_arena NAME MAX: instructions a round, the loop included
check_arena ()
{
  compile "$CC" "-O2" "$1.o" "$1.c"
  $CC -o "$temporary/$1" "$temporary/$1.o" "$library" "$rpath"
  n=$((($(instructions "$temporary/$1" rounds 30000) \
        - $(instructions "$temporary/$1" rounds 10000)) / 200))
  echo "# $1: $n hundredths of an instruction a round"
  if test "$n" -gt 0 && test "$n" -le $(($2 * 100)); then
    pass "$1: at most $2 instructions a round"
  else
    fail "$1: at most $2 instructions a round" "$n / 100"
  fi
}

if test -n "${VALGRIND-}" && $VALGRIND --version > /dev/null 2>&1; then
  # Of the pool's the loop takes 2, and the test for NULL 2.
  check_arena pool 13
  check_arena string 150
  link_and_count "$CC" c
  test -n "$have_cxx" && link_and_count "$CXX" cc
else
  skip "instructions" "no valgrind"
fi

# --- not inline ------------------------------------------------------------

cat > "$temporary/use.c" <<'END'
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef HIDE
# pragma GCC visibility push(hidden)
#endif
#include <slice/slice.h>
static void *(*volatile alloc_it) (size_t) = slice_alloc;
static void *(*volatile alloc0_it) (size_t) = slice_alloc0;
static void *(*volatile try_it) (size_t) = slice_try_alloc;
static void (*volatile free_it) (size_t, void *) = slice_free1;
typedef struct { char bytes[40]; } Thing;
int
main (void)
{
  for (int i = 1; i < 3000; i++)
    {
      char *a = (char *) alloc_it (i), *b = (char *) alloc0_it (i);
      char *c = (char *) try_it (i);
      Thing *thing = slice_new0 (Thing), *copy = slice_dup (Thing, thing);
      if (a == NULL || b == NULL || c == NULL || a == b || b[i - 1] != 0
          || copy->bytes[39] != 0)
        return 1;
      memset (a, 1, i);
      free_it (i, a);
      free_it (i, b);
      slice_free1 (i, c);
      slice_free (Thing, thing);
      slice_free (Thing, copy);
    }
  return 0;
}
END
cp "$temporary/use.c" "$temporary/use.cc"

# try NAME COMPILER FLAGS SOURCE LIBRARY: builds and runs a use of all
try ()
{
  if $2 $3 $includes -o "$temporary/use" "$temporary/$4" $5 "$rpath" \
       -lpthread > "$temporary/log" 2>&1 \
     && "$temporary/use" >> "$temporary/log" 2>&1
  then
    pass "$1"
  else
    fail "$1" "$(cat "$temporary/log")"
  fi
}

try "C, -O0" "$CC" -O0 use.c "$library"
try "C, -O2" "$CC" -O2 use.c "$library"
try "C, -O2, hidden visibility" "$CC" "-O2 -DHIDE" use.c "$library"
try "C, -O0, hidden visibility" "$CC" "-O0 -DHIDE" use.c "$library"
try "C, -fno-inline" "$CC" "-O2 -fno-inline" use.c "$library"
try "C, LTO" "$CC" "-O2 -flto" use.c "$library"
try "C, not PIE" "$CC" "-O2 -no-pie -fno-pie" use.c "$library"
if test -f "$archive"; then
  try "C, static library" "$CC" -O2 use.c "$archive"
  try "C, all static" "$CC" "-O2 -static" use.c "$archive"
  try "C, static, LTO" "$CC" "-O2 -flto" use.c "$archive"
else
  skip "static" "no static library was built"
fi
if test -n "$have_cxx"; then
  try "C++, -O0" "$CXX" -O0 use.cc "$library"
  try "C++, -O2" "$CXX" -O2 use.cc "$library"
  try "C++, hidden visibility" "$CXX" "-O2 -DHIDE" use.cc "$library"
  try "C++, LTO" "$CXX" "-O2 -flto" use.cc "$library"
fi

# A use never brings a body of its own: the library's is the only one.
for compiler in "$CC" ${have_cxx:+"$CXX"}; do
  case $compiler in
  "$CC") source=use.c ;;
  *) source=use.cc ;;
  esac
  for flags in -O0 -O2; do
    $compiler $flags $includes -c -o "$temporary/use.o" "$temporary/$source"
    expect_none "$source $flags: no body of its own" \
      "$($NM "$temporary/use.o" | grep -E ' [TWVi] slice_')"
  done
done

broken "inline" 's/__attribute__ ((__gnu_inline__))//'
$CC -O2 -I"$temporary/broken" $includes -c -o "$temporary/bad.o" \
  "$temporary/use.c" 2> "$temporary/log"
expect_found "a body in the user's program is found" ' [TWV] slice_' \
  "$($NM "$temporary/bad.o" 2>&1 | grep slice_; cat "$temporary/log")"

broken "visibility" 's/extern SLICE_API __thread/extern __thread/'
if $CC -O2 -DHIDE -I"$temporary/broken" $includes -o "$temporary/use" \
     "$temporary/use.c" "$library" "$rpath" 2> "$temporary/log"
then
  fail "a pointer of hidden visibility is found"
else
  pass "a pointer of hidden visibility is found"
fi

finish
