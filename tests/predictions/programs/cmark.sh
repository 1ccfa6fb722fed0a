# cmark.sh - cmark turns a long text into HTML
package=cmark
version=0.30.2-6
sources="src/*.c"
flags="-Isrc"
arguments="text.md"
prepare ()
{
  sed 's/#cmakedefine \(.*\)/#define \1 1/' src/config.h.in > src/config.h
  echo '#define CMARK_EXPORT' > src/cmark_export.h
  sed 's/@[A-Z_]*MAJOR@/0/g; s/@[A-Z_]*MINOR@/30/g; s/@[A-Z_]*PATCH@/2/g' \
    src/cmark_version.h.in > src/cmark_version.h
}
input ()
{
  awk 'BEGIN { for (i = 0; i < 50000; i++)
    {
      if (i % 9 == 0) print "## Part " i "\n"
      print "Some words of line " i ", with more\nin the next one.\n"
      if (i % 5 == 0) print "- one " i "\n- two\n- three\n"
    } }' > "$work/text.md"
}
