# slice/context/local.mk - contexts (floor 7): clients of slice.h
#
# SPDX-License-Identifier: MIT
#
# To add the area:
#   noinst_LTLIBRARIES += %D%/libcontext.la
#   %C%_libcontext_la_SOURCES = ...
#   %C%_libcontext_la_CFLAGS = $(slice_cflags)
#   slice_libslice_la_LIBADD += %D%/libcontext.la
#   pkginclude_HEADERS += slice/ralloc.h
