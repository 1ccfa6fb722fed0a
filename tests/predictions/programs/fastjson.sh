# fastjson.sh - libfastjson parses a log
package=libfastjson
version=1.2304.0-1
sources="fastjson.c arraylist.c debug.c json_object.c json_object_iterator.c
  json_print.c json_tokener.c json_util.c json_version.c printbuf.c"
flags="-DHAVE_CONFIG_H -D_GNU_SOURCE"
prepare ()
{
  ./configure -q --disable-shared
}
