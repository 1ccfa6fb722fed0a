#!/bin/sh
# check-rust.sh - the Rust crate of slice/rust: its tests, against the library
# of the build tree
#
# Wants cargo and rustc; takes nothing from a registry.  The crate of
# collections is tested where cargo has its dependencies already.  `make
# bench-rust' compares with other crates, which it fetches.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

command -v cargo > /dev/null 2>&1 && command -v rustc > /dev/null 2>&1 \
  || skip_all "no cargo (Debian: cargo)"
case $CC in
*-fsanitize* | *-m32*) skip_all "the compiler's flags are special: $CC" ;;
esac
library=$(cd "$top_builddir/slice/.libs" && pwd) || exit 99
test -f "$library/libslice.so" || skip_all "no shared library was built"

cp -R "$top_srcdir/slice/rust" "$temporary/rust"
chmod -R u+w "$temporary/rust"
unset RUSTFLAGS CARGO_BUILD_TARGET MAKEFLAGS MFLAGS MAKELEVEL
CARGO_TARGET_DIR=$temporary/target
SLICE_LIB_DIR=$library
LD_LIBRARY_PATH=$library
export CARGO_TARGET_DIR SLICE_LIB_DIR LD_LIBRARY_PATH

# What <slice/slice.h> says of the inline code's tables.
cat > "$temporary/layout.c" <<'END'
#include <stdio.h>
#include <slice/slice.h>
int
main (void)
{
  return printf ("%zu %zu %d\n", sizeof (SliceThreadV1), sizeof (SliceEntryV1),
                 SLICE_CLASSES_V1) < 0;
}
END
$CC -O2 -I"$top_builddir" -I"$top_srcdir" -o "$temporary/layout" \
  "$temporary/layout.c" "$library/libslice.so" || exit 99

# cargo_test LAYOUT [ARGUMENT...]: what goes wrong
cargo_test ()
{
  layout=$1
  shift
  (cd "$temporary/rust" && SLICE_LAYOUT=$layout cargo test --offline "$@") \
    > "$temporary/said" 2>&1 || tail -n 40 "$temporary/said"
}

layout=$("$temporary/layout")
expect_none "the tests pass, the tables are C's" "$(cargo_test "$layout")"
expect_found "there are some" 'test result: ok. [1-9]' \
  "$(cat "$temporary/said")"
# What the documentation says is refused is an error in its examples.
expect_found "scopes refuse what is not sound" 'compile fail ... ok' \
  "$(cat "$temporary/said")"
expect_none "there are no warnings" "$(grep '^warning' "$temporary/said")"
expect_none "the tests pass in the mode debug" \
  "$(SLICE_OPTIONS=debug cargo_test "$layout" --tests)"

# Instructions of a pair and of its loop, by callgrind, as check-fastpath.sh has
# them for C: 16 and 14, the store of the word, and the loop's three.
cat > "$temporary/pairs.rs" <<'END'
use slice_alloc::{Owned, Pool};

fn look(word: &u64) {
    // SAFETY: no instruction; the compiler takes it that the word is read.
    unsafe { std::arch::asm!("/* {0} */", in(reg) word) };
}

fn main() {
    let n = std::env::args().nth(2).map_or(0, |n| n.parse().unwrap());
    if std::env::args().nth(1).as_deref() == Some("Owned") {
        (0..n).for_each(|i| look(&Owned::new(i)));
    } else {
        let pool = Pool::new();
        (0..n).for_each(|i| look(&pool.alloc(i)));
    }
}
END

# pairs_run KIND N: the instructions of so many
pairs_run ()
{
  SLICE_OPTIONS=force-pool valgrind --tool=callgrind \
    --callgrind-out-file=/dev/null "$temporary/target/release/examples/pairs" \
    "$1" "$2" 2>&1 | sed -n 's/.*Collected : //p'
}

# pair_takes KIND: the instructions of one
pair_takes ()
{
  few=$(pairs_run "$1" 1000)
  many=$(pairs_run "$1" 101000)
  test -n "$few" && test -n "$many" && echo $(((many - few + 50000) / 100000))
}

count_pairs ()
{
  mkdir -p "$temporary/rust/examples"
  cp "$temporary/pairs.rs" "$temporary/rust/examples"
  expect_none "a program of pairs is built" \
    "$( (cd "$temporary/rust" && cargo build --offline -q --release \
           --example pairs) 2>&1)"
  for pair in Owned:20 Pool:18; do
    n=$(pair_takes "${pair%:*}")
    expect_none "${pair%:*}: a pair takes at most ${pair#*:} instructions" \
      "$(test "${n:-999}" -le "${pair#*:}" || echo "${n:-none counted}")"
  done
}

if test "$(uname -m)" != x86_64; then
  skip "instructions of a pair" "the inline code is for x86-64"
elif ! valgrind --version > /dev/null 2>&1; then
  skip "instructions of a pair" "no valgrind"
else
  count_pairs
fi

# collections [ARGUMENT...]: the same for the crate in there
collections ()
{
  (cd "$temporary/rust/collections" && cargo test --offline "$@") \
    > "$temporary/said" 2>&1 || tail -n 40 "$temporary/said"
}

host=$(rustc -vV | sed -n 's/^host: //p')
if (cd "$temporary/rust/collections" \
    && cargo metadata --locked --offline --filter-platform "$host") \
     > /dev/null 2>&1; then
  expect_none "collections: the tests pass" "$(collections)"
  expect_found "collections: there are some" 'test result: ok. [1-9]' \
    "$(cat "$temporary/said")"
  expect_none "collections: no warnings" "$(grep '^warning' "$temporary/said")"
  expect_none "collections: the tests pass in the mode debug" \
    "$(SLICE_OPTIONS=debug collections --tests)"
else
  skip "collections: the tests pass" "cargo fetch --manifest-path \
slice/rust/collections/Cargo.toml"
fi

# Can it fail?
expect_found "another table is found" '^    layout_is_the_headers' \
  "$(cargo_test '1 2 3' --test blocks)"

finish
