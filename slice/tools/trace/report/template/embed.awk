# embed.awk - files as one C source: awk -f embed.awk FILE...
#
# Blanks at the start of a line are for who reads the source, not the page.
#
# SPDX-License-Identifier: MIT

BEGIN {
  print "/* Made by embed.awk. */"
  print "#include \"tools/trace/report/page.h\""
  print "const PageFile sli_page_files[] = {"
}

FNR == 1 {
  name = FILENAME
  sub (/.*\//, "", name)
  if (NR > 1)
    print "  },"
  print "  { \"" name "\","
}

{
  sub (/^ +/, "")
  gsub (/\\/, "&&")
  gsub (/"/, "\\\"")
  if ($0 != "")
    print "    \"" $0 "\\n\""
}

END { print "  },\n  { 0 }\n};" }
