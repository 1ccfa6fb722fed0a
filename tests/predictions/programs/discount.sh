# discount.sh - discount formats a long text
package=discount
version=2.2.7-2
flags='-DBRANCH=""'
sources="main.c pgm_options.c gethopt.c notspecial.c mkdio.c markdown.c
  dumptree.c generate.c resource.c docheader.c version.c toc.c css.c xml.c
  Csio.c xmlpage.c basename.c emmatch.c github_flavoured.c setup.c tags.c
  html5.c flags.c h1title.c"
prepare ()
{
  ./configure.sh && make blocktags version.c mkdio.h
  make blocktags
}
input ()
{
  awk 'BEGIN { for (i = 0; i < 4000; i++) {
    print "## Section " i "\n\nA *word*, a `name` and a [link](/to/" i ")."
    print "Another **line** with \"quotes\".\n\n* one " i "\n* two\n" } }'
}
