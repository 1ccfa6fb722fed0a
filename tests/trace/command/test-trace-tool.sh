#!/bin/sh
# test-trace-tool.sh - the commands that read a trace: exports, reports, run
#
# Speaks TAP.  SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

compile classes classes.c -lpthread
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
equal json-total "$(json "$work/p.json" totals.bytes)" "$total"

# --- memory over time: the dump added up beside the analysis ---
# What is alive on the average, and at most: of the totals, of the curve.
"$trace" dump "$t" | awk '
  NR == 1 { first = last = $1 }
  $1 > last { sum += live * ($1 - last); last = $1 }
  $3 ~ /free/ { live -= size[$4]; next }
  { size[$4] = $5; live += $5; if (live > peak) peak = live }
  END { printf "%.9g %.0f\n", sum / (last - first), peak }' > "$work/added"
total_of ()
{
  json "$work/p.json" "totals.$1"
}
# (The totals are rounded: within a thousandth.)
equal alive-on-average "$(echo "$(total_of byte_seconds) $(total_of seconds)" \
    "$(cut -d ' ' -f 1 "$work/added")" \
  | awk '{ difference = $1 / $2 / $3 - 1
           print (difference > -0.001 && difference < 0.001 ? "same" : $0) }')" \
  same
equal alive-at-most "$(total_of peak)" "$(cut -d ' ' -f 2 "$work/added")"
curve=$(json "$work/p.json" 'series.time.total.*')
equal curve-peak "$(echo "$curve" | sort -n | tail -n 1)" "$(total_of peak)"
# a column is the most of its moments: never below
equal curve-average "$(echo "$curve" | awk -v alive="$(cut -d ' ' -f 1 \
  "$work/added")" '{ sum += $1 } END { print (sum / NR >= 0.999 * alive) }')" 1

# --- two sites of one name: where each is ---
cat > "$work/twice.c" << 'EOF'
#include <stdlib.h>
void *volatile sink;
static void __attribute__ ((noinline)) twice (int i)
{
  sink = malloc (10 + i % 7);
  sink = malloc (100);
}
int main (void)
{
  for (int i = 0; i < 900; i++)
    twice (i);
  return 0;
}
EOF
${CC:-cc} -g -O1 -o "$work/twice" "$work/twice.c" 2> "$work/said"
"$trace" record -q -o "$work/places" -- "$work/twice"
equal hot-places "$("$trace" hot "$work/places" | grep -o 'twice.*' \
  | sed 's/.* //' | sort | tr '\n' ' ')" "twice.c:5 twice.c:6 "
equal callers-places "$("$trace" callers "$work/places" | grep '^twice' \
  | sed 's/.* //' | sort | tr '\n' ' ')" "twice.c:5 twice.c:6 "

# --- exports ---
"$trace" export --format folded "$t" -o "$work/folded"
equal folded-total "$(awk '{ s += $NF } END { print s }' "$work/folded")" \
  "$total"
"$trace" export --format dhat "$t" -o "$work/dhat"
equal dhat-total "$(tr ',' '\n' < "$work/dhat" \
  | sed -n 's/.*"tb":\([0-9]*\).*/\1/p' | awk '{ s += $1 } END { print s }')" \
  "$total"
# At most what was asked for, at the peak and at the end no more than that.
equal dhat-bytes "$(json "$work/dhat" 'pps.*' tb mb gb eb tbk mbk gbk ebk | awk '
  $2 > $1 || $3 > $2 || $4 > $2 || $6 > $5 || ($6 == 0) != ($5 == 0) { bad++ }
  END { print (NR > 0), bad + 0 }')" "1 0"
"$trace" record -q -o "$work/kept" -- "$work/classes" immortal
"$trace" export --format dhat "$work/kept" -o "$work/dhat"
equal dhat-kept "$(json "$work/dhat" 'pps.*' tb tbk mb mbk eb ebk \
  | awk '$1 == $5 && ($3 != $1 || $4 != $2 || $6 != $2) { bad++ }
    $2 > 1000 { many++ }
    END { print (many > 0), bad + 0 }')" "1 0"
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

# --- times are not more than the program's ---
echo here > "$work/input"
"$trace" record -q --timed --plain -o "$work/timed" -- cat < "$work/input" \
  > "$work/heard"
equal plain-run-is-not-heard "$(cat "$work/heard")" here
"$trace" record -q --timed --plain -o "$work/timed" -- "$work/classes" pool
"$trace" patterns "$work/timed" -o "$work/timed.json"
equal times-at-most "$( (json "$work/timed.json" totals.plain_nsec
  json "$work/timed.json" 'sites.*' alloc_nsec free_nsec) | awk '
  NR == 1 { plain = $1 }
  NR > 1 { sum += $1 + $2 }
  END { print (plain > 0 && sum > 0 && sum < 1.0001 * plain) }')" 1
"$trace" time "$work/classes" pool > "$work/heard" 2> "$work/err"
expect_found times-say-so 'in the allocator, of .* takes unrecorded' \
  "$(cat "$work/heard")"

# --- callers add up ---
# sites, and those whose callers are all of it
equal callers-sum "$("$trace" callers --site site "$t" | awk '
  function settle() { if (n++ && sum > 99.9 && sum < 100.1) good++; sum = 0 }
  /^[^ ]/ { settle() }
  /%/ { sum += $1 }
  END { settle(); print (n > 1 && good == n - 1) }')" 1

# --- callers, counted again from the dump ---
# Linked to a fixed address, so that addr2line needs to know nothing else.
if command -v addr2line > "$work/null" && $CC -g -O1 -no-pie \
  "$source/tests/trace/clients/consumers.c" -o "$work/consumers" \
  2> "$work/err"
then
  for seed in 1 2 3
  do
    "$trace" record -q -o "$work/c" -- "$work/consumers" $seed
    "$trace" callers --site site "$work/c" \
      | awk '/%/ { print $3, $4, $NF }' | sort > "$work/callers"
    # the second frame is the consumer's; frees have their own stacks
    "$trace" dump --stacks "$work/c" | awk '$3 == "malloc" && NF > 9 {
      n[$8]++; b[$8] += $5 } END { for (a in n) print a, n[a], b[a] }' \
      | while read -r address calls bytes
        do
          # a return address: the call is just before it
          name=$(addr2line -f -e "$work/consumers" \
            "$(printf '%x' $((0x$address - 1)))" | head -n 1)
          echo "$calls $bytes $name"
        done | grep -E 'parser|folder|printer|linker' | sort > "$work/counted"
    cmp -s "$work/callers" "$work/counted" && [ -s "$work/callers" ]
    equal callers-counted-$seed $? 0
  done
else
  skip callers-counted "no addr2line, or no programs at fixed addresses"
fi

# --- report ---
"$trace" report "$work/p.json" -o "$work/r.html"
equal report-status $? 0
equal report-one-script "$(grep -o '<script' "$work/r.html" | wc -l)" 1
equal report-no-address "$(grep -cE '(src|href)="?(https?:|//)' \
  "$work/r.html")" 0
equal report-filled "$(grep -cE '\{\{|\}\}' "$work/r.html")" 0
for element in svg table details p div li
do
  equal "report-closes-$element" \
    "$(grep -oE "<$element[ >]" "$work/r.html" | wc -l)" \
    "$(grep -o "</$element>" "$work/r.html" | wc -l)"
done
"$trace" report --text "$work/p.json" -o "$work/r.txt"
equal text-width "$(awk 'length ($0) > 100' "$work/r.txt" | wc -l)" 0

# --- names that would break the page ---
sed 's/"command":"/"command":"<script>alert(1)<\/script>\\u0007/
  s/"name":"/"name":"<img src=x onerror=alert(1)>{{>page.css}}/' "$work/p.json" \
  > "$work/bad.json"
"$trace" report "$work/bad.json" -o "$work/bad.html"
equal escaped "$(grep -oE '<script|<img' "$work/bad.html")" '<script'
equal marks-in-names "$(grep -c '^main {' "$work/bad.html")" 1
"$trace" report "$work/r.txt" 2> "$work/err"
equal bad-input $? 4
"$trace" report "$work/none" 2> "$work/err"
equal missing-input $? 4
"$trace" nonsense 2> "$work/err"
equal usage $? 2

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

# --- every stage: the whole, its sums, and what is done again ---
stages="trace patterns.json time.trace times.json replay.json advice.json
report.txt report.html"
run_all () # directory, class
{
  (cd "$work" && "$(cd "$OLDPWD" && realpath "$trace")" run -o "$1" -- \
    ./classes "$2") 2> "$work/err"
}
run_all all pool
equal run-all $? 0
schema=$source/docs/slice-trace.schema.json
check=$build/tests/trace/check-schema
"$check" "$schema" "$work/all/patterns.json" "$work/all/times.json" \
  "$work/all/replay.json" "$work/all/advice.json" > "$work/said"
equal schema "$?$(head -n 1 "$work/said")" 0
sed 's/"win":/"won":/' "$work/all/replay.json" > "$work/bad.json"
"$check" "$schema" "$work/bad.json" > "$work/said"
equal schema-misses $? 1
if python3 -c 'import jsonschema' 2> "$work/null"; then
  python3 -c 'import json, jsonschema, sys
schema = json.load (open (sys.argv[1]))
for name in sys.argv[2:]:
    jsonschema.validate (json.load (open (name)), schema)' "$schema" \
    "$work/all/patterns.json" "$work/all/replay.json" \
    "$work/all/advice.json" 2> "$work/said"
  equal schema-as-others-read-it $? 0
else
  skip schema-as-others-read-it "no python3-jsonschema"
fi

# The text has the JSON's numbers, and the advice.
equal text-numbers "$(awk '$NF == "site" && $4 == "pool" { print $1, $2, $3 }' \
  "$work/all/report.txt")" "$(json "$work/all/patterns.json" 'sites.*' \
  name calls bytes peak | awk '$1 == "site" { print $2, $3, $4; exit }')"
equal text-advice "$(grep -c 'Pool: saves' "$work/all/report.txt")" \
  "$(json "$work/all/advice.json" 'sites.*.verdict' | grep -c '^do$')"

sums () # file, where: calls, bytes, peak
{
  for key in calls bytes peak; do
    json "$1" "${2-}$key"
  done
}
equal replay-sums "$(sums "$work/all/replay.json")" \
  "$(sums "$work/all/patterns.json" totals.)"

# A pool wins 10 % of time or memory, or is not advised.
pool_rule ()
{
  json "$1" 'sites.*' class win malloc_nsec new_nsec malloc_rss new_rss \
    | awk '$1 == "pool" { n++
        if (($2 == "true") != ($4 < 0.9 * $3 || $6 < 0.9 * $5)) bad++ }
      END { print n + 0, bad + 0 }'
}
equal pool-rule "$(pool_rule "$work/all/replay.json")" "1 0"
# replayed RULE...: the replay with other numbers, and the advice of it
replayed ()
{
  for rule
  do
    echo "s/\"${rule%%:*}\":[-0-9a-z.e+]*/\"${rule%%:*}\":${rule#*:}/g"
  done > "$work/rules"
  sed -f "$work/rules" "$work/all/replay.json" > "$work/won.json"
  "$trace" advise "$work/all/patterns.json" --replay "$work/won.json" \
    ${times:+--times "$times"} -o "$work/won"
  json "$work/won" 'sites.*' class "${verdict:-verdict}" | sed -n 's/^pool	//p'
}
gain="malloc_nsec:1000 ratio_warm:0.5 ratio_cold:0.5 saved_nsec_high:9
  visit_nsec:0"
equal pool-wins "$(replayed win:true saved_nsec_low:5 $gain)" do
equal pool-wins-nothing "$(replayed win:false saved_nsec_low:5 $gain \
  malloc_rss:1 new_rss:1)" "no gain in the replay"
# What may as well be a loss is not advised.
equal range-below-0 "$(replayed win:true saved_nsec_low:-5 $gain \
  malloc_rss:1 new_rss:1)" "perhaps no gain"
equal range-below-0-smaller "$(replayed win:true saved_nsec_low:-5 $gain \
  malloc_rss:100 new_rss:50)" "less memory, but no less time"
# What saves less than 1 % of the process's time, and no memory, is not advised.
times=$work/takes.json
for takes in 1e3 1e15
do
  sed "s/\"plain_nsec\":[0-9]*/\"plain_nsec\":$takes/" "$work/all/times.json" \
    > "$times"
  worth=$(replayed win:true saved_nsec_low:5 $gain malloc_rss:1 new_rss:1)
  equal worth-$takes "$worth: $(json "$work/won" totals.summary | cut -c 1-16)" \
    "$([ $takes = 1e3 ] && echo "do: " \
      || echo "saves next to nothing: No change pays: ")"
done
equal worth-memory "$(replayed win:true saved_nsec_low:5 $gain \
  malloc_rss:1000000 new_rss:1)" do
times=
# Nobody saves more than malloc takes.
verdict=saved_nsec_high
most=$(replayed win:true saved_nsec_low:5 malloc_nsec:1000 ratio_warm:0.5 \
  ratio_cold:0.5 saved_nsec_high:1e15 visit_nsec:1e15)
equal saved-at-most "$most" 1000
equal saved-at-most-in-all "$(json "$work/won" totals.saved_nsec_high)" \
  "$(json "$work/won" 'sites.*' verdict nsec \
    | awk '$1 == "do" { sum += $2 } END { print sum }')"
verdict=

# Interrupted after any stage: what is there stays, what is not is made.
for last in $stages
do
  gone=0
  kept=
  for stage in $stages
  do
    [ $gone = 1 ] && rm -f "$work/all/$stage"
    [ $gone = 0 ] && kept="$kept $stage"
    [ "$stage" = "$last" ] && gone=1
  done
  before=$(cd "$work/all" && stat -c %Y.%i $kept)
  run_all all pool
  status=$?
  after=$(cd "$work/all" && stat -c %Y.%i $kept)
  there=$(cd "$work/all" && ls $stages 2> "$work/null" | wc -l)
  equal "resumed-after-$last" "$status $there $before" "0 8 $after"
done

# --- a rebuild with shifted lines ---
{ for line in 1 2 3 4 5 6 7 8 9; do echo "/* $line */"; done
  cat "$source/tests/trace/clients/classes.c"; } > "$work/shifted.c"
$CC -g -O1 -I"$source" -I"$build" "$work/shifted.c" \
  -Wl,--build-id=0x0123456789abcdef -o "$work/shifted" -lpthread || exit 1
"$trace" record -q -o "$work/u" -- "$work/shifted" owner
"$trace" diff "$t" "$work/u" > "$work/diff"
equal diff-rebuilt $? 0
equal diff-rebuilt-paired "$(grep -c absent "$work/diff")" 0

# --- a GLSL compiler's contexts: the hotlines, and what each would save ---
# The recording knows kinds and sizes; they stand for source lines.
recording=$source/tests/data/mesa-compile.trace.xz
$CC -g -O2 -I"$source" -I"$build" \
  "$source/tests/bench/context/ralloc-replay.c" \
  "$source/tests/recording/recording.c" \
  "$source/tests/recording/recording-read.c" \
  "$build/slice/.libs/libslice.a" -o "$work/compile" -lpthread -ldl \
  2> "$work/err"
if [ -x "$work/compile" ] && command -v xz > "$work/null"; then
  xz -dc "$recording" | head -n 60000 \
    | "$trace" record -q -o "$work/glsl" -- "$work/compile" -k -r 1 -o malloc \
    > "$work/null"
  "$trace" hot -n 40 "$work/glsl" | sed 's/^ *//' > "$work/hot"
  cmp "$work/hot" "$source/tests/data/traces/glsl-compiler.hot" \
    > "$work/said" 2>&1
  equal glsl-hotlines "$?$(cat "$work/said")" 0
  "$trace" replay --hot 3 --repeats 1 -o "$work/glsl.replay" "$work/glsl" \
    2> "$work/err"
  "$trace" patterns "$work/glsl" -o "$work/glsl.json"
  "$trace" advise "$work/glsl.json" --replay "$work/glsl.replay" \
    -o "$work/glsl.advice"
  # (The time that it saves is the day's; the memory is not.)
  equal glsl-saved "$(awk -F: '/"memory_after"/ && $2 + 0 > 0 { n++ }
    END { print n + 0 }' "$work/glsl.advice")" 3
else
  skip glsl "no static library, or no xz"
fi

# --- two inputs that differ ---
"$trace" record -q -o "$work/s" -- "$work/classes" stack
"$trace" advise "$t" "$work/s" -o "$work/a.json"
equal unstable "$(json "$work/a.json" 'sites.*.classes.0' \
  | grep -c '^owner$')" 1
json "$work/a.json" 'sites.*.stable' | grep -q false
equal unstable-said $? 0
"$trace" diff "$t" "$work/s" > "$work/diff"
equal diff-differs $? 1
"$trace" diff "$t" "$t" > "$work/diff"
equal diff-same $? 0

# --- advice names the lines: where to make it, and each that frees ---
cat > "$work/lines.c" << 'END'
#include <stdlib.h>
static void *list[200];
__attribute__ ((noinline)) static void
item_make (int i)
{
  list[i] = malloc (24); /* made */
}
__attribute__ ((noinline)) static void
items_free (void)
{
  free (list[0]); /* first */
  for (int i = 1; i < 200; i++)
    free (list[i]); /* others */
  list[0] = NULL;
}
int
main (void)
{
  for (int round = 0; round < 50; round++)
    {
      for (int i = 0; i < 200; i++)
        item_make (i);
      items_free ();
    }
}
END
$CC -g -O1 -fno-builtin "$work/lines.c" -o "$work/lines" || exit 1
line_of () # mark
{
  grep -n "/\* $1 \*/" "$work/lines.c" | sed 's/:.*//'
}
"$trace" record -q -o "$work/lines.trace" -- "$work/lines"
"$trace" patterns "$work/lines.trace" -o "$work/lines.json"
"$trace" advise "$work/lines.json" -o "$work/lines.advice"
equal lines-free "$(for i in 0 1
  do json "$work/lines.advice" sites.0.frees_to_rewrite.$i.function
    json "$work/lines.advice" sites.0.frees_to_rewrite.$i.line
    json "$work/lines.advice" sites.0.frees_to_rewrite.$i.percent
  done | tr '\n' ' ')" \
  "items_free $(line_of others) 99.5 items_free $(line_of first) 0.5 "
expect_found lines-make "in item_make (.*lines.c:$(line_of made))," \
  "$(json "$work/lines.advice" sites.0.where)"
"$check" "$schema" "$work/lines.json" "$work/lines.advice" > "$work/said"
equal lines-schema "$?$(head -n 1 "$work/said")" 0
"$trace" report "$work/lines.json" -o "$work/lines.html"
expect_found lines-page "lines.c:$(line_of first)</span>" \
  "$(cat "$work/lines.html")"

finish
