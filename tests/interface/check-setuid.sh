#!/bin/sh
# check-setuid.sh - a program with more rights than its user ignores
# SLICE_OPTIONS
#
# Needs to be root: the program becomes setuid to root and is run by nobody.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

test "$(id -u)" = 0 || skip_all "only root can make a setuid program"
command -v setpriv > /dev/null 2>&1 || skip_all "no setpriv"
archive=$(cd "$top_builddir" && pwd)/slice/.libs/libslice.a
test -f "$archive" || skip_all "no static library was built"
case $CC in
*-fsanitize*) skip_all "the compiler's flags are special: $CC" ;;
esac

cat > "$temporary/show.c" <<'END'
#include <slice/slice.h>
#include <stdio.h>
#include <sys/auxv.h>
int
main (void)
{
  int64_t before = -1, after = -1, hardened = -1;
  slice_get_option (SLICE_OPTION_COUNT, &before);
  slice_free1 (8, slice_alloc (8));
  slice_get_option (SLICE_OPTION_COUNT, &after);
  slice_get_option (SLICE_OPTION_HARDENED, &hardened);
  printf ("secure %d, count %d %d, hardened %d\n",
          getauxval (AT_SECURE) != 0, (int) before, (int) after,
          (int) hardened);
  return 0;
}
END
$CC -O1 -I"$top_builddir" -I"$top_srcdir" -o "$temporary/show" \
  "$temporary/show.c" "$archive" -lpthread > "$temporary/log" 2>&1 \
  || { fail "the program builds" "$(cat "$temporary/log")"; finish; }
chmod 755 "$temporary"

# as_nobody: what the program says, and its warnings
as_nobody ()
{
  SLICE_OPTIONS=count,nonsense setpriv --reuid=65534 --regid=65534 \
    --clear-groups "$temporary/show" 2>&1
}

expected='slice: warning 130: SLICE_OPTIONS: unknown option '"'nonsense'"' is ignored (SLICE_OPTIONS=help lists all)
secure 0, count 1 1, hardened 0'
said=$(as_nobody)
if test "$said" = "$expected"; then
  pass "an ordinary program reads it"
else
  fail "an ordinary program reads it" "$said"
fi

chmod 4755 "$temporary/show"
said=$(as_nobody)
case $said in
"secure 0"*) skip "a setuid program ignores it" "nosuid" ;;
"secure 1, count 0 0, hardened 1")
  pass "a setuid program ignores it, and says nothing" ;;
*) fail "a setuid program ignores it, and says nothing" "$said" ;;
esac

finish
