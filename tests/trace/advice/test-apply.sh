#!/bin/sh
# test-apply.sh - slice-trace apply, and slice-run --advice that follows it
#
# Programs with known sites (clients/applied.c): the advice names them, their
# blocks are served, and the output is what it is without.  Threads, fork(),
# realloc(), a plugin that comes and goes, C++; advice that is wrong is switched
# off; that of another build is ignored.  Speaks TAP.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

run=$build/slice/dropin/slice-run
test -f "$build/slice/dropin/.libs/libslice-advice.so" \
  || skip_all "no shared libraries were built"
unset SLICE_RUN_PRELOAD SLICE_ADVICE SLICE_ADVICE_STATS SLICE_OPTIONS
compile applied applied.c -O2 -fPIE -pie -rdynamic -Wl,--build-id=sha1 \
  -Wno-use-after-free -lpthread -ldl
compile plugin.so applied-plugin.c -fPIC -shared -Wl,--build-id=sha1

# advise NAME ARGUMENT...: records that run, and writes NAME.advice
advise ()
{
  name=$1
  shift
  record "$work/$name.trace" "$@"
  "$trace" apply $apply_options -o "$work/$name.advice" "$work/$name.trace" \
    2> "$work/said"
}
apply_options=

# follow NAME ARGUMENT...: runs that with the advice; standard error in "said"
follow ()
{
  name=$1
  shift
  sh "$run" --advice="$work/$name.advice" --stats -- "$@" 2> "$work/said"
}

# total: what libslice-advice says at the end
total ()
{
  sed -n 's/^libslice-advice: \([0-9]* sites\{0,1\}\)/\1/p' "$work/said"
}

# same NAME ARGUMENT...: the output with advice is that without
same ()
{
  equal "$1: as without" "$(follow "$@")" "$(shift; "$@")"
}

# --- sites behind a wrapper, wherever the program lies ---

advise list "$work/applied" list
equal "list: the sites, without scratch" "$(sed -n 's/^site \([a-z]*\) pin [0-9]* /\1 /p' \
  "$work/list.advice" | LC_ALL=C sort)" "linear blocks 100000 node_new
linear blocks 100000 text_new"
equal "list: what tells them" "$(awk '/^frame/ { printf "%s ", $5 }' \
  "$work/list.advice" | tr ' ' '\n' | sort | uniq -c | tr -s ' \n' ' ')" \
  " 1 node_new 1 text_new 2 xmalloc "
same list "$work/applied" list
equal "list: all blocks" "$(total)" \
  "2 sites advised, 2 found, 200000 blocks served, 0 switched off"
equal "list: little memory for a queue" \
  "$(grep -c ' 100000 blocks of 100000 expected, 64 KiB at most: text_new$' \
    "$work/said")" 1
equal "without --stats nothing is said" \
  "$(sh "$run" --advice="$work/list.advice" "$work/applied" list 2>&1)" \
  "$("$work/applied" list)"
# 10 of these runs are each at another address
equal "list: at other addresses" \
  "$(for i in 1 2 3 4 5 6 7 8 9 10; do
    follow list "$work/applied" list > "$work/out"; total; done | uniq)" \
  "2 sites advised, 2 found, 200000 blocks served, 0 switched off"

# --- what a call without advice costs ---

# pairs PRELOAD N: instructions of a run of N pairs
pairs ()
{
  LD_PRELOAD=$1 SLICE_ADVICE=$work/list.advice \
    valgrind --tool=callgrind --callgrind-out-file=/dev/null \
    "$work/applied" pairs "$2" 2>&1 | sed -n 's/.*Collected : //p'
}

# more PRELOAD: instructions of a pair
more ()
{
  expr \( "$(pairs "$1" 30000)" - "$(pairs "$1" 10000)" \) / 20000
}
if ! command -v valgrind > "$work/out" || test "$(uname -m)" != x86_64; then
  skip "pairs" "no callgrind, or another processor"
else
  plain=$(more "")
  advised=$(more "$build/slice/dropin/.libs/libslice-advice.so")
  equal "pairs: $plain instructions, $advised with advice: at most 16 more" \
    "$(test "$((advised - plain))" -le 16 && echo yes)" yes
fi

# --- huge pages, from 2 MiB on ---

if test -e /sys/kernel/mm/transparent_hugepage; then
  equal "huge: a large list" "$(follow list "$work/applied" huge 300000 \
    | sed 's/.* //')" huge
  equal "huge: a small one" "$(follow list "$work/applied" huge 10000 \
    | sed 's/.* //')" small
else
  skip "huge" "the kernel has no huge pages"
fi

# --- the malloc behind: any ---

equal "in front of libslice-malloc" \
  "$(sh "$run" --malloc --advice="$work/list.advice" "$work/applied" list)" \
  "$("$work/applied" list)"
sed 's/^site linear/site slice/' "$work/list.advice" > "$work/slices.advice"
same slices "$work/applied" list
equal "slices: all blocks" "$(total)" \
  "2 sites advised, 2 found, 200000 blocks served, 0 switched off"
equal "slices in front of libslice-malloc" \
  "$(sh "$run" --malloc --advice="$work/slices.advice" "$work/applied" list)" \
  "$("$work/applied" list)"

# --- threads, fork, realloc, plugins, C++ ---

apply_options=--all
for what in threads fork realloc; do
  advise $what "$work/applied" $what
  same $what "$work/applied" $what
  expect_found "$what: blocks are served" '[1-9][0-9]* blocks served, 0 sw' \
    "$(total)"
  sed 's/^site linear/site slice/' "$work/$what.advice" \
    > "$work/slice-$what.advice"
  same slice-$what "$work/applied" $what
done
equal "fork: every child ended well" "$(follow fork "$work/applied" fork)" \
  "fork 40"
# realloc (NULL, n) is malloc; a realloc of a block is not served, and moves
# 2000 of the nodes in each round
apply_options=
advise grown "$work/applied" grown
apply_options=--all
equal "grown: the sites" "$(sed -n 's/^site linear pin [0-9]* blocks //p' \
  "$work/grown.advice" | LC_ALL=C sort | tr '\n' ' ')" \
  "1000 row_new 60000 xresize "
same grown "$work/applied" grown
equal "grown: all blocks" "$(total)" \
  "2 sites advised, 2 found, 61000 blocks served, 0 switched off"
advise plugin "$work/applied" plugin "$work/plugin.so"
same plugin "$work/applied" plugin "$work/plugin.so"
expect_found "plugin: its blocks are served each time" \
  '10000 blocks of 10000 expected' "$(cat "$work/said")"
if $CXX -g -O1 -std=c++17 -Wl,--build-id=sha1 \
  "$source/tests/trace/clients/applied-cxx.cc" -o "$work/applied-cxx" \
  2> "$work/said"; then
  advise cxx "$work/applied-cxx"
  same cxx "$work/applied-cxx"
  expect_found "cxx: blocks are served" '[1-9][0-9]* blocks served, 0 sw' \
    "$(total)"
else
  skip "cxx" "no C++ compiler"
fi

# --- a module that is loaded late, and each time elsewhere ---

compile late late.c -O2 -rdynamic -Wl,--build-id=sha1 -ldl
compile late.so late-plugin.c -O2 -fPIC -shared -Wl,--build-id=sha1
compile late-direct.so late-plugin.c -O2 -fPIC -shared -DDIRECT \
  -Wl,--build-id=sha1
apply_options=

# late NAME MODULE ROUNDS HOW SITES TOTAL
late ()
{
  advise "late-$1" "$work/late" "$work/$2" "$3" "$4"
  equal "late, $1: sites" "$(sed -n 's/^site \([a-z]*\) pin [0-9]* blocks /\1 /p' \
    "$work/late-$1.advice" | LC_ALL=C sort | tr '\n' ' ')" "$5"
  equal "late, $1: no key comes twice" "$("$trace" patterns \
    "$work/late-$1.trace" | sed -n 's/.*"key": *"\([0-9a-f]*\)".*/\1/p' \
    | sort | uniq -d)" ""
  equal "late, $1: each frame is in a module" "$("$trace" hot -n 100 \
    "$work/late-$1.trace" | grep -c ' 0x7')" 0
  same "late-$1" "$work/late" "$work/$2" "$3" "$4"
  equal "late, $1: all blocks" "$(total)" "$6"
}
late once late.so 1 apart \
  "linear 2000 main (late_work) linear 2000 own_work " \
  "2 sites advised, 2 found, 4000 blocks served, 0 switched off"
late apart late.so 4 apart \
  "linear 8000 main (late_work) linear 8000 own_work " \
  "2 sites advised, 2 found, 16000 blocks served, 0 switched off"
late near late.so 4 near \
  "linear 8000 main (late_work) linear 8000 own_work " \
  "2 sites advised, 2 found, 16000 blocks served, 0 switched off"
late direct late-direct.so 4 apart \
  "linear 16000 main (late_work) linear 8000 own_work " \
  "2 sites advised, 2 found, 24000 blocks served, 0 switched off"
compile late-plain.so late-plugin.c -O2 -fPIC -shared -Wl,--build-id=none
record "$work/plain.trace" "$work/late" "$work/late-plain.so" 4 apart
equal "late, without a build id: one site" "$("$trace" hot \
  "$work/plain.trace" | awk '/late_work/ { print $1 }')" 8000
follow late-once "$work/late" - 1 > "$work/out"
expect_found "late: why nothing was found" \
  ' 0 blocks of 2000 expected, that build of late.so was not seen: main ' \
  "$(cat "$work/said")"
follow list "$work/applied" pairs 1 > "$work/out"
expect_found "list: nor is there a reason" \
  ' 0 blocks of 100000 expected, no call of it was found: node_new$' \
  "$(cat "$work/said")"

# --- all calls at random ---

apply_options=--all
advise random "$work/applied" random 1
sed 's/^site linear pin [0-9]*/site linear pin 1000000000/' \
  "$work/random.advice" > "$work/random-kept.advice"
sed 's/^site linear/site slice/' "$work/random.advice" \
  > "$work/random-slice.advice"
for kind in random random-kept random-slice; do
  for seed in 2 3; do
    same $kind "$work/applied" random $seed
  done
  expect_found "$kind: blocks are served" '[1-9][0-9]* blocks served' \
    "$(total)"
done

# --- wrong advice ---

apply_options=
advise survive "$work/applied" survive 0
same survive "$work/applied" survive 100
expect_found "survive: switched off" '1 switched off$' "$(total)"
expect_found "survive: and says which" \
  'blocks of 500000 expected, .* switched off: node_new' "$(cat "$work/said")"
same survive "$work/applied" survive 0
expect_found "survive: not where it is right" '0 switched off$' "$(total)"
sed 's/pin [0-9]*/pin 1000000000/' "$work/survive.advice" \
  > "$work/bound.advice"
same bound "$work/applied" survive 100
expect_found "survive: the bound is what decides" '0 switched off$' "$(total)"

# --- another build ---

sed 's/^\(module [0-9a-f]*\)[0-9a-f] applied$/\1 applied/; t
s/^module .*/&/' "$work/list.advice" \
  | sed 's/^module [0-9a-f]* applied$/module 00ff applied/' \
  > "$work/other.advice"
equal "another build: the output" "$(follow other "$work/applied" list)" \
  "$("$work/applied" list)"
equal "another build: said once" "$(grep -c "is another build" "$work/said")" 1
expect_found "another build: the message" \
  "^libslice-advice: $work/other.advice: applied is another build than the \
one that the advice is for, which is ignored\$" "$(cat "$work/said")"
equal "another build: no block" "$(total)" \
  "2 sites advised, 0 found, 0 blocks served, 0 switched off"

# --- files that are wrong ---

# bad NAME LINE MESSAGE
bad ()
{
  equal "bad file: $1: the output" "$(follow bad "$work/applied" list)" \
    "$("$work/applied" list)"
  equal "bad file: $1" "$(cat "$work/said" | grep -v '^slice: ' | head -n 1)" \
    "libslice-advice: $work/bad.advice:$2: $3; the advice is ignored"
}
echo "slice-advice 2" > "$work/bad.advice"
bad version 1 "not an advice file of version 1"
printf 'slice-advice 1\nsite heap pin 1 blocks 1 x\n' > "$work/bad.advice"
bad kind 2 "no such kind of allocator"
printf 'slice-advice 1\n\nwhat\n' > "$work/bad.advice"
bad line 3 "a line of no known kind"
equal "no file" "$(sh "$run" --advice="$work/none" true 2>&1; echo $?)" \
  "slice-run: $work/none can not be read
125"
equal "no name" "$(sh "$run" --advice= true 2>&1; echo $?)" \
  "slice-run: --advice: no file is given
125"
equal "no file for the library" \
  "$(sh "$run" --advice="$work/list.advice" -- env \
    SLICE_ADVICE="$work/none" "$work/applied" list 2>&1)" \
  "libslice-advice: $work/none: can't be read: No such file or directory
$("$work/applied" list)"
"$trace" apply /dev/null > "$work/out" 2>&1
equal "no trace" $? 4
equal "the advice is empty where nothing is to gain" \
  "$(record "$work/true.trace" sh -c true; "$trace" apply "$work/true.trace" \
    2>&1 > "$work/out" | tail -n 1)" \
  "slice-trace: no site would gain: the advice is empty"

finish
