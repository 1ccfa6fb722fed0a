#!/bin/sh
# test-bench.sh - the benchmark checks itself, in short runs
#
# Every workload in checked mode on every build of the program; a faulty
# allocator must be caught; traces that can't be are refused; a small
# comparison goes through to its tables.  Nothing here depends on how fast
# anything is.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

bench=$top_builddir/tests/bench
source=$top_srcdir/tests/bench/comparison
said=$temporary/said

# expect CODE NAME COMMAND...: what it says is left in $said
expect ()
{
  expect_code=$1
  expect_name=$2
  shift 2
  code=0
  "$@" >"$said" 2>&1 || code=$?
  if test $code = "$expect_code"; then
    pass "$expect_name"
  elif test $code = 77; then
    skip "$expect_name" "$(tail -n 1 "$said")"
  else
    fail "$expect_name" "$*
ended with $code instead of $expect_code:
$(tail -n 20 "$said")"
  fi
}

cat > "$temporary/small.trace" <<'END'
# two threads; thread 1 frees what thread 0 allocated
a 0 0 24
a 0 1 100
a 1 2 3000
f 1 0
a 0 0 8
f 0 1
END

workloads=$("$bench/slice-bench" --list | sed 's/ .*//')
expect_found "workloads can be listed" '^slice-test$' "$workloads"
for program in slice-bench slice-bench-functions slice-bench-malloc \
    slice-bench-limit slice-bench-gslice slice-bench-tlsf slice-bench-pool; do
  if test ! -x "$bench/$program"; then
    skip "$program" "not built"
    continue
  fi
  for workload in $workloads; do
    expect 0 "$program $workload, checked" "$bench/$program" --tiny \
      --histogram --file="$temporary/small.trace" "$workload"
  done
done
for arguments in --help --list "--tiny working-set" \
    "--tiny --json working-set"; do
  code=0
  "$bench/slice-bench" $arguments > /dev/full 2> "$said" || code=$?
  expect_none "$arguments: output that can't be written is noticed" \
    "$(test $code = 1 && grep -q 'could not be written' "$said" \
       || { echo "ended with $code"; cat "$said"; })"
done
expect 0 "four threads, checked" \
  "$bench/slice-bench" --checked --tiny --threads=4 working-set
# More threads than there are processors wait for each other's turns.
expect 0 "turns of four threads" \
  "$bench/slice-bench" --tiny --threads=4 sharing-passive
for workload in scratch thrash; do
  expect 0 "four threads, $workload" \
    "$bench/slice-bench" --checked --tiny --threads=4 $workload
done

# Latencies of any workload: as many calls as it makes, and percentiles that
# rise.
for workload in fifo tree churn producer; do
  expect 0 "latencies of $workload" "$bench/slice-bench" --tiny --latency \
    $workload
  expect_none "percentiles of $workload rise" "$(awk '
    /_latency: percent/ {
      if ($3 == last && $NF < value) print "at " $0
      last = $3; value = $NF; n++
    }
    END { if (n != 28) print n " points" }' "$said")"
done
expect 2 "which are not checked as well" \
  "$bench/slice-bench" --latency --checked pair
expect 0 "threads bound to processors" \
  "$bench/slice-bench" --tiny --threads=3 --bind=1 fifo

# Can it fail?
for fault in twice overlap misaligned null scribble; do
  expect 1 "a malloc with the fault '$fault' is caught" \
    env BENCH_FAULT=$fault "$bench/slice-bench-faulty" --tiny --checked \
    lifo --size-min=48 --batch=100
done
expect 0 "without a fault it is not" \
  "$bench/slice-bench-faulty" --tiny --checked lifo --size-min=48 --batch=100
expect 77 "an allocator that can't be used is said to be" \
  env BENCH_FAULT=absent "$bench/slice-bench-faulty" pair

expect 2 "no workload" "$bench/slice-bench"
expect 2 "an unknown workload" "$bench/slice-bench" no-such-load
expect 2 "an unknown option" "$bench/slice-bench" --no-such-option pair
expect 2 "a number with words" "$bench/slice-bench" --laps=five pair
expect 1 "too many threads" "$bench/slice-bench" --threads=1000 pair

# refused NAME LINE: a trace of that line is refused
refused ()
{
  printf '%b' "$2" > "$temporary/bad.trace"
  expect 1 "a trace with $1 is refused" \
    "$bench/slice-bench-malloc" replay --file="$temporary/bad.trace"
}
refused "a free before its allocation" 'f 0 0\n'
refused "an id in use" 'a 0 0 8\na 0 0 8\n'
refused "a size of 0" 'a 0 0 0\n'
refused "an unknown operation" 'x 0 0\n'
refused "a missing size" 'a 0 0\n'
refused "nothing in it" '# empty\n'
expect 1 "a missing trace is refused" \
  "$bench/slice-bench-malloc" replay --file="$temporary/none.trace"

# same NAME TRACE: slice-bench replays what slice-trace says is in a trace
same ()
{
  "$SLICE_TRACE" info "$2" > "$temporary/info"
  "$bench/slice-bench-malloc" --json --laps=1 replay "$2" \
    > "$temporary/json"
  for pair in allocs=trace_allocs frees=trace_frees \
    peak-live-bytes=trace_peak_bytes requested-bytes=trace_requested_bytes; do
    expect_found "$1: ${pair%=*}" \
      "\"${pair#*=}\": {\"n\": 1, \"median\": $(sed -n "s/^${pair%=*} //p" \
        "$temporary/info")[^0-9]" "$(tr -d '\n' < "$temporary/json")"
  done
}

: "${SLICE_TRACE:=$top_builddir/slice/tools/slice-trace}"
if test -x "$SLICE_TRACE"; then
  export SLICE_TRACE
  traces=$top_srcdir/tests/data/traces
  for name in compiler interpreter git; do
    same "$name" "$traces/$name.trace"
    expect 0 "replay-$name is a workload, and checked" \
      "$bench/slice-bench" --tiny --checked "replay-$name"
  done
  # What was recorded just now; `sort' may have threads, or none.
  "$SLICE_TRACE" record -q -o "$temporary/recorded" -- \
    sort --parallel=2 -o "$temporary/sorted" "$traces/words.py" \
    > "$said" 2>&1
  same "a fresh trace" "$temporary/recorded"
  expect 0 "as text it is the same" \
    "$SLICE_TRACE" export --format=operations -o "$temporary/text.trace" \
    "$temporary/recorded"
  expect 0 "which can be replayed, too" \
    "$bench/slice-bench" replay --checked "$temporary/text.trace"
  head -c 3000 "$traces/git.trace" > "$temporary/cut.trace"
  expect 1 "a damaged trace is refused" \
    "$bench/slice-bench-malloc" replay "$temporary/cut.trace"
  expect 1 "a trace without its reader is refused" \
    env SLICE_TRACE="$temporary/none" "$bench/slice-bench-malloc" \
    replay "$traces/git.trace"
else
  skip "recorded traces" "slice-trace was not built"
fi

: "${PYTHON:=python3}"
if ! command -v "$PYTHON" > /dev/null; then
  skip "a comparison" "no python3"
  finish
fi
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

cat > "$temporary/recording" <<'END'
# start
a 1 0 40
z 2 1 8
p 3 1 0
l 3 100
l 3 4000
r 2 500
a 4 2 16
G 5 0
g 6 5 64 8
g 7 5 64 8
S 5
m 7
E 5
s 4 0
f 1
END
"$bench/trace-convert" --header=32 "$temporary/recording" \
  "$temporary/converted" 2> "$said"
expect_found "a recording is converted" '10 allocations, 7 frees' \
  "$(cat "$said")"
expect 1 "a recording that frees what never was is refused" \
  "$bench/trace-convert" "$temporary/small.trace" "$temporary/refused"
cp "$temporary/recording" "$temporary/kept"
ln "$temporary/recording" "$temporary/recording-too"
expect 2 "an output that is the recording is refused" \
  "$bench/trace-convert" "$temporary/recording" "$temporary/recording-too"
expect 0 "and the recording stays" cmp "$temporary/recording" \
  "$temporary/kept"
expect 0 "and can be replayed" "$bench/slice-bench" replay --checked \
  --laps=1 --file="$temporary/converted"

expect 0 "a comparison" "$PYTHON" "$source/compare" --tiny --rounds=2 \
  --programs="$bench" --set=pair,slice-test-1024-t2,replay,replay-git,sizes \
  --contestants=slice,glibc,limit --trace="$temporary/small.trace" \
  --output="$temporary/results" --no-plots
expect_found "has its table" 'slice-test-1024-t2: ns' \
  "$(cat "$temporary/results/results.txt")"
expect_found "has the quartiles of each case as JSON" \
  '"name":"pair",.*"ns":{"slice":\[' \
  "$(cat "$temporary/results/summary.json")"
expect_none "and not the single runs" \
  "$(grep '"round":' "$temporary/results/summary.json")"
expect 0 "an absent peer is named and left out" "$PYTHON" \
  "$source/compare" --tiny --rounds=1 --programs="$bench" --set=pair \
  --contestants=slice,nobody --add=nobody=libno-such-malloc.so.1 \
  --output="$temporary/results" --no-plots
expect_found "by its name" 'nobody .*MISSING: no libno-such-malloc' \
  "$(cat "$temporary/results/results.txt")"

# Today's peers, from a cargo that only pretends: one crate that builds, one
# that lacks its sources; others it does not know.
cat > "$temporary/cargo" <<'END'
#!/bin/sh
echo "$*" >> "$CARGO_CALLS"
crate=$(sed -n 's/ = { version.*//p' Cargo.toml)
case $crate in
rpmalloc-sys | snmalloc-sys) ;;
*) echo "no matching package" >&2; exit 101 ;;
esac
mkdir -p vendor/$crate/rpmalloc/rpmalloc
printf '[package]\nversion = "9.8.7"\n[dependencies]\nversion = "1"\n' \
  > vendor/$crate/Cargo.toml
cat > vendor/$crate/rpmalloc/rpmalloc/rpmalloc.c <<'EOF'
extern void *__libc_malloc (unsigned long);
void *malloc (unsigned long n) { return __libc_malloc (n); }
EOF
END
chmod +x "$temporary/cargo"
CARGO_CALLS=$temporary/cargo-calls
export CARGO_CALLS
: > "$CARGO_CALLS"
peers ()
{
  "$PYTHON" "$source/peers" "$@" "$temporary/peers"
}
expect 0 "without cargo there are no new peers" \
  peers --cargo="$temporary/no-such-cargo"
expect_found "which is said in one line" '^1 peers: no .*no-such-cargo' \
  "$(wc -l < "$said" | tr -d ' ') $(cat "$said")"
expect 0 "a comparison without them" "$PYTHON" "$source/compare" --tiny \
  --rounds=1 --programs="$bench" --set=pair --contestants=slice \
  --peers="$temporary/peers" --output="$temporary/results" --no-plots
expect 0 "peers are fetched and built" peers --cargo="$temporary/cargo"
expect_found "what cannot be fetched is named" \
  'mimalloc-3 is left out: .*/cargo ended with 101' "$(cat "$said")"
expect_found "what lacks its sources, too" \
  'snmalloc is left out: the crate has no malloc.cc' "$(cat "$said")"
expect_none "and what was built is not" "$(grep rpmalloc "$said")"
expect 0 "a comparison with what was built" "$PYTHON" "$source/compare" \
  --tiny --rounds=1 --programs="$bench" --set=pair \
  --contestants=slice,rpmalloc --peers="$temporary/peers" \
  --output="$temporary/results" --no-plots
expect_found "names its version" '^  rpmalloc  *rpmalloc-sys 9\.8\.7$' \
  "$(cat "$temporary/results/results.txt")"
: > "$CARGO_CALLS"
expect 0 "what is there is not fetched again" \
  peers --cargo="$temporary/cargo" --only=rpmalloc
expect_none "by any call" "$(cat "$CARGO_CALLS")"
expect_found "and the list keeps it" '"name": "rpmalloc"' \
  "$(cat "$temporary/peers/peers.json")"
expect 0 "unless all is to be repeated" \
  peers --cargo="$temporary/cargo" --only=rpmalloc --refresh
expect_found "which calls once" '^vendor' "$(cat "$CARGO_CALLS")"
expect 1 "an unknown peer is refused" peers --only=no-such-peer

expect 0 "tables are made again from results" "$PYTHON" "$source/compare" \
  --from="$temporary/results/results.json" --reference=slice \
  --output="$temporary/again" --no-plots
expect 0 "time runs out after a round" "$PYTHON" "$source/compare" --tiny \
  --rounds=3 --minutes=0.00001 --programs="$bench" --set=pair,churn \
  --contestants=slice,tlsf --output="$temporary/results" --no-plots
expect_found "with what was measured" 'pair: ns .*1 rounds' \
  "$(cat "$temporary/results/results.txt")"
expect 1 "an unknown case is refused" "$PYTHON" "$source/compare" \
  --programs="$bench" --set=no-such-case --output="$temporary/results"
expect 0 "the depot's simulation agrees with theory" "$PYTHON" \
  "$source/depot-simulation" --self-test

finish
