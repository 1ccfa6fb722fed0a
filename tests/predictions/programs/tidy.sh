# tidy.sh - tidy mends a long page
package=tidy-html5
version='2:5.6.0-11'
sources="src/access.c src/alloc.c src/attrdict.c src/attrs.c src/buffio.c
  src/charsets.c src/clean.c src/config.c src/entities.c src/fileio.c src/gdoc.c
  src/istack.c src/language.c src/lexer.c src/mappedio.c src/message.c
  src/messageobj.c src/parser.c src/pprint.c src/sprtf.c src/streamio.c
  src/tagask.c src/tags.c src/tidylib.c src/tmbstr.c src/utf8.c console/tidy.c"
flags='-Iinclude -Isrc -DLIBTIDY_VERSION="5.6.0" -DRELEASE_DATE="2017/11/25"'
arguments="-q --show-warnings no page.html"
input ()
{
  awk 'BEGIN { print "<!DOCTYPE html><html><head><title>A page</title></head>"
    print "<body>"
    for (i = 0; i < 60000; i++)
      print "<p>Line " i " has <em>words</em>, and <b>others</b></p>"
    print "</body></html>" }' > "$work/page.html"
}
