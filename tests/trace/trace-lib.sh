# trace-lib.sh - what the tracer's scripts share: TAP, a place for files
#
# Read by `.', from a script whose $0 says where it is.
#
# SPDX-License-Identifier: MIT

source=$(realpath "${top_srcdir:-$(dirname "$0")/../..}")
build=$(realpath "${top_builddir:-.}")
trace=$(realpath "${SLICE_TRACE:-$build/slice/tools/slice-trace}")
: "${CC=cc}" "${CXX=c++}"
work=$(mktemp -d "${TMPDIR:-/tmp}/slice-trace-XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
n=0
failed=0

ok () # name
{
  n=$((n + 1))
  echo "ok $n $1"
}

not_ok () # name, why
{
  n=$((n + 1))
  failed=1
  echo "not ok $n $1"
  printf '%s\n' "$2" | sed 's/^/# /'
}

skip () # name, why
{
  n=$((n + 1))
  echo "ok $n $1 # SKIP $2"
}

equal () # name, value, wanted
{
  if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "$2, not $3"; fi
}

compile () # output, the client's source, flags...
{
  output=$1
  file=$source/tests/trace/clients/$2
  shift 2
  $CC -g -O1 -I"$source" -I"$build" "$file" -o "$work/$output" "$@" || exit 1
}

record () # trace, program...
{
  file=$1
  shift
  rm -f "$file"*
  "$trace" record -o "$file" -- "$@" > "$work/out" 2> "$work/err"
}

finish () # the plan, and the script's end
{
  echo "1..$n"
  exit $failed
}
