#!/bin/sh
# check-layers.sh - calls go down: no #include goes up or skips a floor
#
# A file of floor n may include its own floor, floor n-1, and always base (1)
# and port (0).  Public headers belong to no floor.  Four exceptions: all
# metadata comes from the page floor's meta.h, route.c, aligned.c and bulk.c go
# straight to slabs (and guard*.c mark their chunks), fork.c takes the locks of every
# floor, and observe reads all floors.
# Contexts and arenas are clients: public headers, base, port and their own
# directory.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/check-lib.sh"

# findings DIRECTORY: what is wrong in the tree of slice/ at DIRECTORY
findings ()
{
  (cd "$1" && find . -name '*.[ch]' | sed 's,^\./,,' | sort > "$temporary/list"
   xargs grep -n '^[ 	]*#[ 	]*include' /dev/null < "$temporary/list") \
    > "$temporary/includes"
  awk -v list="$temporary/list" '
    # The floor of a file, "public", or "" if it has none.
    function floor_of (path,    name)
    {
      if (path !~ /\//) return "public"
      if (path ~ /^port\//) return 0
      if (path ~ /^base\//) return 1
      if (path ~ /^(context|arena|observe)\//) return 7
      if (path ~ /^(dropin|tools)\//) return 8
      if (path !~ /^core\//) return ""
      name = path
      sub (/^core\//, "", name)
      sub (/\.[ch]$/, "", name)
      if (name ~ /^(source|map|meta|page|page-floor|page-look|page-trim|region|unitset)$/) return 2
      if (name ~ /^(slab|slab-class|slab-give|slab-look|place|taker)$/) return 3
      if (name ~ /^depot(-magazine)?$/) return 4
      if (name ~ /^(adapt|magazine|record|record-look|record-registry)$/) return 5
      if (name ~ /^(alloc|aligned|bulk|failure|own|route|trace)$/) return 6
      if (name ~ /^(trim|fork|block-check)$/) return 6
      if (name ~ /^guard(-(contents|exit|quick|state|tool))?$/) return 6
      return ""
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
      from = floor_of(path)
      to = floor_of(target)
      if (to == "public") return 1
      if (from == "public") return 0
      if (area_of(path) ~ /^(context|arena)$/)
        return to <= 1 || area_of(path) == area_of(target)
      if (from == to)
        return from < 7 || area_of(path) == area_of(target)
      if (to > from) return 0
      if (to <= 1 || to == from - 1) return 1
      if (target == "core/meta.h" && area_of(path) == "core") return 1
      if (path ~ /^core\/(aligned|bulk|guard(-exit|-tool)?|guard-state|route)\.[ch]$/ && to == 3) return 1
      if (path == "core/fork.c") return 1
      if (area_of(path) == "observe") return 1
      return 0
    }
    BEGIN {
      while ((getline path < list) > 0)
        {
          ours[path] = 1
          if (floor_of(path) == "")
            print path ": on no floor (see the table in check-layers.sh)"
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
        print path ":" field[2] ": floor " floor_of(path) " includes " target \
              ", floor " floor_of(target)
    }' "$temporary/includes"
}

# plant FILE LINE...: a tree with one file more
plant ()
{
  rm -rf "$temporary/tree"
  mkdir -p "$temporary/tree"
  (cd "$top_srcdir/slice" && find . -name '*.[ch]' -exec sh -c '
     for file; do
       mkdir -p "$0/${file%/*}" && cp "$file" "$0/$file"
     done' "$temporary/tree" {} +)
  chmod -R u+w "$temporary/tree"
  mkdir -p "$temporary/tree/$(dirname "$1")"
  for stone in port/a.h base/a.h core/page.h core/slab.h core/depot.h \
               core/magazine.h core/alloc.h core/meta.h arena/a.h context/a.h; do
    mkdir -p "$temporary/tree/${stone%/*}"
    test -f "$temporary/tree/$stone" || : > "$temporary/tree/$stone"
  done
  file=$1
  shift
  printf '%s\n' "$@" >> "$temporary/tree/$file"
}

expect_none "no include goes up or skips a floor" \
  "$(findings "$top_srcdir/slice")"

# Can it fail?
plant core/slab.c '#include "core/depot.h"'
expect_found "an include upwards is found" "core/slab.c.*floor 4" \
  "$(findings "$temporary/tree")"
plant port/lock.c '#include "../base/a.h"'
expect_found "an include upwards by a relative path is found" \
  "port/lock.c.*floor 1" "$(findings "$temporary/tree")"
plant core/depot.c '# include "page.h"'
expect_found "an include that skips a floor is found" \
  "core/depot.c.*floor 2" "$(findings "$temporary/tree")"
plant core/trim.c '#include "core/slab.h"'
expect_found "the exception of route.c is its own" "core/trim.c.*floor 3" \
  "$(findings "$temporary/tree")"
plant context/x.c '#include "core/alloc.h"'
expect_found "a context that is no client is found" "context/x.c.*floor 6" \
  "$(findings "$temporary/tree")"
plant arena/x.c '#include "context/a.h"'
expect_found "an arena that uses contexts is found" "arena/x.c.*floor 7" \
  "$(findings "$temporary/tree")"
plant slice.h '#include "base/a.h"'
expect_found "a public header that includes a private one is found" \
  "slice.h.*floor 1" "$(findings "$temporary/tree")"
plant core/unheard.c '#include "port/a.h"'
expect_found "a file on no floor is found" "core/unheard.c: on no floor" \
  "$(findings "$temporary/tree")"
plant core/slab.c '#include "core/unheard.h"'
expect_found "an include of nothing is found" "unheard.h is not there" \
  "$(findings "$temporary/tree")"
plant core/route.c '#include "core/slab.h"'
plant_ok=$(findings "$temporary/tree" | grep 'core/route.c.*floor 3')
expect_none "route.c may include slab.h" "$plant_ok"

finish
