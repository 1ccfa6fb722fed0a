#!/bin/sh
# check-layers.sh - calls go down: no #include goes up or skips a layer
#
# Each folder of slice/ is a layer.  A file may include its own layer, the
# layer beneath, and always base and port.  Public headers belong to no layer.
# And port alone asks in an #if for the system, the processor or the compiler.
# Contexts and arenas are clients of the slices: they include public headers
# and, of the layers beneath, what alloc and page offer them by name.  Other
# exceptions stand in the function `allowed', each with its reason.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

# findings DIRECTORY: what is wrong in the tree of slice/ at DIRECTORY
findings ()
{
  (cd "$1" && find . -name '*.[ch]' -o -name '*.hpp' | sed 's,^\./,,' | sort > "$temporary/list"
   xargs grep -n '^[ 	]*#[ 	]*include' /dev/null < "$temporary/list") \
    > "$temporary/includes"
  awk -v list="$temporary/list" '
    # The layer of a file, "public", or "" if it has none.
    function layer_of (path)
    {
      if (path !~ /\//) return "public"
      sub (/\/.*/, "", path)
      return path in height ? height[path] : ""
    }
    function area_of (path)
    {
      sub (/\/.*/, "", path)
      return path
    }
    # The file that an include of `name` in `path` means; "" if not ours.
    function resolve (path, name,    near)
    {
      near = path
      sub (/[^\/]*$/, "", near)
      near = near name
      while (sub (/[^\/]+\/\.\.\//, "", near))
        ;
      if (near in ours) return near
      if (name in ours) return name
      sub (/^slice\//, "", name)
      if (name in ours) return name
      return ""
    }
    function allowed (path, target,    from, to)
    {
      from = layer_of(path)
      to = layer_of(target)
      if (to == "public") return 1
      if (from == "public") return 0
      if (area_of(path) == area_of(target)) return 1
      # The slices, the runs and the address map, as contexts and arenas may
      # see them.
      if (area_of(path) ~ /^(context|arena)$/ \
          && (target == "alloc/untraced-slice.h" \
              || target ~ /^page\/(map\/.*|page|region)\.h$/))
        return 1
      # Is a root at the start of a chunk?  Its slab tells, without a call.
      if (path ~ /^context\/(node|ralloc\/free\/ralloc-free-plain)\.c$/ \
          && target == "slab/chunk.h") return 1
      # An arena may be a node of a tree.
      if (path == "arena/in-context.c" && target == "context/owned.h") return 1
      if (area_of(path) ~ /^(context|arena)$/) return to <= height["base"]
      if (to >= from) return 0
      if (to <= height["base"] || to == from - 1) return 1
      # All records come from one place.
      if (target == "page/meta.h" && from <= height["alloc"]) return 1
      # A miss in the depot is served by the slabs.
      if (area_of(path) == "magazine" && target == "slab/slab.h") return 1
      # The checking modes tag chunks.
      if (target == "slab/chunk.h" && area_of(path) == "checking") return 1
      # Every allocation goes through the magazines, in whatever mode.
      if (area_of(path) == "alloc" && area_of(target) == "magazine") return 1
      # They bypass the magazines, by option or in batches.
      if (path ~ /^alloc\/(aligned|batch|block-info|dispatch)\.c$/ \
          && area_of(target) == "slab") return 1
      # A fork takes the locks of every layer.
      if (path == "alloc/process/fork.c") return 1
      # Observers read every layer.  The heap looks up every address.
      if (area_of(path) ~ /^(observe|heap)$/) return 1
      return 0
    }
    BEGIN {
      n_layers = split ("port base page slab depot magazine checking alloc",
                        layers, " ")
      for (i = 1; i <= n_layers; i++)
        height[layers[i]] = i - 1
      height["context"] = height["arena"] = height["observe"] = n_layers
      height["heap"] = n_layers
      height["dropin"] = height["tools"] = n_layers + 1
      while ((getline path < list) > 0)
        {
          ours[path] = 1
          if (layer_of(path) == "")
            print path ": in no layer (see the list in check-layers.sh)"
        }
      ours["version.h"] = 1
    }
    {
      split ($0, field, ":")
      path = field[1]
      name = $0
      if (name !~ /include[ \t]*["<]/)
        {
          print path ":" field[2] ": an include that can not be read"
          next
        }
      quoted = name ~ /include[ \t]*"/
      sub (/.*include[ \t]*["<]/, "", name)
      sub (/[">].*/, "", name)
      if (name == "config.h") next
      target = quoted || name ~ /^slice\// ? resolve(path, name) : ""
      if (target == "")
        {
          if (quoted || name ~ /^slice\//)
            print path ":" field[2] ": " name " is not there"
        }
      else if (!allowed(path, target))
        print path ":" field[2] ": layer " area_of(path) " includes " target
    }' "$temporary/includes"
}

# The tree, to which faults are added one at a time.
mkdir "$temporary/tree"
(cd "$top_srcdir/slice" && find . '(' -name '*.[ch]' -o -name '*.hpp' ')' \
   -print | tar -cf - -T -) | tar -xf - -C "$temporary/tree"
chmod -R u+w "$temporary/tree"
for header in port/a.h base/a.h arena/a.h context/a.h; do
  : > "$temporary/tree/$header"
done

# plant FILE LINE...: the tree with these lines at the end of FILE, which may be
# a new one, and without those that were planted before
planted=
plant ()
{
  test -z "$planted" || rm -f "$temporary/tree/$planted"
  test ! -f "$temporary/planted" \
    || mv "$temporary/planted" "$temporary/tree/$planted"
  planted=$1
  shift
  mkdir -p "$temporary/tree/$(dirname "$planted")"
  test ! -f "$temporary/tree/$planted" \
    || cp "$temporary/tree/$planted" "$temporary/planted"
  printf '%s\n' "$@" >> "$temporary/tree/$planted"
}

# late DIRECTORY: sources of contexts and arenas that include a public header
# before untraced-slice.h, or never that one
late ()
{
  find "$1/context" "$1/arena" -name '*.c' | sort | xargs awk '
    FNR == 1 { if (NR > 1 && !done) print name; name = FILENAME; done = 0 }
    /^#include "alloc\/untraced-slice.h"/ && !done { done = 1 }
    /^#include <slice\// && !done { print FILENAME ": " $0; done = 1 }
    END { if (!done) print name }
  '
}

# conditions DIRECTORY: #if outside of port that ask for what is not our own.
# (Public headers have no port; neither has the one that takes Mesa's place.)
conditions ()
{
  find "$1" -mindepth 2 -name '*.[ch]' ! -path "$1/port/*" \
    ! -name mesa-ralloc.h | sort | xargs awk '
    /^[ \t]*#[ \t]*(if|ifdef|ifndef|elif)/ {
      text = $0
      gsub (/\/\*.*|"[^"]*"/, "", text)
      sub (/^[ \t]*#[ \t]*[a-z]+/, "", text)
      gsub (/[^A-Za-z0-9_]+/, " ", text)
      n = split (text, words, " ")
      for (i = 1; i <= n; i++)
        if (words[i] !~ /^(defined|[0-9].*|WIDE|(SLI|SLICE|TLSF|CHAIN|SLAB)_.*)$/)
          print FILENAME ":" FNR ": " $0
    }'
}

expect_none "no include goes up or skips a layer" \
  "$(findings "$top_srcdir/slice")"
expect_none "contexts and arenas use untraced slices" \
  "$(late "$top_srcdir/slice")"

expect_none "port alone depends on system, processor and compiler" \
  "$(conditions "$top_srcdir/slice")"
plant base/bad.h '#ifdef __linux__' '#endif'
expect_found "a condition elsewhere is found" 'base/bad.h:1: #ifdef __linux__' \
  "$(conditions "$temporary/tree")"

# upward LIBRARY: our functions and variables that a layer's library uses and
# neither it nor a layer beneath it defines
upward ()
{
  ${NM:-nm} "$1" 2> /dev/null | awk '
    NF == 2 && $1 == "U" && $2 ~ /^(sli_|slice_)/ { used[$2] }
    NF == 3 { defined[$3] }
    # It is missing or not, as the linker likes: see LINK_WITH().
    END { for (name in used)
            if (!(name in defined) && name != "sli_dump_linked") print name }'
}

for layer in port base page slab depot magazine checking alloc; do
  library=$top_builddir/slice/.libs/lib$layer.a
  if test -f "$library"; then
    expect_none "$layer links without the layers above" "$(upward "$library")"
  else
    skip "$layer links without the layers above" "no $library"
  fi
done

# Can it fail?
plant slab/slab.c '#include "depot/depot.h"'
expect_found "an include upwards is found" "slab/slab.c.*includes depot" \
  "$(findings "$temporary/tree")"
plant port/thread/lock.c '#include "../../base/a.h"'
expect_found "an include upwards by a relative path is found" \
  "port/thread/lock.c.*includes base" "$(findings "$temporary/tree")"
plant depot/depot.c '# include "page/page.h"'
expect_found "an include that skips a layer is found" \
  "depot/depot.c.*includes page" "$(findings "$temporary/tree")"
plant alloc/process/trim.c '#include "slab/slab.h"'
expect_found "the exception of dispatch.c is its own" \
  "alloc/process/trim.c.*includes slab" "$(findings "$temporary/tree")"
plant context/x.c '#include "alloc/alloc.h"'
expect_found "a context that is no client is found" \
  "context/x.c.*includes alloc" "$(findings "$temporary/tree")"
expect_found "a context whose slices are traced is found" "context/x.c" \
  "$(late "$temporary/tree")"
plant arena/x.c '#include "context/a.h"'
expect_found "an arena that uses contexts is found" \
  "arena/x.c.*includes context" "$(findings "$temporary/tree")"
plant slice.h '#include "base/a.h"'
expect_found "a public header that includes a private one is found" \
  "slice.h.*includes base" "$(findings "$temporary/tree")"
plant strange/x.c '#include "port/a.h"'
expect_found "a file in no layer is found" "strange/x.c: in no layer" \
  "$(findings "$temporary/tree")"
plant slab/slab.c '#include "slab/unknown.h"'
expect_found "an include of nothing is found" "unknown.h is not there" \
  "$(findings "$temporary/tree")"
object=$(ls "$top_builddir"/slice/alloc/liballoc_la-untraced.o \
            2> /dev/null || :)
if test -n "$object"; then
  expect_found "a use of the layers above is found" "sli_dispatch\\|sli_dispatch" \
    "$(upward "$object")"
fi
plant alloc/dispatch.c '#include "slab/slab.h"'
plant_ok=$(findings "$temporary/tree" | grep 'alloc/dispatch.c')
expect_none "dispatch.c may include slab.h" "$plant_ok"

finish
