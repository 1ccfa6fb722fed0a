# ed.sh - GNU ed reads a long file, moves lines, and copies some
package=ed
version=1.19-1
sources="buffer.c carg_parser.c global.c io.c main.c main_loop.c regex.c
  signal.c"
flags='-DPROGVERSION="1.19"'
arguments="-s text"
input ()
{
  awk 'BEGIN { for (i = 0; i < 200000; i++) print "line " i }' > "$work/text"
  printf '%s\n' '1000,90000m$' '1,150000t$' '$-3,$p' Q
}
