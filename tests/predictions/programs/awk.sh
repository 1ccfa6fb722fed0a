# awk.sh - the one true awk counts words in an array
package=original-awk
version=2022-09-12-1
sources="awkgram.tab.c b.c main.c parse.c proctab.c tran.c lib.c run.c lex.c"
arguments="-f program"
prepare ()
{
  bison -d -b awkgram awkgram.y
  cc -g -O2 -I. maketab.c -o maketab && ./maketab awkgram.tab.h > proctab.c
}
input ()
{
  echo '{ for (i = 1; i <= NF; i++) seen[$i]++ }
    END { for (word in seen) { n++; sum += seen[word] } print n, sum }' \
    > "$work/program"
  awk 'BEGIN { for (i = 0; i < 30000; i++)
    print "w" i, "x" int(i / 2), "y" i % 1000, "z" (i * 17) % 40000 }'
}
