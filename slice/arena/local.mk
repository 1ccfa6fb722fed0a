# slice/arena/local.mk - arenas (floor 7): linear, stack, pool, TLSF
#
# SPDX-License-Identifier: MIT
#
# To add the area:
#   noinst_LTLIBRARIES += %D%/libarena.la
#   %C%_libarena_la_SOURCES = ...
#   %C%_libarena_la_CFLAGS = $(slice_cflags)
#   slice_libslice_la_LIBADD += %D%/libarena.la
#   pkginclude_HEADERS += slice/arena.h
