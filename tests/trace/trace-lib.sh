# trace-lib.sh - what the tracer's scripts share, beside check-lib.sh
#
# Read by `.', from a script whose $0 says where it is.
#
# SPDX-License-Identifier: MIT

source=$(realpath "${top_srcdir:-$(dirname "$0")/../../..}")
build=$(realpath "${top_builddir:-.}")
trace=$(realpath "${SLICE_TRACE:-$build/slice/tools/slice-trace}")
. "$source/tests/check-lib.sh"
: "${CXX=c++}"
work=$temporary

json () # file, path, keys...: the values there (json-get.c)
{
  "$build/tests/trace/json-get" "$@"
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
