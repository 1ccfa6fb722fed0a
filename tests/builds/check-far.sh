#!/bin/sh
# check-far.sh - the library where all addresses lie beyond the tables
#
# The maps have a table for addresses of 48 bits and a slower way to those
# beyond, which few machines have.  Here the tables say that they end at 40
# bits: what mmap and malloc give on any 64-bit machine is far then, and the
# tests run on memory that is really there.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"
: "${glib_flags=$(${PKG_CONFIG:-pkg-config} --cflags --libs glib-2.0)}"

flags="-std=gnu11 -g -O1 -w -I. -I$top_srcdir -iquote $top_srcdir/slice -pthread
  -ftls-model=initial-exec -DADDRESS_BITS_USUAL=40"
tests="alloc/test-alloc alloc/test-fork alloc/test-threads alloc/test-trim
  page/test-map page/test-map-notes page/test-page observe/test-walk
  whole/test-model context/test-ralloc context/free/test-ralloc-free
  context/test-ralloc-gc context/misuse/test-ralloc-misuse"

case $CC in
*-fsanitize*) skip_all "the compiler's flags are special: $CC" ;;
esac
if ! echo '#include <stdint.h>
char is_64_bits[sizeof (void *) == 8 ? 1 : -1];' \
    | $CC -x c -c -o "$temporary/bits.o" - 2>/dev/null; then
  skip_all "32 bits: no address is far"
fi

# object SOURCE [FLAG...]
object ()
{
  source=$1
  shift
  $CC $flags $glib_flags "$@" -c "$source" \
    -o "$temporary/objects/o-$(echo "${source#"$top_srcdir/"}" | tr / -).o" \
    || exit 99
}

mkdir "$temporary/objects"
for layer in port base page slab depot magazine checking alloc observe \
             context arena; do
  for source in $(find "$top_srcdir/slice/$layer" -name '*.c' | sort); do
    object "$source"
  done
done
object "$top_srcdir/tests/testlib.c"

link ()
{
  $CC $flags "$1" "$temporary"/objects/o-*.o -o "$2" $glib_flags -ldl \
    || exit 99
}

for test in $tests; do
  link "$top_srcdir/tests/$test.c" "$temporary/${test##*/}"
done
for test in $tests; do
  if "$temporary/${test##*/}" --tap > "$temporary/said" 2>&1; then
    pass "far: $test passes"
  else
    fail "far: $test passes" \
      "$(grep -E '^(not ok|Bail|#)' "$temporary/said" | tail -n 5)"
  fi
done

# Can it fail?  A block is found beyond the table, and only what is ours is.
cat > "$temporary/is-far.c" <<'EOF'
#include <slice/libslice.h>
#include "page/map/map.h"

static bool
is_far (const void *address)
{
  return sli_map_far_leaf ((uintptr_t) address >> MAP_LEAF_BITS) != NULL;
}

int
main (void)
{
  void *block = slice_alloc (40);

  return !slice_is_ours (block) || !is_far (block) || is_far (NULL)
         || slice_is_ours ((void *) ((uintptr_t) block ^ (uintptr_t) 1 << 60));
}
EOF
link "$temporary/is-far.c" "$temporary/is-far"
if "$temporary/is-far"; then
  pass "a block is far"
else
  fail "a block is far"
fi
finish
