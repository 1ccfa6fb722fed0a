# onig.sh - oniguruma compiles a large regular expression
package=libonig
version=6.9.8-1
sources="onig.c src/ascii.c src/onig_init.c src/regcomp.c src/regenc.c
  src/regerror.c src/regexec.c src/regext.c src/regparse.c src/regsyntax.c
  src/regtrav.c src/regversion.c src/st.c src/unicode.c
  src/unicode_fold1_key.c src/unicode_fold2_key.c src/unicode_fold3_key.c
  src/unicode_unfold_key.c src/utf8.c"
flags="-Isrc -DHAVE_CONFIG_H -DSIZEOF_INT=4 -DSIZEOF_LONG=8
  -DSIZEOF_LONG_LONG=8 -DSIZEOF_VOIDP=8 -DHAVE_STDINT_H -DHAVE_ALLOCA_H"
prepare ()
{
  : > src/config.h
}
