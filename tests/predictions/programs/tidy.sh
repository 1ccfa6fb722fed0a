# tidy.sh - tidy mends a long page of HTML
package=tidy-html5
version=2:5.6.0-11
sources="console/tidy.c src/*.c"
flags='-Iinclude -Isrc -DLIBTIDY_VERSION="5.6.0" -DRELEASE_DATE="2017/11/25"
  -DSUPPORT_CONSOLE_APP=1 -D_GNU_SOURCE'
arguments="-q --show-warnings no --force-output yes"
input ()
{
  awk 'BEGIN { print "<html><head><title>t</title></head><body>"
    for (i = 0; i < 9000; i++)
      print "<div class=\"c" i "\"><p>A <b>word</b> and <a href=\"/" i \
        "\">a link</a></p></div>"
    print "</body></html>" }'
}
