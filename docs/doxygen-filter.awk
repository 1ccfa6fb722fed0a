# doxygen-filter.awk - a public header as Doxygen wants it
#
# The comment at a header's head becomes the file's page, and what the header
# declares goes into the group of its topic (docs/groups.dox).  Used by `make
# docs' only.
#
# SPDX-License-Identifier: MIT

BEGIN {
  split ("slice.h blocks address.h blocks gslice.h blocks heap.h blocks " \
         "libslice.h blocks version.h blocks handlers.h process " \
         "options.h process stats.h process source.h process walk.h process " \
         "hooks.h tracing trace.h tracing " \
         "ralloc.h contexts ralloc-linear.h contexts " \
         "ralloc-extension.h contexts ralloc-string.h contexts " \
         "ralloc-operators.hpp contexts " \
         "arena.h arenas linear.h arenas stack.h arenas pool.h arenas " \
         "tlsf.h arenas " \
         "slice.hpp cxx slice-detail.hpp cxx slice-operators.hpp cxx " \
         "slice-unique.hpp cxx slice-llvm.hpp cxx slice-resource.hpp cxx " \
         "slice-strategy.hpp cxx", words, " ")
  for (i = 1; i in words; i += 2)
    group[words[i]] = words[i + 1]
}

FNR == 1 {
  name = FILENAME
  sub (/.*\//, "", name)
  sub (/\.in$/, "", name)
  if (!(name in group))
    {
      print "doxygen-filter.awk: " name " has no group" > "/dev/stderr"
      group[name] = "blocks"
    }
  text = $0
  sub (/^\/\* [^ ]+ - /, "", text)
  print "/** @file " name
  print " * @brief " text
  in_head = 1
  if (text ~ /\*\/ *$/)
    {
      in_head = 0
      print "/** @addtogroup " group[name] "\n * @{ */"
    }
  next
}

# No name after a # is a link.
in_head { gsub (/#/, "\\#") }

in_head && /\*\// {
  print
  print "/** @addtogroup " group[name] "\n * @{ */"
  in_head = 0
  next
}

{ print }

END { print "/** @} */" }
