# tinyxml.sh - TinyXML, in C++, loads a document
package=tinyxml
version='2.6.2-6+deb12u1'
sources="document.cc tinystr.cpp tinyxml.cpp tinyxmlerror.cpp
  tinyxmlparser.cpp"
compiler=$CXX
flags="-DTIXML_USE_STL"
prepare ()
{
  mv tinyxml.cc document.cc
}
