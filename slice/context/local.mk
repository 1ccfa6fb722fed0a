# slice/context/local.mk - contexts (layer 8): clients of slice.h
#
# SPDX-License-Identifier: MIT

noinst_LTLIBRARIES += %D%/libcontext.la
%C%_libcontext_la_SOURCES = \
	%D%/about.c \
	%D%/gc/gc.c \
	%D%/gc/gc-slab.c \
	%D%/gc/gc-slab.h \
	%D%/large.c \
	%D%/linear.c \
	%D%/linear-object.c \
	%D%/linear-prefix.h \
	%D%/linear-string.c \
	%D%/node.c \
	%D%/node-layout.h \
	%D%/node.h \
	%D%/node-valid.c \
	%D%/owned.h \
	%D%/ralloc/ralloc.c \
	%D%/ralloc/ralloc-extension.c \
	%D%/ralloc/free/ralloc-free.c \
	%D%/ralloc/free/ralloc-free.h \
	%D%/ralloc/free/ralloc-free-blocks.c \
	%D%/ralloc/free/ralloc-free-plain.c \
	%D%/ralloc/free/ralloc-free-search.c \
	%D%/ralloc/free/ralloc-free-suspend.c \
	%D%/ralloc/free/ralloc-free-survive.c \
	%D%/ralloc/ralloc-limit.c \
	%D%/ralloc/ralloc-reference.c \
	%D%/ralloc/ralloc-report.c \
	%D%/ralloc/ralloc-resize.c \
	%D%/ralloc/ralloc-steal.c \
	%D%/ralloc/ralloc-string.c \
	%D%/ralloc/ralloc-threads.c \
	%D%/slack.c \
	%D%/trailing-header.c
%C%_libcontext_la_CFLAGS = $(slice_cflags)
slice_libslice_la_LIBADD += %D%/libcontext.la

pkginclude_HEADERS += \
	slice/ralloc.h \
	slice/ralloc-extension.h \
	slice/ralloc-linear.h \
	slice/ralloc-operators.hpp \
	slice/ralloc-string.h
