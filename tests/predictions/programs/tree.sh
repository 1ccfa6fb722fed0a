# tree.sh - tree shows a list of files as a tree
package=tree
version=2.1.0-1
sources="tree.c list.c hash.c color.c file.c filter.c info.c unix.c xml.c
  json.c html.c strverscmp.c"
flags="-std=c11 -D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64"
arguments="--fromfile ."
input ()
{
  awk 'BEGIN { for (i = 0; i < 90000; i++)
    print "top/d" i % 200 "/e" int(i / 200) % 20 "/file" i ".c" }'
}
