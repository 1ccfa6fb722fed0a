#!/bin/sh
# test-trace-tool.sh - the commands that read a trace: exports, reports, run
#
# Speaks TAP.  SPDX-License-Identifier: MIT

source=${top_srcdir:-.}
build=${top_builddir:-.}
trace=${SLICE_TRACE:-$build/slice/tools/slice-trace}
work=$(mktemp -d "${TMPDIR:-/tmp}/slice-tool-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
: "${CC=cc}"
n=0
failed=0

equal () # name, value, wanted
{
  n=$((n + 1))
  if [ "$2" = "$3" ]; then
    echo "ok $n $1"
  else
    failed=1
    echo "not ok $n $1"
    echo "# $2, not $3"
  fi
}

skip () # name, why
{
  n=$((n + 1))
  echo "ok $n $1 # SKIP $2"
}

$CC -g -O1 -I"$source" -I"$build" "$source/tests/trace/clients/classes.c" \
  -o "$work/classes" -lpthread || exit 1
t=$work/t
"$trace" record -q -o "$t" -- "$work/classes" owner || exit 1
"$trace" patterns "$t" -o "$work/p.json"
"$trace" patterns "$t" -o "$work/q.json"
cmp -s "$work/p.json" "$work/q.json"
equal same-twice $? 0

total=$("$trace" dump "$t" | awk '$3 == "malloc" || $3 == "calloc" ||
  $3 == "realloc" { sum += $5 } END { print sum }')
calls=$("$trace" info "$t" | awk '$1 == "op" && $2 !~ /free/ { sum += $3 }
  END { print sum }')
json=$(sed -n 's/^  "bytes":\([0-9]*\),*$/\1/p' "$work/p.json" | head -n 1)
equal json-total "$json" "$total"

# --- exports ---
"$trace" export --format folded "$t" -o "$work/folded"
equal folded-total "$(awk '{ s += $NF } END { print s }' "$work/folded")" \
  "$total"
"$trace" export --format dhat "$t" -o "$work/dhat"
equal dhat-total "$(tr ',' '\n' < "$work/dhat" \
  | sed -n 's/.*"tb":\([0-9]*\).*/\1/p' | awk '{ s += $1 } END { print s }')" \
  "$total"
"$trace" export --format massif "$t" -o "$work/massif"
if command -v ms_print > "$work/null"; then
  ms_print "$work/massif" > "$work/ms"
  equal massif-accepted $? 0
else
  skip massif-accepted "no ms_print"
fi
"$trace" export --format pprof "$t" -o "$work/pprof"
gzip -t "$work/pprof"
equal pprof-gzip $? 0
if command -v go > "$work/null"; then
  got=$(go tool pprof -unit=B -sample_index=alloc_space -top "$work/pprof" \
    2>&1 | sed -n 's/.*Total samples = \([0-9]*\)B.*/\1/p')
  equal pprof-total "${got:-none}" "$total"
  got=$(go tool pprof -sample_index=alloc_objects -top "$work/pprof" \
    2>&1 | sed -n 's/.*Total samples = \([0-9]*\) .*/\1/p')
  equal pprof-count "${got:-none}" "$calls"
else
  skip pprof-total "no go tool pprof"
fi

# --- callers add up ---
sum=$("$trace" callers --site site "$t" | awk '/%/ { s += $1 }
  END { printf "%.1f", s }')
first=$("$trace" callers --site site "$t" | awk '/%/ { n++ } END { print n }')
equal callers-sum "$([ "$first" -ge 1 ] && echo "$sum" | cut -c1-5)" \
  "$(echo "$sum" | awk '{ printf "%.1f", int ($1 / 100 + 0.5) * 100 }')"

# --- report ---
"$trace" report "$work/p.json" -o "$work/r.html"
equal report-status $? 0
equal report-no-script "$(grep -c '<script' "$work/r.html")" 0
equal report-no-address "$(grep -cE '(src|href)="?(https?:|//)' \
  "$work/r.html")" 0
"$trace" report --text "$work/p.json" -o "$work/r.txt"
equal text-width "$(awk 'length ($0) > 100' "$work/r.txt" | wc -l)" 0

# --- names that would break the page ---
sed 's/"command":"/"command":"<script>alert(1)<\/script>\\u0007/
  s/"name":"/"name":"<img src=x onerror=alert(1)>/' "$work/p.json" \
  > "$work/bad.json"
"$trace" report "$work/bad.json" -o "$work/bad.html"
equal escaped "$(grep -cE '<script|<img' "$work/bad.html")" 0
"$trace" report "$work/r.txt" 2> "$work/err"
equal bad-input $? 4
"$trace" report "$work/none" 2> "$work/err"
equal missing-input $? 4
"$trace" nonsense 2> "$work/err"
equal usage $? 125

# --- all stages, and again ---
(cd "$work" && "$(cd "$OLDPWD" && realpath "$trace")" run --quick -o out -- \
  ./classes stack) 2> "$work/err"
equal run $? 0
[ -s "$work/out/report.html" ]
equal run-report $? 0
before=$(stat -c %Y.%i "$work/out/trace")
rm "$work/out/report.html"
(cd "$work" && "$(cd "$OLDPWD" && realpath "$trace")" run --quick -o out -- \
  ./classes stack) 2> "$work/err"
equal resumed "$(stat -c %Y.%i "$work/out/trace")" "$before"
equal resumed-stages "$(grep -c 'record\|patterns$' "$work/err")" 0
(cd "$work" && "$(cd "$OLDPWD" && realpath "$trace")" run --quick -o out -- \
  ./classes pool) 2> "$work/err"
equal run-other-program $? 125

# --- two inputs that differ ---
"$trace" record -q -o "$work/s" -- "$work/classes" stack
"$trace" advise "$t" "$work/s" -o "$work/a.json"
equal unstable "$(tr ',' '\n' < "$work/a.json" \
  | grep -A1 -c '"classes":\["owner"')" 1
grep -q '"stable":false' "$work/a.json"
equal unstable-said $? 0
"$trace" diff "$t" "$work/s" > "$work/diff"
equal diff-differs $? 1
"$trace" diff "$t" "$t" > "$work/diff"
equal diff-same $? 0

echo "1..$n"
exit $failed
