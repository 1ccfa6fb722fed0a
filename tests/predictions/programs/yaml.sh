# yaml.sh - libyaml loads a document
package=libyaml
version=0.2.5-1
sources="yaml.c src/*.c"
flags='-Iinclude -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2
  -DYAML_VERSION_PATCH=5 -DYAML_VERSION_STRING="0.2.5"'
