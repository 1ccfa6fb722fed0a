# yajl.sh - yajl builds the trees of a text
package=yajl
version=2.1.0-3+deb12u2
sources="yajl.c src/yajl*.c"
flags="-Iinclude -Isrc"
prepare ()
{
  mkdir -p include/yajl && cp src/api/*.h include/yajl
  printf '#define YAJL_MAJOR 2\n#define YAJL_MINOR 1\n#define YAJL_MICRO 0\n%s\n' \
    '#define YAJL_VERSION 20100' > include/yajl/yajl_version.h
  # its own version.c is named like the driver's would be
  sed -i 's|<yajl/yajl_version.h>|"yajl/yajl_version.h"|' src/yajl_version.c
}
