# html2text.sh - html2text, in C++, shows a page of many paragraphs as text
package=html2text
version=1.3.2a-28
sources="html2text.C html.C HTMLControl.C HTMLParser.C Area.C format.C sgml.C
  table.C Properties.C cmp_nocase.C"
compiler=$CXX
flags="-std=c++11 -DVERSION=1.3.2a -DAUTO_PTR_BROKEN"
arguments="page.html"
input ()
{
  awk 'BEGIN { print "<html><body>"
    for (i = 0; i < 20000; i++)
      print "<p>Line <b>" i "</b> has <i>some</i> words,<br>and <a href=x>"\
        "a link</a>.</p>"
    print "</body></html>" }' > "$work/page.html"
}
