#!/bin/sh
# check-full.sh - with --enable-debug=full the validators run
#
# Faults that break an invariant are built in, one after the other: each must
# end the program at the step that breaks it, by the validator that looks
# there.  With assertions alone none of these is noticed, and without a fault
# nothing is.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"
. "$(dirname "$0")/../seeded/seeded-lib.sh"

case $CC in
*-fsanitize*) skip_all "the compiler's flags are special: $CC" ;;
esac
ulimit -c 0
SLICE_OPTIONS=
export SLICE_OPTIONS
tree=$temporary/tree
flags="-std=gnu11 -g -O1 -w -I. -I$top_srcdir -iquote $tree/slice -pthread
  -ftls-model=initial-exec -USLICE_DEBUG -include $seeded/fault.h"

# Blocks of some sizes come and go, through magazines, depot and slabs, and
# what is spare goes back; and a tree of contexts.
cat > "$temporary/load.c" <<'EOF'
#include <slice/ralloc-extension.h>
#include <slice/ralloc.h>
#include <slice/slice.h>

enum { N = 6000 };
static void *blocks[N];

/* Nodes change parents, get records, and are freed below a limit. */
static void
use_contexts (void)
{
  void *root = ralloc_context (NULL);
  void *a = ralloc_context (root);
  void *b = ralloc_context (root);

  for (int i = 0; i < 100; i++)
    ralloc_size (ralloc_size (a, 24), 2000);
  ralloc_adopt (b, a);
  ralloc_set_name_const (b, "b");
  ralloc_set_limit (root, 1 << 20);
  ralloc_free (b);
  ralloc_set_limit (root, 1 << 19);
  ralloc_free (root);
}

int
main (void)
{
  use_contexts ();
  for (int turn = 0; turn < 3; turn++)
    for (size_t size = 24; size <= 2000; size = size * 9 / 2)
      {
        for (int i = 0; i < N; i++)
          blocks[i] = slice_alloc (size);
        for (int i = 0; i < N; i++)
          slice_free1 (size, blocks[i]);
        slice_trim (0);
      }
  return 0;
}
EOF

compile ()
{
  $CC $flags $more -c "$1" -o "$2" || exit 99
}

seeded_tree "$tree"
sources=$(for layer in port base page slab depot magazine checking alloc \
                       observe context; do
            find "$tree/slice/$layer" -name '*.c' | sort
          done)

# object SET SOURCE: two files may have one name
object ()
{
  echo "$temporary/$1/o$(echo "$2" | tr / -).o"
}

# build SET FLAG...: all of it, with each fault in it, none of them on
build ()
{
  set=$1
  shift
  mkdir "$temporary/$set"
  more=$*
  for source in $sources "$top_srcdir/tests/seeded/fault.c" \
    "$temporary/load.c"; do
    compile "$source" "$(object $set "$source")"
  done
  $CC -pthread "$temporary/$set"/o*.o -o "$temporary/load-$set" || exit 99
}

# run SET FAULT: what it says in the end
run ()
{
  # (In a shell of its own, which is not to tell of the signal.)
  (
    SEEDED_FAULT=$2
    export SEEDED_FAULT
    timeout 120 "$temporary/load-$1" 2>&1
    echo "status $?"
  ) 2> /dev/null
}

build full -DSLICE_DEBUG=1 -DSLICE_DEBUG_FULL=1
build debug -DSLICE_DEBUG=1

said=$(run full 0)
if test "$said" = "status 0"; then
  pass "without a fault no validator complains"
else
  fail "without a fault no validator complains" "$said"
fi

# check FAULT LAYER VALIDATOR
check ()
{
  said=$(run full $1)
  expect_found "$2, fault $1: a validator sees it" \
    "slice: error 140: .*does not hold: $3" "$said"
  said=$(run debug $1)
  case $said in
  *"does not hold: $3"*)
    fail "$2, fault $1: not without =full" "$said" ;;
  *) pass "$2, fault $1: not without =full" ;;
  esac
}

check 14 page "sli_region_is_valid"
check 3 slab "sli_slab_is_right"
check 2 depot "sli_stack_is_right"
check 7 magazine "sli_record_is_right"
check 101 context "sli_context_tree_is_right"
check 102 context "sli_context_node_is_right"
check 103 context "sli_context_tree_is_right"
finish
