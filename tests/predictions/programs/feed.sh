# feed.sh - expat reads a feed into a tree of the program's own
package=expat
version='2.5.0-1+deb12u2'
sources="feed.c expat/lib/xmlparse.c expat/lib/xmltok.c expat/lib/xmlrole.c"
flags="-I. -Iexpat/lib -DHAVE_EXPAT_CONFIG_H"
prepare ()
{
  printf '#define %s\n' 'BYTEORDER 1234' 'HAVE_GETRANDOM 1' 'XML_NS 1' \
    'XML_DTD 1' 'XML_CONTEXT_BYTES 1024' > expat_config.h
}
input ()
{
  awk 'BEGIN {
    print "<feed xml:lang=\"en\">"
    for (i = 0; i < 26000; i++)
      printf "<item id=\"n%d\"><title>News %d of %d</title>" \
             "<author mail=\"a%d@example\">A. Writer</author>" \
             "<body>What was <b>new</b> on day %d, and why.</body></item>\n",
             i, i, i * 7 % 1000, i % 90, i % 365
    print "</feed>"
  }'
}
