#!/bin/sh
# check-tools.sh - what valgrind and the sanitizers see
#
# The misuse corpus under memcheck and the address sanitizer: every case that
# they would report of malloc they must report of slices, with each block a
# malloc of its own (as it comes) and with the pool forced (force-pool=2).  And
# that the first is what happens under every sanitizer, with the library as it
# is installed.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

lib=$(cd "$top_builddir" && pwd)/slice/.libs
misuse=$top_srcdir/tests/misuse
glib=$($PKG_CONFIG --cflags --libs glib-2.0 2> /dev/null)
flags="-O0 -g -fno-builtin -w -I$top_srcdir -I$top_builddir"
library=$lib/libslice.so
test -f "$library" || library=$lib/libslice.a # --disable-shared
link="$library -Wl,-rpath,$lib -pthread -ldl"

# reports NAME FILE: that all of the cases were reported
reports ()
{
  expect_found "$1: as many as there are" '^# [a-z]*: [0-9]* of [0-9]* ' \
    "$(cat "$2")"
  expect_none "$1: every case is reported" "$(grep '^not ok' "$2")"
  sed -n 's/^# [a-z]*: .* reported$/&/p' "$2"
}

# --- memcheck ---

program=$top_builddir/tests/misuse/.libs/misuse
test -x "$program" || program=$top_builddir/tests/misuse/misuse
if test -z "$VALGRIND"; then
  skip "memcheck" "no valgrind"
elif ldd "$program" 2> /dev/null | grep -q 'lib[atml]*san'; then
  skip "memcheck" "built with a sanitizer"
else
  for options in force-pool=0 force-pool=2; do
    mkdir -p "$temporary/log"
    MISUSE_LOG=$temporary/log/log G_SLICE=always-malloc \
      SLICE_OPTIONS=$options LD_LIBRARY_PATH=$lib \
      "$VALGRIND" --leak-check=full --log-file="$temporary/log/log.%p" \
      "$program" --under=memcheck --options=$options > "$temporary/said" 2>&1
    reports "memcheck, $options" "$temporary/said"
    rm -rf "$temporary/log"
  done
fi

# --- the address sanitizer ---

if $CC -fsanitize=address $flags "$misuse"/*.c -o "$temporary/misuse" $link \
     $glib > "$temporary/build.log" 2>&1; then
  for options in force-pool=0 force-pool=2; do
    ASAN_OPTIONS=detect_leaks=0 SLICE_OPTIONS=$options \
      "$temporary/misuse" --under=asan --options=$options \
      > "$temporary/said" 2>&1
    reports "address sanitizer, $options" "$temporary/said"
  done
  # Of the pool it knows nothing; memcheck does.
  ASAN_OPTIONS=detect_leaks=1 SLICE_OPTIONS= \
    "$temporary/misuse" --under=leaks --options= > "$temporary/said" 2>&1
  reports "leaks" "$temporary/said"
  # The leak check reads all memory: no guard page may lie in its way.
  cat > "$temporary/scanned.c" <<'END'
#include <stdio.h>
#include <slice/slice.h>
static void *kept[20000];
int main (void)
{
  for (int i = 0; i < 20000; i++)
    kept[i] = slice_alloc (1 + i % 2000);
  puts (slice_is_ours (kept[0]) ? "pool" : "malloc");
  return 0;
}
END
  $CC -fsanitize=address $flags "$temporary/scanned.c" \
    -o "$temporary/scanned" $link
  for options in debug:force-pool hardened:force-pool; do
    said=$(SLICE_OPTIONS=$options ASAN_OPTIONS=detect_leaks=1 \
           "$temporary/scanned" 2>&1; echo "status $?")
    expect_found "leak check, $options: it ran" '^pool$' "$said"
    expect_found "leak check, $options: nothing in its way" '^status 0$' \
      "$said"
  done
  # The second free is reported as such, whichever function it is.
  cat > "$temporary/twice.c" <<'END'
#include <slice/slice.h>
int main (int argc, char **argv)
{
  void *block = argc > 1 ? slice_alloc_aligned (64, 40) : slice_alloc (40);
  for (int i = 0; i < 2; i++)
    if (argc > 1)
      slice_free_aligned (64, 40, block);
    else
      slice_free1 (40, block);
  return argv == 0;
}
END
  $CC -fsanitize=address $flags "$temporary/twice.c" \
    -o "$temporary/twice" $link
  for aligned in "" aligned; do
    said=$(SLICE_OPTIONS= ASAN_OPTIONS=detect_leaks=0 \
           "$temporary/twice" $aligned 2>&1)
    expect_found "address, freed twice${aligned:+, }$aligned" \
      'AddressSanitizer: attempting double-free' "$said"
  done
  # A linear object moves within its buffer; the copy does not overlap it.
  cat > "$temporary/moved.c" <<'END'
#include <slice/ralloc.h>
int main (void)
{
  void *linear = ralloc_linear_context (NULL);
  char *old = ralloc_linear_alloc_child (linear, 8);
  ralloc_linear_alloc_child (linear, 8);
  *old = 'x';
  char *moved = ralloc_linear_realloc (linear, old, 200);
  int status = moved == old || *moved != 'x';
  ralloc_free (linear);
  return status;
}
END
  $CC -fsanitize=address $flags "$temporary/moved.c" \
    -o "$temporary/moved" $link
  said=$(SLICE_OPTIONS=force-pool ASAN_OPTIONS=detect_leaks=0 \
         "$temporary/moved" 2>&1; echo "status $?")
  expect_found "address, an object of a linear context moves" '^status 0$' \
    "$said"
else
  skip "address sanitizer" "$CC can't"
fi

# --- which sanitizers are noticed ---

cat > "$temporary/route.c" <<'EOF'
#include <stdio.h>
#include <slice/slice.h>
int main (void)
{
  void *block = slice_alloc (48);
  puts (slice_is_ours (block) ? "pool" : "malloc");
  slice_free1 (48, block);
  return 0;
}
EOF
tried=0
for compiler in "$CC" "$CLANG"; do
  for sanitizer in address thread memory leak; do
    test -n "$compiler" \
      && $compiler -fsanitize=$sanitizer $flags "$temporary/route.c" \
           -o "$temporary/route" $link > /dev/null 2>&1 || continue
    run=
    setarch "$(uname -m)" -R true 2> /dev/null && run="setarch $(uname -m) -R"
    tried=$((tried + 1))
    expect_found "$compiler, $sanitizer: each block is malloc's" '^malloc$' \
      "$(SLICE_OPTIONS= LSAN_OPTIONS=detect_leaks=0 $run \
         "$temporary/route" 2>&1)"
  done
done
# That of clang has the functions of a sanitizer, but no malloc.
for compiler in "$CC" "$CLANG"; do
  test -n "$compiler" \
    && $compiler -fsanitize=undefined $flags "$temporary/route.c" \
         -o "$temporary/route" $link > /dev/null 2>&1 || continue
  expect_found "$compiler, undefined: each block is the pool's" '^pool$' \
    "$(SLICE_OPTIONS= "$temporary/route" 2>&1)"
done
$CC $flags "$temporary/route.c" -o "$temporary/route" $link
expect_found "without a tool they are the pool's" '^pool$' \
  "$(SLICE_OPTIONS= "$temporary/route")"
echo "# $tried compilers and sanitizers"

finish
