# patterns.sh - hyphen reads many patterns
package=hyphen
version=2.8.8-7
sources="patterns.c hnjalloc.c hyphen.c"
arguments="patterns.dic"
input ()
{
  awk 'BEGIN { srand (3); print "UTF-8"
    for (i = 0; i < 60000; i++)
      {
        word = i % 3 ? "" : "."
        for (k = 0; k < 5 + i % 4; k++)
          word = word sprintf ("%c", 97 + int (rand () * 26)) \
            (k == 2 ? 1 + i % 5 : "")
        print word
      } }' > "$work/patterns.dic"
}
