# jq.sh - jq reads a list and takes parts of it
package=jq
version=1.6-2.1+deb12u2
sources="src/builtin.c src/bytecode.c src/compile.c src/execute.c src/jv.c
  src/jv_alloc.c src/jq_test.c src/jv_aux.c src/jv_dtoa.c src/jv_file.c src/jv_parse.c
  src/jv_print.c src/jv_unicode.c src/lexer.c src/linker.c src/locfile.c
  src/main.c src/parser.c src/util.c"
flags='-Isrc -D_GNU_SOURCE -DIEEE_8087 -DHAVE_PTHREAD_KEY_CREATE
  -DHAVE_MKSTEMP -DHAVE_ALLOCA_H -DHAVE_ISATTY -DHAVE_STRPTIME -DHAVE_GMTIME_R
  -DHAVE_GMTIME -DHAVE_TIMEGM -DHAVE_TM_TM_GMT_OFF
  -DHAVE_MEMMEM -DHAVE_LOCALTIME_R -DHAVE_STRFTIME -DHAVE_MKTIME'
arguments="-c 'map(.name)|length,.[77]'"
prepare ()
{
  sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/' \
    src/builtin.jq > src/builtin.inc
  printf '#define JQ_VERSION "1.6"\n' > src/version.h
}
input ()
{
  awk 'BEGIN { printf "["; for (i = 0; i < 40000; i++)
    printf "%s{\"id\":%d,\"name\":\"item %d\",\"tags\":[\"a%d\",\"b\"]}",
      (i > 0 ? "," : ""), i, i, i % 70; print "]" }'
}
