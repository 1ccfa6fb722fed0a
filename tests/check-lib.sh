# check-lib.sh - what the scripts share: TAP, a place for temporary files
#
# Read by `.', from a script in a folder beside this file.  A check reports
# findings, one a line, and has no finding when all is well; each check is also
# shown a fault of its own making and must find it.
#
# SPDX-License-Identifier: MIT

if test -z "${top_srcdir-}"; then
  top_srcdir=$(dirname "$0")
  until test -f "$top_srcdir/configure.ac"; do top_srcdir=$top_srcdir/..; done
fi
: "${top_builddir:=$top_srcdir}"
: "${CC:=gcc}"
: "${NM:=nm}"

n_tests=0
n_failed=0
LC_ALL=C
export LC_ALL

temporary=$(mktemp -d "${TMPDIR:-/tmp}/slice-check.XXXXXX") || exit 99
trap 'rm -rf "$temporary"' EXIT
trap 'exit 99' HUP INT TERM

# pass NAME
pass ()
{
  n_tests=$((n_tests + 1))
  echo "ok $n_tests - $1"
}

# fail NAME [TEXT]: TEXT goes out as comments
fail ()
{
  n_tests=$((n_tests + 1))
  n_failed=$((n_failed + 1))
  echo "not ok $n_tests - $1"
  if test -n "${2-}"; then
    printf '%s\n' "$2" | sed 's/^/# /'
  fi
}

# skip NAME REASON
skip ()
{
  n_tests=$((n_tests + 1))
  echo "ok $n_tests - $1 # SKIP $2"
}

# skip_all REASON: ends the script
skip_all ()
{
  echo "1..0 # SKIP $1"
  exit 0
}

# step NAME COMMAND...: runs it; false, and its last words, if it fails
step ()
{
  name=$1
  shift
  if "$@" > "$temporary/log" 2>&1 < /dev/null; then
    pass "$name"
  else
    fail "$name" "$(tail -n 20 "$temporary/log")"
    return 1
  fi
}

# equal NAME VALUE WANTED
equal ()
{
  if test "$2" = "$3"; then pass "$1"; else fail "$1" "$2, not $3"; fi
}

# expect_none NAME FINDINGS: passes if there are none
expect_none ()
{
  if test -z "$2"; then pass "$1"; else fail "$1" "$2"; fi
}

# expect_found NAME PATTERN FINDINGS: passes if one of them matches
expect_found ()
{
  if printf '%s\n' "$3" | grep -q -e "$2"; then
    pass "$1"
  else
    fail "$1" "expected a finding like: $2${3:+
instead:
$3}"
  fi
}

# finish: the plan, and the script's end
finish ()
{
  echo "1..$n_tests"
  test "$n_failed" = 0
  exit $?
}

# installed_compilers: Debian's gcc-N and clang-N, as far as there are any, and
# of them those that SLICE_TEST_COMPILERS has, if it is set
installed_compilers ()
{
  for compiler in ${SLICE_TEST_COMPILERS-gcc-11 gcc-12 gcc-13 gcc-14 gcc-15 clang-13 clang-14 \
                  clang-15 clang-16 clang-17 clang-18 clang-19 clang-20 \
                  clang-21}; do
    ! command -v "$compiler" > /dev/null 2>&1 || echo "$compiler"
  done
}

# libcxx_compiler: the first clang++ that has libc++ with std::pmr (from version
# 16 on); nothing if there is none
libcxx_compiler ()
{
  for compiler in "${CLANGXX-}" \
                  $(installed_compilers | sed -n 's/^clang/&++/p'); do
    if test -n "$compiler" && echo '#include <memory_resource>' \
      | $compiler -std=c++17 -stdlib=libc++ -x c++ -fsyntax-only - 2> /dev/null
    then
      echo "$compiler"
      return
    fi
  done
}
