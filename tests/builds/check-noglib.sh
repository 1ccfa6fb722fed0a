#!/bin/sh
# check-noglib.sh - unit tests that compile without GLib
#
# Those of tests/noglib/noglib-tests.sh are built for other processors and
# another C library (check-cross.sh, check-musl.sh), which few machines have the
# compilers for.  So the machine's own looks whether they use anything that
# tests/noglib/glib.h does not stand in for.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"
. "$top_srcdir/tests/noglib/noglib-tests.sh"

# compile_without_glib SOURCE...: what the compiler finds missing
compile_without_glib ()
{
  # -w would hide a function that is not declared.
  # shellcheck disable=SC2046,SC2086
  ${CC:-cc} -I"$top_builddir" $(echo "$noglib_flags" | sed 's/ -w / /') \
    -Werror=implicit-function-declaration -fsyntax-only "$@" 2>&1 \
    | grep 'error:'
}

for test in $noglib_tests; do
  # shellcheck disable=SC2046
  expect_none "$test" "$(compile_without_glib $(test_sources "$test"))"
done

# Can it fail?
for use in 'GRand *random;' 'void f (void) { g_rand_free (0); }'; do
  printf '#include <glib.h>\n%s\n' "$use" > "$temporary/use.c"
  expect_found "found: $use" 'error:.*[gG]_*[rR]and' \
    "$(compile_without_glib "$temporary/use.c")"
done

finish
