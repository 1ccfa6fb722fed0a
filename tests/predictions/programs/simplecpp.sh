# simplecpp.sh - cppcheck's preprocessor, in C++
package=cppcheck
version=2.10-2
sources="simplecpp.cc externals/simplecpp/simplecpp.cpp"
compiler=$CXX
