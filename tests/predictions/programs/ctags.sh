# ctags.sh - Exuberant Ctags makes a sorted list of tags
package=exuberant-ctags
version='1:5.9~svn20110310-18'
sources="args.c ant.c asm.c asp.c awk.c basic.c beta.c c.c cobol.c dosbatch.c
  eiffel.c entry.c erlang.c flex.c fortran.c get.c go.c html.c jscript.c
  keyword.c lisp.c lregex.c lua.c main.c make.c matlab.c objc.c ocaml.c
  options.c parse.c pascal.c perl.c php.c python.c read.c rexx.c routines.c
  ruby.c scheme.c sh.c slang.c sml.c sort.c sql.c strlist.c tcl.c tex.c verilog.c vhdl.c vim.c
  vstring.c yacc.c"
flags="-DHAVE_CONFIG_H"
arguments="-f - text.c"
prepare ()
{
  ./configure -q --disable-external-sort
}
input ()
{
  awk 'BEGIN { for (i = 0; i < 200000; i++)
    print "int name" (i * 7919) % 200000 "_of_it (int a);\n" \
      "#define MACRO_" i " " i }' > "$work/text.c"
}
