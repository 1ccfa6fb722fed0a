# libconfig.sh - libconfig reads a configuration
package=libconfig
version=1.5-0.4
sources="libconfig.c lib/grammar.c lib/libconfig.c lib/scanctx.c lib/scanner.c
  lib/strbuf.c"
flags="-Ilib"
