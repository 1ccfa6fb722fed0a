# hunspell.sh - hunspell, in C++, reads a word list and checks words
package=hunspell
version=1.7.1-1
sources="hunspell.cc src/hunspell/affentry.cxx src/hunspell/affixmgr.cxx
  src/hunspell/csutil.cxx src/hunspell/filemgr.cxx src/hunspell/hashmgr.cxx
  src/hunspell/hunspell.cxx src/hunspell/hunzip.cxx src/hunspell/phonet.cxx
  src/hunspell/replist.cxx src/hunspell/suggestmgr.cxx"
compiler=$CXX
flags="-Isrc/hunspell -DHUNSPELL_STATIC -DBUILDING_LIBHUNSPELL"
