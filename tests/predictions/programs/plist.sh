# plist.sh - libplist reads a list of properties
package=libplist
version=2.2.0-6
sources="properties.c src/base64.c src/bplist.c src/bytearray.c
  src/hashtable.c src/plist.c src/ptrarray.c src/time64.c src/xplist.c
  libcnary/node.c libcnary/node_list.c"
flags='-Iinclude -Isrc -Ilibcnary/include -D_GNU_SOURCE -DHAVE_STRNDUP
  -DHAVE_GMTIME_R -DHAVE_TIMEGM -DHAVE_LOCALTIME_R -DHAVE_STRPTIME
  -DHAVE_TM_TM_GMTOFF -DHAVE_TM_TM_ZONE -DPACKAGE_VERSION="2.2.0"'
prepare ()
{
  mv plist.c properties.c
}
