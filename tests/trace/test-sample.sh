#!/bin/sh
# test-sample.sh - a sampled recording: what it takes, and what reads it
#
# The seeds are fixed, and a client's blocks are the same in each run, so the
# samples are, too.  Speaks TAP.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/trace-lib.sh"

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
for words in "--sample 1K --timed" "--seed 1" "--sample 1K --seed 0"
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

# --- what needs every event refuses, with one line ---
sample 8K 1 "$work/sampled"
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

finish
