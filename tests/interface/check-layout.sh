#!/bin/sh
# check-layout.sh - the library that was built has its functions where they are
# marked to stand, and a program runs no others
#
#   check-layout.sh [LIBRARY]   default: the one of this build
#
# The mark is a section's name, which linkers and their optimizers may drop
# without a word; and a function that lacks it costs each program a page or
# sixteen.
#
# LAYOUT_SCRIPT    libslice.ld where the linker takes it, or nothing
# LIBRARY_CFLAGS   what the library was compiled with
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

library=${1-$top_builddir/slice/.libs/libslice.so}
readelf=${READELF:-readelf}
sources=$top_srcdir/slice

test -n "${LAYOUT_SCRIPT-}" || skip_all "the linker takes no layout script"
test -f "$library" || skip_all "no shared library was built"
case " ${LIBRARY_CFLAGS-} " in
*-fsanitize* | *--coverage*) skip_all "instrumented" ;;
esac

# marked MARK DIRECTORY: the functions that have MARK
marked ()
{
  find "$2" -name '*.c' -exec sed -n "/^$1 /{n;s/^\\([a-z0-9_]*\\) (.*/\\1/p;}" \
    {} + | sort -u
}

# section_of SECTION LIBRARY: its index, address, offset and size, in hex
section_of ()
{
  $readelf -SW "$2" | sed -n 's/^ *\[ *\([0-9]*\)\] /\1 /p' \
    | awk -v name="$1" '$2 == name { print $1, $4, $5, $6 }'
}

# elsewhere MARK SECTION LIBRARY: functions that have MARK and stand, they or
# a copy that the compiler made of them, outside of SECTION.  One whose name a
# function without the mark has, too, is not looked at.
elsewhere ()
{
  set -- "$1" "$(section_of "$2" "$3")" "$3" "$2"
  test -n "$2" || { echo "there is no section $4"; return; }
  marked "$1" "$sources" > "$temporary/marked"
  find "$sources" -name '*.c' -exec awk '
    /^[a-z0-9_]+ \(/ { name = $1; with = before ~ /(COMMON|CONTEXT|HEAP)_TEXT /
                       if (!with) print name }
    { before = $0 }' {} + | sort -u > "$temporary/unmarked"
  comm -23 "$temporary/marked" "$temporary/unmarked" > "$temporary/names"
  $readelf -sW "$3" | awk '$4 == "FUNC" && $7 != "UND" {
      name = $8; sub (/[.@].*/, "", name); print name, $7, $8 }' \
    | sort -u > "$temporary/functions"
  join "$temporary/names" "$temporary/functions" \
    | awk -v section="${2%% *}" '
        { n++ }
        $2 != section && $3 !~ /\.cold/ { print $3 }
        END { if (n < 50) print "too few functions are marked: " n + 0 }'
}

# check-compilers.sh builds a library without the heap.
parts=context
heap_pair=
heap_flag=-DWITHOUT_HEAP
if $readelf -W --dyn-syms "$library" | grep -q ' slice_heap_alloc0\>'; then
  parts='context heap'
  heap_pair=HEAP_TEXT:.slice.heap
  heap_flag=
fi

for pair in COMMON_TEXT:.slice.common CONTEXT_TEXT:.slice.context $heap_pair; do
  expect_none "each ${pair%:*} is in ${pair#*:}" \
    "$(elsewhere "${pair%:*}" "${pair#*:}" "$library")"
done
expect_found "one that is elsewhere is found" '^ralloc_free$' \
  "$(elsewhere CONTEXT_TEXT .slice.common "$library")"
$CC -shared -o "$temporary/plain.so" -x c /dev/null || exit 99
expect_found "and a section that is none" '^there is no section' \
  "$(elsewhere COMMON_TEXT .slice.common "$temporary/plain.so")"

# --- what a program runs -----------------------------------------------------

# Without optimization nothing is compiled into others, and assertions ask
# more.
case " ${LIBRARY_CFLAGS-} " in
*" -O2 "* | *" -O3 "* | *" -Os "*) ;;
*) skip "what a program runs" "not optimized"; finish ;;
esac
if grep -q '^#define SLICE_\(DEBUG\|HARDENED\) 1' "$top_builddir/config.h"; then
  skip "what a program runs" "the library checks itself"
  finish
fi

# With an argument it has contexts or the heap, too.  It prints of each part of
# the library that may be run where it begins and ends in the file, and how much
# of it is resident.
cat > "$temporary/program.c" <<'END'
#include <slice/heap.h>
#include <slice/ralloc.h>
#include <slice/slice.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static void *
slices (void *data)
{
  static void *blocks[2][1000];
  void **mine = blocks[data != NULL];
  for (int round = 0; round < 50; round++)
    {
      for (int i = 0; i < 1000; i++)
        mine[i] = slice_alloc (8 + i * 8 % 1024);
      for (int i = 0; i < 1000; i++)
        slice_free1 (8 + i * 8 % 1024, mine[i]);
    }
  return NULL;
}
static void
contexts (void)
{
  void *root = ralloc_context (NULL);
  for (int i = 0; i < 10000; i++)
    {
      void *node = ralloc_context (root);
      char *string = ralloc_asprintf (node, "%d", i);
      if (ralloc_size (node, 100) == NULL || ralloc_strdup (node, "") == NULL)
        return;
      ralloc_asprintf_append (&string, "and %d", i);
      ralloc_steal (root, string);
      if (i % 3 == 0)
        ralloc_free (node);
    }
  ralloc_free (root);
}
static void
heap (void)
{
#ifndef WITHOUT_HEAP
  static char *blocks[300];
  for (int round = 0; round < 20; round++)
    {
      for (size_t i = 0; i < 300; i++)
        blocks[i] = slice_heap_alloc0 (i * i * 2 + 1);
      for (size_t i = 0; i < 300; i++)
        blocks[i] = slice_heap_realloc (blocks[i], i * i * 2 + i % 7 * 4000);
      for (size_t i = 0; i < 300; i++)
        slice_heap_free (blocks[i]);
    }
#endif
}
int
main (int argc, char **argv)
{
  FILE *file = fopen ("/proc/self/smaps", "r");
  unsigned long begin, end, offset = 0, kilobytes;
  char line[1024], way[8];
  int is_ours = 0;
  pthread_t thread;
  if (file == NULL)
    return 77;
  slices (NULL);
  pthread_create (&thread, NULL, slices, argv);
  pthread_join (thread, NULL);
  if (argc > 1 && strcmp (argv[1], "heap") == 0)
    heap ();
  else if (argc > 1)
    contexts ();
  while (fgets (line, sizeof line, file) != NULL)
    if (sscanf (line, "%lx-%lx %7s %lx", &begin, &end, way, &offset) == 4)
      is_ours = strstr (line, "libslice") != NULL && way[2] == 'x';
    else if (is_ours && sscanf (line, "Rss: %lu", &kilobytes) == 1)
      printf ("%lu %lu %lu\n", offset, offset + end - begin, kilobytes);
  return 0;
}
END
directory=$(dirname "$library")
$CC -O2 $heap_flag -I"$top_builddir" -I"$top_srcdir" -o "$temporary/program" \
  "$temporary/program.c" "$library" -lpthread || exit 99

# resident SECTION [ARGUMENT]: the KiB that the program has of its segment
resident ()
{
  set -- "$1" "$(section_of "$1" "$library")" ${2+"$2"}
  LD_LIBRARY_PATH=$directory SLICE_OPTIONS= "$temporary/program" ${3+"$3"} \
    > "$temporary/said" || { echo "the program fails: $?"; return; }
  set -- $2
  awk -v at="$(printf %d "0x$3")" \
    '$1 <= at && at < $2 { print $3; n++ } END { if (n != 1) print "lost" }' \
    "$temporary/said"
}

# expect_resident NAME WANTED VALUE
expect_resident ()
{
  test "$3" = "$2" && pass "$1" || fail "$1" "$3 KiB are resident"
}

expect_resident "slices alone run nothing of .slice.context" 0 \
  "$(resident .slice.context)"
expect_resident "slices alone run nothing of .text" 0 "$(resident .text)"
expect_resident "contexts run nothing of .text" 0 "$(resident .text contexts)"
if test -n "$heap_pair"; then
  expect_resident "slices alone run nothing of .slice.heap" 0 \
    "$(resident .slice.heap)"
  expect_resident "the heap runs nothing of .text" 0 "$(resident .text heap)"
  expect_resident "nor of .slice.context" 0 "$(resident .slice.context heap)"
fi
for part in $parts; do
  case $(resident .slice.$part $part) in
  0 | *[!0-9]*) fail "a $part runs what is in .slice.$part" ;;
  *) pass "a $part runs what is in .slice.$part" ;;
  esac
done

finish
