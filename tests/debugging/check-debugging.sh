#!/bin/sh
# check-debugging.sh - docs/guide/debugging.md as one who has a fault follows it
#
# What a message calls FILE+0xOFFSET, addr2line must take as it stands and name
# the program's own line: in a program that may lie anywhere (PIE) and in one
# that may not, from a shared library, without and with optimisation, and for
# calls that libslice makes itself (chains, arrays, contexts).
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

: "${ADDR2LINE:=addr2line}"
command -v "$ADDR2LINE" > /dev/null 2>&1 || skip_all "no addr2line"
libs=$(cd "$top_builddir" && pwd)/slice/.libs
test -f "$libs/libslice.so" || skip_all "no shared library"
ulimit -c 0
unset SLICE_OPTIONS

cat > "$temporary/fault.c" <<'END'
#include <slice/libslice.h>
#include <string.h>
typedef struct Node Node;
struct Node { Node *next; char rest[56]; };
static Node *volatile kept;
__attribute__ ((noinline)) static Node *make_node (void)
{
  Node *node = slice_new (Node); /* made here */
  node->next = NULL;
  return node;
}
static inline __attribute__ ((always_inline)) Node *make_zeroed (void)
{
  return slice_new0 (Node); /* zeroed here */
}
__attribute__ ((noinline)) static void free_first (Node *node)
{
  slice_free (Node, node); /* freed here */
  kept = NULL;
}
__attribute__ ((noinline)) static void free_list (Node *list)
{
  slice_free_chain (Node, list, next); /* chain freed here */
  kept = NULL;
}
__attribute__ ((noinline)) static void *make_array (void)
{
  void *array = slice_alloc_n (3, 20); /* array made here */
  memset (array, 0, 60);
  return array;
}
__attribute__ ((noinline)) static void free_array (void *array)
{
  slice_free_n (3, 20, array); /* array freed here */
  kept = NULL;
}
__attribute__ ((noinline)) static void *make_child (void *parent)
{
  Node *child = ralloc_size (parent, 40); /* child made here */
  child->next = NULL;
  return child;
}
__attribute__ ((noinline)) static void free_tree (void *root)
{
  ralloc_free (root); /* tree freed here */
  kept = NULL;
}
__attribute__ ((noinline)) static SliceLinear *make_arena (void)
{
  SliceLinear *arena = slice_linear_new (NULL); /* arena made here */
  kept = NULL;
  return arena;
}
__attribute__ ((noinline)) static void end_arena (SliceLinear *arena)
{
  slice_linear_destroy (arena); /* arena ended here */
  kept = NULL;
}
int main (int argc, char **argv)
{
  Node *first, *second;
  SliceLinear *arena;
  Node *root;
  (void) argc;
  switch (argv[1][0])
    {
    case 'n': /* node */
      first = make_node ();
      free_first (first);
      free_first (first);
      break;
    case 'c': /* chain */
      first = make_zeroed ();
      second = make_node ();
      first->next = second;
      free_list (first);
      free_first (second);
      break;
    case 'a': /* array */
      kept = make_array ();
      first = kept;
      free_array (first);
      slice_free1 (60, first);
      break;
    case 't': /* tree */
      root = ralloc_context (NULL);
      first = make_child (root);
      free_tree (root);
      ralloc_strdup (first, "x");
      break;
    case 'l': /* linear arena */
      arena = make_arena ();
      end_arena (arena);
      end_arena (arena);
      break;
    }
  return 0;
}
END

# build NAME FLAG...: the program; what goes wrong
build ()
{
  name=$1
  shift
  $CC -g "$@" -w -I"$top_srcdir" -I"$top_builddir" "$temporary/fault.c" \
    -o "$temporary/$name" "$libs/libslice.so" -Wl,-rpath,"$libs" 2>&1
}

# said PROGRAM WHAT: its message
said ()
{
  SLICE_OPTIONS=debug "$temporary/$1" "$2" 2>&1 > /dev/null
}

# place WORD MESSAGE: what addr2line says of "WORD at FILE+0xOFFSET"
place ()
{
  at=$(printf '%s\n' "$2" | sed -n "s/.*$1 at \([^ ]*\)+\(0x[0-9a-f]*\)\( .*\)*\$/\1 \2/p")
  test -n "$at" || { echo "no '$1 at FILE+0xOFFSET' in: $2"; return; }
  "$ADDR2LINE" -ifp -e "${at% *}" "${at#* }"
}

# line TEXT: the line of the program that has this remark
line ()
{
  echo "fault.c:$(grep -n "/\* $1 \*/" "$temporary/fault.c" | cut -d: -f1)\$"
}

# expect NAME WORD MESSAGE FUNCTION REMARK
expect ()
{
  found=$(place "$2" "$3")
  expect_found "$1" "$4 at .*$(line "$5" | sed 's/\$$//')\( \|\$\)" "$found"
}

for kind in "pie -O0 -fPIE -pie" "pie -O2 -fPIE -pie" "fixed -O2 -no-pie"; do
  set -- $kind
  program=$1$2
  broken=$(build "$program" $2 $3 $4)
  if test -n "$broken"; then
    fail "$program builds" "$broken"
    continue
  fi
  message=$(said "$program" node)
  expect_found "$program: a second free is found" 'slice: error 10[58]: ' \
    "$message"
  expect "$program: who allocated" allocated "$message" make_node "made here"
  expect "$program: who freed" freed "$message" free_first "freed here"
  message=$(said "$program" chain)
  expect "$program: a chain's free is the program's" freed "$message" \
    free_list "chain freed here"
  message=$(said "$program" array)
  expect "$program: an array's allocation" allocated "$message" make_array \
    "array made here"
  expect "$program: and its free" freed "$message" free_array \
    "array freed here"
  message=$(said "$program" tree)
  expect_found "$program: a child of a freed node is found, with its size" \
    'slice: error 201: .*, space for 40 bytes, allocated at ' "$message"
  expect "$program: who allocated a node" allocated "$message" make_child \
    "child made here"
  expect "$program: who freed the tree" freed "$message" free_tree \
    "tree freed here"
  message=$(said "$program" linear)
  expect_found "$program: an arena destroyed twice is found" \
    'slice: error 306: ' "$message"
  expect "$program: who made an arena" allocated "$message" make_arena \
    "arena made here"
  expect "$program: who destroyed it" freed "$message" end_arena \
    "arena ended here"
done

# --- what was never freed ---

cat > "$temporary/leak.c" <<'END'
#include <slice/libslice.h>
typedef struct { int numbers[10]; } Thing;
static int *volatile kept;
__attribute__ ((noinline)) static void lose_slices (void)
{
  for (int i = 0; i < 3; i++)
    slice_new0 (Thing)->numbers[0] = i; /* slices lost here */
}
__attribute__ ((noinline)) static void lose_context (void)
{
  void *context = ralloc_context (NULL);
  kept = ralloc_array (context, int, 100); /* array lost here */
}
__attribute__ ((noinline)) static void lose_large (void)
{
  kept = ralloc_size (NULL, 5000); /* large node lost here */
}
int main (void)
{
  lose_slices ();
  lose_context ();
  lose_large ();
  return 0;
}
END
for level in -O0 -O2; do
  $CC -g $level -w -I"$top_srcdir" -I"$top_builddir" "$temporary/leak.c" \
    -o "$temporary/leak" "$libs/libslice.so" -Wl,-rpath,"$libs"
  said=$(SLICE_OPTIONS=debug "$temporary/leak" 2>&1)
  expect_found "$level: the sum" \
    'warning 150: exit: [0-9]* blocks, [0-9]* bytes never freed, of 4 places; ' \
    "$said"
  message=$(echo "$said" | grep 'exit: 3 blocks, 120 bytes')
  found=$(place allocated "$message")
  expect_found "$level: the line of slices" \
    "lose_slices at .*leak.c:$(grep -n 'slices lost' "$temporary/leak.c" \
      | cut -d: -f1)" "$found"
  found=$(echo "$said" | grep 'exit: .* allocated at' \
          | while read -r message; do place allocated "$message"; done)
  expect_found "$level: the line of a context's node" \
    "lose_context at .*leak.c:$(grep -n 'array lost' "$temporary/leak.c" \
      | cut -d: -f1)" "$found"
  expect_found "$level: the line of a large node" \
    "lose_large at .*leak.c:$(grep -n 'large node lost' "$temporary/leak.c" \
      | cut -d: -f1)" "$found"
done

# --- a plug-in that was unloaded ---

cat > "$temporary/plug.c" <<'END'
#include <slice/libslice.h>
void *plug_lose (size_t bytes)
{
  char *block = slice_alloc (bytes); /* plug-in */
  return block;
}
void *plug_drop (void)
{
  void *volatile block = plug_lose (48);
  slice_free1 (48, block);
  return block;
}
END
cat > "$temporary/host.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <slice/libslice.h>
int main (int argc, char **argv)
{
  const char *what = argv[1];
  void *first = dlopen (argv[2], RTLD_NOW), *lose, *block, *second;
  lose = dlsym (first, "plug_lose");
  ((void *(*) (size_t)) lose) (100);
  block = ((void *(*) (void)) dlsym (first, "plug_drop")) ();
  dlclose (first);
  if (strcmp (what, "alone") == 0)
    return 0;
  second = dlopen (argv[3], RTLD_NOW);
  puts (dlsym (second, "plug_lose") == lose ? "same" : "another");
  fflush (stdout);
  if (strcmp (what, "again") == 0)
    slice_free1 (48, block);
  ((void *(*) (size_t)) dlsym (second, "plug_lose")) (100);
  return 0;
}
END
for plug in pluga plugb; do
  $CC -g -O1 -fPIC -shared -w -I"$top_srcdir" -I"$top_builddir" \
    "$temporary/plug.c" -o "$temporary/$plug.so" "$libs/libslice.so" \
    -Wl,-rpath,"$libs"
done
$CC -g -O1 -w -I"$top_srcdir" -I"$top_builddir" "$temporary/host.c" \
  -o "$temporary/host" "$libs/libslice.so" -Wl,-rpath,"$libs" -ldl
# host WHAT: what the host says
host ()
{
  SLICE_OPTIONS=debug "$temporary/host" "$1" "$temporary/pluga.so" \
    "$temporary/plugb.so" 2>&1
}
plug_line="plug.c:$(grep -n '/\* plug-in \*/' "$temporary/plug.c" | cut -d: -f1)"
message=$(host alone | grep 'exit: 1 block, 100 bytes never freed, alloc')
expect_found "an unloaded plug-in is named" "pluga.so+0x" "$message"
expect_found "with its line" "$plug_line" "$(place allocated "$message")"
message=$(host both)
expect_found "another is loaded in its place" '^same$' "$message"
expect_found "its blocks are its own" \
  'exit: 1 block, 100 bytes never freed, allocated at .*/pluga.so+0x' "$message"
expect_found "and the other's are the other's" \
  'exit: 1 block, 100 bytes never freed, allocated at .*/plugb.so+0x' "$message"
message=$(host again)
expect_found "an error names it, too" \
  'error 105: .*allocated at [^ ]*/pluga.so+.*freed at [^ ]*/pluga.so+' \
  "$message"

# --- what a destructor of the program frees, with libslice.a ---

cat > "$temporary/destructor.c" <<'END'
#include <stdio.h>
#include <slice/libslice.h>
static void *context;
static void *block;
void begin (void);
__attribute__ ((destructor (102))) static void free_early (void)
{
  slice_free1 (40, block);
}
__attribute__ ((destructor)) static void free_late (void)
{
  ralloc_free (context);
  fputs ("freed\n", stderr);
}
void begin (void)
{
  context = ralloc_context (NULL);
  block = slice_alloc (40);
}
END
echo 'void begin (void); int main (void) { begin (); return 0; }' \
  > "$temporary/begin.c"
# ends_last COMPILER FLAG...: with libslice.a
ends_last ()
{
  said=$("$@" -g -w -I"$top_srcdir" -I"$top_builddir" \
           "$temporary/destructor.c" "$temporary/begin.c" "$libs/libslice.a" \
           -pthread -o "$temporary/ends" 2>&1 \
         && SLICE_OPTIONS=debug "$temporary/ends" 2>&1)
  equal "slice ends last: $*" "freed" "$said"
}
if test -f "$libs/libslice.a"; then
  for compiler in $CC gcc clang; do
    command -v "$compiler" > /dev/null 2>&1 || continue
    ends_last "$compiler" -O0 -fPIE -pie
    ends_last "$compiler" -O2 -no-pie
    ends_last "$compiler" -O2 -static
  done
  $CC -g -w -fPIC -shared -I"$top_srcdir" -I"$top_builddir" \
    "$temporary/destructor.c" "$libs/libslice.a" -pthread -Wl,-z,nodelete \
    -o "$temporary/ends.so"
  $CC -w "$temporary/begin.c" "$temporary/ends.so" -Wl,-rpath,"$temporary" \
    -o "$temporary/ends"
  equal "slice ends last in a plug-in" "freed" \
    "$(SLICE_OPTIONS=debug "$temporary/ends" 2>&1)"
fi

# --- the first thread has ended ---

cat > "$temporary/alone.c" <<'END'
#include <pthread.h>
#include <unistd.h>
#include <slice/libslice.h>
static void *volatile block;
__attribute__ ((noinline)) static void free_twice (void)
{
  slice_free1 (40, block);
  slice_free1 (40, block); /* freed alone */
}
static void *thread (void *first)
{
  pthread_join (*(pthread_t *) first, NULL);
  block = slice_alloc (40); /* made alone */
  free_twice ();
  return NULL;
}
int main (void)
{
  static pthread_t first, other;
  first = pthread_self ();
  pthread_create (&other, NULL, thread, &first);
  pthread_exit (NULL);
}
END
$CC -g -O0 -w -I"$top_srcdir" -I"$top_builddir" "$temporary/alone.c" \
  -o "$temporary/alone" "$libs/libslice.so" -Wl,-rpath,"$libs" -pthread
message=$(SLICE_OPTIONS=debug "$temporary/alone" 2>&1)
expect_found "the first thread has ended: the line is shown" \
  "thread at .*alone.c:$(grep -n 'made alone' "$temporary/alone.c" \
    | cut -d: -f1)" "$(place allocated "$message")"

# --- the other commands ---

said=$(SLICE_OPTIONS=stats "$temporary/leak" 2>&1)
expect_found "live blocks at exit" '^slice: 5 live blocks, ' "$said"
if command -v "${VALGRIND:-valgrind}" > /dev/null 2>&1; then
  said=$(SLICE_OPTIONS=stats "${VALGRIND:-valgrind}" --leak-check=full \
    "$temporary/leak" 2>&1)
  expect_found "valgrind names what is lost" 'lose_slices (leak.c:' "$said"
  expect_found "and we say that blocks live" \
    '^slice: [1-9][0-9]* live blocks, each a malloc of its own (as always under valgrind)' \
    "$said"
else
  skip "valgrind names what is lost" "no valgrind"
fi
if gdb --version > /dev/null 2>&1; then
  said=$(SLICE_OPTIONS=debug gdb --batch -nx -ex run -ex backtrace \
    --args "$temporary/pie-O0" node 2>&1 < /dev/null)
  case $said in
  *SIGABRT*)
    expect_found "gdb stops at the message" '^slice: error 10[58]: ' "$said"
    expect_found "and shows the call" 'in free_first (' "$said" ;;
  *) skip "gdb stops at the message" "it can't run a program here: $(echo "$said" | tail -n 1)" ;;
  esac
else
  skip "gdb stops at the message" "no gdb"
fi

# The README's first program, in the build tree.
sed -n '/^A first program$/,/^    cc /{/^    /s/^    //p;/^$/p;}' \
  "$top_srcdir/README" | sed '/^cc /d' > "$temporary/first.c"
sed -n 's/^    cc \(.* slice\/\.libs\/.*\)/\1/p' "$top_srcdir/README" \
  > "$temporary/first.sh"
said=$(top=$(cd "$top_srcdir" && pwd); cd "$top_builddir" \
  && eval "$CC -I$top $(sed "s|first|$temporary/&|g" "$temporary/first.sh")" \
  && "$temporary/first")
expect_found "the README's program runs in the build tree" '^9$' "$said"

# Code of a library is shown by the library's name.
mkdir "$temporary/lib"
sed 's/^int main/int library_main/' "$temporary/fault.c" \
  > "$temporary/lib/fault.c"
$CC -g -O2 -fPIC -shared -w -I"$top_srcdir" -I"$top_builddir" \
  "$temporary/lib/fault.c" -o "$temporary/lib/libuser.so" "$libs/libslice.so" \
  -Wl,-rpath,"$libs"
echo 'int library_main (int, char **);
int main (int argc, char **argv) { return library_main (argc, argv); }' \
  > "$temporary/main.c"
$CC -w "$temporary/main.c" -o "$temporary/user" "$temporary/lib/libuser.so" \
  -Wl,-rpath,"$temporary/lib" -Wl,-rpath,"$libs"
message=$(said user chain)
expect_found "a library is named" "freed at $temporary/lib/libuser.so+0x" \
  "$message"
expect "a library's line" freed "$message" free_list "chain freed here"

finish
