#!/bin/sh
# test-record.sh - the recorder on small programs, one pitfall each
#
# The clients are built here, with the compilers that make check names: they
# must not be instrumented, nor know of the library.  Speaks TAP.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

clients=$work
recorder=$build/slice/tools/.libs/slice-trace-record.so

for client in ends threads forks plugins classes race wrapped
do
  compile $client $client.c -lpthread -ldl
done
compile ring-malloc.so ring-malloc.c -shared -fPIC -fno-builtin
# needed by the program, not preloaded: slice-trace itself is to have the usual
compile signals signals.c "$work/ring-malloc.so" -Wl,-rpath,"$work" -lrt
compile plugin-a.so plugin.c -shared -fPIC -DPLUGIN_FUNCTION=plugin_a
compile plugin-b.so plugin.c -shared -fPIC -DPLUGIN_FUNCTION=plugin_b
$CC "$source/tests/trace/clients/static.c" -static -o "$work/static" \
  2> "$work/err" || rm -f "$work/static"
$CXX -g -O1 -std=c++17 -w "$source/tests/trace/clients/entries.cc" \
  -o "$work/entries" 2> "$work/err"
$CXX -g -O1 -w -shared -fPIC -fno-builtin \
  "$source/tests/trace/clients/raising.cc" -o "$work/raising.so" \
  2>> "$work/err"
$CXX -g -O1 -w -fno-builtin "$source/tests/trace/clients/handlers.cc" \
  "$work/raising.so" -Wl,-rpath,"$work" -o "$work/handlers" 2>> "$work/err"
$CXX -g -O1 -w "$source/tests/trace/clients/unwinds.cc" -o "$work/unwinds" \
  2>> "$work/err"

info () # trace, key...
{
  file=$1
  shift
  "$trace" info "$file" | sed -n "s/^$* //p"
}

# Replays the text dump: no address twice alive, every free of something.
check_order () # trace
{
  "$trace" dump "$1" | awk '
    $3 ~ /free|delete|munmap/ {
      if (!($4 in alive)) { unknown++ } else delete alive[$4]; next }
    $3 ~ /scope|mark/ { next }
    { if ($4 in alive) twice++; alive[$4] = 1 }
    END { print twice + 0, unknown + 0 }'
}

t=$work/recorded

# How often each of these was allocated: operation, size.
allocs_of () # trace, operation, size
{
  "$trace" dump "$1" | awk -v op="$2" -v size="$3" '
    $3 == op && $5 == size { n++ } END { print n + 0 }'
}

# Each kind of life, and how many there were: what allocated, how much, at
# which alignment, what freed, and whether the same thread did.  What there
# was less than ten times is the start's and the end's.
lives () # trace
{
  "$trace" dump "$1" | awk '
    { align = ""; for (i = 5; i <= NF; i++) if ($i ~ /^align=/) align = " " $i }
    $3 ~ /free|delete|munmap/ {
      n[alive[$4] " " $3 " " (thread[$4] == $2 ? "own" : "other")]++
      delete alive[$4]
      next }
    { alive[$4] = $3 " " $5 align; thread[$4] = $2 }
    END { for (a in alive) n[alive[a] " lives"]++
          for (life in n) if (n[life] >= 10) print n[life], life }' \
    | sort -k 2
}

# --- entry points: exact counts ---
if [ ! -x "$clients/entries" ]; then
  echo "Bail out! no C++ compiler"
  exit 1
fi
record "$t" "$clients/entries"
equal entries-status $? 0
lives "$t" > "$work/lives"
# see the client; how a compiler deletes an array is its own affair
sed -e 's/ delete\(\[\]\)*\(-sized\)* own/ delete own/' \
  -e 's/malloc 1[0-9][0-9] free/malloc exception free/' "$work/lives" \
  | sort -k 2 > "$work/a"
sort -k 2 > "$work/b" << 'END'
1000 malloc 10 free own
1000 malloc exception free own
1000 calloc 10 free own
1000 calloc 12 free own
1000 realloc 10 realloc-free own
1000 realloc 20 free own
1000 reallocarray 12 free own
1000 memalign 10 align=64 free own
1000 posix_memalign 10 align=64 free own
1000 aligned_alloc 64 align=64 free own
1000 valloc 10 align=4096 free own
1000 pvalloc 10 align=4096 free own
2000 new 4 delete own
1000 new[] 16 delete own
1000 new-aligned 64 align=64 delete own
1000 new[]-aligned 128 align=64 delete own
END
equal entries-lives "$(diff "$work/a" "$work/b" | grep '^[<>]')" ""
# arrays by the operators of arrays, and the others not
equal entries-arrays "$(awk '($2 ~ /\[\]/) != (/ delete\[\]/) \
  && / delete/' "$work/lives")" ""
# info counts what the dump shows
equal entries-counts "$("$trace" info "$t" | sed -n 's/^op //p' | sort)" \
  "$("$trace" dump "$t" | awk '{ n[$3]++ } END { for (op in n)
    print op, n[op] }' | sort)"
equal entries-throws "$(info "$t" failed)" 1000
equal entries-order "$(check_order "$t")" "0 0"
equal entries-dropped "$(info "$t" dropped-nested)" 0
# a malloc behind the recorder that has free_sized()
malloc=$build/slice/dropin/.libs/libslice-malloc.so
if [ -e "$malloc" ]; then
  rm -f "$t"
  LD_PRELOAD=$malloc "$trace" record -o "$t" -- "$clients/entries" \
    > "$work/out" 2> "$work/err"
  equal entries-sized "$(lives "$t" | grep 'calloc 12')" \
    "1000 calloc 12 free own"
else
  skip entries-sized "no drop-in was built"
fi
record "$t" "$clients/entries" library
equal entries-library-status $? 0
equal entries-strdup "$(lives "$t" | grep '^1000 malloc 6 free own$')" \
  "1000 malloc 6 free own"
equal entries-memstream "$(lives "$t" | awk '!/ free own$/ \
  && !/ realloc-free own$/')" ""
# what lives at the end is the C++ runtime's alone: no realloc (p, 0) leaks
alive=$("$trace" dump "$t" | awk '
  $3 ~ /free|delete/ { delete alive[$4]; next } { alive[$4] = 1 }
  END { for (a in alive) n++; print n + 0 }')
if [ "$alive" -le 5 ]; then pass entries-leaks
else fail entries-leaks "$alive"; fi

# --- ends ---
for how in kill abort _exit overflow
do
  record "$t" "$clients/ends" $how
  status=$?
  case $how in
    kill) wanted=137;; abort) wanted=134;; overflow) wanted=139;;
    *) wanted=0;;
  esac
  equal "end-$how-status" $status $wanted
  equal "end-$how-events" "$(allocs_of "$t" malloc 100)" 1000
  equal "end-$how-cut" "$(info "$t" cut)" process
done
record "$t" "$clients/ends" status
equal end-status $? 42

# --- a file that lost its end ---
record "$t" "$clients/threads" 2 40000
whole=$(info "$t" events)
size=$(wc -c < "$t")
head -c $((size * 2 / 3)) "$t" > "$work/cut"
equal cut-file "$(info "$work/cut" cut)" file
got=$(info "$work/cut" events)
if [ "$got" -gt 0 ] && [ "$got" -lt "$whole" ]; then pass cut-file-events
else fail cut-file-events "$got of $whole"; fi

# every command that reads a trace tells, and shows what is left
damaged () # name, file, "block[s] damaged"
{
  for command in "info $2" "dump $2" "hot $2" "callers $2" "patterns $2" \
    "diff $t $2" "report $2" "report --text $2" "export --format folded $2" \
    "export --format operations $2"
  do
    "$trace" $command > "$work/out" 2> "$work/err"
    status=$?
    equal "$1-$(echo "$command" | sed 's/ *[^ ]*\/.*//; s/ /-/g')" \
      "$status $(grep -c "$3" "$work/err") $(test -s "$work/out"; echo $?)" "4 1 0"
  done
  "$trace" patterns "$2" > "$work/bad.json" 2> "$work/err"
  equal "$1-counted" "$(json "$work/bad.json" totals.damaged_blocks)" 1
  "$trace" report --text "$work/bad.json" > "$work/out" 2> "$work/err"
  equal "$1-patterns" "$? $(grep -c damaged "$work/err") $(grep -c \
    'damaged blocks' "$work/out")" "4 1 1"
}
damaged cut-file "$work/cut" "damaged.*cut off"
# a bit in the middle of a block of events
offset=$((size / 2))
byte=$(od -An -tu1 -j $offset -N 1 "$t" | tr -d ' ')
cp "$t" "$work/flipped"
printf "\\$(printf %03o $((byte ^ 1)))" \
  | dd of="$work/flipped" bs=1 seek=$offset conv=notrunc 2> "$work/err"
damaged flipped "$work/flipped" "damaged.*checksum"

# damage comes before "nothing was recorded", if no allocation is left
head -c 100 "$t" > "$work/head"
equal cut-head "$("$trace" info "$work/head" 2> "$work/err" \
  | sed -n 's/^events //p')" 0
for command in hot callers patterns pins apply replay "compare --replay" \
  report "diff $t" "export --format folded"
do
  "$trace" $command "$work/head" > "$work/out" 2> "$work/err"
  status=$?
  equal "cut-head-${command%% *}" "$status $(grep -c damaged "$work/err")" \
    "4 1"
done
"$trace" predict "$work/head" true > "$work/out" 2> "$work/err"
equal cut-head-predict "$? $(grep -c damaged "$work/err")" "4 1"

# --- threads ---
for threads in 1 2 4 16
do
  record "$t" "$clients/threads" $threads 50000
  equal "threads-$threads" "$(check_order "$t")" "0 0"
  equal "threads-$threads-count" "$(info "$t" events)" \
    "$(info "$t" recorded)"
  # each thread under its own number, with all that it did
  equal "threads-$threads-each" "$("$trace" dump "$t" | awk '
    $3 == "malloc" { n_of[$2]++ } $3 == "free" { freed[$2]++ }
    END { for (i in n_of) if (n_of[i] >= 100) n[n_of[i]]++
          for (i in freed) if (freed[i] >= 49000) enders++
          for (i in n) print n[i], i
          print enders + 0 }' | tr '\n' ' ')" "$threads 50000 $threads "
done
record "$t" "$clients/race"
equal race "$(check_order "$t")" "0 0"

# --- children ---
for how in fork threads
do
  record "$t" "$clients/forks" $how
  equal "child-$how-status" $? 0
  set -- "$t".*
  equal "child-$how-files" $# 1
  equal "child-$how-events" "$(allocs_of "$1" malloc 100)" 700
  equal "parent-$how-events" "$(allocs_of "$t" malloc 100)" 1000
  equal "child-$how-order" "$(check_order "$t")" "0 0"
  "$trace" patterns "$1" -o "$work/child.json"
  equal "child-$how-site" "$(json "$work/child.json" sites.0.name)" allocate
done
for how in vfork exec
do
  record "$t" "$clients/forks" $how > "$work/out"
  equal "child-$how-status" $? 0
  equal "child-$how-output" "$(cat "$work/out")" "from the child"
  equal "child-$how-cut" "$(info "$t" cut)" no
done
rm -f "$t"*
"$trace" record --follow -o "$t" -- sh -c "$clients/ends; :" 2> "$work/err"
set -- "$t".*
found=0
for file
do
  [ "$(allocs_of "$file" malloc 100)" = 1000 ] && found=1
done
equal follow $found 1

# --- malloc in a signal handler ---
record "$t" "$clients/signals" 1500
equal signals-status $? 0
if [ "$(info "$t" dropped-nested)" -gt 0 ]; then pass signals-counted
else fail signals-counted "$(info "$t" dropped-nested)"; fi
if grep -q 'counted, not recorded' "$work/err"; then pass signals-said
else fail signals-said "$(cat "$work/err")"; fi
# A handler that interrupts a function, malloc or operator new is the site of
# its own block, on the same stack or an alternate one.
for stack in '' alternate
do
  rm -f "$t"
  "$trace" record --check-unwind -o "$t" -- "$clients/handlers" $stack \
    2> "$work/err"
  equal handlers-status "$?$stack" "0$stack"
  equal handlers-sites "$("$trace" hot "$t" | awk 'NR > 1 {
    print $1, $NF }' | sort)" '100 function_interrupted
100 malloc_interrupted
100 new_interrupted
300 handle'
  equal handlers-operations "$(allocs_of "$t" malloc 24) $(
    allocs_of "$t" malloc 56) $(allocs_of "$t" new 72)" '300 100 100'
  if grep -q ' 0 differ' "$work/err"; then pass handlers-unwound
  else fail handlers-unwound "$(cat "$work/err")"; fi
done

# --- other allocators ---
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2.0
do
  path=$(ls /usr/lib/*/$library 2> /dev/null | head -n 1)
  if [ -z "$path" ]; then
    skip "$library" "not installed"
    continue
  fi
  LD_PRELOAD=$path record "$t" "$clients/threads" 2 20000
  equal "$library-status" $? 0
  equal "$library-order" "$(check_order "$t")" "0 0"
  # behind it, as a program may have it for another: same calls
  counts=$("$trace" info "$t" | grep "^op .*alloc")
  rm -f "$t"*
  "$trace" record --follow -o "$t" -- env LD_PRELOAD="$path:$recorder" \
    "$clients/threads" 2 20000 2> "$work/err"
  equal "$library-first-status" $? 0
  set -- "$t".*
  equal "$library-first" "$("$trace" info "$1" | grep "^op .*alloc")" "$counts"
  # where the linker is the program, there is no beginning again
  linker=$(readelf -l "$clients/threads" 2> /dev/null \
    | sed -n 's/.*interpreter: \(.*\)]/\1/p')
  rm -f "$t"*
  "$trace" record --follow -o "$t" -- env LD_PRELOAD="$path:$recorder" \
    "$linker" "$clients/threads" 2 20000 > /dev/null 2> "$work/err"
  equal "$library-by-linker-status" $? 0
done

# --- the recorder's own code under the sanitizers ---
# A preloaded malloc can't be: it runs before their shadow is there.  So the
# entry points have other names here and are part of the program that calls
# them; what is preloaded is empty.
renamed=
for name in $(sed -n 's/^ CALL ([^,]*, *\([a-z_]*\),.*/\1/p' \
  "$source/slice/port/malloc-family.h") dlclose __libc_start_main
do
  renamed="$renamed -D$name=traced_$name"
done
tools=$source/slice/tools
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all'
echo 'extern int nothing;' > "$work/nothing.c"
$CC -shared -fPIC "$work/nothing.c" -o "$work/nothing.so"
echo 'int main (void) { return 0; }' > "$work/empty.c"
if ! $CC $sanitize "$work/empty.c" -o "$work/empty" 2> "$work/err"; then
  skip sanitized "no sanitizers"
elif $CC -g -O1 -w $sanitize $renamed -fno-builtin \
  -I"$source" -I"$build" -iquote "$source/slice" \
  "$tools"/trace/record/record*.c "$tools"/trace/record/*/record-*.c \
  "$tools/trace/format/xxh64.c" \
  "$source/tests/trace/clients/threads.c" -o "$work/sanitized" \
  -ldl -lpthread 2> "$work/err"
then
  ASAN_OPTIONS=verify_asan_link_order=0 \
    SLICE_TRACE_RECORDER=$work/nothing.so \
    record "$t" "$work/sanitized" 4 20000
  equal sanitized-status "$?: $(grep -c 'ERROR\|runtime error' "$work/err")" \
    "0: 0"
  equal sanitized-order "$(check_order "$t")" "0 0"
  equal sanitized-count "$(info "$t" op malloc)" 80000
else
  fail sanitized-links "$(cat "$work/err")"
fi

# --- stacks: walked again by another unwinder ---
rm -f "$t"*
"$trace" record --check-unwind -o "$t" -- "$clients/unwinds" 100 2> "$work/err"
equal unwind-status $? 0
set -- $(sed -n 's/.*: \([0-9]*\) stacks .* twice, \([0-9]*\) differ/\1 \2/p' \
  "$work/err")
equal unwind-twice "$1" "$(info "$t" events)"
equal unwind-differs "$2" 0

# --- without libunwind: libgcc walks, and that is said ---
mkdir "$work/none"
: > "$work/none/libunwind.so.8" # found first, and no library
record "$t" "$clients/classes" linear
wanted=$("$trace" hot "$t" | awk 'NR > 1 && $NF == "site"')
equal libunwind "$(info "$t" unwinder) $(grep -c libgcc "$work/err")" \
  "libunwind 0"
equal libunwind-site "$(echo "$wanted" | grep -c .)" 1
LD_LIBRARY_PATH=$work/none record "$t" "$clients/classes" linear
equal libgcc-status $? 0
equal libgcc-said "$(sed 1q "$work/err")" "slice-trace: libunwind.so.8 is \
not found: libgcc walks the stacks, which takes longer"
equal libgcc-known "$(info "$t" unwinder)" libgcc
equal libgcc-sites "$("$trace" hot "$t" | awk 'NR > 1 && $NF == "site"')" \
  "$wanted"
for how in --text ""
do
  "$trace" report $how "$t" > "$work/page"
  equal "libgcc-report$how" "$(grep -c 'libgcc walked the stacks' \
    "$work/page")" 1
done
LD_LIBRARY_PATH=$work/none record "$t" "$clients/unwinds" 10
equal libgcc-exceptions $? 0
LD_LIBRARY_PATH=$work/none record "$t" "$clients/threads" 4 20000
equal libgcc-threads "$? $(check_order "$t")" "0 0 0"
LD_LIBRARY_PATH=$work/none record "$t" "$clients/forks" fork
equal libgcc-child "$(info "$(echo "$t".*)" unwinder)" libgcc
rm -f "$t"
LD_LIBRARY_PATH=$work/none "$trace" record --depth 0 --free-depth 0 -o "$t" \
  "$clients/classes" linear 2> "$work/err"
equal depth-0 "$? $(grep -c libgcc "$work/err") $("$trace" hot "$t" \
  | awk 'NR > 1 { print $(NF - 1), $NF }')" "0 0 (no stack)"

# --- plugins ---
record "$t" "$clients/plugins" "$clients/plugin-a.so" \
  "$clients/plugin-b.so" 200
"$trace" callers "$t" > "$work/callers"
"$trace" hot "$t" > "$work/hot"
a=$(awk '$NF == "(plugin_a)" { print $1 }' "$work/hot")
b=$(awk '$NF == "(plugin_b)" { print $1 }' "$work/hot")
equal plugins "$a $b" "1000 1000"
nodes=$(info "$t" nodes)
record "$t" "$clients/plugins" "$clients/plugin-a.so" \
  "$clients/plugin-b.so" 1000
more=$(info "$t" nodes)
if [ "$more" -le $((nodes + 5)) ]; then pass plugins-growth
else fail plugins-growth "$nodes, then $more nodes"; fi

# --- a recorder that LD_PRELOAD can't name: said, and nothing runs ---
real=$build/slice/tools/.libs/slice-trace
test -f "$real" || real=$trace
for folder in "a space" a:colon
do
  mkdir -p "$work/$folder"
  cp "$real" "$build/slice/tools/.libs/slice-trace-record.so" "$work/$folder"
  for how in beside given
  do
    rm -f "$t"
    if [ $how = beside ]; then
      (unset SLICE_TRACE_RECORDER
       LD_LIBRARY_PATH=$build/slice/.libs \
         exec "$work/$folder/slice-trace" record -o "$t" echo runs)
    else
      SLICE_TRACE_RECORDER=$work/$folder/slice-trace-record.so \
        "$trace" record -o "$t" echo runs
    fi > "$work/out" 2> "$work/err"
    status=$?
    equal "unnamed-$how-${folder#a?}" \
      "$status $(cat "$work/out" "$work/err")" "124 slice-trace: \
$work/$folder/slice-trace-record.so: LD_PRELOAD can not hold a path with a \
space or a colon"
  done
done

# --- nothing to record ---
if [ -x "$clients/static" ]; then
  record "$t" "$clients/static"
  equal static-status $? 3
  if [ ! -e "$t" ]; then pass static-file; else fail static-file "a trace"; fi
else
  skip static "no static C library"
fi
cp "$work/ends" "$work/setuid"
cp "$(command -v id)" "$work/whoami"
if chown 65534 "$work/setuid" "$work/whoami" 2> "$work/err" \
   && chmod 4755 "$work/setuid" "$work/whoami" && chmod 755 "$work" \
   && [ "$("$work/whoami" -u)" = 65534 ]; then
  record "$t" "$work/setuid" status
  equal setuid-status $? 42
  record "$t" "$work/whoami"
  equal setuid-nothing $? 3
  equal setuid-said "$(grep -c 'nothing was recorded' "$work/err")" 1
  if [ ! -e "$t" ]; then pass setuid-file; else fail setuid-file "a trace"; fi
else
  skip setuid "not root, or no setuid programs here"
fi
# a program that goes on in a child, before it has allocated
rm -f "$t" "$t".*
"$trace" record --wait -o "$t" -- "$clients/forks" daemon 2> "$work/err"
equal daemon-status $? 0
equal daemon-ended "$(grep -c 'still runs' "$work/err")" 0
equal daemon-events "$(for file in "$t" "$t".*; do "$trace" info "$file"; done \
  | awk '$1 == "recorded" { n += $2 } END { print (n >= 2400) }')" 1
rm -f "$t".*
"$trace" record -o "$t" -- "$clients/forks" daemon 2> "$work/err"
equal daemon-not-waited "$(grep -c '[(]--wait' "$work/err")" 1
"$trace" record --wait -o "$t" -- "$clients/forks" daemon "$work/daemon" \
  2> "$work/err" &
recorder=$!
n=0
while [ ! -s "$work/daemon" ] && [ $n -lt 600 ]; do
  sleep 0.1
  n=$((n + 1))
done
kill -TERM $recorder
wait $recorder
equal daemon-stopped $? 0
kill "$(cat "$work/daemon")"
equal daemon-stopped-said "$(grep -c 'a child still runs; its trace ends here$' \
  "$work/err")" 1
record "$t" /nonexistent/program
equal not-found $? 127

# An older trace goes only when the program runs.
for file in "$work/nowhere" "$work/no-program" "$work/bad-script"
do
  echo old > "$work/old"
  printf '#!/nonexistent\n' > "$work/bad-script"
  : > "$work/no-program"
  chmod +x "$work/bad-script"
  "$trace" record -o "$work/old" "$file" 2> "$work/err"
  equal "kept-${file##*/}" "$? $(grep -c . "$work/err") $(cat "$work/old")" \
    "$([ "$file" = "$work/no-program" ] && echo 126 || echo 127) 1 old"
done
rm -f "$work/old"
"$trace" record -o "$work/old" "$work/nowhere" 2> "$work/err"
equal none-made "$? $(ls "$work/old" 2> "$work/err2")" "127 "
cp "$(command -v ls)" "$work/gone"
"$trace" run --quick -o "$work/stages" "$work/gone" > "$work/out" 2> "$work/err"
rm "$work/gone"
"$trace" run --quick -o "$work/stages" "$work/gone" > "$work/out" 2> "$work/err"
[ -s "$work/stages/trace" ]
equal run-kept $? 0

# --- the program notices nothing ---
# What `env' says but for what the wrapping itself sets, and of a process's
# status just what a recorder could change for it: who it is, what it may do,
# its signals and its threads.  (Sizes, ids, counts and the space for file
# descriptors differ from run to run.)
seen_by_program ()
{
  grep -vE '^(_|LD_LIBRARY_PATH|BIN_SH|DUALCASE)=' "$2" \
    | case $1 in
      *status) grep -E '^(Name|Umask|[UG]id|Groups|Threads|Sig[BIC]|Cap|NoNew)' ;;
      *) cat ;;
      esac | sort
}
for command in "env" "ls /" "sort /etc/passwd" "cat /proc/self/status"
do
  $command > "$work/plain" 2> "$work/plain-err"
  plain=$?
  "$trace" record -q -o "$t" -- $command > "$work/seen" 2> "$work/seen-err"
  status=$?
  seen_by_program "$command" "$work/plain" > "$work/a"
  seen_by_program "$command" "$work/seen" > "$work/b"
  if [ "$status" = "$plain" ] && [ -s "$work/a" ] \
     && cmp -s "$work/a" "$work/b"; then
    pass "unnoticed-$command"
  else
    fail "unnoticed-$command" \
      "$status, $(diff "$work/a" "$work/b" | head -n 9 | tr '\n' '|')"
  fi
done

# --- classes, live ---
for class in linear linear-fair immortal scratch stack stack-lazy owner \
  scope pool slice general huge
do
  record "$t" "$clients/classes" $class
  got=$("$trace" hot "$t" | awk 'NR > 1 && $NF == "site" { print $4; exit }')
  equal "class-$class" "$got" $class
done

# --- source lines ---
record "$t" "$clients/wrapped" > "$work/out"
if grep -q '300 .*wrapped.c:[0-9]* (main)' "$work/out"; then pass lines-counted
else fail lines-counted "$(cat "$work/out")"; fi
"$trace" patterns "$t" -o "$work/lines.json"
if json "$work/lines.json" 'sites.*.name' | grep -q 'wrapped.c:[0-9]'; then
  pass lines-site
else
  fail lines-site "$("$trace" hot "$t" | head -n 4)"
fi

finish
