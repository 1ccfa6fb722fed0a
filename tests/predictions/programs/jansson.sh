# jansson.sh - jansson loads a text
package=jansson
version=2.14-2
sources="jansson.c src/*.c"
flags="-Isrc -DHAVE_STDINT_H -DHAVE_SYS_TYPES_H -DINITIAL_HASHTABLE_ORDER=3
  -DHAVE_CONFIG_H"
prepare ()
{
  sed 's/@json_inline@/inline/; s/@json_have_[a-z_]*@/1/' \
    src/jansson_config.h.in > src/jansson_config.h
  : > src/jansson_private_config.h
}
