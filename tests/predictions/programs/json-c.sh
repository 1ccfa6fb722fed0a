# json-c.sh - json-c parses a text
package=json-c
version=0.16-2
sources="json-c.c arraylist.c debug.c json_c_version.c json_object.c
  json_object_iterator.c json_pointer.c json_tokener.c json_util.c json_visit.c
  linkhash.c printbuf.c random_seed.c strerror_override.c"
flags="-D_GNU_SOURCE"
prepare ()
{
  for header in fcntl inttypes limits locale stdarg stdint stdlib strings \
    string sys/types unistd; do
    echo "#define HAVE_$(echo $header | tr a-z/ A-Z_)_H 1"
  done > config.h
  for name in HAVE_DECL_INFINITY HAVE_DECL_ISINF HAVE_DECL_ISNAN \
    HAVE_DECL_NAN HAVE_OPEN HAVE_REALLOC HAVE_SETLOCALE HAVE_SNPRINTF \
    HAVE_STRCASECMP HAVE_STRDUP HAVE_STRERROR HAVE_STRNCASECMP \
    HAVE_USELOCALE HAVE_VASPRINTF HAVE_VPRINTF HAVE_VSNPRINTF \
    HAVE_STRTOLL HAVE_STRTOULL HAVE_ATOMIC_BUILTINS; do
    echo "#define $name 1"
  done >> config.h
  printf '#define %s\n' 'strtoll strtoll' 'SIZEOF_INT 4' 'SIZEOF_LONG 8' \
    'SIZEOF_LONG_LONG 8' 'SIZEOF_SIZE_T 8' 'SIZEOF_SSIZE_T 8' \
    'SIZEOF_INT64_T 8' >> config.h
  printf '#define JSON_C_HAVE_INTTYPES_H 1\n#define JSON_C_HAVE_STDINT_H 1\n' \
    > json_config.h
  sed '/cmakedefine/d; s/@[A-Z_]*@//' json.h.cmakein > json.h
}
