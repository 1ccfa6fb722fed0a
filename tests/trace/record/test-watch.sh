#!/bin/sh
# test-watch.sh - a recorder that sleeps until its program is watched
#
# The program does what it reads from a pipe, so nothing depends on time.
# Speaks TAP.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

compile watched watched.c -lpthread
mkdir "$work/spools"
SLICE_TRACE_SPOOL_DIR=$work/spools
export SLICE_TRACE_SPOOL_DIR

# wait_for PATTERN FILE N: until so many lines of the file match
wait_for ()
{
  tries=0
  until [ "$(grep -c "$1" "$2" 2> "$work/null")" -ge "$3" ]; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || return 1
    sleep 0.1
  done
}

# The program, asleep; its number to $pid, its input is 5.
start ()
{
  rm -f "$work/in" "$work/answers"
  mkfifo "$work/in"
  "$trace" record --asleep "$work/watched" < "$work/in" > "$work/answers" \
    2> "$work/said" &
  pid=$!
  exec 5> "$work/in"
  n_done=0
  wait_for ready "$work/answers" 1
}

tell () # a line
{
  n_done=$((n_done + 1))
  echo "$1" >&5
  wait_for done "$work/answers" $n_done
}

# watch TRACE: until end_watch; waits until the process is awake
watch ()
{
  rm -f "$1" "$work/shown"
  "$trace" watch "$pid" -o "$1" -n 5 > "$work/shown" 2> "$work/watch-said" &
  watcher=$!
  wait_for "allocated since" "$work/shown" 1
}

end_watch ()
{
  kill -INT $watcher
  wait $watcher
}

totals () # trace, keys: these of its totals
{
  "$trace" patterns "$1" -o "$work/patterns.json"
  shift
  for key
  do
    json "$work/patterns.json" "totals.$key"
  done | tr '\n' ' '
}

# --- a watch, and what was there before ---
start
equal "asleep: says nothing" "$(cat "$work/said")" ""
equal "asleep: only its user may see the file" \
  "$(stat -c %a "$work"/spools/* "$work"/spools/*/asleep.* | tr '\n' ' ')" \
  "700 600 "
tell "grow 7"
watch "$work/t"
tell "grow 1000"
tell "old 200"
"$trace" watch "$pid" -o "$work/second" 2> "$work/err"
equal "one watcher at a time" \
  "$? $(grep -c 'is watching it already' "$work/err")" "124 1"
end_watch
equal "watch: status" $? 0
equal "watch: what was allocated then, and nothing else" \
  "$(totals "$work/t" calls end_bytes peak frees)" "1000 100000 100000 0 "
equal "watch: frees of blocks from before" \
  "$(totals "$work/t" unknown_frees lost_frees dropped_full)" "200 0 0 "
equal "watch: the trace is whole" "$(json "$work/patterns.json" totals.cut)" \
  false
expect_found "watch: the place in the picture" \
  '100 kB .*grown_make < main' "$(cat "$work/shown")"
expect_found "watch: that blocks from before were freed" \
  '200 blocks from before were freed' "$(cat "$work/shown")"
"$trace" report "$work/patterns.json" -o "$work/page.html"
page=$(cat "$work/page.html")
expect_found "page: of which process, and since when" \
  "A watch of process $pid, from $(date -u +%Y)-[0-9-]* [0-9:]* UTC, for " \
  "$page"
expect_found "page: what was not seen" \
  "had allocated before are not seen: .* 200 of them were freed" "$page"
"$trace" report --text "$work/patterns.json" > "$work/out"
expect_found "text: of which process" "^A watch of process $pid, from" \
  "$(cat "$work/out")"
equal "watch: no spool is left" \
  "$(ls "$work/spools" | grep -vc slice-asleep)" 0

# --- asleep again: nothing comes to a trace; another watch is another trace ---
tell "shrink"
tell "grow 5"
watch "$work/t2"
tell "shrink"
tell "grow 3"
end_watch
equal "again: of this watch only" \
  "$(totals "$work/t2" calls unknown_frees lost_frees)" "3 5 0 "
watch "$work/t3"
end_watch
equal "again: nothing was recorded" "$? $([ -e "$work/t3" ] || echo none)" \
  "3 none"

# --- threads, which free each other's blocks ---
tell "churn"
watch "$work/t4"
end_watch
tell "calm"
equal "threads: no free is missing" "$(totals "$work/t4" lost_frees)" "0 "
equal "threads: what lives is what they pass on" "$(totals "$work/t4" \
  end_blocks | awk '{ print ($1 <= 80) }')" 1

# --- a child sleeps, and is watched by itself ---
watch "$work/t5"
echo fork >&5
wait_for child "$work/answers" 1
child=$(sed -n 's/^child //p' "$work/answers")
"$trace" watch "$child" --for 0.1 -o "$work/child" 2> "$work/err" \
  > "$work/null"
equal "fork: the child can be watched" \
  "$(grep -c 'nothing was recorded' "$work/err")" 1
echo >&5
n_done=$((n_done + 1))
wait_for done "$work/answers" $n_done
tell "grow 2"
end_watch
equal "fork: the child's blocks are not its parent's" \
  "$("$trace" dump "$work/t5" | grep -c ' 777') $(totals "$work/t5" calls)" \
  "0 2 "

# --- it ends while it is watched ---
watch "$work/t6"
tell "grow 4"
echo end >&5
wait $watcher
equal "end: status, and said" "$? $(grep -c 'has ended' "$work/watch-said")" \
  "0 1"
wait $pid
equal "end: the program's own status" $? 0
equal "end: in the trace" "$(totals "$work/t6" calls cut)" "4 false "
equal "end: no file is left" "$(ls "$work/spools")" ""
exec 5>&-
start
watch "$work/t7"
tell "grow 4"
echo kill >&5
wait $watcher
wait $pid
equal "killed: its own status" $? 137
equal "killed: in the trace, which is cut" "$(totals "$work/t7" calls cut)" \
  "4 true "
exec 5>&-

# --- a watcher that is killed ---
start
watch "$work/t8"
tell "grow 4"
kill -KILL $watcher
wait $watcher 2> "$work/null"
tell "grow 50000"
watch "$work/t9"
tell "grow 6"
end_watch
equal "watcher killed: the program goes on, and the next watch is right" \
  "$(totals "$work/t9" calls lost_frees)" "6 0 "

# --- who may not ---
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups "$trace" \
  --version > "$work/null" 2>&1; then
  setpriv --reuid 65534 --clear-groups "$trace" watch "$pid" \
    -o /tmp/slice-none.$$ > "$work/err" 2>&1
  equal "another user may not" "$? $(grep -c 'denied' "$work/err")" "124 1"
else
  skip other-user "not root, no setpriv, or a place that is root's alone"
fi
echo end >&5
exec 5>&-
wait $pid
"$trace" watch $$ -o "$work/none" 2> "$work/err"
equal "a process that does not sleep" \
  "$? $(grep -c 'not started by slice-trace record --asleep' "$work/err")" \
  "4 1"
"$trace" watch 12x -o "$work/none" 2> "$work/err"
equal "no number" $? 2
"$trace" record --asleep --sample=1K true 2> "$work/err"
equal "asleep and sampled" $? 125
# Directories of processes that were killed go, once they are old and empty;
# that of a process that lives stays, and what has another name.
for name in slice-asleep-killed slice-asleep-living slice-asleep-another
do
  mkdir "$work/spools/$name"
done
touch "$work/spools/slice-asleep-killed/asleep.99999999" \
  "$work/spools/slice-asleep-living/asleep.$$"
"$trace" record --asleep true
touch -d '2 minutes ago' "$work"/spools/*
"$trace" record --asleep true
equal "killed: its directory is removed" "$(ls "$work/spools" | tr '\n' ' ')" \
  "slice-asleep-another slice-asleep-living "
rm -r "$work"/spools/*
before=$(ls "$work/spools")
"$trace" record --asleep "$work/absent" 2> "$work/err"
equal "asleep: no program" "$? $(ls "$work/spools")" "127 $before"

finish
