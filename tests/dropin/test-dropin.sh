#!/bin/sh
# test-dropin.sh - the drop-in preloaded, in short
#
# What it exports and needs, slice-run's options and exit codes, the header
# for rebuilt programs, blocks that cross the border; then, where their
# packages are installed, a test of GLib's own and a GStreamer pipeline.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"
. "$(dirname "$0")/../clients/clients-lib.sh"

dropin=$top_builddir/slice/dropin/.libs/libslice-gslice.so
said=$temporary/said

have_dropin || skip_all "no drop-in was built, or with a sanitizer"

# --- the library ---

# The eight that Debian's libglib2.0-0.symbols lists, and what they need.
expect_none "it exports GLib's eight slice calls, free and a start, no more" \
  "$(for name in alloc alloc0 copy free1 free_chain_with_offset set_config \
         get_config get_config_state; do echo "g_slice_$name"; done \
       | cat - /dev/fd/3 3<<END | sort > "$temporary/wanted"
free
free_aligned_sized
free_sized
slice_gslice_load_v1
END
     $NM -D --defined-only "$dropin" | awk '{ print $3 }' | sort \
       | diff "$temporary/wanted" -)"
expect_none "it needs libslice and the C library alone" \
  "$($READELF -d "$dropin" | awk '/NEEDED/ { print $NF }' \
       | grep -v -x -e '\[libslice\.so\.0\]' -e '\[libc\.so\.6\]' \
         -e '\[libpthread\.so\.0\]' -e '\[libdl\.so\.2\]' \
         -e '\[ld-linux.*\]')"
expect_none "libslice needs no GLib" \
  "$($READELF -d "$top_builddir/slice/.libs/libslice.so" \
       | grep NEEDED | grep -i glib)"
expect_found "it stays when it is closed" NODELETE "$($READELF -d "$dropin")"

# --- slice-run ---

# run_expect CODE NAME ARGUMENT...: slice-run must end so
run_expect ()
{
  run_code=$1
  run_name=$2
  shift 2
  code=0
  sh "$slice_run" "$@" >"$said" 2>&1 || code=$?
  if test $code = "$run_code"; then pass "slice-run: $run_name"
  else fail "slice-run: $run_name" "ended with $code: $(cat "$said")"; fi
}

run_expect 0 "--help" --help
expect_none "slice-run: --help names every option" \
  "$(for option in malloc stats debug-blocks trim-thread help version; do
       grep -q -e "--$option" "$said" || echo "$option"
       grep -q -e "$option" "$(dirname "$0")/../../docs/man/slice-run.1" \
         || sed 's/\\-/-/g' "$top_srcdir/docs/man/slice-run.1" \
              | grep -q -e "--$option" || echo "$option: not in the manual"
     done)"
run_expect 0 "--version" --version
for option in --help --version; do
  code=0
  sh "$slice_run" $option > /dev/full 2> "$said" || code=$?
  expect_none "slice-run: $option that can't be written is noticed" \
    "$(test $code = 125 && grep -q 'could not be written' "$said" \
       || { echo "ended with $code"; cat "$said"; })"
done
run_expect 125 "an unknown option is refused" --no-such-option true
run_expect 125 "no program is refused"
run_expect 127 "a program that is not there" /no/such/program
run_expect 126 "a file that is no program" "$top_srcdir/README"
run_expect 126 "a folder" "$top_srcdir"
run_expect 127 "a name that is nowhere on the path" no-such-program-anywhere
run_expect 0 "a program that the shell has, too" printf '%s' printed
expect_found "slice-run: and it is run" '^printed$' "$(cat "$said")"
PATH=.:$PATH run_expect 126 "a file on the path that is no program" \
  Makefile
run_expect 3 "the program's exit code comes through" sh -c 'exit 3'
run_expect 0 "options end at --" --stats -- sh -c 'exit 0'
run_expect 0 "options end at the program" sh -c 'test "$1" = --stats' x --stats
SLICE_RUN_PRELOAD=/no/such/library \
  run_expect 125 "a library that is not there" true
G_SLICE=debug-blocks SLICE_OPTIONS=count run_expect 0 "what the program finds" \
  --trim-thread --debug-blocks sh -c 'echo "$G_SLICE $SLICE_RUN_G_SLICE $SLICE_OPTIONS"'
expect_found "slice-run: GLib's and our own settings" \
  '^always-malloc debug-blocks count:trim-thread:debug-blocks$' \
  "$(cat "$said")"
G_SLICE=debug-blocks run_expect 0 "within slice-run" \
  sh "$slice_run" sh -c 'echo "$G_SLICE $SLICE_RUN_G_SLICE"'
expect_found "slice-run: the user's setting survives" \
  '^always-malloc debug-blocks$' "$(cat "$said")"
run_expect 0 "unset stays unset" sh -c 'echo "${SLICE_RUN_G_SLICE-unset}"'
expect_found "slice-run: no setting, no name" '^unset$' "$(cat "$said")"

# moved NAME: a setting of the script's, in an installation that lies elsewhere
moved ()
{
  prefix=$(sed -n 's/^prefix=//p' "$slice_run")
  directory=$(sed -n "s/^$1=//p" "$slice_run")
  echo "$temporary/elsewhere${directory#"$prefix"}"
}
mkdir -p "$(moved bindir)" "$(moved libdir)"
cp "$slice_run" "$(moved bindir)"
cp "$dropin" "$top_builddir/slice/.libs/libslice.so.0" "$(moved libdir)"
ln -s "$(moved bindir)/slice-run" "$temporary/linked"
for run in "$(moved bindir)/slice-run" "$temporary/linked"; do
  (unset SLICE_RUN_PRELOAD
   sh "$run" sh -c 'echo "$LD_PRELOAD"; cat /proc/$$/maps') > "$said" 2>&1
  expect_found "slice-run: finds what was moved with it, as ${run##*/}" \
    "^$(realpath "$temporary")/elsewhere.*/libslice.so.0:" "$(cat "$said")"
  expect_none "slice-run: and no other, as ${run##*/}" \
    "$(grep '/.*libslice' "$said" | grep -v /elsewhere/)"
done

# LD_PRELOAD can hold neither folder; the message names the whole path.
for folder in 'a space' a:colon; do
  cp -R "$temporary/elsewhere" "$temporary/$folder"
  run=$(moved bindir)/slice-run
  code=0
  (unset SLICE_RUN_PRELOAD
   sh "$temporary/$folder${run#"$temporary/elsewhere"}" true) > "$said" 2>&1 \
    || code=$?
  expect_none "slice-run: moved to '$folder' it says why it can not preload" \
    "$(test $code = 125 && test "$(wc -l < "$said")" = 1 \
       && grep -q "/$folder/.*libslice.*: LD_PRELOAD can not hold" "$said" \
       || { echo "ended with $code"; cat "$said"; })"
done

# AddressSanitizer ends a program in which another library comes first.
cat > "$temporary/asan.c" <<'END'
#include <stdlib.h>
int
main (int argc, char **argv)
{
  char *volatile block = malloc (10);
  if (argc > 1)
    block[10] = *argv[1];
  free (block);
  return 0;
}
END
if $CC -g -fsanitize=address "$temporary/asan.c" -o "$temporary/asan" \
    2> "$said" && "$temporary/asan" 2> "$said"; then
  run_expect 0 "AddressSanitizer: the program runs" --stats "$temporary/asan"
  run_expect 1 "AddressSanitizer: faults are found" "$temporary/asan" x
  expect_found "AddressSanitizer: and reported" heap-buffer-overflow \
    "$(cat "$said")"
else
  skip "AddressSanitizer" "the compiler has none"
fi

# --- the border ---

border=$top_builddir/tests/dropin/border
if test -x "$border"; then
  for mode in plain debug-blocks trim-thread; do
    option=
    test $mode = plain || option=--$mode
    run_expect 0 "100000 blocks cross the border, $mode" \
      --stats $option "$border" 100000 4
    expect_none "and nothing is lost, $mode" "$(border_findings "$said" $mode)"
  done
else
  skip "blocks cross the border" "no GLib to build the program with"
fi

# --- rebuilt programs ---

cat > "$temporary/rebuilt.c" <<'END'
#include <slice/gslice.h>
#include <glib.h>
typedef struct { GSList *next; int x; } Node;
typedef struct { } Empty;
int
main (void)
{
  Node *node = g_slice_new0 (Node), *copy = g_slice_dup (Node, node);
  Empty *empty = g_slice_new (Empty);
  gpointer (*alloc) (gsize) = g_slice_alloc;
  gpointer block = alloc (40);
  g_assert (slice_is_ours (node) && slice_is_ours (copy) && empty != NULL);
  g_assert (slice_is_ours (block));
  g_slice_free1 (40, block);
  g_slice_free (Node, copy);
  g_slice_free (Empty, empty);
  g_slice_free_chain (Node, node, next);
  return 0;
}
END
cflags="-I$top_builddir -I$top_srcdir"
if glib=$(${PKG_CONFIG:-pkg-config} --cflags --libs glib-2.0 2>/dev/null); then
  expect_none "a program is rebuilt with <slice/gslice.h>" \
    "$($CC -std=gnu11 -O2 -Wall -Wextra -Werror $cflags -o \
         "$temporary/rebuilt" "$temporary/rebuilt.c" \
         -L"$top_builddir/slice/.libs" -lslice $glib 2>&1 \
       && LD_LIBRARY_PATH=$top_builddir/slice/.libs "$temporary/rebuilt" 2>&1 \
       || echo "failed")"
  expect_found "and a wrong type is refused" 'distinct pointer types' \
    "$(sed 's/g_slice_free (Node, copy)/g_slice_free (Empty, copy)/' \
         "$temporary/rebuilt.c" > "$temporary/wrong.c"
       $CC -std=gnu11 -O2 -Wall -Werror $cflags -fsyntax-only \
         "$temporary/wrong.c" $glib 2>&1)"
else
  skip "a program is rebuilt with <slice/gslice.h>" "no GLib headers"
fi

# --- valgrind ---

cat > "$temporary/faults.c" <<'END'
#include <glib.h>
int
main (int argc, char **argv)
{
  (void) argv;
  char *freed = g_slice_alloc (64), *small = g_slice_alloc (40);
  gpointer volatile lost = g_slice_alloc (72);
  g_slist_free_1 (g_slice_new0 (GSList));
  g_slice_free1 (sizeof (GList), g_list_alloc ());
  g_slice_free1 (64, freed);
  if (argc > 1)
    {
      freed[3] = 1;
      small[40] = 1;
    }
  else
    g_slice_free1 (72, lost);
  lost = NULL;
  g_slice_free1 (40, small);
  return lost != NULL;
}
END
if test -n "${VALGRIND-}" && test -n "${glib-}" \
   && $CC -g -o "$temporary/faults" "$temporary/faults.c" $glib \
        2>"$temporary/log"; then
  memcheck="$VALGRIND -q --error-exitcode=9 --leak-check=full \
    --show-leak-kinds=definite"
  run_expect 9 "valgrind finds faults" $memcheck "$temporary/faults" x
  expect_none "a write to a freed block, one past the end, and a leak" \
    "$(test "$(grep -c 'Invalid write of size 1' "$said")" = 2 \
         && grep -q '72 bytes in 1 blocks are definitely lost' "$said" \
         || cat "$said")"
  run_expect 0 "and none where there are none" $memcheck "$temporary/faults"
  LD_PRELOAD=$SLICE_RUN_PRELOAD $memcheck "$temporary/faults" x \
    >"$said" 2>&1
  expect_none "preloaded alone, the same are found" \
    "$(test "$(grep -c 'Invalid write of size 1' "$said")" = 2 \
         && grep -q '72 bytes in 1 blocks are definitely lost' "$said" \
         || cat "$said")"
  SLICE_OPTIONS=force-pool run_expect 0 "the slabs kept, no false report" \
    $memcheck --soname-synonyms=somalloc=nouserintercepts "$temporary/faults"
else
  skip "slice-run: valgrind" "no valgrind, or no GLib headers"
fi

# --- others' programs, where they are ---

if test -x "$installed_tests/slice-known-pages"; then
  SLICE_OPTIONS=count run_expect 0 "GLib's slice-known-pages" \
    --stats "$installed_tests/slice-known-pages"
  n=$(n_allocated "$said")
  expect_none "with blocks of ours" \
    "$(test "${n:-0}" -ge 400 || cat "$said")"
else
  skip "GLib's slice-known-pages" "libglib2.0-tests is not installed"
fi
if command -v gst-launch-1.0 >/dev/null 2>&1; then
  SLICE_OPTIONS=count run_expect 0 "a GStreamer pipeline" --stats \
    gst-launch-1.0 -q fakesrc num-buffers=20000 ! queue ! queue ! fakesink
  n=$(n_allocated "$said")
  # Later ones have no use for GLib's slices (Debian 13's is 1.26).
  minor=$(gst-launch-1.0 --version | sed -n 's/^GStreamer 1\.\([0-9]*\).*/\1/p')
  if test "${minor:-0}" -le 22 || test "${n:-0}" -ge 20000; then
    expect_none "with blocks of ours" \
      "$(test "${n:-0}" -ge 20000 || cat "$said")"
  else
    skip "with blocks of ours" "GStreamer 1.$minor calls malloc"
  fi
else
  skip "a GStreamer pipeline" "gstreamer1.0-tools is not installed"
fi

finish
