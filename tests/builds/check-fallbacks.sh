#!/bin/sh
# check-fallbacks.sh - the library on systems that lack posix_memalign and
# its like, and where configure finds nothing but malloc
#
# In `make check' only the last of them, with the test of the whole.  With
# SLICE_TEST_MATRIX=1 each configured alone, with all the programs.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

unset MAKEFLAGS MFLAGS MAKELEVEL
source=$(cd "$top_srcdir" && pwd)
builddir=$(cd "$top_builddir" && pwd)

# without NAME...: a config.h as if configure had not found these
without ()
{
  mkdir -p "$temporary/include"
  cp "$builddir/config.h" "$temporary/include/config.h"
  for function; do
    sed "s,^#define HAVE_$function 1\$,/* no $function */," \
      "$temporary/include/config.h" > "$temporary/config.new"
    mv "$temporary/config.new" "$temporary/include/config.h"
    if grep -q "define HAVE_$function " "$temporary/include/config.h"; then
      fail "$function is gone"
    fi
  done
}

core=$(cd "$source/slice" \
  && find "$PWD/port" "$PWD/base" "$PWD/page" "$PWD/slab" "$PWD/depot" \
       "$PWD/magazine" "$PWD/checking" "$PWD/alloc" "$PWD/observe" \
       -name '*.c' | sort)

# The real config.h must not be found first.
build_plain ()
{
  $CC -O1 -g -I"$temporary/include" -iquote "$source/slice" \
    -I"$temporary/headers" -I"$source" -ftls-model=initial-exec \
    -DWITHOUT_ARENAS \
    -o "$temporary/test-plain" "$source/tests/whole/test-plain.c" \
    $core -lpthread \
    > "$temporary/log" 2>&1
}

mkdir -p "$temporary/headers/slice"
cp "$builddir/slice/version.h" "$temporary/headers/slice"

check_plain ()
{
  name=$1
  shift
  without "$@"
  if ! build_plain; then
    fail "$name: builds" "$(tail -n 20 "$temporary/log")"
    return
  fi
  if $NM "$temporary/test-plain" | grep -q -E ' U (posix_memalign|memalign)'
  then
    fail "$name: what is missing is not used"
  else
    pass "$name: what is missing is not used"
  fi
  if "$temporary/test-plain" > "$temporary/log" 2>&1; then
    pass "$name: passes"
  else
    fail "$name: passes" "$(cat "$temporary/log")"
  fi
}

# check_configured NAME CACHE...: a build of its own, and its programs
check_configured ()
{
  name=$1
  shift
  rm -rf "$temporary/build"
  mkdir "$temporary/build"
  if (cd "$temporary/build" \
        && "$source/configure" --disable-static CC="$CC" "$@" \
        && make && make check-unit) > "$temporary/log" 2>&1
  then
    pass "$name: $(grep '^# PASS' "$temporary/log")"
  else
    fail "$name" "$(grep -E '^(FAIL|ERROR)|error:' "$temporary/log" | head)"
  fi
}

case $CC in
*-fsanitize*) skip_all "the compiler's flags are special: $CC" ;;
esac
check_plain "malloc alone" POSIX_MEMALIGN MEMALIGN VALLOC
if test "${SLICE_TEST_MATRIX:-0}" = 1; then
  check_configured "no posix_memalign" ac_cv_func_posix_memalign=no
  check_configured "no memalign either" ac_cv_func_posix_memalign=no \
    ac_cv_func_memalign=no
  check_configured "malloc alone" ac_cv_func_posix_memalign=no \
    ac_cv_func_memalign=no ac_cv_func_valloc=no
  check_configured "no membarrier, no probes" \
    ac_cv_header_linux_membarrier_h=no ac_cv_header_sys_sdt_h=no
fi

# Can it fail?  With nothing taken away the names are used.
without
$CC -O1 -I"$temporary/include" -iquote "$source/slice" -I"$temporary/headers" \
  -I"$source" -c -o "$temporary/os-posix.o" "$source/slice/port/os/os-posix.c"
if $NM "$temporary/os-posix.o" | grep -q ' U posix_memalign'; then
  pass "where it is there it is used, and seen"
else
  fail "where it is there it is used, and seen"
fi

finish
