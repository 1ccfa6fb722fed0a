#!/bin/sh
# test-hooks.sh - slices, contexts and arenas of a recorded program
#
# Each kind is counted exactly, with and without threads; sites are where the
# program called the library; what the library takes from malloc for itself is
# no event.  Speaks TAP.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

library=$(cd "$build/slice" && pwd)/.libs

[ -f "$library/libslice.so" ] || skip_all "no shared library was built"

count () # trace, operation
{
  "$trace" info "$1" | awk -v op="$2" '
    $1 == "op" && $2 == op { n = $3 } END { print n + 0 }'
}

compile slices slices.c -L"$library" -lslice -Wl,-rpath,"$library" -lpthread
compile plugged plugged.c -ldl -Wl,-rpath,"$library" -lpthread
compile plugin.so plugged.c -DPLUGIN -shared -fPIC -L"$library" -lslice \
  -Wl,-rpath,"$library"

t=$work/recorded
for threads in 0 1 4
do
  "$work/slices" $threads > "$work/plain" 2>&1
  equal "threads-$threads-runs-without" $? 0
  record "$t" "$work/slices" $threads
  equal "threads-$threads-runs" $? 0
  equal "threads-$threads-output" "$(cat "$work/out")" "$(cat "$work/plain")"
  times=$threads
  [ $threads = 0 ] && times=1
  # see the client's comments; a resize frees the old block
  for pair in slice_alloc=5000 slice_free=5000 \
    context-alloc=4504 context-free=4004 \
    linear-alloc=4000 linear-free=4000 stack-alloc=2000 stack-free=2000 \
    pool-alloc=3000 pool-free=3000 tlsf-alloc=2250 tlsf-free=2000 \
    realloc-free=750 posix_memalign=0 realloc=0 free=999
  do
    equal "threads-$threads-${pair%=*}" "$(count "$t" "${pair%=*}")" \
      $((${pair#*=} * times))
  done
  equal "threads-$threads-dropped" \
    "$("$trace" info "$t" | sed -n 's/^dropped-[a-z]* //p' | tr '\n' ' ')" \
    "0 0 "
  # no address twice alive, no free of nothing; of ours nothing is left.
  equal "threads-$threads-order" "$("$trace" dump "$t" | awk '
    $3 ~ /free|delete|munmap/ {
      if (!($4 in alive)) unknown++
      delete alive[$4]
      next }
    { if ($4 in alive) twice++
      alive[$4] = $3 }
    END {
      for (a in alive)
        if (alive[a] !~ /alloc$/ || alive[a] ~ /^[mc]alloc$/)
          delete alive[a]
      for (a in alive) left++
      print twice + 0, unknown + 0, left + 0 }')" "0 0 0"
done

# --- sampled: with gaps of 1 byte all are there, with others a share ---
for gap in 1 256
do
  rm -f "$t"
  "$trace" record -q --sample $gap --seed 1 -o "$t" "$work/slices" 4 \
    > "$work/out" 2> "$work/err"
  equal "sampled-$gap-runs" "$? $(cmp "$work/out" "$work/plain" 2>&1)" "0 "
  equal "sampled-$gap-order" "$("$trace" dump "$t" | awk '
    $3 ~ /free|delete|munmap/ {
      if (!($4 in alive)) unknown++
      delete alive[$4]
      next }
    { if ($4 in alive) twice++
      alive[$4] = $3 }
    END {
      for (a in alive)
        if (alive[a] ~ /^[mc]alloc$/)
          delete alive[a]
      for (a in alive) left++
      print twice + 0, unknown + 0, left + 0 }')" "0 0 0"
  for pair in slice_alloc=20000 linear-alloc=16000 stack-alloc=8000 \
    pool-alloc=12000 tlsf-alloc=9000
  do
    n=$(count "$t" "${pair%=*}")
    all=${pair#*=}
    case $gap in
    # some have 1 to 8 bytes: of those with 1, 63 % are taken
    1) least=$((all * 9 / 10)); most=$all;;
    *) least=$((all / 50)); most=$((all * 9 / 10));;
    esac
    if [ "$n" -ge $least ] && [ "$n" -le $most ]; then
      pass "sampled-$gap-${pair%=*}"
    else fail "sampled-$gap-${pair%=*}" "$n of $all"; fi
  done
done

# --- whose are they: the program's functions, not the library's ---
sites=$("$trace" hot "$t" | awk 'NR > 1 { print $8 }' | sort -u | tr '\n' ' ')
wanted="use_contexts use_linear use_pool use_slices use_stack use_tlsf "
if "$trace" hot "$t" | grep -q use_slices; then
  equal sites "$(for site in $sites; do
    case $site in use_*) printf '%s ' "$site";; esac; done)" "$wanted"
  equal no-library-sites \
    "$(echo "$sites" | tr ' ' '\n' | grep -c 'slice_\|ralloc\|sli_')" 0
else
  equal sites "$sites" "$wanted"
fi

# --- modes of the library: the recorder gets the same ---
for options in checked debug bypass-magazines always-malloc
do
  rm -f "$t"*
  "$trace" record --follow -o "$t" -- env SLICE_OPTIONS=$options \
    "$work/slices" 2 > "$work/out" 2> "$work/err"
  equal "$options-runs" $? 0
  file=$(ls "$t"* | while read -r each; do
    [ "$(count "$each" slice_alloc)" -gt 0 ] && echo "$each"; done | head -n 1)
  for pair in slice_alloc=10000 slice_free=10000 context-alloc=9008 \
    pool-alloc=6000 linear-free=8000
  do
    equal "$options-${pair%=*}" "$(count "${file:-$t}" "${pair%=*}")" \
      "${pair#*=}"
  done
done

# --- a plugin brings the library along ---
record "$t" "$work/plugged" "$work/plugin.so"
equal plugin-runs $? 0
equal plugin-slices "$(count "$t" slice_alloc)" 500
equal plugin-slices-freed "$(count "$t" slice_free)" 500

# --- a fork: the child's are in its own trace ---
record "$t" "$work/plugged" "$work/plugin.so" fork
equal fork-runs $? 0
equal fork-parent "$(count "$t" slice_alloc)" 500
child=$(ls "$t".* 2> "$work/err" | head -n 1)
equal fork-child "$(count "${child:-$t}" slice_alloc)" 500

# --- versions: one back is read, one ahead is not ---
for version in 1 3
do
  cp "$t" "$work/version"
  printf "\\$version" | dd of="$work/version" bs=1 seek=8 conv=notrunc \
    2> "$work/err"
  "$trace" info "$work/version" > "$work/out" 2> "$work/err"
  equal "version-$version" "$? $(sed -n 's/^op malloc //p' "$work/out")" \
    "$([ $version = 1 ] && echo 0 "$(count "$t" malloc)" || echo '4 ')"
done

finish
