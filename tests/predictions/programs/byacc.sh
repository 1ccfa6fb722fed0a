# byacc.sh - Berkeley yacc reads a large grammar
package=byacc
version='1:2.0.20221106-1'
sources="closure.c error.c graph.c lalr.c lr0.c main.c mkpar.c mstring.c
  output.c reader.c yaccpar.c symtab.c verbose.c warshall.c"
flags="-DHAVE_CONFIG_H"
arguments="-o out.c grammar.y"
prepare ()
{
  ./configure -q
}
input ()
{
  awk 'BEGIN { print "%token A B C\n%%\nall: | all statement ;"
    for (i = 0; i < 1200; i++)
      print "statement: r" i " B ;\nr" i ": A C r" i " | k" i " ;\nk" i ": \"x"\
       i "\" ;"
    print "%%" }' > "$work/grammar.y"
}
