#!/bin/sh
# check-exports.sh - the library exports what its headers declare, no more and
# no less, by a version map; and it is linked as it must be
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

: "${PUBLIC_HEADERS:=slice/slice.h slice/options.h slice/stats.h \
slice/source.h slice/version.h}"
library=$top_builddir/slice/.libs/libslice.so
map=$top_srcdir/slice/packaging/libslice.map
# A build with assertions keeps each thread's list of held locks as well.
tls_bytes_max=16
if grep -q '^#define SLICE_DEBUG ' "$top_builddir/config.h" 2> /dev/null; then
  tls_bytes_max=64
fi

test -f "$library" || skip_all "no shared library was built"
# (A plain build names some weakly, to tell them what is whose.)
if $NM -D "$library" | grep -q -E ' U __(asan|tsan|ubsan)_'; then
  skip_all "instrumented by a sanitizer"
fi

# declared HEADER...: the names that the headers declare, from the
# preprocessor's output of them alone: at the top level, what stands before
# the first parenthesis; attributes and bodies removed
declared ()
{
  for header; do
    echo "#include <$header>"
  done > "$temporary/all.c"
  $CC -E -I"$top_builddir" -I"$top_srcdir" -I"$temporary" \
    "$temporary/all.c" | awk '
    # Only lines from headers of slice/ count.
    /^#/ { ours = $3 ~ /slice\/[a-z-]+\.h"$/; next }
    ours { text = text " " $0 }
    END {
      depth = 0
      n = length (text)
      for (i = 1; i <= n; i++)
        {
          c = substr (text, i, 1)
          if (c == "{")
            {
              if (depth++ == 0) declaration(chunk, 1)
              if (depth == 1) kept = chunk
            }
          else if (c == "}")
            {
              if (--depth == 0)
                {
                  # A struct goes on to its semicolon; a function is done.
                  chunk = kept ~ /\(/ || kept ~ /extern *"C"/ ? "" : "typedef "
                }
            }
          else if (depth > 0)
            continue
          else if (c == ";")
            {
              declaration(chunk, 0)
              chunk = ""
            }
          else
            chunk = chunk c
        }
    }
    function declaration (chunk, has_body,    at, i, depth, c)
    {
      while ((at = index (chunk, "__attribute__")) > 0)
        {
          depth = 0
          for (i = at; i <= length (chunk); i++)
            {
              c = substr (chunk, i, 1)
              if (c == "(") depth++
              if (c == ")" && --depth == 0) break
            }
          chunk = substr (chunk, 1, at - 1) " " substr (chunk, i + 1)
        }
      if (chunk ~ /(^| )(typedef|static) / || chunk ~ /^[ \t]*$/) return
      if (chunk ~ /^ *_Static_assert/) return
      if (chunk ~ /\(/)
        sub (/[ \t]*\(.*/, "", chunk)
      else if (has_body || chunk !~ /(^| )extern /)
        return
      gsub (/[ \t]+$/, "", chunk)
      sub (/.*[^A-Za-z0-9_]/, "", chunk)
      if (chunk != "") print chunk
    }' | sort -u
}

# exported LIBRARY: the names that it defines for others
exported ()
{
  $NM -D --defined-only "$1" \
    | awk '$2 != "A" { sub (/@.*/, "", $3); print $3 }' | sort -u
}

# unversioned LIBRARY: names without a version, or of none that the map has
unversioned ()
{
  $NM -D --defined-only --with-symbol-versions "$1" \
    | awk '$2 != "A" { print $3 }' \
    | while read -r name; do
        node=${name##*@}
        grep -q "^$node {" "$map" || echo "$name: of no node of the map"
      done
}

# unmapped: reads names; says which ones no pattern of the map has
unmapped ()
{
  patterns=$(awk '/global:/ { on = 1; next } /local:/ { on = 0 }
                  on { gsub (/[ \t;]/, ""); if ($0 != "") print }' "$map")
  while read -r name; do
    found=
    set -f
    for pattern in $patterns; do
      case $name in $pattern) found=1 ;; esac
    done
    set +f
    test -n "$found" || echo "$name: not in the map"
  done
}

# names LIBRARY HEADER...: where declarations, map and library differ
names ()
{
  exported "$1" > "$temporary/exported"
  unversioned "$1"
  shift
  declared "$@" > "$temporary/declared"
  comm -23 "$temporary/exported" "$temporary/declared" \
    | sed 's/$/: exported, in no public header/'
  comm -13 "$temporary/exported" "$temporary/declared" \
    | sed 's/$/: declared, not exported/'
  unmapped < "$temporary/exported"
}

# linkage LIBRARY: how it is linked, where that is wrong
linkage ()
{
  $READELF -dW "$1" > "$temporary/dynamic"
  grep -q NODELETE "$temporary/dynamic" || echo "not NODELETE"
  grep -q -E 'BIND_NOW|FLAGS_1.*NOW' "$temporary/dynamic" \
    || echo "not BIND_NOW"
  grep -q SYMBOLIC "$temporary/dynamic" || echo "not SYMBOLIC"
  grep TEXTREL "$temporary/dynamic"
  $READELF -lW "$1" > "$temporary/segments"
  grep -q GNU_RELRO "$temporary/segments" || echo "no GNU_RELRO"
  grep 'GNU_STACK.*E' "$temporary/segments" | grep 'RWE'
  tls=$(awk '$1 == "TLS" { print $6 }' "$temporary/segments")
  test "$((${tls:-0}))" -le "$tls_bytes_max" \
    || echo "TLS segment of $((tls)) bytes, over $tls_bytes_max"
  $NM -D --undefined-only "$1" | grep '__tls_get_addr'
}

# fast_path LIBRARY: calls for the thread's pointer in the exported functions
fast_path ()
{
  for function in slice_alloc slice_free1; do
    code=$($OBJDUMP -d --no-show-raw-insn "$1" \
             | sed -n "/^[0-9a-f]* <$function\(@@.*\)*>:/,/^\$/p")
    test -n "$code" || echo "$function: no code found"
    printf '%s\n' "$code" | grep '__tls_get_addr' \
      | sed "s/^/$function calls: /"
  done
}

expect_none "headers, map and library name the same" \
  "$(names "$library" $PUBLIC_HEADERS)"
if test -n "${READELF-}"; then
  expect_none "NODELETE, NOW, SYMBOLIC, RELRO, no TEXTREL, small TLS" \
    "$(linkage "$library")"
else
  skip "linkage" "no readelf"
fi
if test -n "${OBJDUMP-}"; then
  expect_none "no __tls_get_addr in slice_alloc and slice_free1" \
    "$(fast_path "$library")"
else
  skip "fast path" "no objdump"
fi

# Can it fail?  A library and a header with every fault.
mkdir -p "$temporary/slice"
cat > "$temporary/bad.c" <<'END'
__thread long slice_alloc_count[300];
int slice_rogue (void);
int slice_rogue (void) { return 0; }
int stranger (void);
int stranger (void) { return 0; }
long slice_alloc (void);
long slice_alloc (void) { return slice_alloc_count[0]++; }
long slice_free1 (void);
long slice_free1 (void) { return slice_alloc_count[1]++; }
END
$CC -O2 -fPIC -shared -ftls-model=global-dynamic -Wl,-z,lazy \
  -o "$temporary/bad.so" "$temporary/bad.c" || exit 99
# (bad.h is read as a header of slice/.)
cat > "$temporary/slice/bad.h" <<'END'
int slice_missing (void);
extern int slice_missing_datum;
static inline int slice_inside (void) { return 0; }
typedef int (*SliceBad) (int slice_parameter);
struct slice_bad { int (*slice_member) (void); };
__attribute__ ((visibility ("default"))) int *slice_rogue (SliceBad hook);
END
found=$(names "$temporary/bad.so" slice/bad.h)
expect_found "a name in no header is found" \
  '^stranger: exported, in no' "$found"
expect_found "a name outside the map is found" \
  '^stranger: not in the map' "$found"
expect_found "a name without a version is found" \
  '^slice_rogue: of no node' "$found"
expect_found "a function that is missing is found" \
  '^slice_missing: declared' "$found"
expect_found "a datum that is missing is found" \
  '^slice_missing_datum: declared' "$found"
expect_none "what is no export is not asked for" \
  "$(echo "$found" | grep -E 'inside|parameter|member|SliceBad|rogue: exp')"
if test -n "${READELF-}"; then
  found=$(linkage "$temporary/bad.so")
  expect_found "a library that can be unloaded is found" NODELETE "$found"
  expect_found "lazy binding is found" BIND_NOW "$found"
  expect_found "a large TLS segment is found" 'TLS segment of [0-9]* bytes' "$found"
  expect_found "an undefined __tls_get_addr is found" __tls_get_addr "$found"
fi
if test -n "${OBJDUMP-}"; then
  expect_found "a call for the thread's pointer is found" \
    'slice_alloc calls: .*__tls_get_addr' "$(fast_path "$temporary/bad.so")"
fi

# --- what happens at exit ---------------------------------------------------

archive=$top_builddir/slice/.libs/libslice.a
echo '#include <slice/slice.h>
int main (void) { return slice_alloc (40) == NULL; }' > "$temporary/exits.c"

# at_exit LIBRARY: what a program says that is linked with it
at_exit ()
{
  $CC -I"$top_builddir" -I"$top_srcdir" "$temporary/exits.c" "$1" \
    -Wl,-rpath,"$(cd "$(dirname "$1")" && pwd)" -lpthread \
    -o "$temporary/exits" 2>&1 \
    && SLICE_OPTIONS=stats "$temporary/exits" 2>&1
}

for linked in "$library" "$archive"; do
  if test -f "$linked"; then
    expect_found "statistics at exit with ${linked##*/}" '^slice: ' \
      "$(at_exit "$linked")"
  fi
done

if ${MAKE:-make} --version 2> /dev/null | grep -q GNU; then
  object=slice/alloc/process/liballoc_la-exit-link.lo
  expect_found "what links it is compiled without -flto" \
    ' -flto .*-fno-lto' \
    "$(${MAKE:-make} -C "$top_builddir" -n CFLAGS='-O2 -flto' \
         -W "$top_srcdir/slice/alloc/process/exit-link.c" $object 2>&1 \
       | grep exit-link.c)"
fi

finish
