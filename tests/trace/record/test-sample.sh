#!/bin/sh
# test-sample.sh - a sampled recording: what it takes, and what reads it
#
# The seeds are fixed, and a client's blocks are the same in each run, so the
# samples are, too.  Speaks TAP.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

LC_ALL=C
export LC_ALL
t=$work/t
compile sampled sampled.c -lpthread
info () # trace, key
{
  "$trace" info "$1" | sed -n "s/^$2 //p"
}

sample () # mean gap, seed, program...: recorded to $t
{
  gap=$1
  seed=$2
  shift 2
  rm -f "$t" "$t".*
  "$trace" record --sample "$gap" --seed "$seed" -o "$t" -- "$@" \
    > "$work/out" 2> "$work/err"
}

# Addresses that are alive twice, and frees of unknown blocks.
order_of () # trace
{
  "$trace" dump "$1" | awk '
    $3 ~ /free|delete/ {
      if (!($4 in alive)) { unknown++ } else delete alive[$4]; next }
    { if ($4 in alive) twice++; alive[$4] = 1 }
    END { print twice + 0, unknown + 0 }'
}

# Operations and sizes, without times and places.
shape_of () # trace
{
  "$trace" dump "$1" | awk '{ print $2, $3, $3 ~ /free/ ? "" : $5 }'
}

# --- the options ---
for size in 0 x "" -1 1.5K 1Q 1025M 2G 99999999999999999999
do
  rm -f "$t"
  "$trace" record --sample="$size" -o "$t" sh -c ": > $work/ran" \
    > "$work/out" 2> "$work/err"
  equal "refused-size-$size" "$? $(sed 1q "$work/err")$(ls "$work/ran" "$t" \
    2> "$work/err2")" "125 slice-trace record: --sample: '$size' is not a size \
in bytes from 1 to 1024M, such as 512K"
done
for words in "--sample 1K --timed" "--sample 1K --plain" "--seed 1" \
  "--sample 1K --seed 0" "--plain"
do
  "$trace" record $words -o "$t" sh -c ": > $work/ran" > "$work/out" \
    2> "$work/err"
  equal "refused-$words" "$? $(ls "$work/ran" "$t" 2> "$work/err2")" "125 "
done
for size in 1 7 4K 4k 4KiB 1M 1024M 1G 4096B
do
  sample $size 1 "$work/sampled" empty
  case $size in
    *K | *k | *KiB) wanted=4096;;
    4096B) wanted=4096;;
    1M) wanted=1048576;;
    1024M | 1G) wanted=1073741824;;
    *) wanted=$size;;
  esac
  if [ -e "$t" ]; then
    equal "size-$size" "$(info "$t" sample-bytes)" $wanted
  else
    equal "size-$size" "$(grep -c 'no block was sampled' "$work/err")" 1
  fi
done

# --- what is taken ---
"$trace" record -q -o "$work/exact" "$work/sampled" || exit 1
n=$(info "$work/exact" allocs)
sample 1 1 "$work/sampled"
equal all-status $? 0
# a block of 24 bytes is left out once in 10^10
equal all-allocs "$(info "$t" allocs) $(info "$t" frees)" \
  "$n $(info "$work/exact" frees)"
equal all-version "$(info "$t" version) $(info "$t" flags)" "3 12"
equal exact-version "$(info "$work/exact" version) $(info "$work/exact" \
  sample-bytes)" "2 "
shape_of "$work/exact" > "$work/a"
shape_of "$t" > "$work/b"
equal all-same "$(cmp "$work/a" "$work/b" 2>&1)" ""

sample 8K 5 "$work/sampled"
shape_of "$t" > "$work/a"
equal some-order "$(order_of "$t")" "0 0"
some=$(info "$t" allocs)
if [ "$some" -gt 1000 ] && [ "$some" -lt $((n / 10)) ]; then pass some-allocs
else fail some-allocs "$some of $n"; fi
equal some-large "$("$trace" dump "$t" | grep -c ' calloc .* 300000 ')" 100
sample 8K 5 "$work/sampled"
shape_of "$t" > "$work/b"
equal seed-same "$(cmp "$work/a" "$work/b" 2>&1)" ""
sample 8K 6 "$work/sampled"
shape_of "$t" > "$work/b"
equal seed-other "$(cmp -s "$work/a" "$work/b"; echo $?)" 1
# without a seed, no two runs are the same
for file in "$work/a" "$work/b"
do
  "$trace" record -q --sample 8K -o "$t" "$work/sampled"
  shape_of "$t" > "$file"
done
equal seed-none "$(cmp -s "$work/a" "$work/b"; echo $?)" 1

# a realloc that fails leaves its block alive, and in the set
sample 4K 1 "$work/sampled" failed
equal failed-order "$(order_of "$t")" "0 0"
equal failed-frees "$(info "$t" allocs)" "$(info "$t" frees)"
equal failed-counted "$(info "$t" failed)" 1000

# blocks of 0 bytes have their share, as if of 1 byte
sample 100 1 "$work/sampled" empty
some=$("$trace" dump "$t" | awk '$3 == "malloc" && $5 == 0 { n++ }
  END { print n + 0 }')
if [ "$some" -ge 150 ] && [ "$some" -le 250 ]; then pass empty
else fail empty "$some of 20000, 199 wanted"; fi

# more sampled blocks than the first table of the set has room for
sample 64 1 "$work/sampled"
equal many-order "$(order_of "$t")" "0 0"
equal many-dropped "$(info "$t" dropped-full)" 0
sample 64 1 "$work/sampled" freed
equal many-freed "$(order_of "$t") $(($(info "$t" allocs) - $(info "$t" \
  frees)))" "0 0 0"
some=$(info "$t" allocs)
if [ "$some" -gt 18000 ]; then pass many; else fail many "$some"; fi

# --- threads, forks, other allocators, pauses ---
for seed in 1 2 3
do
  sample 8K $seed "$work/sampled" threads
  equal "threads-$seed" "$? $(order_of "$t")" "0 0 0"
  # each thread has many samples, of its own
  equal "threads-differ-$seed" "$("$trace" dump "$t" \
    | awk '$3 == "malloc" { n[$2]++; s[$2] = s[$2] " " $5 }
           END { for (i in s) if (n[i] > 1000) print s[i] }' | sort -u \
    | wc -l)" 8
done
compile threads threads.c -lpthread
sample 2K 1 "$work/threads" 4 50000
equal threads-hand-over "$? $(order_of "$t")" "0 0 0"
sample 8K 1 "$work/sampled" fork
child=$(ls "$t".*)
equal fork "$(info "$child" version) $(info "$child" flags) $(info "$child" \
  sample-bytes) $(order_of "$t")" "3 14 8192 0 0"
# what the parent has allocated, and the child frees: a share of 30000 blocks
unknown=$(order_of "$child")
if [ ${unknown#* } -gt 150 ] && [ ${unknown#* } -lt 320 ]; then
  pass fork-inherited
else fail fork-inherited "$unknown of 234"; fi
"$trace" dump "$child" | awk '$3 == "malloc" { print $5 }' > "$work/a"
"$trace" dump "$t" | awk '$3 == "malloc" { print $5 }' > "$work/b"
equal fork-differs "$(cmp -s "$work/a" "$work/b"; echo $?)" 1
# two children of the same moment have other samples
rm -f "$t"*
"$trace" record -q --sample 8K -o "$t" "$work/sampled" twins
equal twins "$? $(for file in "$t".*; do shape_of "$file" | grep malloc \
  | cksum; done | sort -u | wc -l)" "0 2"
# a process without a sample has no trace, and the end says so
rm -f "$t"*
"$trace" record --follow --sample 1M --seed 1 -o "$t" "$work/sampled" becomes \
  > "$work/out" 2> "$work/err"
equal unsampled-first "$? $(ls "$t"* | sed "s|$t.[0-9]*||" | tr '\n' ' ')$(\
  grep -c '1 process was not recorded: no block of it was sampled' \
  "$work/err")" "0 .1 1"
"$trace" hot --from 1000 "$t".* > "$work/out" 2> "$work/err"
equal unsampled-time "$? $(grep -c 'no sampled allocations in that time' \
  "$work/err")" "3 1"
rm -f "$t"*
echo old > "$t"
"$trace" record --follow --sample 1G --seed 1 -o "$t" "$work/sampled" becomes \
  > "$work/out" 2> "$work/err"
equal unsampled-all "$? $(ls "$t"* 2> "$work/err2") $(wc -l < "$work/err") \
$(grep -c 'nothing was recorded: no block was sampled' "$work/err")" "3  1 1"
malloc=$build/slice/dropin/.libs/libslice-malloc.so
if [ -e "$malloc" ]; then
  rm -f "$t"
  LD_PRELOAD=$malloc "$trace" record -q --sample 8K --seed 1 -o "$t" \
    "$work/sampled" > "$work/out" 2> "$work/err"
  equal preloaded "$? $(order_of "$t")" "0 0 0"
else
  skip preloaded "no drop-in was built"
fi
# 3 seconds are more than 2^32 ticks of most clocks
sample 1K 1 "$work/sampled" pauses
equal pauses "$? $(order_of "$t") $(info "$t" damaged)" "0 0 0 0"
equal pauses-seconds "$("$trace" dump "$t" | awk '
  $5 == 1048576 { born = $1; at = $4 }
  $3 == "free" && $4 == at { died = $1; at = "" }
  $5 == 2097152 { next_born = $1 }
  END { r = (died - born) / (next_born - born)
        print (r > 0.99), (r <= 1) }')" \
  "1 1"
if $CXX -g -O1 -std=c++17 -w "$source/tests/trace/clients/entries.cc" \
  -o "$work/entries" 2> "$work/err2"; then
  sample 1 1 "$work/entries"
  "$trace" dump "$t" | awk '$3 !~ /free|delete/ && $5 >= 64 { n[$3 " " $5]++ }
    END { for (k in n) if (n[k] >= 100) print n[k], k }' | sort > "$work/a"
  "$trace" record -q -o "$work/e" "$work/entries"
  "$trace" dump "$work/e" | awk '$3 !~ /free|delete/ && $5 >= 64 {
    n[$3 " " $5]++ } END { for (k in n) if (n[k] >= 100) print n[k], k }' \
    | sort > "$work/b"
  equal entries "$(grep -c . "$work/a") $(cmp "$work/a" "$work/b" 2>&1)" \
    "$(grep -c . "$work/b") "
else
  skip entries "no C++ compiler"
fi

# --- estimates, against the exact numbers and the errors that theory has ---
sites () # JSON, key...: a line a site, its name first
{
  json "$1" 'sites.*.name' > "$work/column"
  columns=$work/column
  file=$1
  shift
  for key in "$@"
  do
    json "$file" "sites.*.$key" > "$work/column-$key"
    columns="$columns $work/column-$key"
  done
  paste -d ' ' $columns | sort
}
"$trace" hot -o "$work/exact.json" "$work/exact"
equal exact-format "$(json "$work/exact.json" format)" "slice-trace patterns 1"
sites "$work/exact.json" calls bytes frees > "$work/true"

# The standard errors of the calls and bytes of each site with gaps of 8 KiB:
# the roots of the sums of (1 - p) / p y^2 over all its blocks.
awk 'function add(site, size,  p) {
       p = 1 - exp(-size / 8192)
       calls[site] += (1 - p) / p; bytes[site] += (1 - p) / p * size * size }
     BEGIN {
       for (i = 0; i < 200000; i++) add("site_small", 24)
       for (i = 0; i < 20000; i++) add("site_ring", 100 + i * 7 % 1000)
       for (i = 0; i < 100; i++) add("site_large", 300000)
       for (i = 1; i <= 5000; i++) add("site_grown", i * 10)
       for (i = 0; i < 30000; i++) add("site_kept", 64)
       for (site in calls) print site, sqrt(calls[site]), sqrt(bytes[site]) }' \
  | sort > "$work/errors"
seeds="1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"
: > "$work/estimates"
for seed in $seeds
do
  sample 8K $seed "$work/sampled"
  "$trace" hot -o "$work/s.json" "$t" || fail "hot-$seed" "$?"
  sites "$work/s.json" calls bytes frees calls_sd bytes_sd >> "$work/estimates"
done
# the distance from the truth in standard errors; then how many are beyond 4,
# the mean of their squares, which is 1, and the means of all seeds
sort "$work/estimates" | join "$work/true" - | join - "$work/errors" | awk '
  function note(name, estimate, true_, error) {
    if (error < 1) { exact += estimate == true_; n_exact++; return }
    z = (estimate - true_) / error
    n++; square += z * z; far += z > 4 || z < -4
    sum[name] += z; count[name]++ }
  { note($1 " calls", $5, $2, $10); note($1 " bytes", $6, $3, $11)
    if ($1 == "site_kept") kept += $7 != 0
    else if ($7 != $5) freed++
    # that of the calls of site_grown depends on a few blocks below 100 bytes
    for (i = $1 == "site_grown" ? 9 : 8; i <= 9; i++)
      if ($(i + 2) > 1 && ($i < 0.8 * $(i + 2) || $i > 1.2 * $(i + 2))) sd++ }
  END { for (name in sum) { m = sum[name] / sqrt(count[name])
          if (m > 3.5 || m < -3.5) biased = biased " " name }
        print n, n_exact, far + 0, square / n, exact, biased
        print kept + 0, freed + 0, sd + 0 > "'"$work/others"'" }' > "$work/z"
read -r n n_exact far square exact biased < "$work/z"
equal estimates "$n $n_exact" "128 32"
equal estimates-beyond-4 "$far" 0
equal estimates-large-are-exact "$exact" 32
equal estimates-unbiased "$biased" ""
if awk "BEGIN { exit !($square > 0.6 && $square < 1.5) }"; then
  pass estimates-variance
else fail estimates-variance "$square, not about 1"; fi
# frees of all but the blocks that live; errors as the theory has them
equal estimates-frees "$(cat "$work/others")" "0 0 0"
equal estimates-keys "$(json "$work/s.json" 'sites.*.key' | sort)" \
  "$(json "$work/exact.json" 'sites.*.key' | sort)"

near () # name, estimate, the truth, standard error
{
  if awk "BEGIN { d = $2 - $3; exit !(d <= 4 * $4 && d >= -4 * $4) }"; then
    pass "$1"
  else fail "$1" "$2, not $3 +- 4 times $4"; fi
}
# live bytes at the end and at the peak: the blocks of site_kept()
near live-end "$(json "$work/s.json" totals.end_bytes)" 1920000 \
  "$(awk '$1 == "site_kept" { print $3 }' "$work/errors")"
near live-peak "$(json "$work/s.json" totals.peak)" 1920000 \
  "$(awk '$1 == "site_kept" { print $3 }' "$work/errors")"
ring_error=$(awk '$1 == "site_ring" { print sqrt(8) * $3 }' "$work/errors")
for seed in 1 2 3 4
do
  sample 8K $seed "$work/sampled" threads
  "$trace" hot -o "$work/threads.json" "$t"
  near "threads-bytes-$seed" "$(sites "$work/threads.json" bytes \
    | sed -n 's/^site_ring //p')" 95920000 "$ring_error"
done
sample 8K 2 "$work/sampled" fork
"$trace" hot -o "$work/child.json" "$t".*
near fork-bytes "$(sites "$work/child.json" bytes | sed -n \
  's/^site_ring //p')" 11990000 "$ring_error"
sample 1K 1 "$work/sampled" pauses
"$trace" hot -o "$work/pauses.json" "$t"
near lives "$(json "$work/pauses.json" totals.life_usec_mean)" 1500000 30000
# gaps of 1 byte: all is there, and nothing is uncertain
sample 1 1 "$work/sampled"
"$trace" hot -o "$work/all.json" "$t"
equal all-exact "$(sites "$work/all.json" calls bytes frees)" \
  "$(cat "$work/true")"
equal all-totals "$(json "$work/all.json" totals.peak)" \
  "$(json "$work/exact.json" totals.peak)"

# --- blocks that libslice takes from malloc: each uses up its bytes once ---
# The mean of all seeds, in standard errors of that mean; the blocks of main()
# are not compared.
biased_of () # the true numbers, estimates of $n_seeds runs
{
  awk -v n_seeds=$n_seeds 'function add(site, size, n,  p) {
      p = 1 - exp(-size / 8192); error[site] += n * (1 - p) / p }
    BEGIN {
      add("site_slice", 64, 20000); add("site_large", 5000, 2000)
      add("site_zeroed", 6000, 2000); add("site_aligned", 512, 5000)
      add("site_context", 8000, 2000); add("site_malloc", 200, 5000)
      for (i = 1; i <= 2000; i++) add("site_resized", 5000 + i * 10, 1) }
    FNR == NR { calls[$1] = $2; next }
    { sum[$1] += $2 }
    END {
      for (site in error) {
        z = (sum[site] / n_seeds - calls[site]) / sqrt(error[site] / n_seeds)
        if (calls[site] < 2000 || z > 4 || z < -4)
          print site, calls[site] + 0, sum[site] / n_seeds, z } }' "$1" "$2"
}
library=$(cd "$build/slice" && pwd)/.libs
if [ -f "$library/libslice.so" ]; then
  compile backing backing.c -L"$library" -lslice -Wl,-rpath,"$library"
  n_seeds=8
  for options in magazines always-malloc
  do
    SLICE_OPTIONS=$options
    [ $options = magazines ] && SLICE_OPTIONS=
    export SLICE_OPTIONS
    rm -f "$t"
    "$trace" record -q -o "$t" "$work/backing"
    "$trace" hot -o "$work/backing.json" "$t"
    sites "$work/backing.json" calls > "$work/true"
    : > "$work/estimates"
    for seed in 1 2 3 4 5 6 7 8
    do
      sample 8K $seed "$work/backing"
      "$trace" hot -o "$work/s.json" "$t"
      sites "$work/s.json" calls >> "$work/estimates"
    done
    unset SLICE_OPTIONS
    equal "backing-$options" "$(biased_of "$work/true" "$work/estimates")" ""
    equal "backing-$options-order" "$(order_of "$t")" "0 0"
  done
else
  skip backing "no shared library was built"
fi

# --- what is said of a sample ---
sample 8K 1 "$work/sampled"
"$trace" hot -o "$work/s.json" "$t"
samples=$(json "$work/s.json" totals.samples)
equal samples "$samples" "$(info "$t" allocs)"
"$build/tests/trace/check-schema" "$source/docs/slice-trace.schema.json" \
  "$work/s.json" "$work/exact.json" > "$work/said"
equal schema "$?$(head -n 1 "$work/said")" 0
# one size: its calls are those of the site
equal sizes "$(sites "$work/s.json" calls 'sizes.0.1' | awk \
  '$1 ~ /small|kept|large/ { n += $2 == $3 } END { print n }')" 3
said="estimated from $samples samples, one in 8192 bytes"
for command in hot callers "report --text" report "report --text $work/s.json" \
  "report $work/s.json"
do
  case $command in *json) words=$command;; *) words="$command $t";; esac
  "$trace" $words > "$work/out" 2> "$work/err"
  equal "says-$(basename "$command")" "$? $(tr '\n' ' ' < "$work/out" \
    | sed 's/<[^>]*>//g; s/one in 8192 allocated/one in 8192/' \
    | grep -ci "$said") $(cat "$work/err")" "0 1 "
  # no class, and nothing that needs the order of frees
  equal "no-class-$(basename "$command")" "$(grep -c \
    -e 'scratch\|immortal\|general' -e 'nearest miss' "$work/out")" 0
done
"$trace" hot "$t" > "$work/out"
equal hot-lines "$(sed 1,2d "$work/out" | awk 'length($0) > 100 { long++ }
  { print $8 } END { print long + 0 }' | sort | tr '\n' ' ')" \
  "0 site_grown site_kept site_large site_ring site_small "
"$trace" export --format folded "$t" > "$work/out"
near folded "$(awk '{ n += $NF } END { printf "%d", n }' "$work/out")" \
  "$(json "$work/s.json" totals.bytes)" 2
"$trace" export --format folded --count "$t" > "$work/out"
near folded-count "$(awk '{ n += $NF } END { printf "%d", n }' "$work/out")" \
  "$(json "$work/s.json" totals.calls)" 2
"$trace" export --format massif "$t" > "$work/out"
equal massif-peak "$(sed -n 's/^mem_heap_B=//p' "$work/out" | sort -n \
  | tail -n 1)" "$(json "$work/s.json" totals.peak)"
"$trace" export --format pprof -o "$work/pprof" "$t"
equal pprof "$? $([ -s "$work/pprof" ]; echo $?)" "0 0"
for option in times replay advice
do
  "$trace" report "$t" --$option "$work/exact.json" > "$work/out" 2> "$work/err"
  status=$?
  if [ $status = 2 ] || [ $status = 4 ]; then pass "report-$option"
  else fail "report-$option" "status $status"; fi
done
for command in "advise" "diff $work/exact.json" "report $work/exact --times"
do
  "$trace" $command "$work/s.json" > "$work/out" 2> "$work/err"
  equal "refuses-json-${command%% *}" "$? $(grep -c \
    's.json: of a sampled trace (record --sample)' "$work/err")" "4 1"
done
# a damaged trace: what is whole is estimated
bytes=$(wc -c < "$t")
head -c $((bytes - 100)) "$t" > "$work/bad"
"$trace" hot "$work/bad" > "$work/out" 2> "$work/err"
equal damaged-hot "$? $(grep -c damaged "$work/err")" "4 1"
equal damaged-hot-numbers "$("$trace" hot "$t" | cmp - "$work/out" 2>&1)" ""

# --- what needs every event refuses, with one line ---
for command in patterns pins replay advise apply "predict --as pool" \
  "diff $work/exact" "compare --replay -n 2" "export --format dhat" \
  "export --format operations"
do
  words=$t
  case $command in predict*) words="$t $work/sampled";; esac
  "$trace" $command $words > "$work/out" 2> "$work/err"
  equal "refuses-$command" "$? $(wc -l < "$work/err") $(grep -c \
    "$t: sampled (record --sample): this needs a trace with every event" \
    "$work/err") $(grep -vc ' ratio ' "$work/out")" "4 1 1 0"
done

# --- what a pair that is not sampled costs ---
# Under valgrind the recorder would restart the program, to be the first object;
# an object whose name is that of a sanitizer's prevents that.
if command -v valgrind > "$work/null" && [ "$(uname -m)" = x86_64 ]; then
  compile pairs applied.c -O2 -lpthread -ldl
  echo 'int unused;' > "$work/empty.c"
  $CC -shared -fPIC "$work/empty.c" -o "$work/empty-san.so"
  pairs () # preload, how many: instructions
  {
    rm -rf "$work/spool"
    mkdir "$work/spool"
    LD_PRELOAD=$1 SLICE_TRACE_SPOOL=$work/spool \
      SLICE_TRACE_RECORD=depth=128,free=4,sample=1073741824,seed=1,follow \
      valgrind --tool=callgrind --callgrind-out-file="$work/callgrind" \
      --log-file="$work/log" "$work/pairs" pairs $2 > "$work/out"
    sed -n 's/^totals: //p' "$work/callgrind"
  }
  a_pair () # preload
  {
    echo $((($(pairs "$1" 30000) - $(pairs "$1" 10000)) / 20000))
  }
  plain=$(a_pair "")
  left_out=$(a_pair \
    "$build/slice/tools/.libs/slice-trace-record.so:$work/empty-san.so")
  echo "# a pair: $plain instructions, $left_out with the recorder"
  equal pair-costs "$((left_out > plain && left_out <= plain + 15))" 1
else
  skip pair-costs "no valgrind, or another processor"
fi

# --- a version that is not known, and damage ---
head_with () # offset, byte: $t with that byte, as $work/bad
{
  cp "$t" "$work/bad"
  printf "\\$2" | dd of="$work/bad" bs=1 seek=$1 conv=notrunc 2> "$work/err2"
}
head_with 8 004
"$trace" info "$work/bad" > "$work/out" 2> "$work/err"
equal later-version "$? $(cat "$work/err")" \
  "4 slice-trace: $work/bad: version 4, this program reads 3"
# version 2, or no flag: not taken for an exact trace
for place in "8 002" "48 004"
do
  head_with $place
  "$trace" info "$work/bad" > "$work/out" 2> "$work/err"
  equal "head-$place" "$? $(grep -c 'its head is damaged' "$work/err")" "4 1"
done
# another gap: the hash of the head shows it
head_with 61 001
"$trace" info "$work/bad" > "$work/out" 2> "$work/err"
equal gap-changed "$? $(grep -c "not as it was written" "$work/err")" "4 1"
bytes=$(wc -c < "$t")
head -c $((bytes * 2 / 3)) "$t" > "$work/bad"
"$trace" dump "$work/bad" > "$work/out" 2> "$work/err"
equal cut "$? $(grep -c damaged "$work/err")" "4 1"

# --- the calls that are left out: instructions before the next malloc() ---
path () # function: until the first jump through a pointer
{
  objdump -d --no-show-raw-insn "$work/record.o" | awk -v name="<$1>:" '
    index ($0, name) { inside = 1; next }
    inside { n++ }
    inside && $2 == "jmp" && $3 ~ /^\*/ { print n; exit }'
}
if [ "$(uname -m)" = x86_64 ] && command -v objdump > "$work/null" \
  && $CC -O2 -fPIC -std=gnu11 -I"$source/slice" -I"$source" -I"$build" -w \
  -c "$source/slice/tools/trace/record/record.c" -o "$work/record.o"
then
  equal "malloc() that is left out" "$(path malloc)" 5
  # clang extends the address twice, and jumps over the other case
  frees=6
  $CC --version | grep -q clang && frees=8
  equal "free() that is left out" "$(path free)" $frees
fi

finish
