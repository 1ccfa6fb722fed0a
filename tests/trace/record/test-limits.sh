#!/bin/sh
# test-limits.sh - no space, no output, nothing to record; source lines
#
# Speaks TAP.  SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

t=$work/recorded

# --- source lines: as the program is without them ---
clients=$source/tests/trace/clients
for flags in -O0 -O2
do
  $CC $flags -Wall -Werror -I"$source" -I"$build" "$clients/lines.c" \
    "$build/slice/.libs/libslice.a" -o "$work/lines" -lpthread -ldl -lm \
    > "$work/err" 2>&1
  equal "lines-compiled$flags" "$(head -n 3 "$work/err")" ""
  "$work/lines" > "$work/said"
  equal "lines-evaluated-once$flags" $? 0
  equal "lines-counted$flags" "$(awk '{ print $1, $2 }' "$work/said" \
    | sort | tr '\n' ' ')" "1 1 1 2 1 3 1 4 1 4 1 7 1 8 "
done
$CXX -Wall -Werror -I"$source" -I"$build" "$clients/lines-cxx.cc" \
  -o "$work/lines-cxx" > "$work/err" 2>&1
equal lines-cxx-compiled "$(head -n 3 "$work/err")" ""
"$work/lines-cxx"
equal lines-cxx $? 0

# --- a spool with little space, or none ---
compile many many.c -lpthread
compile forks forks.c -lpthread
in_space () # size, program...: with a file system of that size at $work/space
{
  mkdir -p "$work/space"
  size=$1
  shift
  unshare -m sh -c 'mount -t tmpfs -o size=$1 none "$0" && shift \
    && SLICE_TRACE_SPOOL_DIR=$0 "$@"' "$work/space" "$size" \
    sh -c '"$@"; status=$?; ls -A "$0" >&2; exit $status' "$work/space" \
    "$trace" record -o "$t" -- "$@"
}
if unshare -m mount -t tmpfs -o size=64k none "$work" 2> "$work/null"; then
  for space in "1m 0" "1m 20" "4m 3"
  do
    rm -f "$t"
    in_space ${space% *} "$work/many" ${space#* } > "$work/out" 2> "$work/err"
    equal "space-$space-status" $? 0
    equal "space-$space-counted" "$("$trace" info "$t" | awk -v n="${space#* }" '
      $1 == "recorded" || $1 == "dropped-full" { sum += $2 }
      $1 == "damaged" { bad = $2 }
      END { print (sum >= 220000 + n * 200000), bad }')" "1 0"
    equal "space-$space-left" "$(grep -c '^slice-trace-' "$work/err")" 0
  done
  rm -f "$t"
  in_space 16k "$work/many" 0 > "$work/out" 2> "$work/err"
  equal space-none-status $? 124
  equal space-none-said "$(grep -c 'no space for the spool' "$work/err")" 1
  equal space-none-left "$(grep -c '^slice-trace-' "$work/err")" 0
  # for the program, and not for its child, which ends as it would
  for how in fork threads
  do
    rm -f "$t"*
    in_space 700k "$work/forks" $how > "$work/out" 2> "$work/err"
    equal "space-$how-status" $? 0
    equal "space-$how-said" "$(grep -c '1 process was not recorded: no space' \
      "$work/err")" 1
    equal "space-$how-parent" "$("$trace" info "$t" \
      | sed -n 's/^damaged //p; s/^dropped-full //p')" "0
0"
    equal "space-$how-left" "$(grep -c '^slice-trace-' "$work/err")" 0
  done
else
  skip space "no file systems of its own"
fi

# --- a replay that is killed leaves no process behind ---
# (one measurement of so many events takes half a second; a small system has no
# ps)
"$trace" record -q -o "$t" -- "$work/many" 20 > "$work/out"
"$trace" replay --repeats 1000 -o "$work/replayed" "$t" 2> "$work/err" &
parent=$!
child=
for i in $(seq 300)
do
  child=$(grep -l "^PPid:[[:space:]]*$parent\$" /proc/[0-9]*/status \
    2> /dev/null | sed -n '1s/[^0-9]//gp')
  test -n "$child" && break
  sleep 0.1
done
kill -KILL $parent
wait $parent 2> "$work/null"
sleep 0.1
equal replay-killed "${child:-none}: $(sed -n '/^State:.*Z/d; /^State:/p' \
  /proc/${child:-$$}/status 2> /dev/null)" "$child: "

# --- a short burst is seen in a replay's memory ---
compile burst burst.c
record "$t" "$work/burst" 2000
"$trace" replay --repeats 1 --hot 2 -o "$work/r.json" "$t" 2> "$work/err"
equal burst-whole "$(json "$work/r.json" 'whole.*' backend rss_peak \
  | awk '$1 == "malloc" { print ($2 >= 6000000) }')" 1
equal burst-site "$(json "$work/r.json" 'sites.*' malloc_rss name \
  | awk '/burst/ { print ($1 >= 6000000) }')" 1
"$trace" compare --replay -n 2 "$t" > "$work/out" 2> "$work/err"
equal burst-compare "$(sed -n 's/^malloc .* \([0-9]*\) +-[0-9]* .*/\1/p' \
  "$work/out" | awk '{ print ($1 * 1024 >= 6000000) }')" 1
"$trace" compare -n 2 "$work/burst 5000" "$work/burst 5000" > "$work/out"
expect_found burst-kib '^memory  *[0-9][0-9]* KiB (+-[0-9]*)  ->  '\
' *[0-9][0-9]* KiB (+-[0-9]*)$' "$(cat "$work/out")"

# --- output that can't be written ---
compile ends ends.c
record "$t" "$work/ends" status
for command in "info $t" "hot $t" "dump $t" "callers $t" "diff $t $t" \
  "patterns $t" "patterns --thresholds" "report --text $t" \
  "export --format folded $t" "advise $t" "advise --text $t" "report $t" \
  "time $work/ends status" --version --help \
  $("$trace" --help | sed -n 's/^  \([a-z]*\) .*/\1@--help/p') \
  record@--usage hot@--version
do
  command=$(echo "$command" | tr @ ' ')
  "$trace" $command > /dev/full 2> "$work/err"
  equal "full-${command%% /*}" "$? $(tail -n 1 "$work/err")" "124 slice-trace: \
the output could not be written: No space left on device"
done
# Formats and traces that have a writer of their own.
"$trace" export --format pprof -o /dev/full "$t" 2> "$work/err"
equal full-pprof "$? $(cat "$work/err")" "124 slice-trace: \
/dev/full could not be written: No space left on device"
"$trace" record -q -o /dev/full "$work/ends" status 2> "$work/err"
equal full-trace "$(tail -n 1 "$work/err")" \
  "slice-trace: the trace could not be written: No space left on device"
cp "$t" "$work/kept"
if unshare -m mount -t tmpfs -o size=64k none "$work" 2> "$work/null"; then
  mkdir -p "$work/space"
  unshare -m sh -c 'mount -t tmpfs -o size=4k none "$1" || exit
    "$0" patterns "$2" -o "$1/p.json"; status=$?
    ls -A "$1" >&2; exit $status' "$trace" "$work/space" "$t" 2> "$work/err"
  equal full-file "$? $(cat "$work/err")" "124 slice-trace: \
$work/space/p.json could not be written: No space left on device"
else
  skip full-file "no file systems of its own"
fi

# --- nothing to record, and a status of its own ---
printf 'int main (void) { return 4; }\n' > "$work/four.c"
if $CC -static "$work/four.c" -o "$work/four" 2> "$work/err"; then
  record "$t" "$work/four"
  equal nothing-status $? 4
  equal nothing-said "$(grep -c 'nothing was recorded' "$work/err")" 1
else
  skip nothing "no static C library"
fi
if $CC -fsanitize=address "$work/four.c" -o "$work/asan" 2> "$work/err"; then
  record "$t" "$work/asan"
  equal asan "$? $(grep -c 'built with AddressSanitizer' "$work/err") $(grep \
    -c 'no space' "$work/err")" "1 1 0"
else
  skip asan "the compiler has none"
fi
$CC "$work/four.c" -o "$work/four-dynamic" || exit 1
record "$t" "$work/none"
equal not-found "$? $(grep -c 'nothing was recorded' "$work/err")" "127 0"

# --- what is no file ---
for command in info hot "export --format folded" report
do
  cat "$t" | "$trace" $command /dev/stdin > "$work/out" 2> "$work/err"
  equal "pipe-$command" "$? $(grep -c 'from a file\|no file' "$work/err")" "4 1"
done
"$trace" info /dev/stdin < "$work/kept" > "$work/out" 2> "$work/err"
equal redirected $? 0
(cd "$work" && "$trace" record -o - "$work/ends" status) > "$work/out" \
  2> "$work/err"
equal record-stdout "$? $(grep -c 'goes to a file' "$work/err") $(ls "$work/-" \
  2> "$work/null")" "125 1 "

# --- the program's own limit: its children are not recorded ---
compile forks forks.c
rm -f "$t"*
"$trace" record -o "$t" "$work/forks" limited > "$work/out" 2> "$work/err"
equal fork-limit "$? $(grep -c '1 process was not recorded: no space' \
  "$work/err")" "0 1"

for how in files addresses
do
  rm -f "$t"*
  "$trace" record -o "$t" "$work/forks" $how > "$work/out" 2> "$work/err"
  equal "fork-$how" "$? $(grep -c '1 process was not recorded: a process may' \
    "$work/err")" "0 1"
done

# --- the launcher may open no more files ---
# (libtool's script for a program that is not installed would open some)
program=$trace
test ! -x "$build/slice/tools/.libs/slice-trace" \
  || program=$build/slice/tools/.libs/slice-trace
LD_LIBRARY_PATH=$build/slice/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
few_files () # their number, as if no more than three were open
{
  exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
  ulimit -n "$1"
}
mkdir "$work/spools"
for n in 4 5
do
  rm -f "$t"*
  (few_files $n; SLICE_TRACE_SPOOL_DIR=$work/spools exec "$program" record \
    -o "$t" "$work/four-dynamic") > "$work/out" 2> "$work/err"
  equal "files-$n" "$? $(grep -c 'no more files (ulimit -n)' "$work/err") $(ls \
    "$work/spools")" "124 1 "
done
# One trace at a time is packed; the others, at the end.
rm -f "$t"*
(few_files 6; exec "$program" record --wait -q -o "$t" "$work/forks" fork) \
  > "$work/out" 2> "$work/err"
equal files-one "$?$(cat "$work/err")" 0
equal files-each "$(for file in "$t"*; do "$trace" info "$file"; done \
  | grep -c '^recorded [1-9]')" 2

# --- the user's limits ---
for limit in -v -f
do
  rm -f "$t" "$work/given"
  (ulimit -S $limit 300000 && "$trace" record -o "$t" \
    sh -c 'echo ran > "$0"' "$work/given") > "$work/out" 2> "$work/err"
  equal "limit$limit" "$? $(grep -c "ulimit $limit is [0-9]* KiB" \
    "$work/err") $(ls "$t" "$work/given" 2> "$work/null")" "124 1 "
done

# With so little memory the tool may fail, but says so.
for kib in 5000 6000 7000 8000 9000
do
  (ulimit -d $kib; "$program" record -o "$t" "$work/ends" status) \
    > "$work/out" 2> "$work/err"
  status=$?
  test "$status" -lt 124 \
    || equal "limit-memory-$kib" "$status $(grep -m 1 -c memory "$work/err")" \
      "124 1"
done

(ulimit -f 1; "$trace" report -o "$work/long.html" "$work/kept") \
  > "$work/out" 2> "$work/err"
equal limit-page "$? $(grep -c 'could not be written: File too' "$work/err"\
  )$(ls "$work" | grep long)" "124 1"
(ulimit -f 8; "$trace" compare -n 2 true \
  "head -c 99999 /dev/zero > $work/long; test \$? = 153") > "$work/out" \
  2> "$work/err"
equal limit-of-program "$(grep -c '^memory' "$work/out")" 1

# --- a process that becomes another program ---
record "$t" sh -c "exec $work/ends status"
equal became "$(grep -c 'another program (--follow' "$work/err")" 1
"$trace" record --follow -o "$t" sh -c "exec $work/ends status" \
  > "$work/out" 2> "$work/err"
equal became-followed "$(grep -c -e '--follow' "$work/err")" 0

# --- run: a program that was built again is recorded again ---
run_program ()
{
  (cd "$work" && PATH=$work:$PATH "$trace" run --quick -o again -- \
    "$1" status) > "$work/out" 2> "$work/err"
}
for program in ./ends ends
do
  rm -rf "$work/again"
  run_program $program
  equal "run-$program" "$? $(grep -c ': record$' "$work/err")" "0 1"
  run_program $program
  equal "run-$program-kept" "$? $(grep -c ': record$' "$work/err")" "0 0"
  touch -d 2001-01-01 "$work/ends"
  run_program $program
  equal "run-$program-rebuilt" "$? $(grep -c ': record$' "$work/err")" "0 1"
  equal "run-$program-stages" "$(grep -c ': patterns$' "$work/err")" 1
  touch "$work/ends"
done

# --- run: a recording that Ctrl-C ended is made again ---
# The program sends it to all, like a terminal; timeout makes them a group, and
# they do not ignore it, as what runs in the background does.
cat > "$work/stops" << 'END'
#!/bin/sh
n=$(($(cat runs) + 1))
echo $n > runs
test $n != "$1" || kill -INT 0
exec ./ends status
END
chmod +x "$work/stops"
stops () # the number of the run that stops, options of run...
{
  stops_at=$1
  shift
  (cd "$work" && timeout 600 env --default-signal=INT "$trace" run "$@" \
    -o stopped ./stops "$stops_at") > "$work/out" 2> "$work/err"
}
rm -rf "$work/stopped"
echo 0 > "$work/runs"
stops 1 --quick
equal interrupted-run "$? $(cat "$work/runs") $(grep -c \
  'record: interrupted by signal 2' "$work/err")" "130 1 1"
stops 1 --quick
equal interrupted-again "$? $(cat "$work/runs") $(grep -c ': record$' \
  "$work/err") $(ls "$work/stopped" | grep -c 'recording$')" "0 2 1 0"
stops 1 --quick
equal interrupted-kept "$? $(cat "$work/runs")" "0 2"
# in the timed run: the first trace stays
rm -rf "$work/stopped"
echo 0 > "$work/runs"
stops 2
equal interrupted-timed "$? $(cat "$work/runs") $(grep -c \
  'again: interrupted by signal 2' "$work/err")" "130 2 1"
stops 2
equal interrupted-timed-again "$? $(cat "$work/runs") $(grep \
  ': record$\|again$' "$work/err")" "0 4 slice-trace: time: the program again"

# --- run: a trace without the program's end is called cut, each time ---
printf '%s\n' '#!/bin/sh' './ends status' 'kill -KILL $$' > "$work/killed"
chmod +x "$work/killed"
for wanted in 1 0
do
  (cd "$work" && "$trace" run --quick -o cut ./killed) > "$work/out" \
    2> "$work/err"
  equal "run-cut-$wanted" "$? $(grep -c ': record$' "$work/err") $(grep -c \
    'cut/trace is cut: ' "$work/err")" "0 $wanted 1"
done
(cd "$work" && "$trace" run --quick -o whole ./ends exit) > "$work/out" \
  2> "$work/err"
equal run-whole "$? $(grep -c 'is cut' "$work/err")" "0 0"

# --- a program that another one becomes: said, if all else is not wanted ---
printf '#!/bin/sh\nexec "%s/ends" status\n' "$work" > "$work/launcher"
chmod a+x "$work/launcher"
cut="slice-trace: cut: a process ended without its exit handlers, or became \
another program"
for quiet in -q --silent "-q --follow"
do
  case $quiet in
  -q) wanted="$cut (--follow records that one)" ;;
  --silent) wanted= ;;
  *) wanted=$cut ;;
  esac
  "$trace" record $quiet -o "$t" "$work/launcher" > "$work/out" 2> "$work/err"
  equal "launcher-$quiet" "$(cat "$work/err")" "$wanted"
done

# --- an installation that was moved as a whole ---
for folder in exec_prefix bindir libdir
do
  case $folder in exec_prefix) name=prefix ;; *) name=$folder ;; esac
  value=$(sed -n "s/^$name=//p" "$build/slice/dropin/slice-run")
  eval "$folder=\$value"
done
if [ -f "$build/slice/.libs/libslice.so.0" ] \
  && [ "${bindir#"$exec_prefix"/}" != "$bindir" ] \
  && [ "${libdir#"$exec_prefix"/}" != "$libdir" ]
then
  moved=$work/moved
  bindir=$moved${bindir#"$exec_prefix"}
  libdir=$moved${libdir#"$exec_prefix"}
  mkdir -p "$bindir" "$libdir/slice"
  cp -L "$build/slice/tools/.libs/slice-trace" "$bindir"
  cp -L "$build/slice/.libs/libslice.so.0" "$libdir"
  cp -L "$build/slice/tools/.libs/slice-trace-record.so" \
    "$build/slice/dropin/.libs/slice-trace-trial.so" "$libdir/slice"
  LD_LIBRARY_PATH=$libdir "$bindir/slice-trace" record -q -o "$t" \
    "$work/ends" exit 2> "$work/err"
  equal moved-record "$? $(cat "$work/err")" "0 "
  compile tried tried.c -O2 -Wl,--build-id=sha1 -lpthread
  record "$t" "$work/tried"
  LD_LIBRARY_PATH=$libdir "$bindir/slice-trace" predict -n 5 \
    --site list_item "$t" "$work/tried" > "$work/out" 2> "$work/err"
  equal moved-predict "$? $(sed -n '2s/;.*//p' "$work/out")" \
    "0 calls    20000 allocations, 20000 frees"
else
  skip moved "no shared libraries, or folders that are not below one prefix"
fi

# --- a realloc that fails is no event, and a mark is one line ---
compile failed failed.c
record "$t" "$work/failed"
equal failed-status $? 0
equal failed-info "$("$trace" info "$t" | awk '
  $1 == "failed" || $2 == "realloc-kept" || $2 == "realloc-free" {
    printf "%s ", $0 } $2 == "free" { print ($3 >= 1000) }')" "failed 1000 1"
equal failed-allocs "$("$trace" dump "$t" | awk '$3 == "malloc" && $5 == 777 {
  allocs++; own[$4] = 1 } $3 == "free" && ($4 in own) { freed++ }
  END { print allocs, freed }')" "1000 1000"
equal mark "$("$trace" dump "$t" | sed -n 's/.* mark \(.*\) node=.*/\1/p')" \
  'a\\b\0121 1 free 0x1 node=1'

# --- followed programs have their own commands ---
rm -f "$t"*
"$trace" record -q --follow -o "$t" -- sh -c "$work/ends status; :" \
  2> "$work/err"
equal follow-commands "$(for file in "$t" "$t".*; do "$trace" info "$file" \
  | sed -n "s,^command ,,p"; done | grep -c "^$work/ends status$")" 1
equal follow-first "$("$trace" info "$t" | sed -n 's/^command //p' \
  | cut -c 1-5)" "sh -c"

finish
