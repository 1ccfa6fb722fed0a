#!/bin/sh
# test-options.sh - slice-trace's command line, and the files that it makes
#
# Speaks TAP.  SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

LC_ALL=C
TMPDIR=$work/tmp
export LC_ALL TMPDIR
mkdir "$TMPDIR"
cd "$work" || exit 99

compile forks forks.c -lpthread -ldl
compile obtained obtained.c -lpthread

runs="record time run"
reads="hot patterns callers pins predict replay advise apply report diff compare export"

# A program that has options of our names: it writes down what it was given.
cat > "$work/program" << 'END'
#!/bin/sh
printf '%s|' "$@" > "$OUT"
END
chmod +x "$work/program"
OUT=$work/given
export OUT

# --- options end at the first word that is none ---
words="-o theirs --depth 3 --quick -q --timed -- --help --wrapper x"
given="-o|theirs|--depth|3|--quick|-q|--timed|--|--help|--wrapper|x|"
for command in $runs
do
  for dashes in "" "--"
  do
    rm -rf "$work/given" "$work/theirs" "$work/ours"
    opts="-o $work/ours"
    [ $command = run ] && opts="$opts --quick"
    # a shell's and its script's allocations are there to be found
    "$trace" $command $opts $dashes "$work/program" $words \
      > "$work/out" 2> "$work/err"
    equal "$command-theirs-$dashes" "$? $(cat "$work/given")" "0 $given"
    equal "$command-untouched-$dashes" "$(ls "$work/theirs" 2>&1 | grep -c 'No such')" 1
    [ -s "$work/ours" ]
    equal "$command-ours-$dashes" $? 0
  done
done

# The compiler's own -o is the compiler's.
echo 'int main (void) { return 0; }' > foo.c
$CC -c foo.c -o foo.o
cp foo.o wanted.o
"$trace" record $CC -c foo.c -o foo.o 2> "$work/err"
equal compiler-status $? 0
cmp -s foo.o wanted.o
equal compiler-output $? 0
[ -s slice-trace.trace ]
equal compiler-trace $? 0

# What reads files takes its options anywhere, up to `--'.
t=$work/t
"$trace" record -q -o "$t" "$work/obtained" || exit 1
"$trace" hot "$t" -n 1 > "$work/a"
"$trace" hot -n 1 "$t" > "$work/b"
equal anywhere "$(wc -l < "$work/a") $(cmp "$work/a" "$work/b")" "2 "
cp "$t" ./-n
"$trace" hot -n 1 -- -n > "$work/c"
equal after-dashes "$? $(cmp "$work/b" "$work/c")" "0 "

# --- help, version, what is unknown ---
"$trace" --help > "$work/out"
equal help $? 0
listed=$(sed -n 's/^  \([a-z]*\)  .*/\1/p' "$work/out" | sort | tr '\n' ' ')
equal help-commands "$listed" \
  "$(echo $runs $reads watch info dump | tr ' ' '\n' | sort | tr '\n' ' ')"
version=$("$trace" --version)
equal version "$? $(echo "$version" | grep -c '^slice-trace (slice) [0-9]')" \
  "0 1"
for command in $runs $reads watch info dump
do
  "$trace" $command --help > "$work/out" 2> "$work/err"
  equal "$command-help" "$? $(sed 1q "$work/out" | cut -d ' ' -f 1-3) $(wc -c \
    < "$work/err")" "0 Usage: slice-trace $command 0"
  equal "$command-version" "$("$trace" $command --version)" "$version"
  status=2
  case " $runs " in *" $command "*) status=125;; esac
  "$trace" $command --no-such "$t" > "$work/out" 2> "$work/err"
  equal "$command-unknown" "$? $(sed 1q "$work/err")" \
    "$status slice-trace $command: unrecognized option '--no-such'"
  "$trace" $command > "$work/out" 2> "$work/err"
  equal "$command-no-words" $? $status
done
for option in $("$trace" record --help | sed -n 's/.* \(--[a-z-]*\).*/\1/p')
do
  case $option in --usage) continue;; esac
  equal "manual-$option" "$(sed 's/\\-/-/g' "$source/docs/man/slice-trace.1" \
    | grep -c -e "$option" | sed 's/[1-9][0-9]*/some/')" some
done

# --- numbers ---
refuse () # status, option, value, the range in words, command...
{
  refuse_status=$1
  refuse_wanted="'$3' is not $4"
  refuse_name=${2%%=}
  refuse_word=$3
  shift 4
  case $refuse_name in
  --*) set -- "$@" "$refuse_name=$refuse_word";;
  *) set -- "$@" "$refuse_name" "$refuse_word";;
  esac
  rm -f "$work/given"
  case $1 in
  record | time | run) "$trace" "$@" "$work/program";;
  compare) "$trace" "$@" true true;;
  diff) "$trace" "$@" "$t" "$t";;
  *) "$trace" "$@" "$t";;
  esac > "$work/out" 2> "$work/err"
  equal "refuses-$1$refuse_name=$refuse_word" "$? $(sed 1q "$work/err")" \
    "$refuse_status slice-trace $1: $refuse_name: $refuse_wanted"
  if [ -e "$work/given" ]; then
    fail "refuses-$1$refuse_name=$refuse_word-before" "the program ran"
  fi
}

huge=99999999999999999999999
for value in abc -1 257 $huge 12x "" " 1" +1 0x10 1.5
do
  refuse 125 --depth "$value" "a whole number from 0 to 256" record
done
refuse 125 --free-depth x "a whole number from 0 to 256" record
for value in 0 9 x
do
  refuse 2 --context $value "a whole number from 1 to 8" patterns
done
refuse 125 --context 9 "a whole number from 1 to 8" time
for value in x -1 nan inf 1e999 1s
do
  refuse 2 --from "$value" "a number of at least 0" hot
done
refuse 2 --at x "a number of at least 0" report
for window in "1 0.5" "0.5 0.5" "1 0" "0 0"
do
  "$trace" hot --from ${window% *} --to ${window#* } "$t" 2> "$work/err"
  equal "refuses-window-$window" "$? $(cat "$work/err")" \
    "2 slice-trace: --to ${window#* } is not after --from ${window% *}"
done
"$trace" time --from 1 --to 0.5 "$work/program" 2> "$work/err"
equal refuses-window-time $? 125
"$trace" time --set x=y "$work/program" 2> "$work/err"
equal refuses-set-time $? 125
for command in hot patterns callers apply pins replay "compare --replay"
do
  for window in "--from 50" "--to 1e-9"
  do
    "$trace" $command $window "$t" > "$work/out" 2> "$work/err"
    equal "window-$command-$window" "$? $(cat "$work/err")" "3 slice-trace: $t: \
no allocations in that time (--from, --to)"
  done
done
refuse 2 --to x "a number of at least 0" callers
refuse 2 --hot -3 "a whole number from 0 to 4294967295" replay
refuse 2 --repeats 0 "a whole number from 1 to 1000" replay
for command in hot callers diff
do
  refuse 2 -n 0 "a whole number from 1 to 4294967295" $command
done
for value in 1 201 x
do
  refuse 2 -n $value "a whole number from 2 to 200" compare
done
for value in LINEAR_W linear= linear=x nonsense=1
do
  "$trace" patterns --set "$value" "$t" > "$work/out" 2> "$work/err"
  equal "refuses-set-$value" "$? $(grep -c -e '--set: ' "$work/err")" "2 1"
done
for command in callers patterns
do
  "$trace" $command --passes '[' "$t" > "$work/out" 2> "$work/err"
  equal "refuses-passes-$command" "$? $(wc -c < "$work/out") $(grep -c \
    'no regular expression' "$work/err")" "2 0 1"
done
"$trace" callers --site nosuch "$t" > "$work/out" 2> "$work/err"
equal no-such-site "$? $(wc -c < "$work/out") $(grep -c nosuch "$work/err")" \
  "2 0 1"
"$trace" record -q --depth 0 --free-depth 0 -o "$work/none" "$work/obtained"
equal depth-0 "$? $("$trace" info "$work/none" | sed -n 's/^nodes //p')" "0 2"
"$trace" record -q --depth 256 -o "$work/none" "$work/obtained"
equal depth-256 $? 0

# --- wrappers: every command that makes sites leaves them out ---
keys () # file: the keys of its sites
{
  json "$1" 'sites.*.key' | sort
}
sites_of () # the two callers, and the wrapper: how often each is named
{
  echo "$(grep -c first_caller "$1" | sed 's/[1-9][0-9]*/some/')" \
    "$(grep -c 'obtain$\|obtain[" <]' "$1" | sed 's/[1-9][0-9]*/some/')"
}
w=--wrapper=^obtain\$
"$trace" patterns $w "$t" -o "$work/p.json"
"$trace" replay $w --repeats 1 "$t" -o "$work/r.json"
keys "$work/p.json" > "$work/p.keys"
equal wrapper-replay "$(keys "$work/r.json" | comm -23 - "$work/p.keys")" ""
equal wrapper-replayed "$(json "$work/r.json" 'sites.*.name' \
  | sed 's/[^a-z_].*//' | grep -c '_caller$')" 2
"$trace" patterns --context 1 "$t" -o "$work/q.json"
equal wrapper-matters "$(keys "$work/q.json" | comm -12 - "$work/p.keys" \
  | grep -c .)" 0
"$trace" advise "$work/p.json" --replay "$work/r.json" -o "$work/a.json"
equal wrapper-advise "$(json "$work/a.json" 'sites.*.verdict' \
  | grep -c 'not replayed')" 0

# --- files made with other options, or of another recording ---
"$trace" record -q -o "$work/other" "$work/obtained"
"$trace" patterns $w "$work/other" -o "$work/o.json"
"$trace" patterns "$t" -o "$work/plain.json"
differ () # name, command...: refused, with both options
{
  name=$1
  shift
  "$trace" "$@" > "$work/out" 2> "$work/err"
  equal "differ-$name" "$? $(grep -c 'was made with.*no options' "$work/err")" \
    "4 1"
}
p=$work/p.json
r=$work/r.json
differ advise advise "$work/plain.json" --replay "$r"
differ advise-trace advise "$t" --replay "$r"
differ advise-times advise "$p" --times "$work/plain.json"
differ advise-inputs advise "$p" "$work/plain.json"
differ report report "$work/plain.json" --replay "$r"
differ report-times report "$p" --times "$work/plain.json"
differ diff diff "$work/plain.json" "$p"
differ given report $w "$work/plain.json"
"$trace" advise "$work/plain.json" -o "$work/plain.advice"
differ report-advice report "$p" --advice "$work/plain.advice"
for command in "advise $work/o.json --replay $r" \
  "report $work/o.json --advice $work/a.json"
do
  "$trace" $command > "$work/out" 2> "$work/err"
  equal "two-recordings-${command%% *}" \
    "$? $(grep -c 'are of two recordings' "$work/err")" "4 1"
done
# and what goes together does: other order, more pictures, an older file
"$trace" patterns --own=x $w --hot 3 "$t" -o "$work/order.json"
"$trace" patterns $w --own=x "$t" -o "$work/order2.json"
tr '\n' ' ' < "$p" | sed 's/"recording":"[^"]*", *"options":\[[^]]*\], *//' \
  > "$work/older.json"
equal together-older "$(grep -c '"recording"' "$work/older.json")" 0
for command in "diff $work/order.json $work/order2.json" \
  "diff $work/older.json $work/older.json" "diff $p $work/o.json" \
  "report $w $p" "advise $w $t --replay $r" \
  "report $t $w --replay $r --advice $work/a.json --times $work/o.json"
do
  "$trace" $command > "$work/out" 2> "$work/err"
  equal "together-${command%% /*}" "$?$(cat "$work/err")" 0
done

for command in hot callers patterns "advise --text" "report --text" report \
  "export --format folded" "diff $t"
do
  "$trace" $command $w "$t" > "$work/out" 2> "$work/err"
  equal "wrapper-$command" "$? $(sites_of "$work/out")" "0 some 0"
done
"$trace" compare --replay -n 2 $w "$t" > "$work/out" 2> "$work/err"
equal wrapper-compare $? 0
"$trace" time $w "$work/obtained" > "$work/out" 2> "$work/err"
equal wrapper-time "$? $(sites_of "$work/out")" "0 some 0"
rm -rf "$work/all"
"$trace" run -o "$work/all" $w "$work/obtained" > "$work/out" 2> "$work/err"
equal wrapper-run "$? $(sites_of "$work/all/report.txt")" "0 some 0"
equal wrapper-run-keys "$(keys "$work/all/replay.json" \
  | comm -23 - "$work/p.keys")" ""
equal wrapper-run-advised "$(json "$work/all/advice.json" \
  'sites.*.verdict' | grep -c 'not replayed')" 0
# other options: the trace stays, what is made of it does not
before=$(stat -c %Y.%i "$work/all/trace" "$work/all/time.trace")
"$trace" run -o "$work/all" --context 1 "$work/obtained" \
  > "$work/out" 2> "$work/err"
equal options-changed "$? $(keys "$work/all/patterns.json" \
  | cmp - "$work/p.keys" | grep -c differ)" "0 1"
equal options-changed-trace \
  "$(stat -c %Y.%i "$work/all/trace" "$work/all/time.trace")" "$before"
"$trace" run -o "$work/all" --context 1 "$work/obtained" 2> "$work/err"
equal options-same "$(grep -c 'patterns$\|replay$' "$work/err")" 0
# a window of time: the operations within it alone
middle=$("$trace" dump "$t" \
  | awk -v seconds="$(json "$work/p.json" totals.seconds)" '
    $3 == "malloc" && first == 0 { first = $1 } { last = $1 }
    END { print (first + last) / 2 / last * seconds }')
"$trace" replay --repeats 1 --to "$middle" "$t" -o "$work/w.json" \
  2> "$work/err"
whole=$(json "$work/r.json" calls)
part=$(json "$work/w.json" calls)
if [ "${part:-$whole}" -lt "$whole" ]; then pass window-replay
else fail window-replay "$part of $whole: $(cat "$work/err")"; fi

# --- another malloc that is not loaded ---
$CC -shared -fPIC foo.c -o good.so || exit 1
for command in "replay --repeats 1" "compare --replay -n 2"
do
  for library in /nonexist.so "$work/foo.c" none.so "$work/good.so:none.so" ""
  do
    "$trace" $command --preload "$library" "$t" > "$work/out" 2> "$work/err"
    equal "preload-${command%% *}-${library##*/}" "$? $(grep -c \
      "preload: '$library' can't be loaded" "$work/err") $(wc -c \
      < "$work/out")" "2 1 0"
  done
done
for library in ./good.so good.so "./good.so good.so"
do
  LD_LIBRARY_PATH=$work${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$trace" compare \
    --replay -n 2 --preload "$library" "$t" > "$work/out" 2> "$work/err"
  equal "preload-$library" "$? $(grep -c '^good.so' "$work/out")$(cat \
    "$work/err")" "0 1"
done

# --- an output that is an input, or the program ---
cp "$work/obtained" program-kept
cp "$work/obtained" program.part
ln -f program-kept program-link
refuses_output () # name, status, file, command...: the file stays as it is
{
  name=$1
  wanted=$2
  kept=$3
  shift 3
  cp "$kept" kept
  (PATH=$work:$PATH; "$trace" "$@") > "$work/out" 2> "$work/err"
  equal "overwrites-$name" "$? $(grep -c 'would be overwritten' "$work/err") \
$(cmp "$kept" kept 2>&1)" "$wanted 1 "
}
for command in record time
do
  refuses_output $command 125 program-kept $command -o program-kept \
    ./program-kept
  refuses_output $command-in-path 125 program-kept $command \
    -o ./program-kept program-kept
  refuses_output $command-link 125 program-kept $command -o program-link -- \
    "$work/program-kept" -o x
done
refuses_output time-part 125 program.part time -o program ./program.part
cp "$t" t.copy
cp "$t" t.copy.part
for command in patterns pins replay report advise apply "export --format dhat" \
  "export --format pprof" "export --format operations" "pins --picture t.copy"
do
  refuses_output "$command" 2 t.copy $command -o t.copy t.copy
done
refuses_output picture 2 t.copy pins --picture t.copy t.copy
refuses_output second 2 t.copy advise "$t" t.copy -o t.copy
refuses_output part 2 t.copy.part patterns -o t.copy t.copy.part
for option in --times --replay --advice
do
  refuses_output report$option 2 r.json report "$t" $option r.json -o r.json
done
for option in --times --replay
do
  refuses_output advise$option 2 r.json advise "$t" $option r.json -o ./r.json
done
refuses_output replay--times 2 r.json replay "$t" --times r.json -o r.json
"$trace" pins -o pins --picture pins "$t" 2> "$work/err"
equal two-outputs "$? $(grep -c 'the output twice' "$work/err")" "2 1"
"$trace" run -o program-kept ./program-kept > "$work/out" 2> "$work/err"
equal run-into-program "$? $(cmp program-kept obtained)" "124 "
"$trace" patterns -o /dev/null /dev/null > "$work/out" 2> "$work/err"
equal device-twice "$? $(grep -c overwritten "$work/err")" "4 0"
rm t.copy* program.part

# --- inputs that can't be read, before anything is run or analysed ---
early () # name, status, message, command...: ends so, and has run nothing
{
  name=$1
  wanted=$2
  message=$3
  shift 3
  rm -f ran
  "$trace" "$@" > "$work/out" 2> "$work/err"
  equal "early-$name" "$? $(grep -c -e "$message" "$work/err")$(wc -c \
    < "$work/out")$(ls ran 2>&1 | grep -v 'No such')" "$wanted 10"
}
early replay 4 'absent: No such' compare --replay -n 2 foo.c absent
early diff 4 'absent: No such' diff foo.c absent
early advise 4 'absent: No such' advise foo.c absent
early replay-times 4 'not of the format' replay --times r.json foo.c
for option in --times --replay
do
  early advise$option 4 'absent: No such' advise foo.c $option absent
done
for option in --replay --advice --times
do
  early report$option 4 'absent: No such' report foo.c $option absent
done

# --- options that would be ignored ---
early preload 2 'preload is of --replay' compare --preload ./good.so \
  "touch ran" true
early wrapper 2 'wrapper=x is of --replay' compare --wrapper x "touch ran" true
early replay-medians 2 'of two commands' compare --replay --medians foo.c
early count 2 'count is of folded' export --count --format dhat foo.c
early thresholds 2 'without a trace' patterns --thresholds foo.c
early thresholds-output 2 'without -o' patterns --thresholds -o ran

# --- numbers that can't be ---
# each count of the schema that is in the files, negative and too large
"$trace" advise "$p" --replay "$r" -o a.json
counts=$(awk -F '"' '/^ *"[a-z0-9_]*": {$/ { key = $2 }
  /defs\/count"/ { print key }' "$source/docs/slice-trace.schema.json" | sort -u)
n_numbers=0
for file in p r a
do
  keys=$(grep -o '"[a-z0-9_]*":[0-9]' $file.json | cut -d '"' -f 2 | sort -u \
    | grep -xF "$counts")
  command="report --text p.json"
  case $file in
  p) command="report --text bad.json";;
  r) command="$command --replay bad.json";;
  a) command="$command --advice bad.json";;
  esac
  for key in $keys
  do
    for number in -1 2e+19
    do
      sed "s/\"$key\":[0-9][0-9.e+]*/\"$key\":$number/" $file.json > bad.json
      "$trace" $command > "$work/out" 2> "$work/err"
      status=$?
      if [ $status = 4 ] \
        && grep -qF "bad.json: \"$key\" can't be $number" "$work/err"
      then n_numbers=$((n_numbers + 1))
      else fail "number-$file-$key$number" "$status $(cat "$work/err")"
      fi
    done
  done
done
equal numbers "$((n_numbers >= 60))" 1
sed 's/"calls":[0-9]*/"calls":NaN/' p.json > bad.json
"$trace" report --text bad.json > "$work/out" 2> "$work/err"
equal number-nan "$? $(grep -c 'a value is wrong' "$work/err")" "4 1"

# --- an output that can't be opened, before anything is run ---
for output in "$work/no/such/file" "$work"
do
  for command in record time
  do
    rm -f "$work/given"
    "$trace" $command -o "$output" "$work/program" 2> "$work/err"
    equal "unwritable-$command" "$? $(ls "$work/given" 2> "$work/err2") $(grep \
      -c "$output" "$work/err")" "124  1"
  done
done
rm -f "$work/given"
"$trace" run -o "$work/no/such" "$work/program" 2> "$work/err"
equal unwritable-run "$? $(ls "$work/given" 2> "$work/out")" "124 "
# What is no file stays what it is.
for command in "record -q" time "patterns"
do
  rm -f "$work/device"
  ln -s /dev/null "$work/device"
  case $command in
  patterns) "$trace" $command -o "$work/device" "$t";;
  *) "$trace" $command -o "$work/device" "$work/obtained";;
  esac > "$work/out" 2> "$work/err"
  equal "device-$command" "$? $(readlink "$work/device")" "0 /dev/null"
done
# the trace is not looked at: it may be none
for command in patterns pins replay report "advise" "export --format folded" \
  "export --format pprof" "export --format operations"
do
  "$trace" $command -o "$work/no/such/file" "$work/foo.c" > "$work/out" \
    2> "$work/err"
  equal "unwritable-$command" "$?" 124
done

# --- nothing is left behind, and no name can be guessed ---
left () # what lies about
{
  ls "$TMPDIR" "$work" | grep -v '^tmp' | grep -e '\.part$' -e '^slice-' \
    | grep -v '^slice-trace.trace$'
}
equal left-nothing "$(left)$(ls "$TMPDIR")" ""
"$trace" time "$work/forks" fork > "$work/out" 2> "$work/err"
equal left-time-children "$? $(ls "$TMPDIR")" "0 "
equal no-fixed-names "$(cd "$source/slice/tools" \
  && grep -rn --include='*.c' '"/tmp/[^"]*%d' .)" ""

# wait_for COMMAND...: until it is so, or PID is gone
wait_for ()
{
  until "$@"
  do
    kill -0 $pid 2> "$work/err2" || return 1
    sleep 0.05
  done
}
unnamed ()
{
  ls -l /proc/$pid/fd 2> "$work/err2" \
    | grep -q "$TMPDIR/slice-trace-.*(deleted)"
}
"$trace" replay --repeats 1000 "$t" > "$work/out" 2> "$work/err" &
pid=$!
wait_for unnamed
equal interrupted-replay-runs $? 0
kill $pid
wait $pid
equal interrupted-replay "$? $(ls "$TMPDIR")" "143 "
for command in record time run
do
  rm -f "$work/started"
  SLICE_TRACE_SPOOL_DIR=$TMPDIR "$trace" $command \
    -o "$work/interrupted-$command" \
    sh -c 'echo $$ > "$0"; exec sleep 1000' "$work/started" \
    > "$work/out" 2> "$work/err" &
  pid=$!
  wait_for test -s "$work/started"
  equal "interrupted-$command-runs" $? 0
  kill $pid
  wait $pid
  equal "interrupted-$command" "$? $(ls "$TMPDIR")" "143 "
  kill -0 "$(cat "$work/started")" 2> "$work/err2"
  equal "interrupted-$command-program" $? 1
done

rm -f "$work"/half*
"$trace" replay --repeats 1000 -o "$work/half" "$t" > "$work/out" \
  2> "$work/err" &
pid=$!
wait_for test -e "$work/half.part"
kill $pid
wait $pid
equal interrupted-output "$? $(ls "$work" | grep '^half')" "143 "
for program in "$work/not-there" "$work"
do
  "$trace" run -o "$work/started-not" "$program" > "$work/out" 2> "$work/err"
  equal "not-started-$?" "$(ls -d "$work/started-not" 2> "$work/err2")" ""
done

# --- a launcher that is killed ---
mkdir "$work/spools"
rm -f "$work/started"
SLICE_TRACE_SPOOL_DIR=$work/spools
export SLICE_TRACE_SPOOL_DIR
"$trace" record -o "$work/interrupted" sh -c 'echo $$ > "$0"; exec sleep 1000' \
  "$work/started" > "$work/out" 2> "$work/err" &
pid=$!
wait_for test -s "$work/started"
spools () # find's tests
{
  find "$work/spools" -mindepth 1 "$@"
}
if [ "$(printf '5.14\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 5.14 ]
then
  n=0
  until [ -n "$(spools -type f -size 0)" ] || [ $n = 600 ]
  do
    n=$((n + 1))
    sleep 0.05
  done
  equal spool-without-name "$(spools -type f -size +0)" ""
else
  skip spool-without-name "the kernel is older than 5.14"
fi
"$trace" record -q -o "$work/other" "$work/obtained" > "$work/out2" \
  2> "$work/err2"
equal spool-is-not-taken "$(spools -type d | wc -l)" 1
kill -KILL $pid
wait $pid 2> "$work/err2"
"$trace" record -q -o "$work/other" "$work/obtained" > "$work/out2" \
  2> "$work/err2"
equal spool-orphans "$(spools)" ""
kill "$(cat "$work/started")"

finish
