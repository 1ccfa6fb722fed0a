# xml2.sh - libxml2 reads a document into a tree
package=libxml2
version='2.9.14+dfsg-1.3~deb12u6'
sources="xml2.c SAX2.c buf.c chvalid.c dict.c encoding.c entities.c error.c
  globals.c hash.c list.c parser.c parserInternals.c threads.c tree.c uri.c
  valid.c xmlIO.c xmlmemory.c xmlstring.c"
flags="-Iinclude -DHAVE_CONFIG_H"
prepare ()
{
  ./configure -q --with-minimum --with-tree --with-sax1 --without-threads \
    --without-lzma --without-zlib
}
