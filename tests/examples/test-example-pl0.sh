#!/bin/sh
# test-example-pl0.sh - the example compiler compiles programs that run
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"
programs=$top_srcdir/docs/examples/pl0
pl0c=$top_builddir/docs/examples/pl0c
work=$temporary

# run PROGRAM INPUT EXPECTED
run ()
{
  "$pl0c" "$programs/$1.pl0" > "$work/$1.c" \
    && $CC -o "$work/$1" "$work/$1.c" \
    && got=$(echo "$2" | "$work/$1" | tr '\n' ' ')
  equal "$1" "$got" "$3"
}

run primes '' '2 3 5 7 11 13 17 19 23 29 31 37 41 43 47 53 59 61 67 71 73 79 83 89 97 '
run nested '' '3628800 31 -17 77 '
run gcd '1071 462' '21 '
got=$("$pl0c" "$programs/wrong.pl0" 2>&1)
equal "an error names its line" "${got##*/}" "wrong.pl0:4: expected a name"
# Folded: the sum is a number in the output, the dead branch is gone.
equal "constants are folded" \
  "$(grep -c -e '-17L' -e 88 "$work/nested.c")" 1
# The least number, where long has 64 bits, and its quotient by -1, which is no
# number and thus stays in the program.
least='(-2147483647*2147483647*2 - 2147483647*4 - 2)'
cat > "$work/least.pl0" <<END
var a;
begin
  a := $least;
  ! a;
  if a > 0 then ! $least / (0-1)
end.
END
programs=$work
case $(getconf LONG_BIT) in
64) run least '' '-9223372036854775808 ' ;;
*) skip "the least number" "long has not 64 bits" ;;
esac
programs=$top_srcdir/docs/examples/pl0
got=$("$pl0c" -r "$programs/gcd.pl0" 2>&1 > /dev/null | sed -n 2p)
equal "the report names the root" "${got%%:*}" compiler
finish
