# jsoncpp.sh - JsonCpp, in C++, reads a list of objects
package=libjsoncpp
version=1.9.5-4
sources="jsoncpp.cc src/lib_json/json_reader.cpp src/lib_json/json_value.cpp
  src/lib_json/json_writer.cpp"
compiler=$CXX
flags="-Iinclude"
