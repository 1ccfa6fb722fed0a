#!/bin/sh
# check-gdb.sh - the debugger's commands say what the program knows
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

script=$top_srcdir/slice/packaging/libslice-gdb.py
if ! command -v gdb > /dev/null 2>&1 \
   || ! gdb --batch -ex 'python print(1)' > /dev/null 2>&1; then
  skip "gdb" "no gdb with Python"
  finish
  exit
fi

cat > "$temporary/program.c" <<'EOF'
#include <slice/libslice.h>
SlicePool *pool, *tracked;
SliceLinear *linear;
SliceStack *stack;
SliceArenaStats held[3];
SliceStats stats;
void *node;
void *live, *cached, *interior, *foreign;
static void *blocks[3000];
void stop_here (void);
__attribute__ ((noinline)) void stop_here (void) { __asm__ volatile (""); }
int main (void)
{
  static char here;
  for (int i = 0; i < 3000; i++)
    blocks[i] = slice_alloc (48);
  for (int i = 100; i < 3000; i++)
    slice_free1 (48, blocks[i]);
  live = blocks[0];
  cached = blocks[2999];
  interior = (char *) blocks[1] + 8;
  foreign = &here;
  pool = slice_pool_new_plain (24);
  tracked = slice_pool_new (&(SlicePoolOptions){ .object_bytes = 24 });
  slice_pool_alloc (pool);
  slice_pool_free (pool, slice_pool_alloc (pool));
  linear = slice_linear_new (NULL);
  for (int i = 0; i < 3000; i++)
    {
      slice_linear_alloc (linear, 100);
      slice_pool_alloc (tracked);
    }
  stack = slice_stack_new (NULL);
  slice_stack_alloc (stack, 100);
  slice_pool_get_stats (tracked, &held[0]);
  slice_linear_get_stats (linear, &held[1]);
  slice_stack_get_stats (stack, &held[2]);
  node = ralloc_size (NULL, 1000);
  slice_get_stats (&stats);
  stop_here ();
  return 0;
}
EOF
$CC -g -O1 -I"$top_srcdir" -I"$top_builddir" "$temporary/program.c" \
  -o "$temporary/program" "$top_builddir/slice/.libs/libslice.so" \
  -Wl,-rpath,"$(cd "$top_builddir" && pwd)/slice/.libs" \
  > "$temporary/build.log" 2>&1 || cat "$temporary/build.log"
SLICE_OPTIONS= gdb --batch -nx -x "$script" \
  -ex 'break stop_here' -ex run \
  -ex 'slice-owner live' -ex 'slice-owner cached' -ex 'slice-owner interior' \
  -ex 'slice-owner foreign' -ex 'slice-magazines' -ex 'slice-depot' \
  -ex 'slice-slabs' -ex 'slice-slabs 48' -ex 'slice-slabs 999' \
  -ex 'print *pool' -ex 'print *linear' -ex 'print stats' \
  -ex 'print *tracked' -ex 'print *stack' \
  -ex 'printf "counted %lu %lu ", held[0].held_bytes, held[1].held_bytes' \
  -ex 'printf "%lu\n", held[2].held_bytes' \
  -ex 'print ((Node *) node)[-1]' "$temporary/program" \
  > "$temporary/said" 2>&1 < /dev/null

if ! grep -q 'Breakpoint 1, ' "$temporary/said"; then
  skip "gdb" "it can't run a program here"
  finish
  exit
fi
said=$(cat "$temporary/said")
expect_found "a live block is out" 'of class 48, chunk [0-9]* at 0x[0-9a-f]*, out$' "$said"
expect_found "a freed one is cached" \
  'cached in the loaded magazine of the thread with record' "$said"
expect_found "an interior pointer" '(8 bytes into it), out' "$said"
expect_found "a foreign address" "not slice's" "$said"
expect_found "a class that has no slabs" "^no slabs of 999 bytes$" "$said"
expect_found "the magazines" 'class   48: loaded  *[1-9][0-9]* of' "$said"
expect_found "the depot" 'class   48: [1-9][0-9]* magazines, ' "$said"
expect_found "the slabs" 'class   48: [1-9][0-9]* slabs, ' "$said"
expect_found "one class's slabs" 'slab 0x[0-9a-f]*: [0-9]* of 3[0-9]* chunks' \
  "$said"
expect_found "a pool" '= pool: 1 object of 24 bytes live, [1-9][0-9]* bytes held$' \
  "$said"
expect_found "a linear arena" \
  '= linear arena: [1-9][0-9]* bytes held, next object at 0x[0-9a-f]*, [0-9]* left' \
  "$said"
expect_found "the bytes held are those of the statistics" "^counted $(
  for arena in 'pool: 3000' 'linear arena' 'stack arena'; do
    echo "$said" | sed -n "s/.*= $arena.*[ :]\([0-9]*\) bytes held.*/\1/p"
  done | tr '\n' ' ' | sed 's/ $//')\$" "$said"
expect_found "statistics" '= [1-9][0-9]* live blocks, .* mapped = {' "$said"
expect_found "and the classes that were used" '48 bytes = "\?100 live, ' "$said"
expect_found "a node" '= node 0x[0-9a-f]*: parent word ' "$said"
expect_none "no complaint of the script's" \
  "$(echo "$said" | grep -i -e 'traceback' -e 'Python Exception' \
     -e '^Error occurred')"

# Without debugging information, or with an argument that makes no sense.
soname=$($OBJDUMP -p "$top_builddir/slice/.libs/libslice.so" \
         | awk '$1 == "SONAME" { print $2 }')
mkdir "$temporary/plain"
objcopy --strip-debug "$top_builddir/slice/.libs/libslice.so" \
  "$temporary/plain/$soname"
$CC -g -O1 -I"$top_srcdir" -I"$top_builddir" "$temporary/program.c" \
  -o "$temporary/bare" "$temporary/plain/$soname" \
  -Wl,-rpath,"$temporary/plain" > "$temporary/build.log" 2>&1 \
  || cat "$temporary/build.log"
for command in 'slice-owner live' slice-magazines slice-depot slice-slabs; do
  SLICE_OPTIONS= gdb --batch -nx -x "$script" -ex 'break stop_here' -ex run \
    -ex "$command" "$temporary/bare" 2>&1 < /dev/null
done > "$temporary/said"
expect_found "each command says that debugging information is missing" '^4$' \
  "$(grep -c '^libslice is not loaded, or has no debugging information: ' \
     "$temporary/said")"
for command in 'slice-slabs no-number' 'slice-owner no_name'; do
  SLICE_OPTIONS= gdb --batch -nx -x "$script" -ex 'break stop_here' -ex run \
    -ex "$command" "$temporary/program" 2>&1 < /dev/null
done >> "$temporary/said"
expect_found "a bad number" '^slice-slabs: .*no-number' "$(cat "$temporary/said")"
expect_found "a bad name" '^slice-owner: .*no_name' "$(cat "$temporary/said")"
expect_none "and no complaint of Python's" \
  "$(grep -i -e 'traceback' -e 'Python Exception' -e '^Error occurred' \
     "$temporary/said")"
finish
