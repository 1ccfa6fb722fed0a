# mxml.sh - Mini-XML loads a document
package=mxml
version='3.3.1-1+deb13u1~deb12u1'
sources="mxml.c mxml-*.c"
prepare ()
{
  ./configure -q
}
